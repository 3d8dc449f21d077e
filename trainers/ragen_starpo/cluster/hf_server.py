"""A process that samples responses by transformers for many episodes at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from verl.workers.rollout.replica import TokenOutput

from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.loading import load
from ragen_envs.core.instances import RandomStream
from ragen_starpo.rollout.trajectory import Sampled, sampled_of

_QUIET = 0.02
"""Seconds to wait for further requests before a batch is sampled."""


@dataclass(frozen=True)
class Request:
    """A request.

    Attributes:
        ids: The conversation so far.
        sampling: Sampling settings; the seed is not used.
        stream: Labels of the response's random numbers.
    """

    ids: tuple[int, ...]
    sampling: Sampling
    stream: tuple[str | int, ...]


class HFServer:
    """Samples as the local driver does: a response's tokens depend on its stream alone.

    The keys and values of conversations are kept between their turns, until there are new weights
    or the server sleeps.

    Args:
        model_dir: Folder of the model.
        largest: Maximum requests per batch.
    """

    def __init__(self, model_dir: str, largest: int) -> None:
        self._loaded = load(model_dir)
        # A published model may have 16 bits; the trainer's has these.
        self._loaded.model.float()
        self._largest = largest
        self._waiting: list[tuple[Request, asyncio.Future[Sampled]]] = []
        self._version: int | None = None
        self._answering: asyncio.Task[None] | None = None
        self._conversations: set[str] = set()
        self._decoder: tuple[Sampling, Decoder] | None = None

    async def take(self, weights: Mapping[str, Tensor], version: int | None) -> None:
        """Sample with these weights from now on."""
        self._loaded.model.load_state_dict(weights)
        self._version = version
        await self.sleep()

    async def generate(
        self,
        request_id: str,  # noqa: ARG002 - verl's name
        prompt_ids: Sequence[int],
        sampling_params: Mapping[str, Any],
        stream: Sequence[str | int] = (),
        conversation: str = "",
        **_: Any,
    ) -> TokenOutput:
        """Sample a response.

        Args:
            request_id: verl's name of the request.
            prompt_ids: The conversation.
            sampling_params: `temperature`, `max_tokens` and, if there is one, `stop`.
            stream: Labels of the response's random numbers.
            conversation: Name of the conversation, the same for all its turns.
        """
        self._conversations.add(conversation)
        stop = sampling_params.get("stop") or [""]
        sampling = Sampling(
            sampling_params["temperature"], sampling_params["max_tokens"], stop[0], 0
        )
        future: asyncio.Future[Sampled] = asyncio.get_running_loop().create_future()
        self._waiting.append((Request(tuple(prompt_ids), sampling, tuple(stream)), future))
        if self._answering is None or self._answering.done():
            self._answering = asyncio.create_task(self._answer())
        sampled = await future
        return TokenOutput(
            token_ids=list(sampled.ids),
            log_probs=list(sampled.log_probs),
            stop_reason="completed",
            extra_fields={"global_steps": self._version},
        )

    async def sleep(self) -> None:
        """Drop the keys and values of all conversations; the model stays in memory."""
        self._decoder = None
        self._conversations = set()

    async def wake_up(self) -> None:
        """Do nothing: the model is there."""

    async def _answer(self) -> None:
        """Sample responses until no request waits."""
        while self._waiting:
            known = 0
            while known != len(self._waiting):
                known = len(self._waiting)
                await asyncio.sleep(_QUIET)
            sampling = self._waiting[0][0].sampling
            alike = [pair for pair in self._waiting if pair[0].sampling == sampling][
                : self._largest
            ]
            self._waiting = [pair for pair in self._waiting if pair not in alike]
            asked = [request for request, _ in alike]
            try:
                decoder = self._decoder_of(sampling, len(alike))
                answers = await asyncio.to_thread(_sampled, decoder, asked)
            except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
                self._decoder = None
                for _, future in alike:
                    future.set_exception(error)
            else:
                for (_, future), sampled in zip(alike, answers, strict=True):
                    future.set_result(sampled)

    def _decoder_of(self, sampling: Sampling, requests: int) -> Decoder:
        """Return what has read earlier turns, if they were sampled so, with room for all."""
        slots = max(requests, min(self._largest, len(self._conversations)))
        if self._decoder is None or self._decoder[0] != sampling:
            self._decoder = sampling, Decoder(self._loaded, sampling, slots, log_probs=True)
        decoder = self._decoder[1]
        decoder.grow(slots)
        return decoder


def _sampled(decoder: Decoder, asked: Sequence[Request]) -> list[Sampled]:
    """Return the answers to requests, with nothing else under way."""
    answers = [decoder.submit(request.ids, RandomStream(*request.stream)) for request in asked]
    ended = 0
    while ended < len(answers):
        ended += len(decoder.collect())
    return [sampled_of(answer, decoder.ending) for answer in answers]
