"""Times of samples: even, without gaps, or an error that says where they are not."""

from __future__ import annotations

import numpy as np

from appell.errors import InputError
from appell.robots.robot import Array

_JITTER = 0.05  # of the period: more of it is felt in accelerations
_GAP = 1.5  # periods
_FEWEST = 20


def period(t: Array, origin: str, *, resample: bool) -> float:
    """The time from sample to sample, s. With ``resample`` jitter and short gaps are allowed."""
    if len(t) < _FEWEST:
        raise InputError(f"{origin}: {len(t)} samples; expected {_FEWEST} or more.")
    step = np.diff(t)
    same = np.flatnonzero(step == 0)
    if len(same):
        raise InputError(
            f"{origin}: samples {same[0] + 1} and {same[0] + 2} have the same time, {t[same[0]]:g} "
            f"s (and {len(same) - 1} more pairs do); delete the duplicates."
        )
    back = np.flatnonzero(step < 0)
    if len(back):
        k = back[0]
        raise InputError(
            f"{origin}: time goes back from {t[k]:g} s to {t[k + 1]:g} s at sample {k + 2}; "
            "expected samples in the order of time (are these several runs in one file?)."
        )
    usual = float(np.median(step))
    if resample and step.max() <= 5 * usual:
        return float((t[-1] - t[0]) / (len(t) - 1))
    gap = np.flatnonzero(step > _GAP * usual)
    if len(gap):
        k = gap[0]
        raise InputError(
            f"{origin}: a gap of {step[k]:.4g} s after {t[k]:g} s, where samples come every "
            f"{usual:.4g} s (and {len(gap) - 1} more gaps); observe the parts one by one"
            + (", or say resample=True (--resample)." if step.max() <= 5 * usual else ".")
        )
    jitter = float(np.abs(step - usual).max() / usual)
    if jitter > _JITTER:
        raise InputError(
            f"{origin}: intervals between samples go from {step.min():.4g} to {step.max():.4g} s, "
            f"{100 * jitter:.0f} % off {usual:.4g} s; expected even sampling, within "
            f"{100 * _JITTER:.0f} %: is t in the unit it says? Or say resample=True (--resample)."
        )
    return float((t[-1] - t[0]) / (len(t) - 1))


def evenly(t: Array, x: Array, step: float) -> Array:
    """A signal at even times from t[0] on, by a cubic spline."""
    from scipy.interpolate import CubicSpline

    at = np.minimum(t[0] + step * np.arange(len(t)), t[-1])
    return CubicSpline(t, x)(at)
