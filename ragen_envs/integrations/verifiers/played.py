"""A Gymnasium environment of any taskset of verifiers, for the kit and the harness."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, wait
from itertools import islice
from typing import Any

import gymnasium
import verifiers.v1 as vf
from verifiers.v1.clients import EvalClientConfig, ModelContext
from verifiers.v1.env import Env, RunSlot
from verifiers.v1.utils.loaders import env_config_type, load_environment

from ragen_envs.integrations.bridging.third_party import actions, check_step, observations, sendable
from ragen_envs.integrations.verifiers.seat import Messages, Seat, started

_PLAYER = {"harness": {"id": "ragen-verifiers"}, "runtime": {"type": "subprocess"}}
"""How the one agent is run: a chat in this process."""


class TasksetEnv(gymnasium.Env[str, str]):
    """The tasks of a taskset, played by `step` as verifiers' own `Env` plays them with a model.

    A step answers as the model does, and returns what the model would be sent next: the messages
    since its last answer. The end has no observation, and the trace's reward; before it, rewards
    are 0. `truncated` is verifiers' word for an episode cut short by a limit. At the end, `info`
    holds the trace's `info`, its `metrics` and `stop_condition`.

    A copy or a pickle begins the task anew and gives the same answers again.

    Args:
        taskset: the id of a taskset, as `vf-eval` takes it.
        options: the settings of the taskset.
        env_id: the id of an `Env`; by default the taskset's own.
        tasks: how many tasks are played, from the first on; seeds beyond them start over.
        timeout: seconds to wait until the model is asked.
        render_mode: None, the only mode.

    Raises:
        ValueError: for settings that verifiers refuses, or an `Env` of several agents.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        taskset: str,
        options: dict[str, Any] | None = None,
        *,
        env_id: str = "",
        tasks: int = 64,
        timeout: float = 60.0,
        render_mode: None = None,
    ) -> None:
        self.render_mode = render_mode
        self.observation_space = observations()
        self.action_space = actions()
        self._config = _config(taskset, options or {}, env_id)
        self._count, self._timeout = tasks, timeout
        self._number: int | None = None
        self._answers: list[str] = []
        self._running = False
        self._forget()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin a task.

        Args:
            seed: the number of the task. Without one it is drawn from `np_random`.
            options: none are known.

        Raises:
            ValueError: for an option.
            gymnasium.error.Error: if verifiers does not begin the task.
        """
        if options:
            raise ValueError(f"unknown reset options {sorted(options)}; there are none")
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(self._count)) if seed is None else int(seed)
        self._number, self._answers = drawn, []
        question = self._begin()
        if question is None:
            raise gymnasium.error.Error(f"task {drawn} asks for no answer")
        return _said(question), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Give the model's answer.

        Args:
            action: the answer. Half a surrogate pair, which JSON of UTF-8 cannot hold, is sent
                as "?".

        Raises:
            ResetNeeded: before the first `reset` and after the end of an episode.
            TypeError: if the answer is not a str.
            gymnasium.error.Error: if the task fails, with verifiers' error.
        """
        check_step(action, self._running)
        if self._episode is None:
            self._begin()
            for answer in self._answers:
                self._answer(answer)
        self._answers.append(action)
        question = self._answer(action)
        if question is not None:
            return _said(question), 0.0, False, False, {}
        trace = self._ended()
        told = {"metrics": dict(trace.metrics), "stop_condition": trace.stop_condition}
        cut = bool(trace.is_truncated)
        return "", float(trace.reward), not cut, cut, {**trace.info, **told}

    def close(self) -> None:
        """Break off the task."""
        self._running = False
        self._leave()

    def __getstate__(self) -> dict[str, Any]:
        live = ("_env", "_episode", "_seat", "_loaded", "_unread")
        return {**vars(self), **dict.fromkeys(live)}

    def _forget(self) -> None:
        """Hold nothing that is live."""
        self._env: Env[Any] | None = None
        self._episode: Future[vf.Episode] | None = None
        self._seat: Seat | None = None
        self._loaded: list[vf.Task] | None = None
        self._unread: Iterator[vf.Task] | None = None

    def _leave(self) -> None:
        """Let the episode end, if there is one, by refusing to answer."""
        if self._episode is not None and self._seat is not None:
            self._seat.leave()
            wait([self._episode], self._timeout)
            self._episode = self._seat = None

    def _begin(self) -> Messages | None:
        """Start the task in the loop, and return what the model is asked first."""
        self._leave()
        seat = self._seat = Seat()
        self._episode = started(self._play(seat))
        self._episode.add_done_callback(lambda _: seat.questions.put(None))
        self._running = True
        return self._asked()

    def _answer(self, text: str) -> Messages | None:
        assert self._seat is not None
        self._seat.answer(sendable(text))
        return self._asked()

    def _asked(self) -> Messages | None:
        """Return what the model is asked next; None at the end."""
        assert self._seat is not None
        try:
            question = self._seat.question(self._timeout)
        except TimeoutError as error:
            self.close()
            raise gymnasium.error.Error(str(error)) from None
        if question is None:
            self._running = False
            self._ended()
        return question

    def _ended(self) -> vf.Trace:
        """Return the trace of the episode, which is over."""
        assert self._episode is not None
        episode = self._episode.result()
        if not episode.ok:
            errors = [*episode.errors, *(e for trace in episode.traces for e in trace.errors)]
            said = "; ".join(f"{error.type}: {error.message}" for error in errors)
            raise gymnasium.error.Error(f"task {self._number}: {said}")
        return episode.traces[0]

    async def _play(self, seat: Seat) -> vf.Episode:
        """Run verifiers' episode of the task, with the seat as its model."""
        if self._env is None:
            self._env = load_environment(self._config)
        env, task = self._env, self._task()
        server, url = await seat.listen()
        try:
            client = EvalClientConfig(base_url=url, api_key_var="NO_KEY")
            async with env.serving():
                return await env.run_slot(RunSlot(task), ModelContext("played", client))
        finally:
            await server.cleanup()

    def _task(self) -> vf.Task:
        """Return the task, having read no more tasks than it takes."""
        assert self._env is not None
        assert self._number is not None
        if self._loaded is None:
            self._loaded, self._unread = [], islice(self._env.taskset, self._count)
        wanted = self._number % self._count + 1
        self._loaded += islice(self._unread or (), max(0, wanted - len(self._loaded)))
        if not self._loaded:
            raise ValueError("the taskset has no tasks")
        return self._loaded[self._number % self._count % len(self._loaded)]


def _config(taskset: str, options: dict[str, Any], env_id: str) -> vf.EnvConfig:
    kind = env_config_type(taskset, env_id)
    agents = [
        name for name, f in kind.model_fields.items() if isinstance(f.default, vf.AgentConfig)
    ]
    if len(agents) != 1:
        raise ValueError(f"{env_id or taskset} has several agents, {agents}: one can be played")
    settings = {"id": env_id, "taskset": {"id": taskset, **options}, agents[0]: _PLAYER}
    return kind.model_validate(settings)


def _said(messages: Messages) -> str:
    """Return the texts of the messages since the last answer."""
    since = 1 + max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=-1)
    return "\n\n".join(_text(message["content"]) for message in messages[since:])


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content or () if part.get("type") == "text")
