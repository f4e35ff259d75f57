"""Robot: a model and its compiled equations."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from appell.dynamics import Array, Dynamics, Numbers, float_kind, kind_of, one_of
from appell.errors import InputError
from appell.model.build import attach
from appell.model.dh import from_dh, link_inertia
from appell.model.model import Model
from appell.model.parameters import (
    groups,
    inertial_parameters,
    names,
    parameter_names,
    with_parameters,
)
from appell.recipe import Recipe, compiled, formulation_named, quantity_named, recorded

if TYPE_CHECKING:
    from typing_extensions import Self

    from appell.compile.count import Operations
    from appell.compile.kernel import Kernel

__all__ = ["Array", "Numbers", "Robot"]


class Robot(Dynamics):
    """A robot that answers for its dynamics: M a + C v + g = tau.

    Arguments are arrays whose last axis counts the joints; leading axes are batches and
    broadcast as in NumPy. Results are float64, or float32 where all arguments are. Units
    are SI and radians. ``qd`` and ``qdd`` are accepted as names for v and a. An equation is
    compiled when it is first used, and kept in the user's cache.
    """

    model: Model

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise InputError(
                f"Robot({model!r}): expected a Model; appell.load reads one by name or from a file."
            )
        super().__init__(model)

    @classmethod
    def from_dh(cls, **table: Any) -> Robot:
        """A chain from Denavit-Hartenberg parameters: see :func:`appell.model.dh.from_dh`."""
        return cls(from_dh(**table))

    # What it is

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The independent joints, in the order of the coordinates."""
        return tuple(joint.name for joint in self.model.joints)

    @property
    def link_names(self) -> tuple[str, ...]:
        """All links, those behind fixed joints too: each is a frame."""
        return tuple(frame.name for frame in self.model.frames)

    @property
    def parameters(self) -> Array:
        """Per moving link m, m c, Ixx, Ixy, Iyy, Ixz, Iyz, Izz about its frame's origin."""
        return inertial_parameters(self.model)

    def parameters_of(self, *, friction: bool = False, rotors: bool = False) -> Array:
        """``parameters``; with ``rotors`` also a robot's that has none, and with ``friction`` the
        joints' viscous and then their Coulomb coefficients after them."""
        return inertial_parameters(self.model, friction=friction, rotors=rotors)

    def parameter_names(
        self, *, friction: bool = False, rotors: bool = False, short: bool = False
    ) -> tuple[str, ...]:
        """What each of them is, as "link2.Izz" and "joint2.viscous"; short, "Izz2" and "fv2"."""
        return parameter_names(self.model, friction=friction, rotors=rotors, short=short)

    def __repr__(self) -> str:
        return f"<Robot {self.name}: {self.nv} joints, {len(self.link_names)} links>"

    # Dynamics

    def inverse_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        a: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        qdd: Numbers | None = None,
        friction: bool = False,
        out: Any = None,
    ) -> Array:
        """Joint forces tau = M a + C v + g, (..., nv); with ``friction``, what the motors must
        give: friction(v) besides."""
        v, a = one_of("v", v, qd), one_of("a", a, qdd)
        # Before out, which may be v, is written.
        taken = self._friction_at(v, (q, v, a)) if friction else None
        tau = self._evaluate("inverse_dynamics", (q, v, a), out)
        return tau if taken is None else np.add(tau, taken, out=out)

    def forward_dynamics(
        self,
        q: Numbers,
        v: Numbers | None = None,
        tau: Numbers | None = None,
        *,
        qd: Numbers | None = None,
        friction: bool = False,
        out: Any = None,
    ) -> Array:
        """Accelerations a, (..., nv), that joint forces tau give; with ``friction``, tau is what
        the motors give and friction(v) is taken from it."""
        v = one_of("v", v, qd)
        if friction:
            kernel = self.kernel("forward_dynamics")
            try:
                taken = self._friction_at(v, (q, v, tau))
                tau = np.subtract(tau, taken)  # type: ignore[arg-type]  # None is explained
            except (TypeError, ValueError) as problem:
                raise kernel.explained([q, v, tau], out, problem) from None
        return self._evaluate("forward_dynamics", (q, v, tau), out)

    def friction(
        self, v: Numbers | None = None, *, qd: Numbers | None = None, out: Any = None
    ) -> Array:
        """What the joints' friction takes, (..., nv): viscous v + coulomb sign(v)."""
        return self._evaluate("friction", (one_of("v", v, qd),), out)

    def _friction_at(self, v: Any, arguments: tuple[Any, ...]) -> Array:
        """Friction in the dtype of the result that it is part of, whatever that of v is."""
        kind = kind_of(arguments)
        return self.friction(v) if kind_of((v,)) == kind else self.kernel("friction", dtype=kind)(v)

    # Its equations

    def kernel(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        dtype: npt.DTypeLike = "float64",
        target: str = "cpu",
        frame: str | None = None,
        parameters: Sequence[str] | str | bool = (),
        wrt: Sequence[str] | str = (),
        regroup: bool = True,
    ) -> Kernel:
        """A quantity's compiled equation.

        ``formulation`` chooses among its equations; ``parameters`` makes groups of the robot's
        numbers inputs ("mass", "com", "inertia", "geometry", "gravity", or True for all), whose
        own values are ``kernel.defaults``; ``wrt`` differentiates by inputs. Inertial parameters
        are regrouped to the fewest that give the same dynamics; ``regroup=False`` takes them as
        they are given, as do kernels with parameters.
        """
        if target != "cpu":
            raise InputError(f"target={target!r}: kernels are made for 'cpu'.")
        kind = float_kind(dtype)
        chosen = groups(parameters)
        by = (wrt,) if isinstance(wrt, str) else names("wrt", wrt)
        self._check_frame(quantity, frame)
        which = formulation_named(quantity, formulation, self.model)
        recipe = Recipe(quantity, which, frame, chosen, by, regroup and not chosen)
        return self._made_once((recipe, kind), lambda: compiled(self.model, recipe, kind))

    def equation(
        self, quantity: str, *, formulation: str | None = None, frame: str | None = None
    ) -> Callable[..., Any]:
        """A quantity's equation as it is written, uncompiled, for scalars of any kind.

        The function takes a sequence of scalars for each input of the quantity, in the robot's
        coordinates: floats, arrays (a batch), SymPy or CasADi symbols. It gives a number, a list,
        or a list of lists. (The functions of ``appell.equations`` themselves take the positions of
        the bodies' joints, which are others where frames are turned, joints mimic others or stand
        in another order, or the base is free.)
        """
        asked = quantity_named(quantity)
        self._check_frame(quantity, frame)
        equation = asked.formulations[formulation_named(quantity, formulation, self.model)]
        extra = (self.model.frame(frame),) if asked.frame else ()
        sizes = {x: self.model.nq if x == "q" else self.model.nv for x in asked.inputs}

        def of_scalars(*states: Any) -> Any:
            if [len(x) for x in states] != [*sizes.values()]:
                given = ", ".join(str(len(x)) for x in states) or "nothing"
                wanted = ", ".join(f"{name} of {n}" for name, n in sizes.items())
                raise InputError(f"{quantity} of '{self.name}': expected {wanted}; got {given}.")
            return equation(self.model, *states, *extra)

        return of_scalars

    def default_formulation(self, quantity: str) -> str:
        """The equation that computes a quantity fastest for this robot."""
        return formulation_named(quantity, None, self.model)

    def operations(
        self,
        quantity: str,
        *,
        formulation: str | None = None,
        frame: str | None = None,
        regroup: bool = True,
    ) -> Operations:
        """How many multiplications, additions, ... one evaluation takes; ``regroup=False`` counts
        with the inertial parameters as they are given."""
        from appell.compile.count import count

        self._check_frame(quantity, frame)
        which = formulation_named(quantity, formulation, self.model)
        return count(recorded(self.model, Recipe(quantity, which, frame, (), (), regroup)))

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
        link: str | None = None,
    ) -> Self:
        """The robot carrying a load, whose centre of mass and inertia about it are given in the
        frame of the link that holds it (the tip without a name)."""
        frame = self.model.frame(link, "link")
        load = link_inertia("payload", mass, com, inertia)
        return self._with_model(attach(self.model, load, frame))

    def with_parameters(
        self, parameters: Numbers, *, friction: bool = False, rotors: bool = False
    ) -> Self:
        """The robot with other inertial parameters, given as :meth:`parameters_of` lists them;
        refused if a link can have no such inertia."""
        given = np.asarray(parameters, dtype=float)
        changed = with_parameters(self.model, given, friction=friction, rotors=rotors)
        return self._with_model(changed)

    def to_urdf(self, path: str | os.PathLike[str]) -> Path:
        """Write the robot to a .urdf file, which ``appell.load`` reads back to the same dynamics;
        see :mod:`appell.model.urdf_writer`. A file that is there is replaced."""
        from appell.model.urdf_writer import write_urdf

        if self.nv != self.model.nv:
            raise InputError(f"'{self.name}' has loops, which a URDF file cannot say.")
        return write_urdf(self.model, path)

    def selfcheck(self, states: int = 100, seed: int = 0) -> Any:
        """Check compiled kernels against the equations on floats and against laws of physics."""
        from appell.selfcheck import selfcheck

        return selfcheck(self, states, seed)

    def _check_frame(self, quantity: str, frame: Any) -> None:
        if quantity_named(quantity).frame:
            self.model.frame(frame)
        elif frame is not None:
            raise InputError(f"{quantity} is asked of no frame; leave out frame={frame!r}.")
