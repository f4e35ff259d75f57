"""Joints by their names, and the speeds that they have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from appell.errors import InputError

# What names of speeds have after the name of a joint with several.
_PARTS = frozenset(("1", "2", "turn", "slide", "x", "y", "z", "turn x", "turn y", "turn z"))


def speeds_named(what: str, joints: Sequence[str], names: Iterable[str] | str) -> list[int]:
    """Places among ``joints``, the names of the speeds, of those that are named: by their own
    names, or all those of a ball, universal, cylindrical, planar or free joint by the joint's."""
    places: set[int] = set()
    for name in [names] if isinstance(names, str) else names:
        own = [k for k, joint in enumerate(joints) if joint == name]
        parts = own or [k for k, x in enumerate(joints) if _joint_of(x) == name]
        if not parts:
            whole = dict.fromkeys(x for joint in joints if (x := _joint_of(joint)) is not None)
            further = f" (or whole joints: {', '.join(whole)})" if whole else ""
            raise InputError(
                f"{what} names joint {name!r}; its joints are {', '.join(joints)}{further}."
            )
        places.update(parts)
    return sorted(places)


def _joint_of(speed: str) -> str | None:
    """The name of the joint with several speeds that one is of."""
    words = speed.split(" ")
    for count in (2, 1):
        if len(words) > count and " ".join(words[-count:]) in _PARTS:
            return " ".join(words[:-count])
    return None
