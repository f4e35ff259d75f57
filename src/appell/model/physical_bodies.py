"""Whether a robot's bodies can exist.

Links that are fixed to each other are one body, so the body is judged: a camera whose file gives it
no volume matters no more than the robot that carries it lets it. What stands on the ground with a
fixed base is not judged, as its inertia takes no part in any motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from warnings import warn

from appell.errors import ModelError, PhysicalWarning, shorten
from appell.model.inertia import Inertia, check_inertia
from appell.model.model import Model
from appell.model.parameters import link_inertia

_SHOWN = 3


def judge(
    model: Model,
    links: Mapping[str, Inertia],
    physical: bool | None,
    lines: Mapping[str, int] | None = None,
    file: str = "",
) -> None:
    """Refuse bodies that cannot exist if ``physical``, warn of them if it is None.

    ``links`` are the inertias that the model is made from; ``lines`` says where each stands in the
    ``file``."""
    if physical is False:
        return
    problems = _unphysical(model, links)
    if not problems:
        return
    if physical:
        link, text = next(iter(problems.items()))
        place = f"{file}:{lines[link]}: " if lines else ""
        raise ModelError(f"{place}{text} To take it as it is, say physical=False.")
    told = [f"Line {lines[x]}: {text}" if lines else text for x, text in problems.items()]
    subject = file or f"'{model.name}'"
    more = f" And {len(told) - _SHOWN} more." if len(told) > _SHOWN else ""
    warn(
        f"{subject}: inertias that no body can have are taken as they are given. Inverse "
        "dynamics follows from them; where they make the inertia matrix lose its positive "
        "eigenvalues, accelerations and simulations are meaningless, and identification starts "
        "from an impossible robot. Say physical=False to take them silently, physical=True to "
        f"refuse them. {shorten(' '.join(told[:_SHOWN]), 2000)}{more}",
        PhysicalWarning,
        stacklevel=5,
    )


def _unphysical(model: Model, links: Mapping[str, Inertia]) -> dict[str, str]:
    """What is wrong with each body, by the name of the link. A body of links that can all exist
    can exist, too."""
    wrong = {x: text for x, inertia in links.items() if (text := _problem(x, inertia))}
    problems: dict[str, str] = {}
    for i, body in model.links.items():
        carried = [f.name for f in model.frames if f.body == i and f.name in links]
        heavy = [x for x in carried if any(links[x].parameters)]
        first = next((x for x in heavy if x in wrong), None)
        if first is not None and len(heavy) == 1:
            problems[first] = wrong[first]
        elif first is not None and (text := _problem(body.name, link_inertia(model, body))):
            problems[body.name] = f"{text} (The body of the links {', '.join(heavy)}.)"
    return problems


def _problem(link: str, inertia: Inertia) -> str:
    try:
        check_inertia(link, inertia)
    except ModelError as problem:
        return str(problem)
    return ""
