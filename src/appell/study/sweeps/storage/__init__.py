"""Results of a sweep on disk: a folder, a file per block of points."""
