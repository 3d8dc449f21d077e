"""Answers conversations by a model in process, many at once."""

from __future__ import annotations

from collections.abc import Sequence

from ragen_bench.models.base import Completion, Fault, Request, Sampling
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.loading import Loaded
from ragen_bench.models.hf.memory import enough_memory
from ragen_bench.models.hf.sampling import Answer, stream_of
from ragen_bench.models.tool_messages import functions_of


class SlotEngine:
    """Turns requests into prompts for the decode loop, and its answers into completions.

    Args:
        loaded: the model.
        sampling: how.
        slots: how many requests are worked on at once.
        reuse: whether common beginnings are read once only.
    """

    def __init__(self, loaded: Loaded, sampling: Sampling, slots: int, reuse: bool = True) -> None:
        self._loaded, self._sampling = loaded, sampling
        self._slots, self._reuse = slots, reuse
        self._requests: dict[Answer, Request] = {}
        self._refused: list[tuple[Request, Completion | Fault]] = []
        self._decoder = self._new_decoder()

    def submit(self, request: Request) -> None:
        """Take a request; it is worked on when answers are collected."""
        ids = self._loaded.chat.read(request.messages, functions_of(request.env))
        if self._loaded.has_room(ids, self._sampling.max_tokens):
            answer = self._decoder.submit(ids, stream_of(request, self._sampling))
            self._requests[answer] = request
        else:
            self._refused.append((request, Completion("", len(ids), 0, finish="context")))

    def collect(self) -> Sequence[tuple[Request, Completion | Fault]]:
        """Decode until at least one answer is finished.

        Raises:
            UserError: if the device has too little memory.
        """
        if self._refused:
            refused, self._refused = self._refused, []
            return refused
        with enough_memory(self._loaded.model.device, self._slots):
            answers = self._decoder.collect()
        ending = self._decoder.ending
        return [
            (self._requests.pop(answer), ending.completion(len(answer.prompt), answer.ids))
            for answer in answers
        ]

    def close(self) -> None:
        """Drop what is unanswered, and all keys and values."""
        self._requests, self._refused = {}, []
        self._decoder = self._new_decoder()

    def _new_decoder(self) -> Decoder:
        return Decoder(self._loaded, self._sampling, self._slots, reuse=self._reuse)
