"""Filters that do not shift signals in time, and derivatives.

Signals are (N, n); what is done is done along time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.robots.robot import Array

_ORDER = 4  # of the Butterworth filter, which runs forwards and backwards
_SETTLED = 5e-4  # of a step: what an end of the record may add to accelerations, twice
_FORGOTTEN = 1e-9  # of the filter's start: multiplied by a speed and the sampling rate, still small
_WINDOW = 5  # samples to either side, of the Hampel filter
_OUTLIER = 6.0  # standard deviations
_HEARD = 0.005  # noise by signal, of the power of accelerations
_FIRST, _BANDS = 4, 60  # bands of the spectrum, from this of its frequencies on: a window's width


def without_outliers(x: Array) -> tuple[Array, Array]:
    """Hampel's filter: samples far off the median of their neighbours are struck, and the gaps
    bridged by straight lines (a median would shift a moving joint). The signal, and where it was
    struck."""
    clean, struck = x.copy(), np.zeros(x.shape, dtype=bool)
    at = np.arange(len(x))
    for j in range(x.shape[1]):
        padded = np.pad(x[:, j], _WINDOW, mode="reflect", reflect_type="odd")
        near = np.lib.stride_tricks.sliding_window_view(padded, 2 * _WINDOW + 1)
        middle = np.median(near, axis=1)
        spread = 1.4826 * np.median(np.abs(near - middle[:, None]), axis=1)
        # A quantised signal may stand still for a window; a step of it is no outlier.
        steps = np.abs(np.diff(x[:, j]))
        least = 2 * max(np.median(steps), steps[steps > 0].min(initial=np.inf))
        struck[:, j] = np.abs(x[:, j] - middle) > _OUTLIER * np.maximum(spread, least)
        good = ~struck[:, j]
        clean[:, j] = np.interp(at, at[good], x[good, j])
    return clean, struck


def low_pass(x: Array, cutoff: float, rate: float) -> Array:
    """Butterworth's filter forwards and backwards: no phase shift, half the power at the cut-off
    (Hz) each time."""
    from scipy.signal import butter, sosfiltfilt

    sections = butter(_ORDER, cutoff, fs=rate, output="sos")
    # Past its ends the signal goes on, mirrored. The filter itself starts at rest: that is a kink,
    # which a second derivative makes large, so it has to be forgotten before the signal begins.
    pad = min(len(x) - 1, _memory(cutoff, rate))
    return sosfiltfilt(sections, x, axis=0, padtype="odd", padlen=pad)


def settling(cutoff: float, rate: float) -> int:
    """Samples after which the low-pass has settled after a step.

    A signal and its mirror image differ in curvature, so what is left of a step is what the end of
    a record adds to accelerations. The count is taken from the filter itself, since near half
    the sampling rate it rings for longer than the period of its cut-off suggests.
    """
    length = _memory(cutoff, rate)
    step = np.repeat([0.0, 1.0], length)[:, None]
    left = np.abs(low_pass(step, cutoff, rate)[length:, 0] - 1)
    return int(np.flatnonzero(left > _SETTLED).max(initial=-1)) + 1


def _memory(cutoff: float, rate: float) -> int:
    """Samples after which nothing of the filter's start is left: its slowest pole says."""
    from scipy.signal import butter

    slowest = np.abs(butter(_ORDER, cutoff, fs=rate, output="zpk")[1]).max()
    return int(np.ceil(np.log(_FORGOTTEN) / np.log(slowest)))


def derivatives(q: Array, period: float) -> tuple[Array, Array]:
    """Speeds and accelerations by central differences of fourth order; two samples at each end
    are NaN."""
    v, a = (np.full_like(q, np.nan) for _ in range(2))
    far, near = q[4:] - q[:-4], q[3:-1] - q[1:-3]
    v[2:-2] = (8 * near - far) / (12 * period)
    far, near = q[4:] + q[:-4], q[3:-1] + q[1:-3]
    a[2:-2] = (16 * near - far - 30 * q[2:-2]) / (12 * period**2)
    return v, a


def chosen_cutoff(q: Array, rate: float) -> float:
    """A cut-off (Hz) up to which noise adds little to the accelerations of a motion.

    The spectrum of an acceleration falls where the motion ends and rises again where noise, such as
    an encoder's steps, begins. From the valley between them on, noise may add up to a small part
    of the motion's power; the median of the joints counts.
    """
    from scipy.signal import detrend
    from scipy.signal.windows import blackmanharris

    window = blackmanharris(len(q), sym=False)[:, None]
    power = np.abs(np.fft.rfft(detrend(q, axis=0) * window, axis=0)) ** 2
    f = np.fft.rfftfreq(len(q), 1 / rate)
    edges = np.unique([1, *np.round(np.geomspace(_FIRST, len(f) - 1, _BANDS)).astype(int)])
    found = [_noise_heard(column, f, edges) for column in power.T]
    return float(np.clip(np.median(found), 4 * f[1], 0.4 * rate))


def _noise_heard(power: Array, f: Array, edges: Any) -> float:
    """The frequency up to which noise adds its part to the acceleration."""
    speed, acceleration = (np.add.reduceat(power * f**k, edges)[:-1] for k in (2, 4))
    peak = int(np.argmax(speed / np.diff(edges)))
    mean = acceleration / np.diff(edges)
    valley = edges[peak + int(np.argmin(mean[peak:]))]
    a = power * f**4
    heard = np.cumsum(a[valley:]) > _HEARD * a[:valley].sum()
    return float(f[valley + np.argmax(heard)] if heard.any() else f[-1])
