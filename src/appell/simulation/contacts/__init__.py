"""Contacts: gaps and their bounds, impacts, and contacts that last."""
