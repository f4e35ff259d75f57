"""A study with all that it needs, as one piece: for another process or machine, and to tell whether
it is still the same."""

from __future__ import annotations

import ast
import atexit
import importlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, NamedTuple

from appell import __version__
from appell.compile.identity import source_identity
from appell.errors import InputError
from appell.study.scenario import FILES, Source, coded, is_file
from appell.study.sweeps.study_file import Study, checked_study

_PLAIN = ("title", "points", "block", "tune")  # entries that change no point


class Bundle(NamedTuple):
    """A study, its scenario within it, as JSON; the files that it names; what computes it."""

    text: str
    files: Mapping[str, bytes]
    versions: Mapping[str, str]

    @property
    def hash(self) -> str:
        """What the points depend on; also the order of variables, to which columns of the design
        belong."""
        study = json.loads(self.text)
        kept = {key: x for key, x in study.items() if key not in _PLAIN}
        if study.get("sampling") in ("latin_hypercube", "saltelli"):
            kept["points"] = study.get("points")
        kept["order"] = list(study.get("vary") or ())  # points depend on the order of variables
        digest = sha256(json.dumps(kept, sort_keys=True).encode())
        for name, content in sorted(self.files.items()):
            digest.update(f"\0{name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()


def bundle_of(study: Study) -> Bundle:
    """A study in one piece."""
    data = json.loads(study.text())
    files: dict[str, bytes] = {}
    folder = study.source.folder
    if study.scenario is not None:
        base = study.base
        folder = base.source.folder
        data["scenario"] = json.loads(base.text())
        _take_files(data, folder, files)
        _take_code(data["scenario"], folder, files)
    for name in _functions(data):
        _take_module(name.partition(":")[0], [folder, Path()], files)
    return Bundle(json.dumps(data), files, versions())


def opened(bundle: Bundle) -> Study:
    """The study of a bundle, in this process: its files lie in a folder of their own."""
    return _opened(bundle.text, tuple(sorted(bundle.files.items())))


@lru_cache(maxsize=4)
def _opened(text: str, files: tuple[tuple[str, bytes], ...]) -> Study:
    folder = Path(tempfile.mkdtemp(prefix="appell-study-", dir=_workers_folder()))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name, content in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if name.endswith(".py"):  # another study may have had a module of this name
            sys.modules.pop(
                name.removesuffix(".py").removesuffix("/__init__").replace("/", "."), None
            )
    importlib.invalidate_caches()
    # Reasons of failed points must not depend on where the files lie.
    return checked_study(json.loads(text), Source(folder / "study.json", named=False))


def _workers_folder() -> str | None:
    """That of this worker of Dask, which is removed even if the worker is killed; else None."""
    package = sys.modules.get("distributed")
    try:
        return None if package is None else str(package.get_worker().local_directory)
    except ValueError:  # Dask is here, but this is no task of its
        return None


def versions() -> dict[str, str]:
    """Versions of the software that computes points here; other versions may give other bits."""
    from importlib.metadata import version

    return {
        "appell": f"{__version__} ({source_identity()[:12]})",
        "python": ".".join(map(str, sys.version_info[:3])),
        **{name: version(name) for name in ("numpy", "scipy", "casadi", "llvmlite")},
    }


def differing(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """Differences between two sets of versions, in words; empty if there are none."""
    return ", ".join(
        f"{name} {theirs.get(name, 'none')} instead of {version}"
        for name, version in ours.items()
        if theirs.get(name) != version
    )


# Files


def _take_files(data: dict[str, Any], folder: Path, files: dict[str, bytes]) -> None:
    """Take along the files that the scenario names, and name them by their place here."""
    for path in FILES:
        table, _, key = path.partition(".")
        section = data["scenario"].get(table)
        if isinstance(section, dict) and isinstance(section.get(key), str):
            section[key] = _taken(section[key], path, folder, files)
        for variable in (data.get("vary") or {}).items():
            name, entry = variable
            if path in (entry.get("sets") or [name]) and "values" in entry:
                entry["values"] = [_taken(x, path, folder, files) for x in entry["values"]]


def _taken(name: str, path: str, folder: Path, files: dict[str, bytes]) -> str:
    if not is_file(path, name):
        return name
    file = folder / Path(name).expanduser()
    try:
        content = file.read_bytes()
    except OSError as problem:
        raise InputError(f"{path}: cannot read '{file}': {problem.strerror}.") from None
    digest = sha256(content).hexdigest()[:12]
    kept = f"files/{digest}-{file.name.removeprefix(f'{digest}-')}"
    files[kept] = content
    return kept


def _take_code(scenario: dict[str, Any], folder: Path, files: dict[str, bytes]) -> None:
    """Take along modules that the scenario names with a path, and name them without it."""
    for table, key in coded(scenario):
        path, slash, name = table[key].rpartition("/")
        if slash:
            place = folder / Path(path or "/").expanduser()
            _take_module(name.partition(":")[0], [place], files)
            table[key] = name


def _functions(data: Any) -> Iterator[str]:
    """Every module:name that a study mentions."""
    if isinstance(data, dict):
        for x in data.values():
            yield from _functions(x)
    elif isinstance(data, list):
        for x in data:
            yield from _functions(x)
    elif (
        isinstance(data, str)
        and data.count(":") == 1
        and data.replace(":", "").replace(".", "").replace("_", "").isalnum()
    ):
        yield data


def _take_module(name: str, folders: list[Path], files: dict[str, bytes]) -> None:
    """Take along a module that lies in one of these folders, and those there that it imports."""
    first = name.partition(".")[0]
    spec = PathFinder.find_spec(first, [str(x.resolve()) for x in folders])
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return
    origin = Path(spec.origin)
    whole = [*origin.parent.rglob("*.py")] if origin.name == "__init__.py" else [origin]
    top = origin.parent.parent if origin.name == "__init__.py" else origin.parent
    for file in whole:
        kept = file.relative_to(top).as_posix()
        if kept in files:
            continue
        files[kept] = file.read_bytes()
        for imported in _imports(files[kept]):
            _take_module(imported, folders, files)


def _imports(content: bytes) -> Iterator[str]:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
