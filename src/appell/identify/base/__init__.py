"""Base parameters: which numbers the joint forces can tell apart."""
