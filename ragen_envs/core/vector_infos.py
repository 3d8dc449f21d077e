"""Batched `infos` of several environments in Gymnasium's layout, built in arrays.

Every key has an array with one entry per environment, and `_key` the mask of the environments that
have the key; the other entries are 0, False or None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragen_envs.core.text_env import TextEnv

Array = NDArray[Any]
Mask = NDArray[np.bool_]


class VectorInfos:
    """Collects infos from the environments' states. Returned arrays are never changed later.

    Args:
        envs: Environments.
    """

    def __init__(self, envs: Sequence[TextEnv[Any, Any]]) -> None:
        self._envs = envs
        # Whether success is all that their scores say, which saves a call for each.
        self._success_is_score = all(
            type(env).compute_score is TextEnv.compute_score for env in envs
        )
        default = TextEnv.compute_extra_info
        self._detailed = [
            i for i, env in enumerate(envs) if type(env).compute_extra_info is not default
        ]
        # Values that are constant in an episode are written at its start and copied at each step.
        self._columns: dict[str, Array] = {}
        self._present: dict[str, Mask] = {}

    def begin(self, i: int) -> None:
        """Write the constants of the episode that environment i has started."""
        env = self._envs[i]
        values = {**env.instance_info, **env.compute_extra_info()}
        for key in values.keys() - self._columns.keys():
            self._columns[key] = _blank(len(self._envs), np.array([values[key]]).dtype)
            self._present[key] = _blank(len(self._envs), np.dtype(np.bool_))
        for key, array in self._columns.items():
            present = self._present[key][i] = key in values
            array[i] = values[key] if present else _blank(1, array.dtype)[0]

    def all(self) -> dict[str, Any]:
        """Return the infos of all environments."""
        self._note_extra_info()
        infos = self._turn_columns(self._envs)
        masks = np.ones((len(infos), len(self._envs)), dtype=np.bool_)
        infos.update({f"_{key}": mask for key, mask in zip(infos, masks, strict=True)})
        for key, array in self._columns.items():
            infos[key], infos[f"_{key}"] = array.copy(), self._present[key].copy()
        return infos

    def of(self, which: list[int]) -> dict[str, Any]:
        """Return the infos of the environments with the given indices; the others are masked."""
        self._note_extra_info()
        columns = self._turn_columns([self._envs[i] for i in which])
        columns.update({key: array[which] for key, array in self._columns.items()})
        infos = {}
        for key, column in columns.items():
            infos[key] = _blank(len(self._envs), column.dtype)
            infos[key][which] = column
            infos[f"_{key}"] = _blank(len(self._envs), np.dtype(np.bool_))
            infos[f"_{key}"][which] = self._present[key][which] if key in self._present else True
        return infos

    def _note_extra_info(self) -> None:
        """Write the games' extra info into its columns."""
        for i in self._detailed:
            for key, value in self._envs[i].compute_extra_info().items():
                self._columns[key][i] = value

    def _turn_columns(self, envs: Sequence[TextEnv[Any, Any]]) -> dict[str, Array]:
        """Return the values that may change in a turn, one array per key."""
        n = len(envs)
        forms, _, actions, examples = zip(*[env.parsed for env in envs], strict=True)
        success = np.fromiter([env.success for env in envs], np.bool_, n)
        if self._success_is_score:
            score = success.astype(np.float64)
        else:
            score = np.fromiter([env.compute_score() for env in envs], np.float64, n)
        return {
            "success": success,
            "score": score,
            "format_is_valid": np.fromiter(forms, np.bool_, n),
            "action_is_valid": np.fromiter(actions, np.bool_, n),
            "action_is_effective": np.fromiter(
                [env.action_is_effective for env in envs], np.bool_, n
            ),
            "answer_is_example": np.fromiter(examples, np.bool_, n),
            "legal_actions": np.fromiter([env.legal_actions for env in envs], np.object_, n),
            "turn": np.fromiter([env.turn for env in envs], np.int64, n),
            "actions_left": np.fromiter([env.actions_left for env in envs], np.int64, n),
        }


def _blank(count: int, dtype: np.dtype[Any]) -> Array:
    """Return an array of 0, False or None."""
    if dtype.kind in "biuf":
        return np.zeros(count, dtype)
    return np.full(count, None)
