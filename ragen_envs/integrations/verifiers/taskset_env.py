"""A Gymnasium environment of any taskset of verifiers, for the testing kit and the harness."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future, wait
from functools import cache
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread

import gymnasium
import verifiers.v1 as vf
from aiohttp import web
from aiohttp.typedefs import Handler
from verifiers.v1.clients import EvalClientConfig, ModelContext
from verifiers.v1.env import Env, RunSlot
from verifiers.v1.utils.loaders import env_config_type, load_environment

from ragen_envs.core.local_servers import find_refusal, new_secret
from ragen_envs.core.text_game import Info
from ragen_envs.integrations.bridging import BridgedEnv, check_step, sendable

Messages = list[Info]
_PLAYER = {"harness": {"id": "ragen-verifiers"}, "runtime": {"type": "subprocess"}}
"""Settings of the agent: a chat in this process."""


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the process's event loop of all episodes, as in verifiers' own commands."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="verifiers", daemon=True).start()
    return loop


@web.middleware
async def _refuse_pages(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse requests of pages, and those for another name than this machine's."""
    if find_refusal(*(request.headers.getall(name, []) for name in ("Host", "Origin"))):
        return web.json_response({"error": {"message": "this is not for pages"}}, status=403)
    return await handler(request)


class _ModelServer:
    """A chat completions server; `requests` has each request's conversation, then None.

    Its address has a secret, which verifiers alone gets.
    """

    def __init__(self) -> None:
        self.requests: SimpleQueue[Messages | None] = SimpleQueue()
        self._response: asyncio.Future[str | None] | None = None
        self._closed = False

    def respond(self, text: str | None) -> None:
        """Respond to the pending request; None rejects it."""
        pending, self._response = self._response, None
        if pending is not None:
            _loop().call_soon_threadsafe(pending.set_result, text)

    def close(self) -> None:
        """Reject this and all later requests."""
        self._closed = True
        self.respond(None)

    async def listen(self) -> tuple[web.AppRunner, str]:
        """Start the server; return its runner, which needs a cleanup, and its address."""
        app = web.Application(client_max_size=1 << 30, middlewares=[_refuse_pages])
        secret = new_secret()
        app.router.add_post(f"/{secret}/chat/completions", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        return runner, f"http://127.0.0.1:{port}/{secret}"

    async def _handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        self._response = pending = asyncio.get_running_loop().create_future()
        self.requests.put(body["messages"])
        text = None if self._closed else await pending
        if text is None:
            return web.json_response({"error": {"message": "the player left"}}, status=400)
        message = {"role": "assistant", "content": text}
        return web.json_response(
            {
                "id": "played",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
            }
        )


class TasksetEnv(BridgedEnv):
    """The tasks of a taskset; `step` takes the model's place in verifiers' `Env`.

    A step gives the model's response, and returns the messages that the model would read next. The
    last observation is empty, and its reward is the trace's; earlier rewards are 0. `truncated` is
    verifiers' flag of an episode ended by a limit. The last `info` holds the trace's `info`,
    `metrics` and `stop_condition`.

    A copy or a pickle restarts the task and repeats the responses.

    Args:
        taskset: Id of a taskset, as for `vf-eval`.
        options: Settings of the taskset.
        env_id: Id of an `Env`; by default the taskset's own.
        tasks: Number of tasks; larger seeds wrap around.
        timeout: Maximum seconds until the next request to the model.
        render_mode: None, the only mode.

    Raises:
        ValueError: Verifiers rejects the settings, or the `Env` has several agents.
    """

    def __init__(
        self,
        taskset: str,
        options: Info | None = None,
        *,
        env_id: str = "",
        tasks: int = 64,
        timeout: float = 60.0,
        render_mode: None = None,
    ) -> None:
        super().__init__(render_mode)
        self._config = _config(taskset, options or {}, env_id)
        self._count, self._timeout = tasks, timeout
        self._number: int | None = None
        self._env: Env | None = None
        self._episode: Future[vf.Episode] | None = None
        self._server: _ModelServer | None = None
        self._loaded: list[vf.Task] | None = None
        self._unread: Iterator[vf.Task] | None = None

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[str, Info]:
        """Start the task of number `seed`, drawn from `np_random` if None, without options."""
        if options:
            raise ValueError(f"unknown reset options {sorted(options)}; a taskset takes none")
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(self._count)) if seed is None else int(seed)
        self._number, self._responses = drawn, []
        request = self._start()
        if request is None:
            raise gymnasium.error.Error(f"task {drawn} requests no completion")
        return _new_text(request), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        """Give the model's response; a lone surrogate, which UTF-8 cannot encode, is sent as "?".

        If the task fails, verifiers' error is a `gymnasium.error.Error`.
        """
        check_step(action, self._running)
        if self._episode is None:
            self._start()
            for response in self._responses:
                self._respond(response)
        self._responses.append(action)
        request = self._respond(action)
        if request is not None:
            return _new_text(request), 0.0, False, False, {}
        trace = self._read_trace()
        result = {"metrics": dict(trace.metrics), "stop_condition": trace.stop_condition}
        truncated = bool(trace.is_truncated)
        return "", float(trace.reward), not truncated, truncated, {**trace.info, **result}

    def close(self) -> None:
        """End the task by rejecting its requests."""
        self._running = False
        if self._episode is not None and self._server is not None:
            self._server.close()
            wait([self._episode], self._timeout)
            self._episode = self._server = None

    def __getstate__(self) -> dict[str, object]:
        live = ("_env", "_episode", "_server", "_loaded", "_unread")
        return {**vars(self), **dict.fromkeys(live)}

    def _start(self) -> Messages | None:
        """Start the task in the loop, and return the first request."""
        self.close()
        server = self._server = _ModelServer()
        self._episode = asyncio.run_coroutine_threadsafe(self._play(server), _loop())
        self._episode.add_done_callback(lambda _: server.requests.put(None))
        self._running = True
        return self._next_request()

    def _respond(self, text: str) -> Messages | None:
        assert self._server is not None
        self._server.respond(sendable(text))
        return self._next_request()

    def _next_request(self) -> Messages | None:
        """Return the conversation of the next request; None at the end."""
        assert self._server is not None
        try:
            request = self._server.requests.get(timeout=self._timeout)
        except Empty:
            self.close()
            raise gymnasium.error.Error(
                f"verifiers sent no request within {self._timeout:g} seconds"
            ) from None
        if request is None:
            self._running = False
            self._read_trace()
        return request

    def _read_trace(self) -> vf.Trace:
        assert self._episode is not None
        episode = self._episode.result()
        if not episode.ok:
            errors = [*episode.errors, *(e for trace in episode.traces for e in trace.errors)]
            reasons = "; ".join(f"{error.type}: {error.message}" for error in errors)
            raise gymnasium.error.Error(f"task {self._number}: {reasons}")
        return episode.traces[0]

    async def _play(self, server: _ModelServer) -> vf.Episode:
        """Run verifiers' episode of the task, with the server as its model."""
        if self._env is None:
            self._env = load_environment(self._config)
        env, task = self._env, self._task()
        runner, url = await server.listen()
        try:
            client = EvalClientConfig(base_url=url, api_key_var="NO_KEY")
            async with env.serving():
                return await env.run_slot(RunSlot(task), ModelContext("played", client))
        finally:
            await runner.cleanup()

    def _task(self) -> vf.Task:
        """Return the task; later tasks are not loaded."""
        assert self._env is not None
        assert self._number is not None
        if self._loaded is None:
            self._loaded, self._unread = [], islice(self._env.taskset, self._count)
        wanted = self._number % self._count + 1
        self._loaded += islice(self._unread or (), max(0, wanted - len(self._loaded)))
        if not self._loaded:
            raise ValueError("the taskset has no tasks")
        return self._loaded[self._number % self._count % len(self._loaded)]


def _config(taskset: str, options: Info, env_id: str) -> vf.EnvConfig:
    kind = env_config_type(taskset, env_id)
    agents = [
        name for name, f in kind.model_fields.items() if isinstance(f.default, vf.AgentConfig)
    ]
    if len(agents) != 1:
        raise ValueError(
            f"{env_id or taskset} has several agents, {agents}; only one can be played"
        )
    settings = {"id": env_id, "taskset": {"id": taskset, **options}, agents[0]: _PLAYER}
    return kind.model_validate(settings)


def _new_text(messages: Messages) -> str:
    """Return the texts of the messages since the last response."""
    since = 1 + max((i for i, m in enumerate(messages) if m["role"] == "assistant"), default=-1)
    texts = []
    for message in messages[since:]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
        texts.append("\n".join(part["text"] for part in parts if part.get("type") == "text"))
    return "\n\n".join(texts)
