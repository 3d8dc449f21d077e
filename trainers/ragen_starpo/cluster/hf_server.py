"""A process that samples answers by transformers for many episodes at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from verl.workers.rollout.replica import TokenOutput

from ragen_bench.models.base import Sampling
from ragen_bench.models.hf_decoding import Decoder
from ragen_bench.models.hf_loading import load
from ragen_envs.instances import Stream
from ragen_starpo.rollout.trajectory import Sampled, sampled_of

_QUIET = 0.02
"""Seconds without a new request after which those that wait are answered: turns come together."""


@dataclass(frozen=True)
class Asked:
    """A request.

    Attributes:
        ids: the conversation so far.
        sampling: how it is answered; its seed is not read.
        stream: the labels of the answer's random numbers.
    """

    ids: tuple[int, ...]
    sampling: Sampling
    stream: tuple[str | int, ...]


class HFServer:
    """Samples as the local driver does: an answer's tokens follow from its stream alone.

    Conversations are read anew in each turn: nothing is kept between requests.

    Args:
        model_dir: the folder of the model.
        largest: the most requests that are answered at once.
    """

    def __init__(self, model_dir: str, largest: int) -> None:
        self._loaded = load(model_dir)
        # A published model may have 16 bits; the trainer's has these.
        self._loaded.model.float()
        self._largest = largest
        self._waiting: list[tuple[Asked, asyncio.Future[Sampled]]] = []
        self._version: int | None = None
        self._answering: asyncio.Task[None] | None = None

    async def take(self, weights: Mapping[str, Tensor], version: int | None) -> None:
        """Sample with these weights from now on."""
        self._loaded.model.load_state_dict(weights)
        self._version = version

    async def generate(
        self,
        request_id: str,  # noqa: ARG002 - verl's name
        prompt_ids: Sequence[int],
        sampling_params: Mapping[str, Any],
        stream: Sequence[str | int] = (),
        **_: Any,
    ) -> TokenOutput:
        """Answer a conversation.

        Args:
            request_id: verl's name of the request.
            prompt_ids: the conversation.
            sampling_params: `temperature`, `max_tokens` and, where there is one, `stop`.
            stream: the labels of the answer's random numbers.
        """
        stop = sampling_params.get("stop") or [""]
        sampling = Sampling(
            sampling_params["temperature"], sampling_params["max_tokens"], stop[0], 0
        )
        future: asyncio.Future[Sampled] = asyncio.get_running_loop().create_future()
        self._waiting.append((Asked(tuple(prompt_ids), sampling, tuple(stream)), future))
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
        """Do nothing: memory is kept."""

    async def wake_up(self) -> None:
        """Do nothing, as `sleep`."""

    async def _answer(self) -> None:
        """Answer those that wait until none does."""
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
            try:
                answers = await asyncio.to_thread(self._sampled, [asked for asked, _ in alike])
            except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
                for _, future in alike:
                    future.set_exception(error)
            else:
                for (_, future), sampled in zip(alike, answers, strict=True):
                    future.set_result(sampled)

    def _sampled(self, asked: Sequence[Asked]) -> list[Sampled]:
        sampling = asked[0].sampling
        decoder = Decoder(self._loaded, sampling, len(asked), log_probs=True)
        answers = [decoder.submit(request.ids, Stream(*request.stream)) for request in asked]
        ended = 0
        while ended < len(answers):
            ended += len(decoder.collect())
        return [sampled_of(answer, decoder.ending) for answer in answers]
