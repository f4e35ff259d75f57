"""What a scalar, a vector, a rotation and an inertia tensor is."""
