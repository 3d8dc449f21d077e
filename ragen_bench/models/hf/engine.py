"""The engine of models in process: many requests at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from ragen_bench.errors import UserError
from ragen_bench.models.base import Completion, Request, RequestFailure, Sampling
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.loading import LoadedModel
from ragen_bench.models.hf.sampling import Generation, make_stream
from ragen_bench.models.tool_messages import functions_of

_CPU_ALLOCATOR = "DefaultCPUAllocator"
"""Named by torch's untyped error when the machine itself is out of memory."""


class SlotEngine:
    """Turns requests into prompts for a `Decoder`, and generations into completions."""

    def __init__(
        self, loaded: LoadedModel, sampling: Sampling, slots: int, reuse: bool = True
    ) -> None:
        self._loaded, self._sampling = loaded, sampling
        self._slots, self._reuse = slots, reuse
        self._requests: dict[Generation, Request] = {}
        self._overflows: list[tuple[Request, Completion | RequestFailure]] = []
        self._decoder = self._make_decoder()

    def submit(self, request: Request) -> None:
        """Take a request; it is worked on in `collect`."""
        ids = self._loaded.chat.tokenize(request.messages, functions_of(request.env))
        if self._loaded.has_room(ids, self._sampling.max_tokens):
            generation = self._decoder.submit(ids, make_stream(request, self._sampling))
            self._requests[generation] = request
        else:
            self._overflows.append((request, Completion("", len(ids), 0, finish="context")))

    def collect(self) -> Sequence[tuple[Request, Completion | RequestFailure]]:
        """Decode until at least one generation has ended.

        Raises:
            UserError: The device is out of memory.
        """
        if self._overflows:
            overflows, self._overflows = self._overflows, []
            return overflows
        with self._memory_errors():
            ended = self._decoder.collect()
        ending = self._decoder.ending
        return [
            (self._requests.pop(one), ending.make_completion(len(one.prompt), one.ids))
            for one in ended
        ]

    def close(self) -> None:
        """Drop unanswered requests, and all keys and values."""
        self._requests, self._overflows = {}, []
        self._decoder = self._make_decoder()

    def _make_decoder(self) -> Decoder:
        return Decoder(self._loaded, self._sampling, self._slots, reuse=self._reuse)

    @contextmanager
    def _memory_errors(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            if not (isinstance(error, torch.OutOfMemoryError) or _CPU_ALLOCATOR in str(error)):
                raise
            raise UserError(
                f"{self._loaded.model.device} has too little memory for {self._slots} "
                "conversations at once: lower --concurrency, with another --out; finished episodes "
                "are kept",
                exit_code=1,
            ) from None
