"""The machine: its numbers, its hardware interface, and one that is simulated."""
