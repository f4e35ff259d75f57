"""Points computed by workers of Dask: on this machine or on others."""
