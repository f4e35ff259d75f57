"""What several papers' reproductions share."""
