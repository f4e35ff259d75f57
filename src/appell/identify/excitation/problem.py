"""The best excitation as an optimisation: the graph of the equations, its derivatives by CasADi,
and IPOPT.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import casadi
import numpy as np

from appell.compile.record import Recorded, as_sx
from appell.equations.quantities import QUANTITIES, regressor_named
from appell.identify.excitation.basis import Basis
from appell.identify.excitation.motion_limits import HalfSpace, MotionLimits
from appell.identify.excitation.observation import Observation
from appell.identify.excitation.spectral import Criterion, Spectral
from appell.identify.excitation.within import SLACK
from appell.robots.robot import Array, Robot

Watch = Callable[[int, float], None]

_OBSERVED, _LIMITED = 4, 10  # instants per function of the basis, for the criterion and the limits
_NEARLY = 0.02  # by which a limit may be exceeded in a motion that is worth being made smaller
_MARGIN = 3 * SLACK  # what limits are lessened by, for what happens between the instants
_SMOOTH = 0.02  # of the speed limit: where Coulomb friction passes from one sign to the other


class Problem:
    """Minimise a criterion over x, (d, n), the weights of the basis for each joint."""

    def __init__(
        self, observation: Observation, limits: MotionLimits, criterion: Criterion
    ) -> None:
        robot, basis = observation.robot, observation.basis
        self.shape = basis.d, robot.nv
        self.x = casadi.MX.sym("x", basis.d * robot.nv)
        watched = _OBSERVED * basis.d
        observed = _observed(observation, _SMOOTH * limits.speed)
        W = observed.map(watched)(*self._motion(basis, watched))
        self.measure = Spectral(criterion, (watched, robot.nv, len(observation.columns)))
        self.objective = self.measure(casadi.vec(W))
        self.constraints = _constraints(robot, limits, *self._motion(basis, _LIMITED * basis.d))

    def _motion(self, basis: Basis, instants: int) -> list[Any]:
        """q, v, a, each (n, instants), in the middles of equal parts of the period."""
        t = (np.arange(instants) + 0.5) * basis.duration / instants
        x = casadi.reshape(self.x, *self.shape)
        return [casadi.mtimes(casadi.DM(part), x).T for part in basis(t)]

    def solve(self, start: Array, iterations: int, watch: Watch) -> list[Array]:
        """Better motions than one: where the search ended, and the best on the way that keeps
        within the limits, or nearly so. ``watch`` is told of each iteration."""
        low, high = (
            np.concatenate([np.full(row[0].numel(), row[k]) for row in self.constraints])
            for k in (1, 2)
        )
        steps = _Steps(self.x.numel(), low, high, watch)
        g = casadi.vertcat(*(row for row, _, _ in self.constraints))
        options: dict[str, Any] = {
            "ipopt": {
                "hessian_approximation": "limited-memory",
                "limited_memory_max_history": 6,
                "max_iter": iterations,
                "tol": 1e-4,
                "acceptable_tol": 1e-3,
                "acceptable_obj_change_tol": 1e-4,
                "acceptable_iter": 8,
                "mu_strategy": "adaptive",
                "print_level": 0,
                "sb": "yes",
            },
            "print_time": False,
            "iteration_callback": steps,
            "error_on_fail": False,
        }
        problem = {"x": self.x, "f": self.objective, "g": g}
        solver = casadi.nlpsol("excitation", "ipopt", problem, options)
        with _noted(steps):
            solver(x0=start.ravel(order="F"), lbg=low, ubg=high)
        if steps.problem is not None:
            raise steps.problem
        found = [self._shaped(x) for x in (steps.last, steps.best) if x is not None]
        if steps.interrupted:
            raise Interrupted(found)
        return found

    def _shaped(self, x: Any) -> Array:
        return np.array(x, dtype=float).reshape(self.shape, order="F")


class Interrupted(Exception):
    """The user has seen enough; holds the motions found so far."""

    def __init__(self, found: list[Array]) -> None:
        super().__init__("interrupted")
        self.found = found


@contextmanager
def _noted(steps: _Steps) -> Iterator[None]:
    """Control-C ends the search after its iteration. (Raised within an evaluation it would be
    taken for a failed one, and the search go on.)"""

    def note(*_: Any) -> None:
        steps.interrupted = True

    if threading.current_thread() is not threading.main_thread():
        yield  # no other thread is interrupted
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _SmoothFriction(Recorded):
    """A speed whose sign changes smoothly, so that Coulomb friction has a gradient."""

    __slots__ = ("width",)

    def __init__(self, sx: Any, width: float) -> None:
        super().__init__(sx)
        self.width = width

    def sign(self) -> Recorded:
        return Recorded(casadi.tanh(self.sx / self.width))


def graph(equation: Callable[..., Any], n: int, states: str) -> tuple[list[Any], Any]:
    """CasADi symbols for the states, and what an equation makes of them, as a matrix."""
    symbols = [casadi.SX.sym(name, n) for name in states]
    return symbols, _matrix(equation(*map(_recorded, symbols)))


def _recorded(symbol: Any) -> list[Recorded]:
    return [Recorded(x) for x in casadi.vertsplit(symbol)]


def _matrix(result: Any) -> Any:
    rows = [row if isinstance(row, list) else [row] for row in result]
    return casadi.vertcat(*(casadi.horzcat(*map(as_sx, row)) for row in rows))


def _observed(of: Observation, widths: Array) -> Any:
    """The regressor's columns that count, (n, columns), rows weighted."""
    asked = QUANTITIES[regressor_named(of.friction, of.rotors)]
    q, v, a = symbols = [casadi.SX.sym(name, of.robot.nv) for name in "qva"]
    speeds = [_SmoothFriction(x.sx, w) for x, w in zip(_recorded(v), widths, strict=True)]
    model = of.robot.model
    Y = asked.formulations[asked.default(model)](model, _recorded(q), speeds, _recorded(a))
    weights = casadi.diag(casadi.DM(of.weights))
    W = casadi.mtimes(weights, _matrix(Y)[:, list(of.columns)])
    return casadi.Function("observed", symbols, [casadi.densify(W)])


def _constraints(
    robot: Robot, limits: MotionLimits, q: Any, v: Any, a: Any
) -> list[tuple[Any, Any, Any]]:
    """Each as an expression and its lower and upper bound, all of about the size of one."""
    most = 1 - _MARGIN
    rows = [
        (casadi.vec((q - limits.middle) / limits.half), -most, most),
        (casadi.vec(v / limits.speed), -most, most),
    ]
    some = np.flatnonzero(np.isfinite(limits.acceleration)).tolist()
    if some:
        rows.append((casadi.vec(a[some, :] / limits.acceleration[some]), -most, most))
    some = np.flatnonzero(np.isfinite(limits.torque)).tolist()
    if some:
        tau = _torque(robot).map(q.shape[1])(q, v, a)
        rows.append((casadi.vec(tau[some, :] / limits.torque[some]), -most, most))
    rows += [
        (casadi.vec(_left(robot, room).map(q.shape[1])(q)), _MARGIN, np.inf)
        for room in limits.rooms
    ]
    return rows


def _torque(robot: Robot) -> Any:
    asked = QUANTITIES["inverse_dynamics"].formulations["gibbs_lean"]
    rub = QUANTITIES["friction"].formulations["joints"]

    def tau(q: Any, v: Any, a: Any) -> Any:
        forces, taken = asked(robot.model, q, v, a), rub(robot.model, v)
        return [f + t for f, t in zip(forces, taken, strict=True)]

    symbols, made = graph(tau, robot.nv, "qva")
    return casadi.Function("tau", symbols, [made])


def _left(robot: Robot, room: HalfSpace) -> Any:
    """A CasADi function with the result of `appell.identify.excitation.within.left`."""
    equation = QUANTITIES["forward_kinematics"].formulations["bodies"]
    frame = robot.model.frame(room.frame)
    (q,), T = graph(lambda q: equation(robot.model, q, frame), robot.nv, "q")
    p = casadi.mtimes(T[:3, :], casadi.DM([*room.point, 1.0]))
    return casadi.Function("left", [q], [casadi.dot(p, casadi.DM(room.normal)) - room.offset])


class _Steps(casadi.Callback):
    """What IPOPT tells of its iterations."""

    def __init__(self, variables: int, low: Array, high: Array, watch: Watch) -> None:
        super().__init__()
        self.variables, self.low, self.high, self.watch = variables, low, high, watch
        self.last: Array | None = None
        self.best: Array | None = None
        self.least = np.inf
        self.count = 0
        self.interrupted = False
        self.problem: BaseException | None = None
        self.construct("steps", {})

    def get_n_in(self) -> int:
        return int(casadi.nlpsol_n_out())

    def get_name_in(self, i: int) -> str:
        return str(casadi.nlpsol_out(i))

    def get_sparsity_in(self, i: int) -> Any:
        sizes = {"f": 1, "x": self.variables, "lam_x": self.variables}
        sizes |= {"g": len(self.low), "lam_g": len(self.low)}
        return casadi.Sparsity.dense(sizes.get(self.get_name_in(i), 0), 1)

    def eval(self, arguments: Any) -> Any:
        try:
            self.count += 1
            x, f, g = (np.array(arguments[k]).ravel() for k in range(3))
            self.last = x
            beyond = max((self.low - g).max(), (g - self.high).max())
            if f[0] < self.least and beyond < _NEARLY:
                self.least, self.best = float(f[0]), x
            self.watch(self.count, float(f[0]))
        except KeyboardInterrupt:
            self.interrupted = True
        except Exception as problem:  # CasADi's solver stops at a callback that raises and
            self.problem = problem  # loses the cause; this is raised when the solver is back
        return [int(self.interrupted or self.problem is not None)]
