"""The loop: in this process or in others, over channels, at its deadlines."""
