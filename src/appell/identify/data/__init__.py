"""Data: from the files of a robot's records to samples that can be trusted."""
