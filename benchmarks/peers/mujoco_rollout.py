"""MuJoCo's own rollout, in C: the torques given, or computed by the same law, in C as well."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.peers.mujoco import mjcf

Array = Any

# Computed torque with what MuJoCo has: a step's first stage asks, the other three hold. MuJoCo has
# the kinematics of the state when it calls this.
_LAW = """
#include <mujoco/mujoco.h>
#define N 6
static const double *plan; static long steps, calls; static double kp, kd;
void prepare(const double *table, long count, double p, double d)
{ plan = table; steps = count; calls = 0; kp = p; kd = d; }
void law(const mjModel *m, mjData *d)
{
    int j;
    if (calls % 4 == 0) {
        const double *at = plan + 3 * N * ((calls / 4) % steps);
        for (j = 0; j < N; j++)
            d->qacc[j] = at[2*N+j] + kd * (at[N+j] - d->qvel[j]) + kp * (at[j] - d->qpos[j]);
        mj_rne(m, d, 1, d->qfrc_applied);
    }
    calls++;
}
"""


class MuJoCoRollout:
    """Runs of a robot by ``mujoco.rollout``, with Runge and Kutta's steps on one thread."""

    def __init__(self, robot: Any, dt: float) -> None:
        import mujoco
        import mujoco.rollout

        self._all, self.version = mujoco, mujoco.__version__
        xml = mjcf(robot.model).replace("<option ", f'<option integrator="RK4" timestep="{dt!r}" ')
        self.model = mujoco.MjModel.from_xml_string(xml.replace('actuation="disable" ', ""))
        self.data = mujoco.MjData(self.model)

    def _states(self, q: Array, v: Array) -> Array:
        full = self._all.mj_stateSize(self.model, self._all.mjtState.mjSTATE_FULLPHYSICS)
        states = np.zeros((len(q), full))
        states[:, -q.shape[1] - v.shape[1] :] = np.concatenate((q, v), axis=1)
        return states

    def given(self, q: Array, v: Array, tau: Array) -> Callable[[], Array]:
        """() -> the last states, under torques (runs, steps, n)."""
        states, held = self._states(q, v), np.ascontiguousarray(tau)
        spec = int(self._all.mjtState.mjSTATE_QFRC_APPLIED)

        def run() -> Array:
            found, _ = self._all.rollout.rollout(
                self.model, self.data, states, held, control_spec=spec
            )
            return found[:, -1, -q.shape[1] - v.shape[1] :]

        return run

    def under_law(
        self, q: Array, v: Array, plan: Array, kp: float, kd: float
    ) -> Callable[[], Array] | None:
        """() -> the last states, under computed torque along a plan (steps, 3 n) of q, v and a;
        None without a C compiler."""
        compiler = shutil.which("cc")
        if compiler is None:
            return None
        home = Path(self._all.__file__).parent
        with TemporaryDirectory(prefix="appell-benchmarks-") as folder:
            source, library = Path(folder) / "law.c", Path(folder) / "law.so"
            source.write_text(_LAW)
            flags = ["-O3", "-march=native", "-shared", "-fPIC", f"-I{home / 'include'}"]
            files = [str(source), str(next(home.glob("libmujoco.*"))), "-o", str(library)]
            subprocess.run([compiler, *flags, *files], check=True)
            code = ctypes.CDLL(str(library))
        table, states = np.ascontiguousarray(plan), self._states(q, v)

        def run() -> Array:
            numbers = (ctypes.c_long(len(table)), ctypes.c_double(kp), ctypes.c_double(kd))
            code.prepare(ctypes.c_void_p(table.ctypes.data), *numbers)
            self._all.set_mjcb_control(code.law)
            try:
                found, _ = self._all.rollout.rollout(
                    self.model, self.data, states, nstep=len(table)
                )
            finally:
                self._all.set_mjcb_control(None)
            return found[:, -1, -q.shape[1] - v.shape[1] :]

        return run
