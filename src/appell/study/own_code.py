"""Code of the user's that a file names as module:name, from the folder of that file."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from appell.errors import InputError

_LOADED: dict[tuple[Path, str], ModuleType] = {}  # by folder and name, where that name was taken


def imported(name: str, folder: Path) -> Any:
    """What module:name is called; modules are also those of a folder, and of the working one. A
    path before the module, as in ``../laws/mine:Law``, is meant from the folder."""
    return _attribute(name, *_parted(name, folder))


def _attribute(name: str, module: str, folder: Path, attribute: str) -> Any:
    try:
        return getattr(_module(module, folder), attribute)
    except (ImportError, AttributeError, ValueError) as problem:
        raise InputError(
            f"'{name}': {problem}; expected module:name of a module in the file's folder, or of an "
            "installed one."
        ) from None
    except (Exception, SystemExit) as problem:  # whatever the module does when it is imported
        raise InputError(f"'{name}': {type(problem).__name__}: {problem}.") from None


def called(name: str, folder: Path, *arguments: Any, **keywords: Any) -> Any:
    """What the function module:name returns. What it imports then is also found beside it, and if
    it changes the working folder, that is changed back."""
    module, own, attribute = _parted(name, folder)
    function, before = _attribute(name, module, own, attribute), Path.cwd()
    try:
        with _searched(own), _hidden(own):
            return function(*arguments, **keywords)
    finally:
        os.chdir(before)


def _parted(name: str, folder: Path) -> tuple[str, Path, str]:
    """The module, its folder and the name in it that module:name says."""
    place, colon, attribute = name.rpartition(":")
    if not colon or not attribute.isidentifier():
        raise InputError(f"'{name}': expected module:name, such as costs:effort.")
    path, slash, module = place.rpartition("/")
    if slash:
        folder = folder / Path(path or "/").expanduser()
    return module, folder.resolve(), attribute


def seen_from(name: str, folder: Path, target: Path) -> str:
    """The module:name of a file in one folder as one in another folder says it: with the path of
    the module's folder, unless the module is installed."""
    place, colon, attribute = name.rpartition(":")
    path, slash, module = place.rpartition("/")
    folders = [folder / Path(path or "/").expanduser()] if slash else [folder, Path()]
    own = next((x.absolute() for x in folders if _file(module, x) is not None), None)
    if not colon or own is None:
        return name
    try:
        relative = Path(os.path.relpath(own, target.absolute())).as_posix()
    except ValueError:  # on another drive
        relative = own.as_posix()
    return f"{relative}/{module}:{attribute}"


def _file(module: str, folder: Path) -> Path | None:
    """The file of a module, or package, that lies in a folder."""
    base = folder.joinpath(*module.split("."))
    files = (base / "__init__.py", base.parent / f"{base.name}.py")
    return next((file for file in files if file.is_file()), None)


def _module(name: str, folder: Path) -> ModuleType:
    """The module of a folder, else of the working one, else an installed one. One whose name a
    module of another folder has taken gets a name of its own, so that neither runs as the other."""
    for place in (folder, Path.cwd()):
        file, top = _file(name, place), name.partition(".")[0]
        if file is None:
            continue
        if top not in sys.modules or _lies_in(sys.modules[top], place):
            with _searched(place), _hidden(place):
                return importlib.import_module(name)
        if (place, name) not in _LOADED:
            _LOADED[place, name] = _renamed(name, place, file)
        return _LOADED[place, name]
    with _searched(folder):
        return importlib.import_module(name)


def _lies_in(module: ModuleType, folder: Path) -> bool:
    """Whether a module, or package, is a folder's own."""
    file = getattr(module, "__file__", None)
    if file is None:  # a package without a file
        return str(folder / module.__name__) in getattr(module, "__path__", ())
    own = _file(module.__name__, folder)
    return own is not None and Path(file).resolve() == own.resolve()


def _renamed(name: str, folder: Path, file: Path) -> ModuleType:
    """A module of a folder under a name that no other has."""
    own = f"{name.replace('.', '_')}_{sha256(str(file.resolve()).encode()).hexdigest()[:12]}"
    package = [str(file.parent)] if file.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(own, file, submodule_search_locations=package)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[own] = module
    try:
        with _searched(folder), _hidden(folder):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[own]
        raise
    return module


@contextmanager
def _searched(folder: Path) -> Iterator[None]:
    """Modules are looked for in a folder first, then in the working one."""
    added = [str(folder), ""]
    sys.path[:0] = added
    try:
        yield
    finally:
        for path in added:
            sys.path.remove(path)


@contextmanager
def _hidden(folder: Path) -> Iterator[None]:
    """What a module of a folder imports is of that folder, though one of the same name was
    imported from elsewhere before; that one is there again afterwards, and the folder's own the
    next time."""
    try:
        names = _names_in(folder, folder.stat().st_mtime_ns)
    except OSError:  # it is gone
        names = frozenset()
    tops = {name for name in names if name in sys.modules and _is_hidden(name, folder)}
    before = _take(tops)
    sys.modules.update(_HIDDEN.get(folder, {}))
    try:
        yield
    finally:
        _HIDDEN.setdefault(folder, {}).update(_take(tops))
        sys.modules.update(before)


_HIDDEN: dict[Path, dict[str, ModuleType]] = {}  # modules by folder whose names others have


@lru_cache(maxsize=64)
def _names_in(folder: Path, changed: int) -> frozenset[str]:
    """Names that modules and packages of a folder may have, as it was ``changed`` last."""
    inside = frozenset(x.name.removesuffix(".py") for x in folder.iterdir())
    return inside - sys.stdlib_module_names - {"__main__", "__pycache__"}


def _is_hidden(name: str, folder: Path) -> bool:
    """Whether a module that is there is none of a folder, which has its own of that name."""
    module = sys.modules[name]
    is_folder = getattr(module, "__file__", None) is None and (folder / name).is_dir()
    own = is_folder or _file(name, folder) is not None
    return own and not _lies_in(module, folder)


def _take(tops: set[str]) -> dict[str, ModuleType]:
    """Modules of these names, and those in them, out of those that Python knows."""
    names = [name for name in sys.modules if name.partition(".")[0] in tops] if tops else []
    return {name: sys.modules.pop(name) for name in names}
