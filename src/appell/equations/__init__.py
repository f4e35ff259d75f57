"""The physics: one formulation a file, each citing its paper and equation numbers."""
