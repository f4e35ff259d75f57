"""Random numbers by counting: the same run and step give the same numbers, wherever that is.

Philox 2x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011):
ten rounds of one multiplication scramble a counter of two words of 32 bits by a key of one.
"""

from __future__ import annotations

from appell.compile.lower import Real, Value, step

ROUNDS, MULTIPLIER, WEYL = 10, 0xD256D193, 0x9E3779B9
_WORD = 2**32 - 1


def uniform(
    real: Real, run: Value, runs: Value, at: Value, ats: Value, key: Value, keys: Value
) -> Value:
    """A number between 0 and 1, neither of them: from a run's number, a step's and a key. Each of
    these has two halves, lower and upper, whole numbers below 2^16 that single precision holds."""
    left, right, k = (_word(real, low, high) for low, high in ((run, runs), (at, ats), (key, keys)))
    for _ in range(ROUNDS):
        product = left * MULTIPLIER
        left, right = (product >> 32) ^ k ^ right, product & _WORD
        k = (k + WEYL) & _WORD
    return _between(real, left, right)


def _word(real: Real, low: Value, high: Value) -> Value:
    return _whole(real, high) << 16 | _whole(real, low)


def _whole(real: Real, x: Value) -> Value:
    """A number below 2^16 as a word."""
    return step("wide", (x + 2.0**real.fraction).bits & (2**16 - 1))


def _between(real: Real, left: Value, right: Value) -> Value:
    """The uppermost bits as the fraction of a number, in the middle of its interval."""
    fraction = left << 20 | right >> 12 if real.bits == 64 else left >> 9  # 52 bits, or 23
    one_to_two = (step("narrow", fraction) | real.power_bits(0)).number
    return (one_to_two - 1.0) + 2.0 ** -(real.fraction + 1)
