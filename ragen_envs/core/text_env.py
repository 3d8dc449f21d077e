"""The Gymnasium environment that every game of the suite extends.

`TextEnv` handles what all games share: whole responses as actions, turns, budgets, penalties and
rewards. A game adds its rules, its texts and its oracle through the hooks of `TextGame`.
"""

from __future__ import annotations

import string
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from ragen_envs.core.arguments import noise_seed_of, one_of, seed_of
from ragen_envs.core.boards import PICTURED, Board, picture
from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import (
    ANSWER_FORMATS,
    BROKEN,
    FEW,
    LINES,
    ActionReader,
    AnswerFormat,
    FreeText,
    Parsed,
    feedback,
    instructions,
)
from ragen_envs.core.rewards import POINTS, RewardFn, Transition, own_reward
from ragen_envs.core.spaces import SharedText
from ragen_envs.core.text_game import I, Info, ResetOptions, TextGame, V
from ragen_envs.core.text_game import by_name as by_name
from ragen_envs.core.tool_calls import Schema
from ragen_envs.core.tools import read_calls, schemas

PRINTABLE = frozenset(string.ascii_letters + string.digits + string.punctuation + " \n")
MAX_OBSERVATION = 4096
"""Maximum characters of an observation that an environment may declare."""
MAX_ACTION = 4096
"""Maximum characters of an action that the action space samples; `step` takes any length."""
_TURN_INFO: Info = dict.fromkeys(
    (
        *("success", "score", "format_is_valid", "action_is_valid", "action_is_effective"),
        *("answer_is_example", "legal_actions", "turn", "actions_left"),
    )
)
"""The first keys of an `info`, in order; `build_info` gives them their values."""


class TextEnv(TextGame[V, I], gymnasium.Env[str, str]):
    """A turn-based text game: one `step` takes the whole response of a language model.

    Args:
        variant: Name from the game's `variants`, or a variant of your own.
        split: "train" (unbounded), "val", "test", "sealed" or "drawn" (`held_out_size` instances
            each: 256, or fewer in a small game). Sealed instances follow from a key in the
            process's environment, see `ragen_envs.core.sealed`; drawn ones from `draw`. A game
            whose instances are all published has neither (`has_sealed`).
        response_format: "think", "answer" or "plain", see `ragen_envs.core.protocol`; or "tools"
            for calls of `functions_now`, written as in `ragen_envs.core.tool_calls`.
        render_mode: None, "ansi" for the state as text, or, in games with a `board`, "rgb_array"
            for a picture.
        reward_fn: Computes the rewards that `step` returns, see `ragen_envs.core.rewards`; None
            for the game's own rewards.
        draw: Key of the drawn split, see `ragen_envs.core.drawn`; None for any other split.
        pictured: Leave the board out of the texts, because `picture` shows it.
        oracle_info: Report all of the oracle's entries of `info` in the train split too. Without
            it, `info` lacks those that take a solver longer than the reset: `ceiling` of
            FrozenLake, Minesweeper and Mastermind. The other splits always have them.

    Attributes:
        budget: Maximum turns and actions per episode.
        response_format: Format of the responses.
        is_running: An episode has started and has not ended.
        instance: Instance of the latest episode; None before the first `reset`.
        instance_info: Entries of `info` that are constant in an episode: "instance", "index" and
            those of `compute_oracle_info`, or of `compute_train_info`.
        oracle_info: The argument; a new value counts from the next `reset`.
        action_reader: Reads the actions of this turn; change it with `change_actions`.
        legal_actions: Names of the actions that are legal in this turn; empty after the end.
        turn: Number of turns taken.
        actions_left: Number of actions that may still be run.
        parsed: Latest response, as parsed.
        action_is_effective: An action of the latest turn changed the state.

    Raises:
        ValueError: An argument with another value, a game without a sealed or drawn split, or
            a picture of a game that has no board.
        TypeError: A reward function that cannot be called.
        SealedKeyError: The split is sealed and the key is missing.
    """

    __slots__ = (
        "_frame",
        "_generator",
        "_has_extra_info",
        "_reward_fn",
        "_template",
        "action_is_effective",
        "action_reader",
        "actions_left",
        "budget",
        "instance",
        "instance_info",
        "is_running",
        "legal_actions",
        "oracle_info",
        "parsed",
        "pictured",
        "response_format",
        "turn",
    )
    metadata = {"render_modes": ["ansi"], "render_fps": 1}
    budget: Budget
    instance_info: Info
    oracle_info: bool
    action_reader: ActionReader
    turn: int
    actions_left: int
    parsed: Parsed
    action_is_effective: bool
    _template: Info

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
        oracle_info: bool = False,
    ) -> None:
        if not (reward_fn is None or callable(reward_fn)):
            raise TypeError(f"reward_fn is a function of a Transition, got {reward_fn!r}")
        super().__init__(variant, split, draw)
        self.response_format = one_of("response_format", response_format, ANSWER_FORMATS)
        modes = (None, *self.metadata["render_modes"])
        self.render_mode = one_of("render_mode", render_mode, modes)
        self.budget = self.variant.budget
        if pictured:
            self._need_board()
        self.pictured = pictured
        self.oracle_info = one_of("oracle_info", oracle_info, (False, True))
        self._reward_fn = reward_fn
        # Sorted, since older versions of Gymnasium sample the characters in this order.
        characters = "".join(sorted(PRINTABLE | self.extra_characters))
        self.observation_space = SharedText(MAX_OBSERVATION, charset=characters)
        characters = "".join(sorted(PRINTABLE))
        self.action_space = SharedText(MAX_ACTION, min_length=0, charset=characters)
        self._has_extra_info = type(self).compute_extra_info is not TextGame.compute_extra_info
        self.is_running = False
        self.legal_actions: tuple[str, ...] = ()
        self.instance: I | None = None
        self._frame: tuple[str, str] | None = None
        self._generator: np.random.Generator | None = None

    # Gymnasium's interface.

    def reset(
        self, *, seed: int | None = None, options: ResetOptions | None = None
    ) -> tuple[str, Info]:
        """Start an episode.

        Args:
            seed: Index of the instance in the split. In all splits but "train" there are
                `held_out_size` instances, and larger seeds wrap around, see `info["index"]`. None
                takes the next seed from `np_random`.
            options: {"noise_seed": j}, where an int j >= 0 changes the noise of the dynamics and
                nothing else.

        Returns:
            The first observation (rules, response format, state) and `info`.

        Raises:
            ValueError: A seed that is a bool, an unknown option, or a noise seed that is not
                an int of at least 0.
            TypeError: Options that are not a dictionary.
            gymnasium.error.Error: Another seed that is not an int of at least 0. After any of
                these errors the running episode continues unchanged.
        """
        observation = self.start_episode(seed_of(seed), noise_seed_of(options))
        return observation, self.build_info()

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Take one response: run its valid actions in order, within the budget.

        Args:
            action: Whole response, any str.

        Returns:
            Observation, reward, terminated (the rules ended the episode), truncated (the budget
            did) and `info`.

        Raises:
            ResetNeeded: No episode is running.
            TypeError: The response is not a str, or the reward function returned no number.
            ValueError: The reward function returned NaN or an infinite number.
        """
        observation, reward, terminated, truncated = self.play_turn(action)
        return observation, reward, terminated, truncated, self.build_info()

    def render(self) -> Any:
        """Return the current state: as text in mode "ansi", as a picture in mode "rgb_array".

        Returns:
            A str, a uint8 array of shape (height, width, 3) in pixels, or None without a mode.

        Raises:
            ResetNeeded: `reset` has not been called.
        """
        if self.render_mode is None:
            return None
        if self.instance is None:
            raise ResetNeeded("call reset() before render()")
        return self.picture() if self.render_mode == "rgb_array" else self.render_state()

    @property
    def _np_random(self) -> np.random.Generator | None:
        """Gymnasium's generator, made at its first use."""
        if self._generator is None and self._np_random_seed is not None:
            self._generator, _ = np_random(self._np_random_seed)
        return self._generator

    @_np_random.setter
    def _np_random(self, generator: np.random.Generator | None) -> None:
        self._generator = generator

    # An episode without the dictionaries of `info`, for vector environments.

    def start_episode(self, seed: int | None, noise_seed: int | None = None) -> str:
        """Start an episode as `reset` does, and return the first observation only."""
        if seed is not None:
            # The generator is made at its first use, since that takes half of a reset's time.
            self._generator, self._np_random_seed = None, seed
        else:
            bound = 1 << 62 if self.split == "train" else self.held_out_size(self.variant.name)
            seed = int(self.np_random.integers(bound))
            if noise_seed is None:
                noise_seed = int(self.np_random.integers(1 << 62))
        instance = self.instance = self.get_instance(seed)
        self.index = seed
        if self.split != "train":
            self.index %= self.held_out_size(self.variant.name)
        self.noise_seed = noise_seed or 0
        self.turn = 0
        self.actions_left = self.budget.max_actions
        self.is_running = True
        self.terminated = self.success = self.action_is_effective = False
        self.parsed = BROKEN
        self.change_actions(self.start_instance(instance))
        is_full = self.oracle_info or self.split != "train"
        compute = self.compute_oracle_info if is_full else self.compute_train_info
        self.instance_info = {
            "instance": instance.digest,
            "index": self.index,
            **compute(instance),
        }
        self._template = {**_TURN_INFO, **self.instance_info}
        if self._frame is None:
            how_to_respond = instructions(self.example, self.response_format)
            self._frame = f"{self.describe_rules()}\n\n", f"\n\n{how_to_respond}"
        before, after = self._frame
        return before + (PICTURED if self.pictured else self.render_state()) + after

    def play_turn(self, action: str) -> tuple[str, float, bool, bool]:
        """Take one response as `step` does, and return all but `info`."""
        if not self.is_running:
            self._need_running()
        if not isinstance(action, str):
            raise TypeError(f"an answer is a str, got {type(action).__name__}")
        budget = self.budget
        parsed = self.parsed = self._parse(action)
        names = self.action_reader.actions
        format_valid, actions, actions_valid, _ = parsed
        count = len(actions)
        if count > 1:
            actions = actions[: self.actions_this_turn]
        points: float = 0 if actions_valid else -budget.penalty
        effective = False
        ran = 0
        for number in actions:
            gain, changed = self.apply_action(number)
            ran += 1
            points += gain
            effective = effective or changed
            if self.terminated:
                break
        self.action_is_effective = effective
        self.turn = turn = self.turn + 1
        self.actions_left = left = self.actions_left - ran
        self.end_turn()
        terminated = self.terminated
        truncated = not terminated and (turn >= budget.max_turns or left <= 0)
        if terminated or truncated:
            self.is_running = False
            self.legal_actions = ()
        run, turns = actions[:ran], budget.max_turns - turn
        result = names, run, count - ran, format_valid, actions_valid, points, turns, left
        line = LINES[result] if len(names) <= FEW else feedback(result)
        reward = points / POINTS
        if self._reward_fn is not None:
            ran_names = tuple(names[number] for number in run)
            info = self.build_info()
            reward = own_reward(
                self._reward_fn,
                Transition(action, ran_names, reward, terminated, truncated, self.success, info),
            )
        state = PICTURED if self.pictured else self.render_state()
        return f"{line}\n{state}", reward, terminated, truncated

    def build_info(self) -> Info:
        """Return a new `info` of the current state."""
        info = self._template.copy()  # a third faster than a new dict
        info["success"] = self.success
        info["score"] = self.compute_score()
        # Unpacked, which is faster than four named fields.
        info["format_is_valid"], _, info["action_is_valid"], info["answer_is_example"] = self.parsed
        info["action_is_effective"] = self.action_is_effective
        info["legal_actions"] = self.legal_actions
        info["turn"] = self.turn
        info["actions_left"] = self.actions_left
        if self._has_extra_info:
            info.update(self.compute_extra_info())
        return info

    # The player's view, which changes nothing.

    def best_actions(self) -> tuple[str, ...]:
        """Return the actions that the oracle takes in this turn.

        Raises:
            ResetNeeded: No episode is running.
        """
        self._need_running()
        return self.find_best_actions()

    def read(self, answer: str) -> tuple[Parsed, tuple[str, ...]]:
        """Parse a response for this turn, without a change to the episode.

        Returns:
            The parsed response, and the names of its known actions.

        Raises:
            ResetNeeded: No episode is running.
        """
        self._need_running()
        parsed = self._parse(answer)
        return parsed, tuple(self.action_reader.actions[i] for i in parsed.actions)

    @property
    def functions_now(self) -> list[Schema]:
        """Schemas of the functions that may be called now, in OpenAI's format; empty at the end."""
        return schemas(self)

    @property
    def free_text(self) -> FreeText | None:
        """The free-text action that is legal in this turn, if there is one."""
        return self.action_reader.free if self.is_running else None

    @property
    def actions_this_turn(self) -> int:
        """Maximum number of actions in this turn."""
        return min(self.budget.max_actions_per_turn, self.actions_left)

    @property
    def turns_left(self) -> int:
        """Number of turns that remain."""
        return self.budget.max_turns - self.turn

    def picture(self) -> NDArray[np.uint8]:
        """Return the current board in colours, of shape (height, width, 3) in pixels.

        Raises:
            ResetNeeded: `reset` has not been called.
            ValueError: The game has no board.
        """
        if self.instance is None:
            raise ResetNeeded("call reset() before picture()")
        return picture(self._need_board(), self.tile_numbers(), self.board_counts())

    # Helpers for games.

    def change_actions(self, reader: ActionReader) -> None:
        """Replace the reader of actions, for games whose actions change from turn to turn."""
        self.action_reader = reader
        self.legal_actions = reader.actions

    def choose_legend(self, symbols: str) -> str:
        """Return the line of the rules that explains the board's symbols or its picture."""
        return self.board.legend if self.pictured and self.board else symbols

    def _parse(self, response: str) -> Parsed:
        if self.response_format == "tools":
            return read_calls(self, self.action_reader, response)
        return self.action_reader.read(response, self.response_format)

    def _need_running(self) -> None:
        if not self.is_running:
            raise ResetNeeded("the episode is over or never began: call reset() first")

    def _need_board(self) -> Board:
        board = self.board
        if board is None:
            raise ValueError(f"{self.variant.name} has no board to picture")
        return board


AnyTextEnv: TypeAlias = TextEnv[Any, Any]
"""An environment of any game."""
