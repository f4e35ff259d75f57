"""A study with all that it needs, as one piece: for another process or machine, and to tell whether
it is still the same."""

from __future__ import annotations

import ast
import atexit
import importlib
import json
import os
import re
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from appell import __version__
from appell.compile.identity import source_identity
from appell.errors import InputError
from appell.study.scenario import FILES, Source, is_file
from appell.study.sweeps.study_file import Study, checked_study


class Bundle(NamedTuple):
    """A study, its scenario within it, as JSON; the files that it names; what computes it."""

    text: str
    files: Mapping[str, bytes]
    versions: Mapping[str, str]

    @property
    def hash(self) -> str:
        """Hash of the study and its files."""
        return self.identity(()).hash

    def identity(self, free: Sequence[str]) -> Identity:
        """What results depend on: all but the entries of the study that are ``free``."""
        files = {name: sha256(x).hexdigest() for name, x in sorted(self.files.items())}
        return Identity(_without(json.loads(self.text), free), files, tuple(free))


class Identity(NamedTuple):
    """What results depend on: a study without its free entries, and the hashes of its files."""

    study: dict[str, Any]
    files: dict[str, str]
    free: tuple[str, ...]

    @property
    def hash(self) -> str:
        """Hash of all of it, also of the order of what varies and what is tuned."""
        tuned = self.study.get("tune") or {}
        order = [list(x) for x in (self.study.get("vary") or (), tuned.get("parameters") or ())]
        text = json.dumps([self.study, order, self.files], sort_keys=True)
        return sha256(text.encode()).hexdigest()

    def changed_from(self, study: dict[str, Any], files: Mapping[str, str]) -> str:
        """Entries and files that differ from those of another study, in words."""
        changed = [*_differing(_without(study, self.free), self.study, "")]
        names = [x for x in sorted({*files, *self.files}) if files.get(x) != self.files.get(x)]
        changed += [_IN_FOLDER.sub("", x) for x in names if not _COPY.fullmatch(x)]
        if not changed:
            return "the order of its entries"
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        return f"{', '.join(changed[:3])}{more}"


def _without(study: dict[str, Any], entries: Sequence[str]) -> dict[str, Any]:
    """A study without some entries, such as "tune.iterations"."""
    kept: dict[str, Any] = json.loads(json.dumps(study))
    for entry in entries:
        *tables, key = entry.split(".")
        place = kept
        for table in tables:
            place = place.get(table) or {}
        place.pop(key, None)
    return kept


def _differing(a: Any, b: Any, path: str) -> Iterator[str]:
    """The entries of two tables that differ, with the names of files."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b}):
            yield from _differing(a.get(key), b.get(key), f"{path}.{key}" if path else key)
    elif a != b:
        file = _COPY.fullmatch(b) if isinstance(b, str) else None
        yield path if file is None else f"{path} ({file['name']})"


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
    return Bundle(json.dumps(_Modules(folder, files).taken(data)), files, versions())


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
        if name.endswith(".py"):
            module = _IN_FOLDER.sub("", name.removesuffix(".py").removesuffix("/__init__"))
            _forget(module.split("/"))
    importlib.invalidate_caches()
    # Reasons of failed points must not depend on where the files lie.
    return checked_study(json.loads(text), Source(folder / "study.json", named=False))


def _forget(module: list[str]) -> None:
    """Forget a module, and the folders that it lies in: another study may have had one of this
    name. Installed ones stay."""
    for n in range(len(module), 0, -1):
        known = sys.modules.get(".".join(module[:n]))
        file = getattr(known, "__file__", None) or ""
        if known is not None and module[0] != "appell" and not file.startswith(_INSTALLED):
            del sys.modules[".".join(module[:n])]


_INSTALLED = tuple({f"{sysconfig.get_path(x)}{os.sep}" for x in ("stdlib", "purelib", "platlib")})


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


_COPY = re.compile(r"files/[0-9a-f]{12}-(?P<name>.*)")
_NAME = re.compile(r"(?:(?P<path>.*)/)?(?P<module>\w+(?:\.\w+)*):\w+")
_IN_FOLDER = re.compile(r"^code/\d+/")


class _Modules:
    """Modules that a study names as module:name, taken along with those that they import from the
    same folder. Those that it names with a path lie in a folder of the bundle for each folder, so
    that two of the same name are kept apart."""

    def __init__(self, folder: Path, files: dict[str, bytes]) -> None:
        self.folder, self.files = folder, files
        self.places: dict[Path, str] = {}  # in the bundle, by folder

    def taken(self, data: Any) -> Any:
        """The data of a study, in which modules are named by their place in the bundle."""
        if isinstance(data, dict):
            return {
                self.taken(key): x if key == "title" else self.taken(x) for key, x in data.items()
            }
        if isinstance(data, list):
            return [self.taken(x) for x in data]
        name = _NAME.fullmatch(data) if isinstance(data, str) else None
        if name is None:
            return data
        path, module = name["path"], name["module"]
        if path is None:
            self._take(module, [self.folder, Path()], "")
            return data
        folder = (self.folder / Path(path or "/").expanduser()).resolve()
        place = self.places.get(folder, f"code/{len(self.places) + 1}")
        if not self._take(module, [folder, Path()], f"{place}/"):
            return data
        self.places[folder] = place
        return f"{place}/{data.rpartition('/')[2]}"

    def _take(self, module: str, folders: list[Path], place: str) -> bool:
        """Take along a module that lies in one of these folders, and what it imports from there;
        whether one does."""
        for folder in folders:
            found = _files_of(module, folder.resolve())
            if found:
                break
        else:
            return False
        if module.partition(".")[0] in sys.stdlib_module_names:
            raise InputError(
                f"'{found[0]}' has the name of a module of Python itself, which would run in its "
                "place, or the other way round; rename it."
            )
        for file in found:
            inside = file.relative_to(folder.resolve())
            kept = f"{place}{inside.as_posix()}"
            if kept not in self.files:
                self.files[kept] = file.read_bytes()
                parts = inside.with_suffix("").parts
                for imported in _imports(self.files[kept], parts):
                    self._take(imported, folders, place)
        return True


def _files_of(module: str, folder: Path) -> list[Path]:
    """The files of a module of a folder: a file, a whole package, or a file in folders that have no
    __init__.py; none if it has no such module."""
    base = folder
    for part in module.split("."):
        base = base / part
        if (base / "__init__.py").is_file():
            return sorted(base.rglob("*.py"))
        if base.with_name(f"{part}.py").is_file():
            return [base.with_name(f"{part}.py")]
    return []


def _imports(content: bytes, own: Sequence[str]) -> Iterator[str]:
    """Modules that the file of a module imports, anywhere in it; names that may be modules are
    among them. ``own`` are the parts of the module's name."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            around = own[: len(own) - node.level] if node.level else ()
            base = [*around, *([node.module] if node.module else [])]
            if base:
                yield ".".join(base)
            yield from (".".join([*base, x.name]) for x in node.names)
