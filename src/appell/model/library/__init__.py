"""Robots that come with Appell; each is a function that gives a model."""

from __future__ import annotations

from collections.abc import Callable

from appell.model.library.free_chain import free_chain
from appell.model.library.planar import planar_chain, two_link
from appell.model.library.puma560 import puma560
from appell.model.library.random import random_tree
from appell.model.library.spherical_robots import (
    agile_eye,
    agile_wrist,
    redundant_wrist,
    spherical_five_bar,
)
from appell.model.library.stanford import stanford_arm
from appell.model.library.tree import ten_link_tree, tree_of_bars
from appell.model.model import Model
from appell.model.spherical import SphericalModel

ROBOTS: dict[str, Callable[..., Model]] = {
    "puma560": puma560,
    "stanford_arm": stanford_arm,
    "two_link": two_link,
    "planar_chain": planar_chain,
    "ten_link_tree": ten_link_tree,
    "tree_of_bars": tree_of_bars,
    "free_chain": free_chain,
    "random_tree": random_tree,
}

# Robots that are no trees.
SPHERICAL: dict[str, Callable[..., SphericalModel]] = {
    "agile_wrist": agile_wrist,
    "agile_eye": agile_eye,
    "spherical_five_bar": spherical_five_bar,
    "redundant_wrist": redundant_wrist,
}
