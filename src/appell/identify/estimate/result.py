"""What an identification found, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from appell.errors import ModelError
from appell.identify.base.base_parameters import Base
from appell.robots.dynamics import Forces
from appell.robots.known_torques import known_torques
from appell.robots.robot import Array


@dataclass(frozen=True)
class Fit:
    """Estimates, in SI units.

    Attributes:
        method: By which they were made.
        parameters: All standard ones, as ``nominal.parameters_of`` lists them: of all that have the
            estimated base, those nearest to the prior (for "pinv", the shortest).
        base: The base parameters, named and grouped as ``basis`` says.
        covariance: Of these.
        noise: The standard deviation of each joint's torque, N m or N.
        residuals: The rms of what the estimate leaves, N m or N.
        condition: Of the observation matrix.
        undetermined: Names of base parameters that the data do not determine: they stay at the
            prior.
        samples: How many.
        basis: A `Base`.
        nominal: The robot that was given.
        prior: Standard parameters.
        faults: Why bodies cannot have these parameters.
        chosen: What the method chose.
        extra: What no robot's parameter is: offsets, Stribeck's friction.
        extra_std: Standard deviations of these.
    """

    method: str
    parameters: Array
    base: Array
    covariance: Array
    noise: Array
    residuals: Array
    condition: float
    undetermined: tuple[str, ...]
    samples: int
    basis: Base
    nominal: Any = field(repr=False)
    prior: Array = field(repr=False)
    faults: tuple[str, ...] = ()
    chosen: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Array] = field(default_factory=dict)
    extra_std: dict[str, Array] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the base parameters, each by the one that leads its sum."""
        return self.basis.names

    @property
    def std(self) -> Array:
        """Standard deviations of the base parameters, in SI units."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    @property
    def relative_std(self) -> Array:
        """Standard deviations divided by the absolute values of the estimates, no unit."""
        size = np.abs(self.base)
        return np.divide(self.std, size, out=np.full_like(size, np.inf), where=size > 0)

    @property
    def physical(self) -> bool:
        """Whether bodies can have these parameters; ``faults`` says why not."""
        return not self.faults

    @cached_property
    def robot(self) -> Any:
        """The robot with the estimated parameters."""
        if self.faults:
            raise ModelError(
                f"the estimate by method={self.method!r} is no robot: {self.faults[0]} "
                + (f"({len(self.faults) - 1} more in fit.faults.) " if len(self.faults) > 1 else "")
                + 'Estimate with method="sdp" or "log_cholesky", which find only parameters that '
                "bodies can have, or with data that excite the robot more."
            )
        return self.nominal.with_parameters(self.parameters, **self.basis.flags)

    def predict(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        *,
        forces: Forces = None,
        axes: str = "base",
    ) -> Array:
        """The torques that the estimate predicts, offsets and Stribeck's friction included; with
        external forces, tau = Y p - J^T w.

        Args:
            q: Coordinates, (..., nq), rad or m.
            v: Speeds, (..., nv), rad/s or m/s.
            a: Accelerations, (..., nv), rad/s^2 or m/s^2.
            forces: External wrenches by frame, (..., 6), N and N m.
            axes: Of these wrenches: "base", or "local" for each frame's own.

        Returns:
            Torques, (..., nv), N m or N.

        Examples:
            >>> robot = appell.load("planar_chain", n=2)
            >>> q, v, a = appell.identify.random_states(robot, 50)
            >>> fit = appell.identify.fit(robot, q, v, a, robot.inverse_dynamics(q, v, a))
            >>> np.allclose(fit.predict(q, v, a), robot.inverse_dynamics(q, v, a))
            True
        """
        tau = self.nominal.regressor(q, v, a, **self.basis.flags) @ self.parameters
        tau = tau + known_torques(self.nominal, q, forces, axes)
        if "offset" in self.extra:
            tau = tau + self.extra["offset"]
        if "stribeck" in self.extra:
            from appell.identify.estimate.stribeck import bump

            speed = np.asarray(v, dtype=float)
            shape = bump(speed, self.extra["speed"], self.extra["exponent"])
            tau = tau + self.extra["stribeck"] * shape
        return tau

    def table(self) -> str:
        """The base parameters with their standard deviations, and the residuals by joint.

        Returns:
            A text of several lines.

        Examples:
            >>> robot = appell.load("planar_chain", n=2)
            >>> q, v, a = appell.identify.random_states(robot, 50)
            >>> fit = appell.identify.fit(robot, q, v, a, robot.inverse_dynamics(q, v, a))
            >>> print(fit.table().splitlines()[0].split())
            ['estimate', 'std', 'std/|x|', 'prior']
        """
        prior = self.basis.matrix @ self.prior
        width = max(5, *map(len, self.names))
        rows = [f"{'':<{width}}  {'estimate':>12} {'std':>10} {'std/|x|':>8} {'prior':>12}"]
        for name, x, s, r, p in zip(
            self.names, self.base, self.std, self.relative_std, prior, strict=True
        ):
            share = f"{100 * r:7.2f}%" if r < 10 else "  large "
            note = "  not determined" if name in self.undetermined else ""
            rows.append(f"{name:<{width}}  {x:12.6g} {s:10.2g} {share} {p:12.6g}{note}")
        for name, values in self.extra.items():
            deviations = self.extra_std.get(name, np.full_like(values, np.nan))
            rows += [
                f"{f'{name} {j}':<{width}}  {x:12.6g} {s:10.2g}"
                for j, (x, s) in enumerate(zip(values, deviations, strict=True), start=1)
            ]
        left = ", ".join(f"{x:.3g}" for x in self.residuals)
        return "\n".join([*rows, f"residual rms by joint: {left}"])

    def __repr__(self) -> str:
        state = "physical" if self.physical else f"{len(self.faults)} not physical"
        open_ = f", {len(self.undetermined)} undetermined" if self.undetermined else ""
        return (
            f"<Fit {self.method} of {self.nominal.name}: {len(self.base)} base parameters from "
            f"{self.samples} samples, condition {self.condition:.3g}, {state}{open_}, residual rms "
            f"{np.array2string(self.residuals, precision=3, separator=', ')}>"
        )
