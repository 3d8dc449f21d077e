"""`openai/NAME`: a model on a server that speaks OpenAI's chat protocol."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ragen_bench.errors import UserError
from ragen_bench.models.base import CallEngine, Completion, Engine, Request, Sampling
from ragen_bench.models.server.background import BackgroundLoop
from ragen_bench.models.server.dialects import dialect_of
from ragen_bench.models.server.faults import PassingError, openai, raise_fault
from ragen_bench.models.server.options import ServerOptions, checked_url, key_of_environment
from ragen_bench.models.server.patience import patiently
from ragen_bench.models.server.reply import completion_of, models_of
from ragen_envs.instances import Stream

_IDENTIFYING = ("id", "root", "parent", "max_model_len", "owned_by", "meta")
"""What servers say of a model that does not change when they are started anew."""
_CONNECT_SECONDS = 10.0
_LISTED = 10


class OpenAIModel:
    """Asks a server, many requests at once.

    The key is read from OPENAI_API_KEY; without one, a server that needs none is asked.

    Args:
        name: what the server calls the model.
        options: how it is reached.

    Raises:
        UserError: if there is no usable base URL.
    """

    def __init__(self, name: str, options: ServerOptions | None = None) -> None:
        self._name = name
        self._options = options or ServerOptions()
        self._url = checked_url(self._options.base_url or os.environ.get("OPENAI_BASE_URL"))
        self._key = key_of_environment()
        self._loop = BackgroundLoop()
        self._slots = asyncio.Semaphore(self._options.concurrency)
        self._entry: Mapping[str, Any] | None = None
        self._client = openai.AsyncOpenAI(
            base_url=self._url,
            api_key=self._key or "none",
            max_retries=0,
            timeout=openai.Timeout(None, connect=_CONNECT_SECONDS),
        )

    @property
    def slots(self) -> int:
        """How many requests are in flight at once."""
        return self._options.concurrency

    @property
    def group_size(self) -> int:
        """1: what else is in flight at a server is not ours to decide."""
        return 1

    def identity(self) -> dict[str, Any]:
        """Return what the server says of the model; not where it is, which may change.

        Raises:
            UserError: as `probe`, if it was not called before.
        """
        entry = self._known_entry()
        return {name: entry[name] for name in _IDENTIFYING if entry.get(name) is not None}

    def probe(self) -> str:
        """Ask the server what it serves, and return where it is and what it is.

        Raises:
            UserError: if it cannot be reached, refuses the key, or does not serve the model.
        """
        try:
            self._entry = self._loop.run(self._find())
        except PassingError as error:
            raise UserError(
                f"{self._url} does not say what it serves: {error}; start the server, or correct "
                "--base-url",
                exit_code=1,
            ) from error
        context = self._entry.get("max_model_len")
        owner = self._entry.get("owned_by")
        by = f" by {owner}" if owner else ""
        return f"{self._url} serves {self._name}{by}" + (f", {context} tokens" if context else "")

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that asks the server."""
        return CallEngine(lambda requests: self._complete(requests, sampling))

    def _complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """Return one completion for each request, in order.

        Raises:
            UserError: if the server refuses a request, or fails in each of its tries.
        """
        self._known_entry()
        try:
            return self._loop.run(self._all(requests, sampling))
        except BaseExceptionGroup as failures:
            # The first that failed for good has cancelled the others.
            raise failures.exceptions[0] from failures

    def _known_entry(self) -> Mapping[str, Any]:
        if self._entry is None:
            self.probe()
        return self._entry or {}

    async def _find(self) -> Mapping[str, Any]:
        served = await patiently(self._list, self._options, may_pass=lambda error: error.answered)
        if self._name in served:
            return served[self._name]
        names = ", ".join(sorted(served)[:_LISTED])
        more = f" and {len(served) - _LISTED} more" if len(served) > _LISTED else ""
        raise UserError(
            f"{self._url} does not serve {self._name!r}; it serves {names or 'nothing'}{more}"
        )

    async def _list(self) -> dict[str, Mapping[str, Any]]:
        try:
            reply = await self._client.models.with_raw_response.list()
        except openai.APIError as error:
            raise_fault(error, self._url, self._key)
        return models_of(reply.content)

    async def _all(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(request, sampling)) for request in requests]
        return [task.result() for task in tasks]

    async def _one(self, request: Request, sampling: Sampling) -> Completion:
        # A pure function of seed and key, in 31 bits, which every server takes.
        stream = Stream("sampling", sampling.seed, request.key)
        seed, spread = stream.word() >> 33, stream.word() / 2**64

        async def send() -> Completion:
            return await self._ask(request, sampling, seed)

        async with self._slots:
            try:
                return await patiently(send, self._options, spread)
            except PassingError as error:
                raise self._given_up(error) from error

    def _given_up(self, error: PassingError) -> UserError:
        often = "1 try" if error.tries == 1 else f"{error.tries} tries"
        return UserError(
            f"{self._url} gave no answer in {often}, the last time: {error}; finished episodes "
            "are kept, and the same command goes on from there",
            exit_code=1,
        )

    async def _ask(self, request: Request, sampling: Sampling, seed: int) -> Completion:
        dialect = dialect_of(self._entry or {})
        try:
            reply = await self._client.chat.completions.with_raw_response.create(
                model=self._name,
                messages=cast(Any, list(request.messages)),
                temperature=sampling.temperature,
                top_p=1.0,
                max_tokens=sampling.max_tokens,
                seed=seed,
                stop=[sampling.stop] if dialect.keeps_stop else openai.omit,
                extra_body=dict(dialect.extra),
            )
        except openai.APIError as error:
            raise_fault(error, self._url, self._key)
        return completion_of(reply.content, sampling.stop)
