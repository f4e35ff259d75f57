"""What holds the numbers that pages print in their text: a claim for each.

A claim is a piece of a page's text, and a check that gives True: a constant of the source, a value
that is computed here, what the page's own code says, what a file of results holds, or a test of
this repository that asserts it. Numbers of a page that no claim has are found by test_claims.py.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import appell
from appell.identify.data.filters import settling
from appell.study import Study, sweep
from appell.study.sweeps.results.sensitivity import sobol_indices
from tests.docs.blocks import FENCE, ROOT, blocks

Check = Callable[[], bool]


def constant(path: str, *values: Any) -> Check:
    """That a constant of the source, "module:NAME", has a value, or several have theirs."""
    module, _, names = path.partition(":")

    def check() -> bool:
        source = import_module(f"appell.{module}")
        return [getattr(source, name) for name in names.split(",")] == [*values]

    return check


def default(function: Callable[..., Any], name: str, value: Any) -> Check:
    """That an argument has a value where it is not given."""
    return lambda: inspect.signature(function).parameters[name].default == value


def code(page: str, *texts: str) -> Check:
    """That the page's blocks, which other tests run, have these texts."""
    return lambda: all(any(text in x.text for x in blocks(page)) for text in texts)


def made(paper: str, *texts: str) -> Check:
    """That the part of a paper's page that is computed has these texts."""

    def check() -> bool:
        page = (ROOT / "docs" / "papers" / f"{paper}.md").read_text()
        computed = page.partition("<!-- begin: made")[2].partition("<!-- end: made")[0]
        return all(text in computed for text in texts)

    return check


def asserted(path: str, *texts: str) -> Check:
    """That a test, "tests/FILE.py::NAME", is there, and has these texts."""
    file, _, name = path.partition("::")

    def check() -> bool:
        source = (ROOT / file).read_text()
        found = re.search(rf"(?ms)^def {name}\(.*?(?=^\S|\Z)", source)
        return found is not None and all(text in found[0] for text in texts)

    return check


def both(*checks: Check) -> Check:
    return lambda: all(check() for check in checks)


def limits(**values: float) -> Check:
    """That the rig's limits are these."""
    return lambda: all(getattr(appell.rig.Limits(), name) == x for name, x in values.items())


def words(page: str, text: str) -> Check:
    """That another page, or program, says the same."""
    return lambda: text in re.sub(r"\s+", " ", (ROOT / page).read_text())


# Values that are computed


def _quaternions() -> bool:
    """Where the sum of a quaternion's components, or the inverse of the largest, overflows."""
    chain = appell.load("free_chain", n=1)

    def finite(*components: float) -> bool:
        q = chain.neutral()
        q[3:7] = components
        with np.errstate(all="ignore"):
            return bool(np.isfinite(chain.poses(q)).all())

    large, small = finite(*[4e307] * 4), finite(0, 0, 0, 6e-309)
    return large and small and not finite(*[4.6e307] * 4) and not finite(0, 0, 0, 5.4e-309)


def _rounding() -> bool:
    """What rounding leaves of singular values that are zero, of the PUMA's regressor."""
    return appell.identify.base_parameters(appell.load("puma560")).numerical.dropped < 1e-13


def _last_joint() -> bool:
    inertia = appell.load("puma560").mass_matrix(np.zeros(6))[5, 5]
    return bool(np.isclose(inertia, 0.0141, rtol=1e-9))


def _random_room() -> bool:
    """Joints without limits are drawn as far as that, and no farther."""
    build = appell.Builder("rail")
    build.link("cart", mass=1.0, inertia=(1, 1, 1))
    build.link("arm", mass=1.0, inertia=(1, 1, 1))
    build.joint("slide", "prismatic", "world", "cart")
    build.joint("turn", "revolute", "cart", "arm")
    q = np.abs(build.robot().random(0, count=2000)).max(axis=0)
    return bool((q <= np.pi).all() and (q > 3.13).all())


def _long_tapes() -> bool:
    """Of what was measured on a GPU: the tape of about 50,000 steps took ten seconds and more."""
    measured = json.loads((ROOT / "benchmarks" / "gpu.json").read_text())["long"]
    long = next(x for x in measured if 45_000 < x["steps"] < 55_000)
    return long["compiled"] + long["assembled"] > 10


def _lee_totals() -> bool:
    from appell.papers.lee1982_lagrange_euler import TOTAL as LAGRANGE
    from appell.papers.lee1982_newton_euler import TOTAL as NEWTON

    ratios = [round(a(6) / b(6)) for a, b in zip(LAGRANGE, NEWTON, strict=True)]
    return ratios == [149, 126]


def _batch() -> bool:
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text())
    return "100000" in json.dumps(results["cases"])


PUMA = "study.identify_puma"
LEE = "tests/papers/test_lee_control.py"
CLAIMS: dict[str, dict[str, Check]] = {
    "README.md": {"for the same 100,000 states": _batch},
    "docs/architecture.md": {
        "32 MiB for each thread": constant("compile.gradients:BUDGET", 32 << 20)
    },
    "docs/closed.md": {
        "open by more than 1e-6 or singular to 1e-6": constant(
            "robots.closed.refusal:OPEN,SINGULAR", 1e-6, 1e-6
        ),
        "the integrator's error of 1e-12 has grown to 1e-8": both(
            default(appell.simulate, "singular", 1e-4), lambda: np.isclose(1e-12 / 1e-4, 1e-8)
        ),
    },
    "docs/coming_from.md": {
        "gravity is the field, (0, 0, -9.81)": default(
            appell.Builder, "gravity", (0.0, 0.0, -9.81)
        )
    },
    "docs/contacts.md": {"at 1e-10 of the largest": constant("robots.contact_forces:RANK", 1e-10)},
    "docs/conventions.md": {
        "(Components above 4e307, or all below 6e-309, give results": _quaternions,
        "up to 1e-6 of the trace passes": constant("model.inertia:_ROUNDING", 1e-6),
    },
    "docs/dynamics.md": {
        "within half a turn or 3.14 m of zero": _random_room,
        "512 MiB": constant("compile.cache:_ROOM", 512 << 20),
    },
    "docs/export.md": {
        "0.225 ms on a Pentium at 150 MHz and 0.061 ms on a Pentium II at 350 MHz": constant(
            "papers.valera2003_control:MILLISECONDS",
            {"Pentium, 150 MHz": 0.225, "Pentium II, 350 MHz": 0.061},
        )
    },
    "docs/gpu.md": {
        "ten seconds and more from about 50,000 steps on": _long_tapes,
        "16 GiB at most": constant("compile.gpu.gpu_gradient:MOST", 16 << 30),
    },
    "docs/identification.md": {
        "exceeds 1e-9 of the first": constant("identify.base.structure:ROUNDING", 1e-9),
        "Rounding alone leaves about 1e-15": _rounding,
        "30 times away from 1e-9": constant("identify.base.base_parameters:_CLEAR", 30.0),
        "jitter above 5 %": constant("identify.data.sampling:_JITTER", 0.05),
        "noise may add 0.5 %": constant("identify.data.filters:_HEARD", 0.005),
        "to within 0.05 % of it": constant("identify.data.filters:_SETTLED", 5e-4),
        "adds at most 0.1 % of its own": constant("identify.data.filters:_SETTLED", 0.001 / 2),
        "(2.3 periods of the cut-off": lambda: round(settling(10.0, 1000.0) / 100, 1) == 2.3,
        "2.5 times the cut-off": constant("identify.data.observing:_INDEPENDENT", 2.5),
        "weigh 10 to 20 % more or less": lambda: all(
            0.1 <= abs(x - 1) <= 0.2 + 1e-9 for x in import_module(f"appell.{PUMA}").OFF
        ),
        "unknown load of 1.5 kg": lambda: import_module(f"appell.{PUMA}").LOAD == 1.5,
        "1 kHz, encoders of 200 and 250 counts": lambda: (
            {200, 250} == {*appell.rig.puma560_machine().counts}
            and appell.rig.puma560_machine().period == 1e-3
        ),
        "noise of 0.5 % of the motors'": constant(f"{PUMA}:NOISE", 0.005),
    },
    "docs/install.md": {
        "up to 40 seconds each, 2 minutes for all": words(
            "docs/commands.md", "about 2 minutes for all papers, and at most 40 seconds for one"
        ),
        "20 seconds for the PUMA, one minute for the Panda": words(
            "docs/commands.md", "20 seconds for the PUMA, and about one minute for the Panda"
        ),
        "| `make quick` | 2 minutes": words("CONTRIBUTING.md", "in about two minutes"),
    },
    "docs/papers/lee1982.md": {
        "about 100 times more operations for six joints | 149 times the multiplications, 126 times "
        "the additions": _lee_totals,
        "on 10,000 random states": made("lee1982", "on 10,000 random states"),
        "3 ms on a PDP-11/45 | 3.18 ms": asserted(
            f"{LEE}::test_the_processors_time_follows_from_its_instructions", "2.5875 + 0.58995"
        ),
        "460 ms by Table 1": lambda: round(
            import_module("appell.papers.lee1982_equivalence").LAGRANGE_EULER_MS
        ) == 460,
        "within a bit of 12, 4.26e-4 rad": constant("papers.lee1982_control:BIT", 4.26e-4),
        "sampled every 10 ms | true for a quintic of 2 s or longer, and for every path of 3 s or "
        "longer": asserted(f"{LEE}::test_every_joint_stays_within_a_bit"),
        "sampling time of 10 ms": asserted(f"{LEE}::test_the_motion_is_the_papers", "0.01"),
        "g = 9.8 m/s²": constant("papers.lee1982_control:GRAVITY", (0.0, 0.0, -9.8)),
        "quintic of 2 s that is shown": constant("papers.lee1982_control:DURATION", 2.0),
        "At 10 ms the claim fails for all paths of 1 s, and for the trapezoidal, cubic and septic "
        "paths of 2 s": asserted(f"{LEE}::test_where_the_claim_fails_is_said_in_words"),
        "6,289 operations": made("lee1982", "6,289"),
    },
    "docs/papers/mata2002.md": {
        "equal to 1e-9 rad": asserted(
            "tests/papers/test_mata_simulation.py::test_methods_give_the_same_motion"
        )
    },
    "docs/papers/shafei2018.md": {
        "times within 1e-3 s, impulses within 0.4 %, velocities within 0.5 %, angles within 0.5 "
        "degrees": made("shafei2018", "within 0.001", "within 0.4 %", "within 0.5 %")
    },
    "docs/papers/valera2003.md": {
        "a straight line in 8.6 s, torques | 8.60 s": made("valera2003", "| 8.6 | 8.602 |"),
        "within 1.7 and 1 degrees": constant(
            "papers.valera2003_rig:WITHIN", {"ramp": 1.7, "spline": 1.0}
        ),
        "0.225 ms on a Pentium, 0.061 ms on a Pentium II": constant(
            "papers.valera2003_control:MILLISECONDS",
            {"Pentium, 150 MHz": 0.225, "Pentium II, 350 MHz": 0.061},
        ),
        "at the pace of 1 ms": lambda: appell.rig.puma560_machine().period == 1e-3,
    },
    "docs/rig.md": {
        "a control loop at 1 kHz": lambda: appell.rig.puma560_machine().period == 1e-3,
        "a reference that jumps by more than 0.15 rad": limits(error=0.15),
        "slides the second to 0.25 m": words("docs/rig.md", "`--to 30,0.25`"),
        "Cycles are of 1 ms": lambda: appell.rig.puma560_machine().period == 1e-3,
        "kills it after 3 s": constant("rig.loop.real_time_run:_PATIENCE", 3.0),
        "0.04 rad for 5 cycles": limits(apart=0.04, disagree=5),
        "1.5 times the top speed": lambda: "1.5 * self.fastest" in inspect.getsource(
            import_module("appell.rig.controller.safety")
        ),
        "gone 0.05 rad, or the joint 0.04 rad and 5 cycles": limits(
            stuck=0.05, apart=0.04, disagree=5
        ),
        "2 counts; 1.3 revolutions while homing": both(
            limits(slip=2), constant("rig.controller.homing:TRAVEL", 1.3)
        ),
        "| error | 0.15 rad": limits(error=0.15),
        "Of 1,000 faults all end": words("src/appell/cli/control_trials.py", "= 1000"),
    },
    "docs/rollouts.md": {
        "below `slip`, 0.01 rad/s or m/s": constant("control.rollouts.rollout:SLIP", 0.01),
        "a last joint of 0.0141 kg m²": _last_joint,
        "flagged below 0.02": constant("control.rollouts.watched:SINGULAR", 0.02),
        "by more than 1e-6 of its size (1e-4 in `float32`)": constant(
            "control.rollouts.integrators:CHANGE", {"float64": 1e-6, "float32": 1e-4}
        ),
        "times the step exceeds 0.125": constant(
            "control.rollouts.integrators:STABLE",
            {"rk4": 2.0, "semi_implicit_euler": 2.0, "implicit_midpoint": 0.125},
        ),
    },
    "docs/scenarios.md": {
        "else 1 degree or 10 mm": constant(
            "study.scenario_verdict:_NEAR", {True: np.pi / 180, False: 0.01}
        ),
        "writes 1 degree": constant("study.starter:_TURN_ERROR", 1.0),
        "and 0.2 mm for joints that slide": constant("study.starter:_SLIDE_ERROR", 0.0002),
    },
    "docs/sweeps.md": {
        "more than 2 % of what the measure is": constant(
            "study.sweeps.comparison:DOUBTFUL", 0.02
        ),
        "of a 95 % confidence interval": default(sobol_indices, "confidence", 0.95),
        "(`--patience`, 300 s)": default(sweep, "patience", 300.0),
        "a sweep of 20,000 points on a scheduler": words(
            "benchmarks/unkind.py", '"--points", type=int, default=20_000'
        ),
    },
    "docs/tune.md": {
        "by more than 1 % of the bound": constant("study.tuning.tuned:INEXACT", 0.01),
        "(`[rollout] step`, 0.001 s)": lambda: Study.model_fields["rollout"].default.step == 0.001,
    },
    "docs/simulation.md": {
        "located to 1e-12 s": asserted(
            "tests/simulation/test_events.py::test_falls_take_the_time_they_must", "1e-12"
        ),
        "from less than 1e-12 m behind a wall": constant("simulation.events:NOISE", 1e-12),
        "may be 1e-8 m deep within a step": constant("simulation.events:_LOOSE", 1e-8),
        "within 1e-7 m of its wall": constant("simulation.events:_ASTRAY", 1e-7),
        "flies 10,000 random bodies": words("benchmarks/impacts.py", "= 10_000"),
        "the whole path of 2 s": words("benchmarks/flights.py", "SECONDS = 2.0"),
        "more than 1e-9 s from the other search, or if a point is deeper than 1e-8 m": lambda: (
            (impacts := import_module("benchmarks.impacts")).CLOSE,
            impacts.DEEP,
        ) == (1e-9, 1e-8),
        "steps are 0.01 s at most (`max_step=` changes it), so that nothing that lasts 10 ms": (
            constant("simulation.simulate:_LONGEST", 0.01)
        ),
        "to 1e-6 of the impulse": words("src/appell/simulation/contacts/settle.py", "1 - (1e-6 if"),
        "a slide below 1 mm/s": constant("simulation.contacts.hold:CREEP", 1e-3),
    },
    "docs/studies.md": {
        "due to the 2 ms between its samples": code("docs/studies.md", "period = 0.002"),
        "It carries 2 kg": code("docs/studies.md", "mass = 2.0"),
        "carries 0.8 kg": code("docs/studies.md", "0.8"),
    },
    "docs/tutorials/arm_from_urdf.md": {
        "100,000 configurations": code("docs/tutorials/arm_from_urdf.md", "100_000"),
        "a tool of 1 kg": code("docs/tutorials/arm_from_urdf.md", "with 1 kg at the tool"),
        "may not be below 0.6 rad": code("docs/tutorials/arm_from_urdf.md", "# 0.6\n"),
    },
    "docs/tutorials/contacts.md": {
        "forwards with 2 m/s²": code("docs/tutorials/contacts.md", "2.0"),
    },
    "docs/tutorials/control.md": {
        "The robot carries 2 kg": code("docs/tutorials/control.md", "with_payload(2.0")
    },
    "docs/tutorials/identification.md": {
        "a tool of 1.5 kg": code("docs/tutorials/identification.md", "1.5"),
        "at least 98 % of the variance": code("docs/tutorials/identification.md", "r2 > 0.98"),
    },
    "docs/tutorials/own_law.md": {
        "wants 1382 N m": code("docs/tutorials/own_law.md", "# 1382 N m at joint1"),
    },
    "docs/viewer.md": {
        "at any speed from 0.0001 to 10,000 times that of the motion": constant(
            "show.viewer.motion_viewer:_SLOWEST,_FASTEST", 1e-4, 1e4
        ),
    },
}  # fmt: skip


# Numbers in text: with a point, an exponent or thousands, shares, and whole ones with a unit.
NUMBER = re.compile(
    r"(?<![\w.])\d[\d,]*\.\d+|\b\d+e-?\d+|\d ?%|\b\d{1,3}(?:,\d{3})+\b"
    r"|\b\d+ (?:m?rad|mm?|[mnµu]?s|minutes|times|N m|k?Hz|[kKMG]i?B|kg)\b"
)
NAMES = re.compile(  # numbers that are names
    r"Python [\d.]+|CUDA [\d.]+|Apache-[\d.]+"
    r"|(?:[Ss]ections?|equations?|\() ?\d\.\d+(?: to \d\.\d+)?"
)
MADE = ("docs/answers.md", "docs/commands.md", "docs/speed.md", "docs/agreement.md")


def pages() -> list[str]:
    """Pages that people write; others are made, and compared with what makes them."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [x for y in found if (x := y.relative_to(ROOT).as_posix()) not in MADE]


def prose(page: str) -> str:
    """The text of a page in one line: without code, links' targets, parts that are made, and of a
    paper's page without its notation and errata, whose rows name what tests them."""
    text = (ROOT / page).read_text()
    text = re.sub(r"<!-- (\w+):begin -->.*?<!-- \1:end -->", "", text, flags=re.DOTALL)
    if page.startswith("docs/papers/"):
        text = text.partition("<!-- begin: made")[0]
    text = FENCE.sub("", text)
    text = re.sub(r"(?m)^    .*$|<[^>]*>", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.sub(r"\s+", " ", text)
