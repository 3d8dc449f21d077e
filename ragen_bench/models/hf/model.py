"""`hf/NAME-OR-DIR`: a Hugging Face model in this process, many conversations at once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import (
    Completion,
    Engine,
    Request,
    RequestFailure,
    Sampling,
    refuse_constraint,
    refuse_limit,
)
from ragen_bench.models.chat import sample_conversation
from ragen_bench.models.chat_messages import functions_of
from ragen_bench.models.days import read_day
from ragen_bench.models.model_folder import describe_content
from ragen_bench.models.reasoning import ThoughtReader, let_think

# OpenMP reads it when torch is imported. Threads that spin while they wait slow everything down
# several times on a machine with other work.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

try:
    import torch

    from ragen_bench.models.hf.quick_import import import_transformers

    import_transformers()
    from ragen_bench.models.hf.decoding import Decoder
    from ragen_bench.models.hf.loading import LoadedModel, load
    from ragen_bench.models.hf.sampling import Generation, make_stream
except ImportError as missing:
    raise missing_extra(missing, "hf") from missing

SLOTS = 16
"""Default number of conversations at once."""
_CPU_ALLOCATOR = "DefaultCPUAllocator"
"""Named by torch's untyped error when the machine itself is out of memory."""
LESS_CONCURRENCY = "lower --concurrency, with another --out; finished episodes are kept"
_GROUP = 4
"""Episodes of a group per slot: at the end of a group, slots run empty."""


class HFModel:
    """A model of transformers, from a folder with config.json, or a name on the hub.

    Inverse transform sampling uses a number that depends on seed, request and token alone. So a
    completion does not depend on the other requests of its batch, except by the rounding of the
    logits, and no global generator is read. UserError if the folder has no model.
    `thinking_marks` is as in `--thinking-marks`; `advice` is given if the memory gets full.
    """

    def __init__(
        self,
        name: str,
        slots: int = SLOTS,
        thinking_marks: str = "",
        advice: str = LESS_CONCURRENCY,
    ) -> None:
        self._loaded, self._advice = load(name), advice
        self._reader = ThoughtReader(self._loaded.tokenizer, thinking_marks)
        self._name = name
        self.slots = slots
        self.group_size = slots if self._loaded.waves else slots * _GROUP

    def identity(self) -> JsonObject:
        """Return the number format, the engine, and a folder's hash or the hub's revision."""
        model, chat = self._loaded.model, self._loaded.chat
        return {
            "dtype": str(model.dtype).removeprefix("torch."),
            **chat.identity(),
            **self._reader.marks.identity(),
            **describe_content(self._name, model.config),
            "engine": "waves" if self._loaded.waves else "continuous",
        }

    def resume(self, identity: JsonObject) -> None:
        """Write the date of a recorded run, if the template writes one."""
        if day := read_day(identity):
            self.set_day(day)

    def set_day(self, day: str) -> None:
        """Set the date that the template may write, in ISO format."""
        self._loaded = replace(self._loaded, chat=replace(self._loaded.chat, day=day))

    def probe(self) -> str:
        """Return its device, and why it runs in waves if it does."""
        place = f"in this process, on {self._loaded.model.device}"
        if not self._loaded.waves:
            return place
        return f"{place}; in waves, where all wait for the longest answer: {self._loaded.waves}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that works on `slots` requests at once."""
        refuse_constraint(sampling, "hf/NAME")
        refuse_limit(sampling, self._name, self._loaded.context)
        reader = self._reader
        opening = reader.opening(self._loaded.chat.tokenize(sample_conversation()))
        sampling = let_think(sampling, reader.marks, opening)
        return SlotEngine(self._loaded, sampling, self.slots, reader=reader, advice=self._advice)


class SlotEngine:
    """Turns requests into prompts for a `Decoder`, and generations into completions."""

    _requests: dict[Generation, Request]
    _overflows: list[tuple[Request, Completion | RequestFailure]]
    _decoder: Decoder

    def __init__(
        self,
        loaded: LoadedModel,
        sampling: Sampling,
        slots: int,
        reuse: bool = True,
        reader: ThoughtReader | None = None,
        advice: str = LESS_CONCURRENCY,
    ) -> None:
        self._loaded, self._sampling, self._advice = loaded, sampling, advice
        self._reader = reader or ThoughtReader(loaded.tokenizer)
        self._slots, self._reuse = slots, reuse
        self.close()

    def submit(self, request: Request) -> None:
        """Take a request; it is worked on in `collect`."""
        ids = self._loaded.chat.tokenize(request.messages, functions_of(request.env))
        context = self._loaded.context
        if context is None or len(ids) + self._sampling.max_tokens <= context:
            generation = self._decoder.submit(ids, make_stream(request, self._sampling))
            self._requests[generation] = request
        else:
            self._overflows.append((request, Completion("", len(ids), 0, finish="context")))

    def collect(self) -> Sequence[tuple[Request, Completion | RequestFailure]]:
        """Decode until at least one generation has ended."""
        if self._overflows:
            overflows, self._overflows = self._overflows, []
            return overflows
        try:
            ended = self._decoder.collect()
        except RuntimeError as error:
            if not (isinstance(error, torch.OutOfMemoryError) or _CPU_ALLOCATOR in str(error)):
                raise
            raise UserError(
                f"{self._loaded.model.device} has too little memory for {self._slots} "
                f"conversations at once: {self._advice}",
                exit_code=1,
            ) from None
        return [self._answer(one) for one in ended]

    def _answer(self, ended: Generation) -> tuple[Request, Completion]:
        request = self._requests.pop(ended)
        completion = self._decoder.ending.make_completion(len(ended.prompt), ended.ids)
        completion = self._reader.read(completion, request.env.response_format, ended.prompt)
        functions, marks = functions_of(request.env), self._reader.marks
        return request, self._loaded.chat.read_completion(completion, functions, marks)

    def close(self) -> None:
        """Drop unanswered requests, and all keys and values."""
        self._requests = {}
        self._overflows = []
        self._decoder = Decoder(self._loaded, self._sampling, self._slots, reuse=self._reuse)
