"""Calls around NumPy's machinery give what it gives, and hand over what they do not know."""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ThreadPoolExecutor
from weakref import ref

import numpy as np
import pytest

import appell
from appell.compile.emit import entry
from appell.errors import InputError


@pytest.fixture(scope="module")
def puma():
    return appell.load("puma560")


@pytest.fixture(scope="module")
def states():
    return np.random.default_rng(0).normal(size=(3, 5000, 6))


def quick(kernel, *arguments):
    """What the compiled function gives; None where it hands over."""
    return kernel._entered(lambda *_: None, kernel)(*arguments)


def test_layouts_are_those_expected():
    assert entry.available()  # else every call is right, and slower


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "mass_matrix", "forward_kinematics"])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 9, 64, 513, 4001])
def test_batches_are_those_of_numpy(puma, states, quantity, count):
    kernel = puma.kernel(quantity)
    given = [np.ascontiguousarray(x[:count]) for x in states[: len(kernel.inputs)]]
    found = quick(kernel, *given)
    assert found is not None
    assert found.shape == (count, *kernel.outputs[next(iter(kernel.outputs))])
    np.testing.assert_array_equal(found, kernel.bare(*given))
    np.testing.assert_array_equal(kernel(*given), kernel.bare(*given))


def test_outputs_of_three_axes(puma, states):
    kernel = puma.kernel("mass_matrix", wrt="q")
    found = quick(kernel, np.ascontiguousarray(states[0][:5]))
    assert found.shape == (5, 6, 6, 6)
    for k in range(5):
        np.testing.assert_array_equal(found[k], kernel(states[0][k]))


def test_what_it_does_not_know_is_handed_over(puma, states):
    kernel = puma.kernel("inverse_dynamics")
    q, v, a = (x[:10].copy() for x in states)
    others = {
        "long": [np.tile(x, (4, 1)) for x in states],
        "other counts": [q, v[:9].copy(), a],
        "one state among many": [q, v[0].copy(), a],
        "many among one": [q[0].copy(), v, a],
        "strided": [q[::2], v[::2], a[::2]],
        "single precision": [x.astype(np.float32) for x in (q, v, a)],
        "lists": [q.tolist(), v, a],
        "more axes": [x.reshape(2, 5, 6) for x in (q, v, a)],
        "fewer columns": [q[:, :5].copy(), v, a],
        "Fortran's order": [np.asfortranarray(x) for x in (q, v, a)],
        "swapped bytes": [x.astype(">f8") for x in (q, v, a)],
        "too few": [q, v],
        "none": [None, v, a],
    }
    for what, given in others.items():
        assert quick(kernel, *given) is None, what
    for what in ("strided", "one state among many", "many among one", "lists", "swapped bytes"):
        expected = kernel.bare(*map(np.asarray, others[what]))
        np.testing.assert_array_equal(kernel(*others[what]), expected, err_msg=what)
    with pytest.raises(InputError, match="do not broadcast"):
        kernel(*others["other counts"])
    with pytest.raises(InputError, match="a missing"):
        kernel(q, v)


def test_nan_stays_in_its_row(puma, states):
    q, v, a = (x[:20].copy() for x in states)
    v[3, 2] = np.nan
    found = puma.kernel("inverse_dynamics")(q, v, a)
    assert np.isnan(found[3]).any()
    assert np.isfinite(np.delete(found, 3, axis=0)).all()


def test_a_kernel_goes_when_nobody_holds_it():
    robot = appell.load("two_link")
    kernel = robot.kernel("gravity")
    kernel(np.zeros((3, 2)))
    single = kernel.single()
    gone = ref(kernel)
    del robot, kernel
    gc.collect()
    assert gone() is not None  # the function still runs its code
    np.testing.assert_array_equal(single(np.zeros((3, 2))), single(np.zeros((3, 2))))
    del single
    gc.collect()
    assert gone() is None


def into(kernel, *arguments):
    """What the compiled function writes into its last argument; None where it hands over."""
    return kernel._entered(lambda *_: None, kernel, into=True)(*arguments)


@pytest.mark.parametrize("quantity", ["inverse_dynamics", "mass_matrix", "forward_kinematics"])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 513])
def test_results_are_written_into_a_given_array(puma, states, quantity, count):
    kernel = puma.kernel(quantity)
    given = [np.ascontiguousarray(x[:count]) for x in states[: len(kernel.inputs)]]
    out = np.full((count, *kernel.outputs[next(iter(kernel.outputs))]), np.nan)
    references = sys.getrefcount(out)
    for _ in range(10):
        assert into(kernel, *given, out) is out
    assert sys.getrefcount(out) == references
    np.testing.assert_array_equal(out, kernel.bare(*given))
    out[...] = np.nan
    assert kernel(*given, out=out) is out
    np.testing.assert_array_equal(out, kernel.bare(*given))


def test_an_output_that_it_cannot_write_is_handed_over(puma, states):
    kernel = puma.kernel("inverse_dynamics")
    q, v, a = (x[:10].copy() for x in states)
    room = np.zeros((12, 6))
    locked = np.zeros((10, 6))
    locked.flags.writeable = False
    others = {
        "an input": q,
        "read-only": locked,
        "too short": np.zeros((9, 6)),
        "too long": np.zeros((11, 6)),
        "other type": np.zeros((10, 6), np.float32),
        "strided": np.zeros((20, 6))[::2],
        "list": [[0.0] * 6] * 10,
        "none": None,
    }
    for what, out in others.items():
        assert into(kernel, q, v, a, out) is None, what
    assert into(kernel, q, v, a) is None
    assert into(kernel, q[0], v[0], a[0], np.zeros(6)) is None
    for start in (0, 1, 2):  # the output overlaps an input, or lies just beside one
        both = np.concatenate([room, room])
        x, out = both[start : start + 10], both[10:20]
        assert into(kernel, x, v, a, out) is (None if start else out)
        x[...] = q
        kernel(x, v, a, out=out)
        np.testing.assert_array_equal(out, kernel(q, v, a), err_msg=str(start))
    with pytest.raises(InputError, match="out= does not fit"):
        kernel(q, v, a, out=locked)
    with pytest.raises(InputError, match="takes q, v, a; got 4"):
        kernel(q, v, a, np.zeros((10, 6)))


def test_other_threads_run_meanwhile(puma, states):
    """What takes more than a few microseconds is computed without the interpreter's lock."""
    given = [np.ascontiguousarray(x) for x in states]
    kernel = puma.kernel("inverse_dynamics")
    expected = kernel.bare(*given)
    calls = kernel._entered(lambda *_: None, kernel)

    def often(_):
        return all(np.array_equal(calls(*given), expected) for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(often, range(4)))
