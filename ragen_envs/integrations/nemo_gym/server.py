"""The resources server: an episode for each session, one step for each response of the model."""

from __future__ import annotations

from ragen_envs.core import extras

with extras.required("ragen_envs.integrations.nemo_gym.server", "nemo_gym", "nemo", "nemo-gym 0.7"):
    import nemo_gym as _nemo_gym  # noqa: F401

import time
from dataclasses import dataclass
from typing import Any, NoReturn

from fastapi import FastAPI, HTTPException, Request
from gymnasium.error import ResetNeeded
from nemo_gym.base_resources_server import BaseResourcesServerConfig, ReverifyMode
from nemo_gym.openai_utils import NeMoGymResponse
from nemo_gym.server_utils import SESSION_ID_KEY
from pydantic import ConfigDict, Field
from resources_servers.gymnasium import GymnasiumServer, extract_text

from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_game import Info
from ragen_envs.integrations.bridging import Episode, NoiseSeedCounter
from ragen_envs.integrations.nemo_gym.data_set import begin, read_task

REQUEST_KEY = "_ng_step_request_id"
"""The agent's id of a step, which is the same when a request is sent again."""
ABILITIES: Info = {"supports_explicit_close": True, "supports_step_idempotency": True}
"""Entries of the first info: the agent numbers its steps, and closes an episode that it leaves."""
_RETURN_KEY = "return"
"""The entry of the last info that an episode which was cut short does not have."""
Reply = tuple[str | None, float, bool, bool, Info]
"""Observation, reward, terminated, truncated and info."""


class TextEnvServerConfig(BaseResourcesServerConfig):  # type: ignore[misc]
    """Settings of the server; any environment can be named by the lines of a data set.

    Attributes:
        idle_timeout: Seconds without a request after which a session may be dropped.
    """

    model_config = ConfigDict(extra="allow")
    REVERIFY_MODE = ReverifyMode.UNSUPPORTED
    idle_timeout: float = Field(3600, gt=0)


@dataclass
class Session:
    """An episode, the time of its last request, and the latest step with its id."""

    episode: Episode
    used: float
    request: str | None = None
    reply: Reply | None = None


class TextEnvServer(GymnasiumServer):  # type: ignore[misc]
    """Plays the task of a line, see `ragen_envs.integrations.nemo_gym.data_set`.

    A step that is sent again, with the agent's id of the first time, gets the first reply. A
    mistake in a line is status 422, and a step without an episode 409, each with one line.
    """

    ray_enabled = False
    config: TextEnvServerConfig

    def model_post_init(self, context: Any, /) -> None:
        """Count the episodes of each instance, for lines without a noise seed."""
        super().model_post_init(context)
        self._noise_seeds = NoiseSeedCounter.of_process()

    def setup_webserver(self) -> FastAPI:
        """Return the application, with the base class's endpoints and `/close`."""
        app: FastAPI = super().setup_webserver()
        app.post("/close")(self._close_endpoint)
        return app

    async def reset(self, metadata: Info, session_id: str | None = None) -> tuple[str, Info]:
        """Start the episode of a line; return its first observation and the info."""
        self._drop_idle_sessions()
        try:
            episode, observation = begin(read_task(metadata, self._noise_seeds))
        except (TypeError, ValueError) as error:
            _refuse(422, str(error))
        self._end(session_id)
        self.session_state[session_id] = Session(episode, time.monotonic())
        return observation, {**episode.info, **ABILITIES}

    async def step(
        self, action: NeMoGymResponse, metadata: Info, session_id: str | None = None
    ) -> Reply:
        """Take one response, and return the reply.

        The text is that of the response's messages, without its reasoning. The last info has
        `success`, `score`, `return` and `final_observation`, which no model reads.
        """
        session: Session | None = self.session_state.get(session_id)
        if session is None:
            _refuse(409, "this session has no episode; call /reset first, and keep its cookie")
        session.used = time.monotonic()
        request = metadata.get(REQUEST_KEY)
        if session.reply is not None and request is not None and request == session.request:
            return session.reply
        episode = session.episode
        try:
            turn = episode.step(extract_text(action))
        except ResetNeeded as error:
            _refuse(409, str(error))
        info: Info = dict(turn.info)
        if turn.done:
            info.update({_RETURN_KEY: episode.total_reward, "final_observation": turn.observation})
        session.request = request
        session.reply = turn.observation, turn.reward, turn.terminated, turn.truncated, info
        return session.reply

    async def close_session(self, session_id: str | None) -> None:
        """Close the environment of a finished episode; its last reply stays until `/close`."""
        if session := self.session_state.get(session_id):
            session.episode.close()

    def compute_metrics(self, tasks: list[list[Info]]) -> Info:
        """Return the means of success and score over all episodes.

        An episode that the agent cut short counts as 0. A metric is left out if the environments
        do not report it at the end of an episode.
        """
        infos: list[Info] = [episode.get("info") or {} for task in tasks for episode in task]
        whole = [info for info in infos if _RETURN_KEY in info]
        return {
            f"mean/{name}": sum_in_order(float(info.get(name) or 0) for info in infos) / len(infos)
            for name in ("success", "score")
            if infos and (not whole or any(name in info for info in whole))
        }

    async def _close_endpoint(self, request: Request) -> Info:
        self._end(request.session.get(SESSION_ID_KEY))
        return {}

    def _drop_idle_sessions(self) -> None:
        """End the sessions of clients that stopped without `/close`."""
        oldest = time.monotonic() - self.config.idle_timeout
        for name in [name for name, one in self.session_state.items() if one.used < oldest]:
            self._end(name)

    def _end(self, session_id: str | None) -> None:
        session: Session | None = self.session_state.pop(session_id, None)
        if session is not None:
            session.episode.close()


def _refuse(status: int, message: str) -> NoReturn:
    raise HTTPException(status, message)
