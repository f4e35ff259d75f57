"""What is kept of a run: its log, its report, and motions in files."""
