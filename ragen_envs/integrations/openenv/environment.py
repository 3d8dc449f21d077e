"""One session of an OpenEnv server: an episode of any text environment."""

from __future__ import annotations

import logging
import secrets
from typing import Any, NoReturn
from uuid import uuid4

from gymnasium.error import ResetNeeded
from openenv.core.env_server import Environment
from openenv.core.env_server.types import EnvironmentMetadata

from ragen_envs.core.instances import Split
from ragen_envs.integrations.bridging import Episode
from ragen_envs.integrations.openenv.messages import (
    TextAction,
    TextObservation,
    TextState,
    make_text_info,
)
from ragen_envs.integrations.openenv.served import FailedError, RefusedError, Served
from ragen_envs.integrations.openenv.tasks import TaskApi, check_index, check_split

_LOG = logging.getLogger(__name__)
_DOCUMENTATION = "https://ragen-bench.github.io/ragen-bench/openenv/"


class TextEnvironment(TaskApi, Environment[TextAction, TextObservation, TextState]):  # type: ignore[misc]  # which has no types
    """A session: successive episodes of the served splits.

    Args:
        served: The served environment and splits.
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
        **unknown: Any,
    ) -> TextObservation:
        """Start an episode.

        Args:
            seed: Index of the instance; random if neither `seed` nor `index` is given.
            episode_id: Name of the episode in `state`; random by default.
            index: The same as `seed`, under the task API's name.
            split: One of the served splits; by default the first.
            noise_seed: Noise seed. Rollouts of a group have the same seed and differ here.
            **unknown: Rejected.

        Raises:
            RefusedError: An argument is unknown or out of range. The current episode continues.
            FailedError: The environment raised an error, which the server logs.
        """
        if self._closed:
            raise RefusedError("the session was closed because it was idle; connect again")
        for name in unknown:
            raise RefusedError(
                f"reset takes seed, episode_id, index, split and noise_seed, not {name[:40]!r}"
            )
        if not (episode_id is None or (isinstance(episode_id, str) and len(episode_id) < 256)):
            raise RefusedError("episode_id is a str of at most 255 characters")
        chosen = check_split(self._served, split)
        number = self._instance(seed, index, chosen)
        noise = check_index("noise_seed", noise_seed)
        try:
            episode = self._episode_of(chosen)
            text = episode.reset(number, noise)
        except Exception as error:  # noqa: BLE001 (of an environment, which may be anyone's)
            self._fail(error)
        if self._episode not in (None, episode):
            self._episode.close()
        self._episode, self._split, self._id = episode, chosen, episode_id or str(uuid4())
        return TextObservation(text=text, info=make_text_info(episode.info))

    def step(self, action: TextAction, *_: Any, **__: Any) -> TextObservation:
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

    def close(self) -> None:
        """Release the episode; the session takes no more messages."""
        self._closed = True
        if self._episode is not None:
            self._episode.close()

    def _episode_of(self, split: Split) -> Episode:
        if self._episode is not None and split == self._split:
            return self._episode
        served = self._served
        return Episode(served.env, split, served.response_format, **served.options)

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

    async def step_async(self, action: TextAction, *_: Any, **__: Any) -> TextObservation:
        """Take one response, see `step`."""
        return self.step(action)


_NO_EPISODE = "the episode is over or never began: reset first, in this connection"
