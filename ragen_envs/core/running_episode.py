"""The running episode: its state, and what players and `info` read from it."""

from __future__ import annotations

from typing import Any

from gymnasium.error import ResetNeeded

from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import BROKEN, ActionReader, AnswerFormat, FreeText, Parsed
from ragen_envs.core.text_game import I, TextGame, V
from ragen_envs.core.tools import read_calls, schemas


class RunningEpisode(TextGame[V, I]):
    """The part of `TextEnv` that can be asked at any time and changes nothing.

    Attributes:
        budget: turns and actions of an episode.
        response_format: "think", "answer", "plain" or "tools", see `ragen_envs.core.protocol`.
    """

    # What every step reads and writes: slots stay fast after a copy, `__dict__` does not.
    __slots__ = (
        "_actions_left",
        "_detailed",
        "_effective",
        "_figures",
        "_index",
        "_instance",
        "_legal",
        "_parsed",
        "_reader",
        "_reset_info",
        "_rollout",
        "_running",
        "_success",
        "_terminated",
        "_turn",
        "budget",
        "response_format",
    )
    budget: Budget
    response_format: AnswerFormat
    _actions_left: int
    _detailed: bool
    _effective: bool
    _figures: dict[str, Any]
    _instance: I | None
    _legal: tuple[str, ...]
    _parsed: Parsed
    _reader: ActionReader
    _reset_info: dict[str, Any]
    _running: bool
    _terminated: bool
    _turn: int

    def best_actions(self) -> tuple[str, ...]:
        """Return the actions that the oracle would answer with in this turn.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
        """
        self._need_running()
        return self._best_actions()

    def read(self, answer: str) -> tuple[Parsed, tuple[str, ...]]:
        """Return what an answer would say in this turn, and the names of its known actions.

        The episode stays where it is.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
        """
        self._need_running()
        parsed = self._parse(answer)
        return parsed, tuple(self._reader.actions[i] for i in parsed.actions)

    def _parse(self, answer: str) -> Parsed:
        if self.response_format == "tools":
            return read_calls(self, self._reader, answer)
        return self._reader.read(answer, self.response_format)

    @property
    def functions_now(self) -> list[dict[str, Any]]:
        """The functions that may be called now, as OpenAI's API takes them; none after the end."""
        return schemas(self)

    @property
    def free_text(self) -> FreeText | None:
        """The action in the player's own words that may be answered now, beside the listed ones."""
        return self._reader.free if self._running else None

    @property
    def legal_actions(self) -> tuple[str, ...]:
        """The names of the actions that may be answered now; empty after the end."""
        return self._legal

    @property
    def actions_this_turn(self) -> int:
        """How many actions the present turn may run."""
        return min(self.budget.max_actions_per_turn, self._actions_left)

    @property
    def turns_left(self) -> int:
        """How many answers may still be given."""
        return self.budget.max_turns - self._turn

    @property
    def actions_left(self) -> int:
        """How many actions may still be run."""
        return self._actions_left

    def _need_running(self) -> None:
        if not self._running:
            raise ResetNeeded("the episode is over or never began: call reset() first")

    def _info_at_reset(self) -> dict[str, Any]:
        return {
            "success": False,
            "score": self._score(),
            "format_is_valid": BROKEN.format_valid,
            "action_is_valid": BROKEN.actions_valid,
            "action_is_effective": False,
            "answer_is_example": BROKEN.is_example,
            "legal_actions": self._legal,
            "turn": self._turn,
            "actions_left": self._actions_left,
            **self._figures,
            **self._details(),
        }

    def _info(self) -> dict[str, Any]:
        info = self._reset_info.copy()  # a third faster than a new dict
        info["success"] = self._success
        info["score"] = self._score()
        # Unpacked, which is faster than four named fields.
        info["format_is_valid"], _, info["action_is_valid"], info["answer_is_example"] = (
            self._parsed
        )
        info["action_is_effective"] = self._effective
        info["legal_actions"] = self._legal
        info["turn"] = self._turn
        info["actions_left"] = self._actions_left
        if self._detailed:
            info.update(self._details())
        return info
