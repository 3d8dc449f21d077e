"""A Gymnasium environment that plays on any OpenEnv server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import gymnasium

from ragen_envs.core.text_game import Info
from ragen_envs.integrations.bridging import BridgedEnv, check_step, sendable
from ragen_envs.integrations.openenv.served import ENDLESS

if TYPE_CHECKING:
    from openenv.core.client_types import StepResult
    from openenv.core.sync_client import SyncEnvClient


class RemoteEnv(BridgedEnv):
    """An episode on an OpenEnv server, by its address.

    The observation is one field of the server's observation; `info` holds the others and the
    entries of a field `info`. `terminated` and `truncated` are read if the server sends them;
    otherwise a finished episode is terminated. A reward of None is 0.

    A copy or a pickle opens a new session and repeats the responses.

    Args:
        url: Address of the server, such as `http://127.0.0.1:8000`.
        split: Sent with each reset, if given.
        text_key: Field of the observation with the text.
        action_key: Field of the action with the response.
        timeout: Maximum seconds to wait for a reply.
        render_mode: None, the only mode.
    """

    def __init__(
        self,
        url: str,
        split: str | None = None,
        *,
        text_key: str = "text",
        action_key: str = "message",
        timeout: float = 60.0,
        render_mode: None = None,
    ) -> None:
        super().__init__(render_mode)
        self._url, self._timeout, self._keys = url, timeout, (text_key, action_key)
        self._sent = {} if split is None else {"split": split}
        self._client: SyncEnvClient | None = None
        self._reset_arguments: Info = {}

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        """Start an episode.

        The seed, drawn from `np_random` if None, and the options are sent to the server, such as
        {"noise_seed": 1} to a server of this package.

        Raises:
            gymnasium.error.Error: The server is unreachable, refuses, or sends no text.
        """
        super().reset(seed=seed)
        number = int(self.np_random.integers(ENDLESS)) if seed is None else int(seed)
        arguments = {**(options or {}), **self._sent, "seed": number}
        result = self._call("reset", **arguments)
        self._reset_arguments, self._responses, self._running = arguments, [], not result.done
        return self._read(result.observation)

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Send one response; a lone surrogate, which UTF-8 cannot encode, is sent as "?".

        Errors are those of `Episode.step` and of `reset`.
        """
        check_step(action, self._running)
        result = self._step(action)
        self._responses.append(action)
        self._running = not result.done
        text, info = self._read(result.observation)
        truncated = bool(info.pop("truncated", False))
        terminated = bool(info.pop("terminated", result.done and not truncated))
        return text, float(result.reward or 0), terminated, truncated, info

    def close(self) -> None:
        """End the session."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_client": None}

    def _step(self, response: str) -> StepResult:
        return self._call("step", {self._keys[1]: sendable(response)})

    def _call(self, method: str, *arguments: object, **named: object) -> StepResult:
        from websockets.exceptions import ConnectionClosed

        try:
            return getattr(self._connect(method == "reset"), method)(*arguments, **named)
        except (RuntimeError, OSError, TimeoutError, ConnectionClosed) as error:
            self._running = False
            raise gymnasium.error.Error(f"{self._url}: {error or type(error).__name__}") from error

    def _connect(self, is_reset: bool) -> SyncEnvClient:
        """Return the client; that of a copy first repeats the episode, unless a reset follows."""
        if self._client is None:
            from openenv.core import GenericEnvClient  # takes seconds

            client = GenericEnvClient(base_url=self._url, message_timeout_s=self._timeout)
            self._client = client.sync().connect()
            if not is_reset:
                self._client.reset(**self._reset_arguments)
                for response in self._responses:
                    self._step(response)
        return self._client

    def _read(self, observation: object) -> tuple[str, Info]:
        fields = dict(observation) if isinstance(observation, dict) else {}
        text = fields.pop(self._keys[0], None)
        if not isinstance(text, str):
            raise gymnasium.error.Error(
                f"{self._url} sends no text as {self._keys[0]!r}; name one of its fields as "
                f"text_key: {', '.join(sorted(fields)) or 'it has none'}"
            )
        inner = fields.pop("info", None)
        return text, {**fields, **(inner if isinstance(inner, dict) else {})}
