"""Arguments of a rollout that are arrays on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from appell.compile.gpu.device_arrays import DeviceArray, library_of, on_gpu, on_host
from appell.errors import InputError

_NEEDED = ("shape", "ndim", "reshape")


def array_on_gpu(arguments: Mapping[str, Any], target: str) -> Any:
    """The first array on a GPU among the arguments, whose library makes the results, or None.
    Refused are arrays on a GPU for a rollout on the processor, and those without a shape."""
    example = None
    for name, x in _flat("rollout", arguments):
        if not on_gpu(x):
            continue
        if target != "cuda":
            raise InputError(
                f"{name} is on a GPU ({library_of(x)}), and target={target!r} computes on the "
                "processor; give target='cuda', or copy the array to the host first (x.get() of "
                "CuPy, x.cpu().numpy() of PyTorch, numpy.asarray(x) of JAX)."
            )
        if not all(hasattr(x, attribute) for attribute in _NEEDED):
            raise InputError(
                f"{name} is a {type(x).__name__}, an array on a GPU without {', '.join(_NEEDED)}; "
                "give cupy.asarray(x) or torch.as_tensor(x, device='cuda'), which copy nothing."
            )
        if example is None:
            example = x
    return example


def _flat(name: str, x: Any) -> Iterator[tuple[str, Any]]:
    """What groups of arguments hold, by name."""
    if isinstance(x, Mapping):
        for key, value in x.items():
            yield from _flat(f"{name}: {key}", value)
    elif is_dataclass(x) and not isinstance(x, type):
        for field in fields(x):
            yield from _flat(f"{name}: {field.name}", getattr(x, field.name))
    else:
        yield name, x


def single(what: str, x: Any) -> Any:
    """One number on a GPU as a number of the host; an array, and what is no array, as it is."""
    return on_host(f"rollout: {what}", x) if on_gpu(x) and x.ndim == 0 else x


def compared(x: Any) -> Any:
    """An array that can be compared with numbers, where it is if its library can do so."""
    return x.get() if isinstance(x, DeviceArray) else x
