"""Studies: a task described in a file, computed, and ready to be shown."""
