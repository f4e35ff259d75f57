"""Charts as data: what is to be drawn, whoever draws it."""
