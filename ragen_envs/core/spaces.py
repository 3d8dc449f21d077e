"""A space of texts that `gymnasium.vector.AsyncVectorEnv` can pass between its processes.

Gymnasium's shared memory for `Text` is decoded once, when the vector environment is made, so
`reset` and `step` would always return the texts of that moment. The functions here, registered for
`SharedText`, return a live view of the memory; a copy of the view has the current texts.
"""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Sequence
from typing import Any, TypeAlias, overload

import numpy as np
from gymnasium.spaces import Text
from gymnasium.vector.utils import (
    batch_differing_spaces,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from numpy.typing import NDArray

Memory: TypeAlias = Any
"""A synchronized array of C ints, which is not a buffer in NumPy's stubs."""
Slots = NDArray[np.int32]
"""One row a text, of shape (texts, 1 + max_length): its length, then its code points."""
_CODEC = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"


class SharedText(Text):
    """Gymnasium's `Text`, with shared memory that works; equal to a `Text` of the same texts."""

    def __repr__(self) -> str:
        return f"Shared{super().__repr__()}"


class TextView(Sequence[str]):
    """A sequence of the texts in shared memory, decoded at each access; a copy is a tuple."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots

    def __len__(self) -> int:
        return len(self._slots)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(map(_text_of, self._slots[index]))
        return _text_of(self._slots[index])

    def __copy__(self) -> tuple[str, ...]:
        return self[:]

    def __deepcopy__(self, memo: object) -> tuple[str, ...]:
        return self[:]

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self[:]!r}"


def _text_of(slot: Slots) -> str:
    return slot[1 : 1 + slot[0]].tobytes().decode(_CODEC, "surrogatepass")


def _slots_of(space: SharedText, memory: Memory) -> Slots:
    return np.frombuffer(memory.get_obj(), dtype=np.int32).reshape(-1, 1 + space.max_length)


@create_shared_memory.register(SharedText)
def _create(space: SharedText, n: int = 1, ctx: Any = multiprocessing) -> Memory:
    return ctx.Array(np.dtype(np.int32).char, n * (1 + space.max_length))


@read_from_shared_memory.register(SharedText)
def _read(space: SharedText, shared_memory: Memory, n: int = 1) -> TextView:  # noqa: ARG001
    return TextView(_slots_of(space, shared_memory))


@write_to_shared_memory.register(SharedText)
def _write(space: SharedText, index: int, value: str, shared_memory: Memory) -> None:
    if len(value) > space.max_length:
        raise ValueError(
            f"environment {index} returned a text of {len(value)} characters, and its space holds "
            f"{space.max_length} at most: give the space a larger max_length"
        )
    slot = _slots_of(space, shared_memory)[index]
    slot[1 : 1 + len(value)] = np.frombuffer(value.encode(_CODEC, "surrogatepass"), dtype=np.int32)
    slot[0] = len(value)


# The look-up uses the exact type, so the function registered for `Text` does not apply.
batch_differing_spaces.register(SharedText, batch_differing_spaces.dispatch(Text))
