"""Checks of the arguments that users pass, with messages that name what is possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from gymnasium.error import Error
from numpy.typing import NDArray

T = TypeVar("T")


def one_of(what: str, value: T, choices: Sequence[T]) -> T:
    """Return the value if it is one of the choices.

    Raises:
        ValueError: The value is not one of the choices.
    """
    if value not in choices:
        raise ValueError(f"{what} {value!r} is unknown; choose one of {list(choices)}")
    return value


def seed_of(seed: Any) -> int | None:
    """Return the seed of `reset` as an int, or None.

    Raises:
        ValueError: A bool.
        gymnasium.error.Error: Any other value that is not an int of at least 0.
    """
    if seed is None:
        return None
    if isinstance(seed, bool):
        raise ValueError(f"a seed is an int of at least 0, got {seed}")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise Error(f"a seed is an int of at least 0, got {seed!r}")
    return int(seed)


def noise_seed_of(options: Any) -> int | None:
    """Return the noise seed in the options of `reset`, or None.

    Raises:
        ValueError: Another option, or a noise seed that is not an int of at least 0.
        TypeError: Options that are not a dictionary.
    """
    if options is None:
        return None
    unknown = sorted((option for option in _dict(options) if option != "noise_seed"), key=repr)
    if unknown:
        raise ValueError(f"unknown reset options {unknown}; the only one is 'noise_seed'")
    return _noise_seed(options["noise_seed"]) if options else None


def vector_seeds(seed: Any, num_envs: int) -> list[int | None]:
    """Return the seed of each of several environments.

    Args:
        seed: Seed of the first environment, increased by 1 for each other; or a sequence; or None.
        num_envs: Number of environments.

    Raises:
        ValueError: A bool, too few or many seeds, or one that `info["index"]` cannot hold.
        gymnasium.error.Error: Any other value that is not an int of at least 0.
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


def vector_options(options: Any, num_envs: int) -> tuple[NDArray[np.bool_], list[int | None]]:
    """Return which of several environments are reset, and the noise seed of each.

    Raises:
        ValueError: An unknown option, too few or many noise seeds or entries of the mask, or a
            noise seed that is not an int of at least 0.
        TypeError: Options that are not a dictionary, or a mask that is not an array of bool.
    """
    mask = np.ones(num_envs, dtype=np.bool_)
    if options is None:
        return mask, [None] * num_envs
    unknown = sorted(_dict(options).keys() - {"reset_mask", "noise_seed"}, key=repr)
    if unknown:
        raise ValueError(
            f"unknown reset options {unknown}; there are 'reset_mask' and 'noise_seed'"
        )
    mask = options.get("reset_mask", mask)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise TypeError(f"the option 'reset_mask' is an array of bool, got {mask!r}")
    if mask.shape != (num_envs,) or not mask.any():
        raise ValueError(
            f"the option 'reset_mask' has shape ({num_envs},) and at least one True, got {mask!r}"
        )
    if "noise_seed" not in options:
        return mask, [None] * num_envs
    several = _members(options["noise_seed"])
    noise_seeds = [options["noise_seed"]] * num_envs if several is None else several
    if len(noise_seeds) != num_envs:
        raise ValueError(
            f"{num_envs} environments need as many noise seeds, got {len(noise_seeds)}"
        )
    return mask, [_noise_seed(value) for value in noise_seeds]


def _noise_seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ValueError(f"the option 'noise_seed' is an int of at least 0, got {value!r}")
    return int(value)


def _dict(options: Any) -> Mapping[Any, Any]:
    if not isinstance(options, Mapping):
        raise TypeError(f"the options of reset are a dictionary, got {options!r}")
    return options


def _members(values: Any) -> list[Any] | None:
    """Return the members of a sequence or array; None for anything else."""
    if isinstance(values, np.ndarray) and values.ndim:
        return list(values.tolist())
    several = isinstance(values, Sequence) and not isinstance(values, str)
    return list(values) if several else None
