"""Files of blocks of points: Parquet where pyarrow is installed, and otherwise NumPy's .npz.

Both keep the same columns, the hash of the study that they are of, and a checksum of all columns
with their names, since a damaged file may still be readable.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from zipfile import ZipFile

import numpy as np

from appell.errors import AppellError, InputError
from appell.robots.dynamics import Array
from appell.study.sweeps.require import has_parquet, parquet
from appell.study.sweeps.storage.block_table import Columns
from appell.whole_file import DiskError


class Head(NamedTuple):
    """Hash of a file's study, and checksum of its columns."""

    study: str
    check: str


class Format(Protocol):
    """File format of a block of points."""

    suffix: str

    def head(self, file: Path) -> Head:
        """What a file says of itself."""

    def names(self, file: Path) -> list[str]:
        """Names of its columns, in order."""

    def read(self, file: Path, names: Sequence[str] | None = None) -> Columns:
        """Its columns, or some of them; numbers that are not there are NaN."""

    def write(self, file: Path, columns: Columns, study: str) -> None:
        """Write columns; measures of failed points are left out."""


def format_of(folder: Path) -> Format:
    """The format of the files in a folder; of an empty one, the best that can be written here."""
    kinds = sorted({file.suffix for file in folder.glob("part-*")} & set(FORMATS))
    if len(kinds) > 1:
        raise InputError(
            f"'{folder}' holds files of both {' and '.join(kinds)}; expected one kind. Remove one "
            "kind, and run the sweep again."
        )
    if kinds:
        return FORMATS[kinds[0]]
    return FORMATS[".parquet" if has_parquet() else ".npz"]


def verified(form: Format, file: Path, study: str) -> Columns:
    """The columns of a file; ValueError if they are not as they were written, or of another study.
    A file that cannot be reached just now is not damaged: DiskError."""
    try:
        head = form.head(file)
        columns = form.read(file) if head.study == study else {}
        check = fingerprint(columns) if columns else ""
    except (MemoryError, AppellError):  # AppellError: pyarrow is missing
        raise
    except Exception as problem:  # damage has many names in pyarrow and zipfile
        if isinstance(problem, OSError) and problem.errno in _PASSING:
            raise DiskError(f"cannot read '{file}': {problem.strerror}.") from None
        raise ValueError(f"{file.name}: {problem}") from None
    if head.study != study:
        raise ValueError(f"{file.name} is of another study")
    if check != head.check:
        raise ValueError(f"{file.name} is not as it was written")
    return columns


_PASSING = (errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE)


def fingerprint(columns: Columns) -> str:
    """Checksum of columns with their names, in order, as they are read from a file."""
    digest = sha256()
    failed = np.asarray(columns["failed"], dtype=bool) if "failed" in columns else None
    measures = _measures(columns) if "reason" in columns else set()
    for name, x in columns.items():
        if x.dtype == object:
            words = [list(map(float, y)) if isinstance(y, tuple | list) else y for y in x]
            content = json.dumps(words).encode()
        else:
            numbers = x
            if name in measures:
                numbers = np.where(np.isnan(x) | failed, np.nan, x)  # one NaN for all
            content = numbers.dtype.str.encode() + np.ascontiguousarray(numbers).tobytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def part_files(folder: Path) -> dict[int, Path]:
    """The files part-NUMBER of a folder, by their numbers."""
    files = {}
    for file in sorted(folder.glob("part-*")):
        number = file.stem.removeprefix("part-")
        if file.suffix in FORMATS and number.isdecimal() and file.is_file():
            files[int(number)] = file
    return dict(sorted(files.items()))


def _measures(columns: Columns) -> set[str]:
    names = list(columns)
    return set(names[names.index("reason") + 1 :])


def _words(values: Sequence[Any]) -> Array:
    """An array of words, arrays or nothing."""
    array = np.empty(len(values), dtype=object)
    array[:] = [tuple(x) if isinstance(x, list) else x for x in values]
    return array


class Parquet:
    """Parquet files, which pandas, Polars and DuckDB read."""

    suffix = ".parquet"
    _KEYS = (b"appell.study", b"appell.check")

    def head(self, file: Path) -> Head:
        metadata = parquet().read_metadata(file).metadata or {}
        return Head(*(metadata.get(key, b"").decode(errors="replace") for key in self._KEYS))

    def names(self, file: Path) -> list[str]:
        return list(parquet().read_schema(file).names)

    def read(self, file: Path, names: Sequence[str] | None = None) -> Columns:
        table = self._opened(file).read(columns=names)
        return {name: self._array(table[name]) for name in table.column_names}

    def write(self, file: Path, columns: Columns, study: str) -> None:
        import pyarrow as pa

        failed = np.asarray(columns["failed"], dtype=bool)
        measures = _measures(columns)
        arrays = {}
        for name, x in columns.items():
            if name == "reason":
                has_reasons = any(y is not None for y in x)
                arrays[name] = (
                    pa.array(list(x), pa.string()) if has_reasons else pa.nulls(len(x), pa.string())
                )
            elif name in measures:
                arrays[name] = self._column(x.astype(float), ~(failed | np.isnan(x)))
            elif x.dtype == object:
                arrays[name] = pa.array([list(y) if isinstance(y, tuple) else y for y in x])
            else:
                arrays[name] = self._column(x)
        said = dict(zip(self._KEYS, (study, fingerprint(columns)), strict=True))
        table = pa.table(arrays).replace_schema_metadata(said)
        words = [name for name, x in columns.items() if x.dtype == object]  # numbers rarely repeat
        parquet().write_table(table, file, use_dictionary=words, write_page_checksum=True)

    @staticmethod
    def _opened(file: Path) -> Any:
        return parquet().ParquetFile(file, page_checksum_verification=True)

    @staticmethod
    def _array(column: Any) -> Array:
        import pyarrow as pa

        known, kinds = column.null_count == 0, pa.types
        if kinds.is_boolean(column.type):
            return Parquet._array(column.cast(pa.uint8())).astype(bool if known else float)
        if not (kinds.is_floating(column.type) or kinds.is_integer(column.type)):
            return _words(column.to_pylist())
        if not known:
            column = column.cast(pa.float64()).fill_null(np.nan)
        return np.concatenate([np.from_dlpack(x) for x in column.chunks])

    @staticmethod
    def _column(x: Array, known: Array | None = None) -> Any:
        """Numbers as Arrow has them, without those that are not known. Like _array by memory:
        pa.array and to_numpy load pandas, which takes half a second."""
        import pyarrow as pa

        def bits(true: Any) -> Any:
            return pa.py_buffer(np.packbits(true, bitorder="little"))

        data = bits(x) if x.dtype == bool else pa.py_buffer(np.ascontiguousarray(x))
        mask = None if known is None else bits(known)
        return pa.Array.from_buffers(pa.from_numpy_dtype(x.dtype), len(x), [mask, data])


class Npz:
    """NumPy's archives, which numpy.load reads: numbers are arrays, and words are JSON. The
    archive's comment has the study's hash and the checksum."""

    suffix = ".npz"

    def head(self, file: Path) -> Head:
        with ZipFile(file) as archive:
            comment = json.loads(archive.comment)
            return Head(str(comment["study"]), str(comment["check"]))

    def names(self, file: Path) -> list[str]:
        with ZipFile(file) as archive:
            return [name.rpartition(".")[0] for name in archive.namelist()]

    def read(self, file: Path, names: Sequence[str] | None = None) -> Columns:
        columns = {}
        with ZipFile(file) as archive:
            for member in archive.namelist():
                name, _, kind = member.rpartition(".")
                if names is None or name in names:
                    with archive.open(member) as stream:
                        columns[name] = (
                            _words(json.load(stream)) if kind == "json"
                            else np.lib.format.read_array(stream, allow_pickle=False)
                        )  # fmt: skip
        return columns

    def write(self, file: Path, columns: Columns, study: str) -> None:
        failed = np.asarray(columns["failed"], dtype=bool)
        measures = _measures(columns)
        with ZipFile(file, "w") as archive:
            said = {"study": study, "check": fingerprint(columns)}
            archive.comment = json.dumps(said).encode()
            for name, x in columns.items():
                if x.dtype == object:
                    archive.writestr(f"{name}.json", json.dumps(x.tolist()))
                    continue
                numbers = np.where(failed, np.nan, x) if name in measures else x
                with archive.open(f"{name}.npy", "w") as stream:
                    np.lib.format.write_array(stream, numbers, allow_pickle=False)


FORMATS: dict[str, Format] = {x.suffix: x for x in (Parquet(), Npz())}
