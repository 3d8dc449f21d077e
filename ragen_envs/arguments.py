"""Arguments of users, refused in words that say what is possible."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def one_of(what: str, value: T, choices: Sequence[T]) -> T:
    """Return the value if it is one of the choices.

    Raises:
        ValueError: if it is none of them.
    """
    if value not in choices:
        raise ValueError(f"{what} {value!r} is unknown; choose one of {list(choices)}")
    return value


def rollout_of(options: dict[str, Any] | None) -> int | None:
    """Return the rollout that `reset` was asked for, or None if it was asked for none.

    Raises:
        ValueError: for another option, or if the rollout is no int of at least 0.
    """
    if not options:
        return None
    unknown = sorted((option for option in options if option != "rollout"), key=repr)
    if unknown:
        raise ValueError(f"unknown reset options {unknown}; the only one is 'rollout'")
    rollout = options["rollout"]
    if isinstance(rollout, bool) or not isinstance(rollout, int) or rollout < 0:
        raise ValueError(f"the option 'rollout' is an int of at least 0, got {rollout!r}")
    return rollout


def vector_seeds(seed: Any, num_envs: int) -> list[int | None]:
    """Return the seed of each of several environments.

    Args:
        seed: an int for the first, whose successors are the others'; or a sequence; or None.
        num_envs: how many there are.

    Raises:
        ValueError: for a bool, too few or many seeds, or one that `info["index"]` cannot hold.
    """
    if isinstance(seed, bool):
        raise ValueError(f"a seed is an int of at least 0, got {seed}")
    if seed is None:
        return [None] * num_envs
    if isinstance(seed, int | np.integer):
        seeds: list[int | None] = [int(seed) + i for i in range(num_envs)]
    else:
        seeds = _as_list(seed)
    if len(seeds) != num_envs:
        raise ValueError(f"{num_envs} environments need as many seeds, got {len(seeds)}")
    if any(isinstance(each, int) and each >= 1 << 63 for each in seeds):
        raise ValueError("a vector environment's seeds are below 2**63, as infos hold them")
    return seeds


def vector_options(
    options: dict[str, Any] | None, num_envs: int
) -> tuple[NDArray[np.bool_], list[dict[str, Any] | None]]:
    """Return which of several environments are reset, and the options of each.

    Raises:
        ValueError: for an unknown option, or too few or many rollouts or entries of the mask.
        TypeError: for a mask that is no array of bool.
    """
    mask = np.ones(num_envs, dtype=np.bool_)
    if not options:
        return mask, [None] * num_envs
    unknown = sorted(options.keys() - {"reset_mask", "rollout"}, key=repr)
    if unknown:
        raise ValueError(f"unknown reset options {unknown}; there are 'reset_mask' and 'rollout'")
    mask = options.get("reset_mask", mask)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        raise TypeError(f"the option 'reset_mask' is an array of bool, got {mask!r}")
    if mask.shape != (num_envs,) or not mask.any():
        raise ValueError(
            f"the option 'reset_mask' has shape ({num_envs},) and at least one True, got {mask!r}"
        )
    if "rollout" not in options:
        return mask, [None] * num_envs
    rollouts = _as_list(options["rollout"], num_envs)
    if len(rollouts) != num_envs:
        raise ValueError(f"{num_envs} environments need as many rollouts, got {len(rollouts)}")
    return mask, [{"rollout": rollout} for rollout in rollouts]


def _as_list(values: Any, count: int = 1) -> list[Any]:
    """Return the members of a sequence or array; anything else so many times."""
    if isinstance(values, np.ndarray):
        return list(values.tolist())
    several = isinstance(values, Sequence) and not isinstance(values, str)
    return list(values) if several else [values] * count
