"""Robots that come with Appell; each is a function that gives a model, and is imported when it is
asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from appell.model.model import Model
    from appell.model.spherical import SphericalModel

Made = TypeVar("Made")


class Makers(Mapping[str, Callable[..., Made]], Generic[Made]):
    """Functions by name, each in a module of this package."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        self._modules = modules

    def __getitem__(self, name: str) -> Callable[..., Made]:
        module = import_module(f"{__name__}.{self._modules[name]}")
        make: Callable[..., Made] = getattr(module, name)
        return make

    def __contains__(self, name: Any) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


# The modules of robots that are trees,
ROBOTS: Makers[Model] = Makers(
    {
        "puma560": "puma560",
        "stanford_arm": "stanford",
        "two_link": "planar",
        "planar_chain": "planar",
        "ten_link_tree": "tree",
        "tree_of_bars": "tree",
        "free_chain": "free_chain",
        "random_tree": "random",
    }
)

# and of robots that are none.
SPHERICAL: Makers[SphericalModel] = Makers(
    dict.fromkeys(
        ("agile_wrist", "agile_eye", "spherical_five_bar", "redundant_wrist"), "spherical_robots"
    )
)
