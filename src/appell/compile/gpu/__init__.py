"""Kernels on NVIDIA's GPUs: the driver, arrays of other libraries, launches."""
