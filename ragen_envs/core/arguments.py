"""Checks of the arguments that users pass, with messages that name what is possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np
from gymnasium.error import Error
from numpy.typing import NDArray

T = TypeVar("T")


def one_of(what: str, value: T, choices: Sequence[T]) -> T:
    """Return the value, or raise a ValueError if it is not one of the choices."""
    if value not in choices:
        raise ValueError(f"{what} {value!r} is unknown; choose one of {list(choices)}")
    return value


def seed_of(seed: object) -> int | None:
    """Return the seed of `reset` as an int, or None.

    A bool is a ValueError, any other value that is not an int of at least 0 Gymnasium's Error.
    """
    if seed is None:
        return None
    if isinstance(seed, bool):
        raise ValueError(f"a seed is an int of at least 0, got {seed}")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise Error(f"a seed is an int of at least 0, got {seed!r}")
    return int(seed)


def noise_seed_of(options: object) -> int | None:
    """Return the noise seed in the options of `reset`, or None."""
    if options is None:
        return None
    read = _read_options(options, ("noise_seed",), "the only one is 'noise_seed'")
    return _noise_seed(read["noise_seed"]) if read else None


def vector_seeds(seed: object, num_envs: int) -> list[int | None]:
    """Return the seed of each of several environments.

    An int is the seed of the first one, increased by 1 for each other. Errors are those of
    `seed_of`, and a ValueError for too few or many seeds or one that `info["index"]` cannot hold.
    """
    several = _members(seed)
    if several is not None:
        seeds = [seed_of(member) for member in several]
    else:
        first = seed_of(seed)
        seeds = [None if first is None else first + i for i in range(num_envs)]
    if len(seeds) != num_envs:
        raise ValueError(f"{num_envs} environments need as many seeds, got {len(seeds)}")
    if any(member is not None and member >= 1 << 63 for member in seeds):
        raise ValueError("a vector environment's seeds are below 2**63, as infos hold them")
    return seeds


def vector_options(options: object, num_envs: int) -> tuple[NDArray[np.bool_], list[int | None]]:
    """Return which of several environments are reset, and the noise seed of each."""
    read = _read_options(
        {} if options is None else options,
        ("reset_mask", "noise_seed"),
        "there are 'reset_mask' and 'noise_seed'",
    )
    mask = read.get("reset_mask", np.ones(num_envs, dtype=np.bool_))
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise TypeError(f"the option 'reset_mask' is an array of bool, got {mask!r}")
    if mask.shape != (num_envs,) or not mask.any():
        raise ValueError(
            f"the option 'reset_mask' has shape ({num_envs},) and at least one True, got {mask!r}"
        )
    if "noise_seed" not in read:
        return mask, [None] * num_envs
    several = _members(read["noise_seed"])
    noise_seeds = [read["noise_seed"]] * num_envs if several is None else several
    if len(noise_seeds) != num_envs:
        raise ValueError(
            f"{num_envs} environments need as many noise seeds, got {len(noise_seeds)}"
        )
    return mask, [_noise_seed(value) for value in noise_seeds]


def _noise_seed(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueError(f"the option 'noise_seed' is an int of at least 0, got {value!r}")
    return int(value)


def _read_options(options: object, known: Sequence[str], choice: str) -> Mapping[str, object]:
    """Return the options of `reset`; ValueError for an unknown one, TypeError for no dictionary."""
    if not isinstance(options, Mapping):
        raise TypeError(f"the options of reset are a dictionary, got {options!r}")
    if unknown := sorted((option for option in options if option not in known), key=repr):
        raise ValueError(f"unknown reset options {unknown}; {choice}")
    return options


def _members(values: object) -> list[object] | None:
    """Return the members of a sequence or array; None for anything else."""
    if isinstance(values, np.ndarray) and values.ndim:
        return list(values.tolist())
    return [*values] if isinstance(values, Sequence) and not isinstance(values, str) else None
