"""The Gymnasium environment that every game of the suite extends.

It has what all games share: whole answers as actions, turns, budgets, penalties and rewards. A
game adds its rules, its text and its oracle through the hooks of `TextGame`.
"""

from __future__ import annotations

import string
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from ragen_envs.core.arguments import one_of, rollout_of, seed_of
from ragen_envs.core.boards import PICTURED, picture
from ragen_envs.core.drawn import checked_key
from ragen_envs.core.feedback import FEW, LINES, feedback
from ragen_envs.core.instances import SPLITS, Split
from ragen_envs.core.protocol import (
    ANSWER_FORMATS,
    BROKEN,
    AnswerFormat,
    instructions,
)
from ragen_envs.core.rewards import POINTS, RewardFn, Transition, own_reward
from ragen_envs.core.running_episode import RunningEpisode
from ragen_envs.core.sealed import open_key
from ragen_envs.core.spaces import SharedText
from ragen_envs.core.text_game import I, V

PRINTABLE = frozenset(string.ascii_letters + string.digits + string.punctuation + " \n")
MAX_OBSERVATION = 4096
"""Characters in the longest observation that an environment may declare."""
MAX_ACTION = 4096
"""Characters in the longest action that the action space samples; `step` takes any length."""


class TextEnv(RunningEpisode[V, I], gymnasium.Env[str, str]):
    """A turn-based text game: one `step` takes the whole answer of a language model.

    Args:
        variant: a name from the game's `variants`, or a variant of your own.
        split: "train" (unbounded), "val", "test", "sealed" or "drawn" (`held_out_size` instances
            each, 256 unless the game has fewer). Sealed ones follow from a key in the process's
            environment, see `ragen_envs.core.sealed`; drawn ones from `draw`.
        response_format: "think", "answer", "plain", see `ragen_envs.core.protocol`, or "tools",
            calls of
            `functions_now` as `ragen_envs.core.tool_calls` writes them.
        render_mode: None, "ansi": `render` returns the state as text, or, for games with a
            `board`, "rgb_array": it returns a picture.
        reward_fn: decides the rewards that `step` returns, see `ragen_envs.core.rewards`; None for
            the
            game's own.
        draw: the key of the drawn split, see `ragen_envs.core.drawn`; None for any other split.
        pictured: whether the texts leave the board out, which `picture` shows.

    Raises:
        ValueError: for an argument with another value, a game without a sealed or drawn split, or
            a picture of a game that has no board.
        TypeError: for a reward function that cannot be called.
        SealedKeyError: if the split is sealed and there is no key.
    """

    __slots__ = ("_frame", "_generator", "_reward_fn", "pictured")
    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(
        self,
        variant: str | V,
        split: Split = "train",
        response_format: AnswerFormat = "think",
        render_mode: str | None = None,
        *,
        reward_fn: RewardFn | None = None,
        draw: str | None = None,
        pictured: bool = False,
    ) -> None:
        if not (reward_fn is None or callable(reward_fn)):
            raise TypeError(f"reward_fn is a function of a Transition, got {reward_fn!r}")
        self.variant: V = self._variant(variant)
        self.split = one_of("split", split, SPLITS)
        self.sealed_key_hash = self._open_key() if split == "sealed" else None
        self.draw = self._draw_key(draw)
        self.response_format = one_of("response_format", response_format, ANSWER_FORMATS)
        self.render_mode = one_of(
            "render_mode", render_mode, (None, *self.metadata["render_modes"])
        )
        self.budget = self.variant.budget
        if pictured and not self.has_board():
            raise ValueError(f"{self.variant.name} has no board, so there is no picture of it")
        self.pictured = pictured
        self._reward_fn = reward_fn
        self.observation_space = SharedText(
            MAX_OBSERVATION, charset=_ordered(PRINTABLE | self._symbols())
        )
        self.action_space = SharedText(MAX_ACTION, min_length=0, charset=_ordered(PRINTABLE))
        self._detailed = self._is_detailed()
        self._running = False
        self._legal = ()
        self._instance = None
        self._frame: tuple[str, str] | None = None
        self._generator: np.random.Generator | None = None

    # What Gymnasium asks for.

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: which instance of the split. In all but "train" the seeds from 0 on enumerate
                the instances (`held_out_size`, mostly 256) and larger ones wrap; `info["index"]`
                says where it landed. Without a seed the next one is drawn from `np_random`.
            options: {"rollout": j} with an int j >= 0 changes the dynamics noise and nothing else.

        Returns:
            The first observation (rules, answer format, state) and `info`.

        Raises:
            ValueError: for a seed that is a bool, an option that is not known, or a rollout that
                is not an int of at least 0.
            TypeError: for options that are not a dictionary.
            gymnasium.error.Error: for another seed that is not an int of at least 0. After any of
                these the episode before goes on as if nothing had been asked.
        """
        observation = self._start(seed_of(seed), rollout_of(options))
        return observation, self._reset_info.copy()

    def _start(self, seed: int | None, rollout: int | None) -> str:
        """Start an episode as `reset` does, and return the first observation alone."""
        if seed is not None:
            # The generator follows when it is first asked for: that takes half of a reset.
            self._generator, self._np_random_seed = None, seed
        else:
            bound = 1 << 62 if self.split == "train" else self.held_out_size(self.variant.name)
            seed = int(self.np_random.integers(bound))
            if rollout is None:
                rollout = int(self.np_random.integers(1 << 62))
        instance = self._instance = self.instance_of(seed)
        self._index = seed
        if self.split != "train":
            self._index %= self.held_out_size(self.variant.name)
        self._rollout = rollout or 0
        self._turn = 0
        self._actions_left = self.budget.max_actions
        self._running = True
        self._terminated = self._success = self._effective = False
        self._parsed = BROKEN
        self._reader = self._begin(instance)
        self._legal = self._reader.actions
        self._figures = {
            "instance": instance.digest,
            "index": self._index,
            **self._oracle(instance),
        }
        self._reset_info = self._info_at_reset()
        if self._frame is None:
            self._frame = f"{self._rules()}\n\n", f"\n\n{self._instructions()}"
        before, after = self._frame
        return before + self._shown() + after

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one answer: run its valid actions in order, within the budgets.

        Args:
            action: the whole answer, any str.

        Returns:
            Observation, reward, terminated (the rules ended the episode), truncated (the budget
            did) and `info`.

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            TypeError: if the answer is not a str, or the reward function returned no number.
            ValueError: if the reward function returned NaN or an infinite number.
        """
        observation, reward, terminated, truncated = self._play(action)
        return observation, reward, terminated, truncated, self._info()

    def _play(self, action: str) -> tuple[str, float, bool, bool]:
        """Take one answer as `step` does, and return all but `info`."""
        if not self._running:
            self._need_running()
        if not isinstance(action, str):
            raise TypeError(f"an answer is a str, got {type(action).__name__}")
        reader, budget = self._reader, self.budget
        parsed = self._parsed = self._parse(action)
        format_valid, actions, actions_valid, _ = parsed
        named = len(actions)
        if named > 1:
            actions = actions[: self.actions_this_turn]
        points: float = 0 if actions_valid else -budget.penalty
        effective = False
        ran = 0
        for move in actions:
            gain, changed = self._apply(move)
            ran += 1
            points += gain
            effective = effective or changed
            if self._terminated:
                break
        self._effective = effective
        self._turn = turn = self._turn + 1
        self._actions_left = left = self._actions_left - ran
        self._end_turn()
        terminated = self._terminated
        truncated = not terminated and (turn >= budget.max_turns or left <= 0)
        if terminated or truncated:
            self._running = False
            self._legal = ()
        names, ran_actions, turns_left = reader.actions, actions[:ran], budget.max_turns - turn
        turn_told = (
            names,
            ran_actions,
            named - ran,
            format_valid,
            actions_valid,
            points,
            turns_left,
            left,
        )
        line = LINES[turn_told] if len(names) <= FEW else feedback(turn_told)
        reward = points / POINTS
        if self._reward_fn is not None:
            ran_names = tuple(names[move] for move in ran_actions)
            info = self._info()
            reward = own_reward(
                self._reward_fn,
                Transition(action, ran_names, reward, terminated, truncated, self._success, info),
            )
        return f"{line}\n{self._shown()}", reward, terminated, truncated

    def render(self) -> Any:
        """Return the present state: as text in mode "ansi", as a picture in mode "rgb_array".

        Returns:
            A str, a uint8 array of shape (height, width, 3) in pixels, or None without a mode.

        Raises:
            ResetNeeded: before the first `reset`.
        """
        if self.render_mode is None:
            return None
        if self._instance is None:
            raise ResetNeeded("call reset() before render()")
        return self.picture() if self.render_mode == "rgb_array" else self._state()

    def picture(self) -> NDArray[np.uint8]:
        """Return the present board in colours, of shape (height, width, 3) in pixels.

        Raises:
            ResetNeeded: before the first `reset`.
            ValueError: if the game has no board.
        """
        if self._instance is None:
            raise ResetNeeded("call reset() before picture()")
        if self.board is None:
            raise ValueError(f"{self.variant.name} has no board, so there is no picture of it")
        return picture(self.board, self.tile_numbers(), self.board_counts())

    def _shown(self) -> str:
        """Return the state as observations have it."""
        return PICTURED if self.pictured else self._state()

    def _legend(self, symbols: str) -> str:
        """Return the line of the rules that says what the board's squares show.

        Args:
            symbols: what it says of the board as text.
        """
        return self.board.legend if self.pictured and self.board else symbols

    @property
    def _np_random(self) -> np.random.Generator | None:
        """Gymnasium's generator, made when it is first asked for."""
        if self._generator is None and self._np_random_seed is not None:
            self._generator, _ = np_random(self._np_random_seed)
        return self._generator

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator | None) -> None:
        self._generator = generator

    def _open_key(self) -> str:
        """Return the hash of the key that seals the instances."""
        self._need_unpublished()
        return open_key()

    def _draw_key(self, draw: str | None) -> str | None:
        """Return the key of the draw, None where the split is another one."""
        if self.split == "drawn":
            self._need_unpublished()
            return checked_key(draw)
        if draw is not None:
            raise ValueError(f"draw goes with the split 'drawn', not with {self.split!r}")
        return None

    def _need_unpublished(self) -> None:
        """Refuse a split of instances that a key decides where all that there are are known."""
        if not self.has_sealed:
            raise ValueError(
                f"{self.variant.name} has no split {self.split!r}, as all of its instances are "
                "public; take 'val' or 'test'"
            )

    def _instructions(self) -> str:
        return instructions(self.example, self.response_format)

    @classmethod
    def _variant(cls, variant: Any) -> Any:
        if not isinstance(variant, str):
            return variant
        return cls.variants[one_of("variant", variant, tuple(cls.variants))]


def _ordered(charset: frozenset[str]) -> str:
    """Return the characters in one order, in which older Gymnasiums keep them when they sample."""
    return "".join(sorted(charset))
