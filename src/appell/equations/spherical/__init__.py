"""The equations of spherical parallel robots."""
