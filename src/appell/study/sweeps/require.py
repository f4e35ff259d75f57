"""Packages that sweeps need and a plain installation does not have."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from appell.errors import AppellError


def has_parquet() -> bool:
    """Whether results can be kept as Parquet files."""
    return find_spec("pyarrow") is not None


def parquet() -> Any:
    """pyarrow.parquet, by which results are kept."""
    if not has_parquet():
        raise AppellError(
            "this sweep is kept as Parquet files, which need pyarrow: pip install "
            "'appell[cluster]'."
        )
    import pyarrow.parquet

    return pyarrow.parquet


def cryptography() -> None:
    """Require the package that makes certificates for workers on this machine."""
    if find_spec("cryptography") is None:
        raise AppellError("--workers needs cryptography: pip install 'appell[cluster]'.")


def distributed() -> Any:
    """dask.distributed, which shares points among workers."""
    if find_spec("distributed") is None:
        raise AppellError(
            "--workers and --scheduler need Dask: pip install 'appell[cluster]'. Without them the "
            "sweep runs in this process."
        )
    import distributed as package

    return package
