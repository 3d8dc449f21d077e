"""One session of an OpenEnv server: its messages, and an episode of any text environment."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn
from uuid import uuid4

from gymnasium.error import ResetNeeded
from openenv.core.env_server import Action, Environment, Observation, State
from openenv.core.env_server.types import EnvironmentMetadata
from pydantic import Field
from typing_extensions import TypedDict

from ragen_envs.core.instances import Split
from ragen_envs.integrations.bridging import Episode
from ragen_envs.integrations.openenv.served import FailedError, RefusedError, Served

_LOG = logging.getLogger(__name__)
_DOCUMENTATION = "https://ragen-bench.github.io/ragen-bench/openenv/"
PREVIEW = 1024
"""Number of tasks listed of a large split; ranges give the others."""
MAX_RANGE = 4096
"""Maximum number of tasks in one range."""
_KINDS = {"train": "train", "val": "validation"}


class TextAction(Action):  # type: ignore[misc]  # which has no types
    """A model's whole response."""

    message: str = Field(description="The player's whole response")


class TextInfo(TypedDict, total=False):
    """Information next to the text; each key is present if the environment has it."""

    legal_actions: list[str]
    turn: int
    actions_left: int
    format_is_valid: bool
    action_is_valid: bool
    action_is_effective: bool
    success: bool
    score: float


class TextObservation(Observation):  # type: ignore[misc]  # which has no types
    """The next observation, and the result of the response."""

    text: str = Field(description="The next observation")
    terminated: bool = Field(default=False, description="Whether the rules ended the episode")
    truncated: bool = Field(default=False, description="Whether the budget ended it")
    info: TextInfo = Field(
        default_factory=TextInfo,
        description="Legal actions, flags of the response; success and score at the end only",
    )


class TextState(State):  # type: ignore[misc]  # which has no types
    """The state of a session, without the instance's content."""

    env: str = Field(description="The environment's id")
    split: str | None = Field(default=None, description="Split of the instance")
    seed: int | None = Field(
        default=None, description="Index of the instance in the split; None in the sealed split"
    )
    noise_seed: int | None = Field(default=None, description="Noise seed")
    response_format: str = Field(description="Format of the responses")
    done: bool = Field(default=False, description="Whether the episode is over")
    total_reward: float = Field(default=0.0, description="The sum of the rewards so far")
    success: bool | None = Field(
        default=None, description="Whether the episode was a success, at its end"
    )


def make_text_info(info: Mapping[str, object]) -> TextInfo:
    """Return an episode's `info` in plain types; values of other types are left out."""
    found: dict[str, object] = {}
    for name, value in info.items():
        try:
            found[_RENAMED.get(name, name)] = _PLAIN[name](value)
        except (TypeError, ValueError):
            continue
    return found  # type: ignore[return-value]  # its keys are those of `_PLAIN`


def _texts(values: Iterable[str]) -> list[str]:
    texts = list(values)
    if isinstance(values, str) or not all(issubclass(kind, str) for kind in {*map(type, texts)}):
        raise TypeError("not texts")
    return texts


_PLAIN: dict[str, Callable[[Any], object]] = {
    "legal_actions": _texts,
    "turn": int,
    "actions_left": int,
    "format_is_valid": bool,
    "action_is_valid": bool,
    "action_is_effective": bool,
    "success": bool,
    "is_success": bool,
    "score": float,
}
_RENAMED = {"is_success": "success"}


class TextEnvironment(Environment[TextAction, TextObservation, TextState]):  # type: ignore[misc]  # which has no types
    """A session: successive episodes of the served splits, and OpenEnv's task provider.

    A task is `{"id": "test-12", "split": "test", "index": 12}`, without its content; its index goes
    to `reset`.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, served: Served) -> None:
        super().__init__()
        self._served = served
        self._episode: Episode | None = None  # made at the first reset
        self._split: Split = served.default
        self._id: str | None = None
        self._closed = False

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        index: int | None = None,
        split: str | None = None,
        noise_seed: int = 0,
        **unknown: object,
    ) -> TextObservation:
        """Start an episode of a split, by default of the first served one.

        `index` is the task API's name of `seed`, the instance; without both it is random. Rollouts
        of a group differ in their noise seed. `episode_id` is the episode's name in `state`, random
        by default.

        Raises:
            RefusedError: An argument is unknown or out of range. The current episode continues.
            FailedError: The environment raised an error, which the server logs.
        """
        if self._closed:
            raise RefusedError("the session was idle and made room for another; connect again")
        for name in unknown:
            raise RefusedError(
                f"reset takes seed, episode_id, index, split and noise_seed, not {name[:40]!r}"
            )
        if not (episode_id is None or (isinstance(episode_id, str) and len(episode_id) < 256)):
            raise RefusedError("episode_id is a str of at most 255 characters")
        chosen = self._check_split(split)
        number = self._instance(seed, index, chosen)
        noise = check_index("noise_seed", noise_seed)
        try:
            episode = self._episode
            if episode is None or chosen != self._split:
                served = self._served
                episode = Episode(served.env, chosen, served.response_format, **served.options)
            text = episode.reset(number, noise)
        except Exception as error:  # noqa: BLE001 (of an environment, which may be anyone's)
            self._fail(error)
        if self._episode not in (None, episode):
            self._episode.close()
        self._episode, self._split, self._id = episode, chosen, episode_id or str(uuid4())
        return TextObservation(text=text, info=make_text_info(episode.info))

    def step(self, action: TextAction, *_: object, **__: object) -> TextObservation:
        """Take one response; a time limit is ignored, since turns are never interrupted.

        Raises:
            RefusedError: No episode is running.
            FailedError: The environment raised an error, which the server logs.
        """
        if self._episode is None or self._closed:
            raise RefusedError(_NO_EPISODE)
        try:
            turn = self._episode.step(action.message)
        except ResetNeeded:
            raise RefusedError(_NO_EPISODE) from None
        except Exception as error:  # noqa: BLE001 (of an environment, which may be anyone's)
            self._fail(error)
        return TextObservation(
            text=turn.observation,
            reward=turn.reward,
            done=turn.done,
            terminated=turn.terminated,
            truncated=turn.truncated,
            info=make_text_info(turn.info),
        )

    @property
    def state(self) -> TextState:
        """The state of the session."""
        served, episode = self._served, self._episode
        if episode is None or episode.task is None:
            return TextState(env=served.env, response_format=served.response_format)
        task = episode.task
        return TextState(
            episode_id=self._id,
            step_count=len(episode.turns),
            env=served.env,
            split=self._split,
            seed=None if self._split == "sealed" else task.seed,
            noise_seed=task.noise_seed,
            response_format=served.response_format,
            done=episode.done,
            total_reward=episode.total_reward,
            success=episode.success,
        )

    def get_metadata(self) -> EnvironmentMetadata:
        """Return the environment's name and description."""
        return EnvironmentMetadata(
            name=self._served.name,
            description=f"{self._served.env}: {self._served.about}",
            documentation_url=_DOCUMENTATION,
        )

    def list_splits(self) -> list[dict[str, str]]:
        """Return the served splits, each with OpenEnv's kind."""
        return [{"name": name, "type": _KINDS.get(name, "test")} for name in self._served.sizes]

    def num_tasks(self, split: str) -> int:
        """Return the number of instances of a split; 2**53 for an infinite one."""
        return self._served.sizes[self._check_split(split)]

    def list_tasks(self, split: str) -> list[dict[str, object]]:
        """Return the tasks of a split, at most the first 1,024."""
        return self.get_task_range(split, 0, min(PREVIEW, self.num_tasks(split)))

    def get_task(self, split: str, index: int) -> dict[str, object]:
        """Return one task; raises IndexError if the split does not have the index."""
        if not 0 <= index < self.num_tasks(split):
            raise IndexError(index)
        return _task(split, index)

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, object]]:
        """Return the tasks of a slice; more than 4,096 are refused."""
        indices = range(self.num_tasks(split))[start:stop]
        if len(indices) > MAX_RANGE:
            raise RefusedError(f"a range has at most {MAX_RANGE} tasks, not {len(indices)}")
        return [_task(split, index) for index in indices]

    def close(self) -> None:
        """Release the episode; the session takes no more messages."""
        self._closed = True
        if self._episode is not None:
            self._episode.close()

    def _check_split(self, split: str | None) -> Split:
        """Return a served split, the default for None; refuse any other."""
        for known in self._served.sizes:
            if split in (None, known):
                return known
        names = ", ".join(self._served.sizes)
        raise RefusedError(f"split {str(split)[:40]!r} is not served here; choose from {names}")

    def _instance(self, seed: int | None, index: int | None, split: Split) -> int:
        if seed is None and index is None:
            return secrets.randbelow(self._served.sizes[split])
        if index is None:
            return check_index("seed", seed)
        if check_index("index", index) >= self._served.sizes[split]:
            raise RefusedError(
                f"index {index} is beyond the {self._served.sizes[split]} of {split}"
            )
        if seed not in (None, index):
            raise RefusedError("seed and index are two names of one number; give one of them")
        return index

    def _fail(self, error: Exception) -> NoReturn:
        # The error's text may reveal the solution.
        _LOG.error("%s failed", self._served.env, exc_info=error)
        raise FailedError(
            f"{self._served.env} failed with {type(error).__name__}; the server's log says more"
        ) from None


class InlineEnvironment(TextEnvironment):
    """A session without a thread, for games whose turns take microseconds."""

    async def reset_async(self, *arguments: Any, **named: Any) -> TextObservation:
        """Start an episode, see `reset`."""
        return self.reset(*arguments, **named)

    async def step_async(self, action: TextAction, *_: object, **__: object) -> TextObservation:
        """Take one response, see `step`."""
        return self.step(action)


_NO_EPISODE = "the episode is over or never began: reset first, in this connection"


def check_index(name: str, value: object) -> int:
    """Return a non-negative int; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise RefusedError(f"{name} is an int of at least 0, got {str(value)[:40]!r}")
    return value


def _task(split: str, index: int) -> dict[str, object]:
    return {"id": f"{split}-{index}", "split": split, "index": index}
