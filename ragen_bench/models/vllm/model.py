"""`vllm/NAME-OR-DIR`: a model in vLLM, in this process, for GPUs."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.models.base import (
    Completion,
    Engine,
    Finish,
    Request,
    RequestFailure,
    Sampling,
    refuse_limit,
)
from ragen_bench.models.chat_messages import functions_of
from ragen_bench.models.days import read_day
from ragen_bench.models.grammar import answer_regex
from ragen_bench.models.reasoning import ThoughtReader, let_think
from ragen_envs.core.instances import RandomStream

# vLLM reads these when it is imported. In its own process, its steps would not follow the requests
# in a fixed order. Its log would break the progress table, and it would report usage. It samples
# from logits that are NaN, which it only counts.
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ["VLLM_COMPUTE_NANS_IN_LOGITS"] = "1"

try:
    import vllm
    from vllm.inputs import tokens_input
    from vllm.platforms import current_platform
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    from ragen_bench.models.chat import Chat, make_chat, sample_conversation
    from ragen_bench.models.hf.sampling import Ending, refuse_no_number
    from ragen_bench.models.model_folder import check_folder, describe_content
except (ImportError, OSError) as missing:  # OSError: a missing shared library
    raise UserError(
        f"vllm/NAME-OR-DIR needs vLLM ({missing}): on a machine with a GPU, in a checkout "
        "pip install '.[vllm]' (after the first release: pip install 'ragen-bench[vllm]')"
    ) from missing

SLOTS = 64
_GROUP = 4
"""Episodes of a group per slot: at the end of a group, slots run empty."""
_REASON_CHARACTERS = 300
_FINISH: dict[str | None, Finish] = {"stop": "stop", "length": "length"}


class VLLMModel:
    """A model in vLLM's engine, which gives a freed slot to the next request at once.

    Each request has its own generator, seeded by the run's seed and the request's key, as on a
    vLLM server. Other requests of a step change the rounding of the logits, so groups of
    episodes are replayed whole. `dtype` is vLLM's name of the number format; "auto" stores
    float32 weights in 16 bits. UserError if the folder has no chat model, or
    it does not fit the machine. `thinking_marks` is as in `--thinking-marks`.
    """

    def __init__(
        self, name: str, slots: int = SLOTS, dtype: str = "auto", thinking_marks: str = ""
    ) -> None:
        self._name = name
        self._llm = _load(name, slots, dtype)
        self._chat = make_chat(name, self._llm.get_tokenizer())
        self._reader = ThoughtReader(self._chat.tokenizer, thinking_marks)
        self.slots = slots
        self.group_size = slots * _GROUP

    def identity(self) -> JsonObject:
        """Return vLLM's version, the number format, and a folder's hash or the hub's revision."""
        config = self._llm.model_config
        return {
            **describe_content(self._name, config.hf_config),
            **self._chat.identity(),
            **self._reader.marks.identity(),
            "dtype": str(config.dtype).removeprefix("torch."),
            "vllm": vllm.__version__,
        }

    def resume(self, identity: JsonObject) -> None:
        """Write the date of a recorded run, if the template writes one."""
        if day := read_day(identity):
            self.set_day(day)

    def set_day(self, day: str) -> None:
        """Set the date that the template may write, in ISO format."""
        self._chat = replace(self._chat, day=day)

    def probe(self) -> str:
        """Return its device."""
        return f"in this process, by vLLM {vllm.__version__} on {current_platform.device_type}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that works on `slots` requests at once."""
        refuse_limit(sampling, self._name, self._llm.model_config.max_model_len)
        opening = self._reader.opening(self._chat.tokenize(sample_conversation()))
        sampling = let_think(sampling, self._reader.marks, opening)
        return _StepEngine(self._llm, self._chat, sampling, self._reader)


class _StepEngine:
    """Submits to vLLM's queue, and steps until a request is finished.

    It is deterministic: the same calls in the same order give the same completions on one machine,
    since the cache keeps nothing from an earlier engine.
    """

    def __init__(
        self, llm: vllm.LLM, chat: Chat, sampling: Sampling, reader: ThoughtReader
    ) -> None:
        self._engine = llm.llm_engine
        self._context: int = llm.model_config.max_model_len
        self._chat, self._sampling, self._reader = chat, sampling, reader
        config = llm.model_config.try_get_generation_config().get("eos_token_id") or []
        ends = config if isinstance(config, list) else [config]
        eos = chat.tokenizer.eos_token_id
        known = chat.add_end([*ends, *([] if eos is None else [eos])])
        self._ending = Ending(chat.tokenizer, known, sampling, chat.find_end_text(known))
        self._running: dict[str, Request] = {}
        self._overflows: list[tuple[Request, Completion | RequestFailure]] = []
        if not llm.reset_prefix_cache():
            raise RuntimeError("the model's last engine was not closed")

    def submit(self, request: Request) -> None:
        sampling = self._sampling
        ids = self._chat.tokenize(request.messages, functions_of(request.env))
        if len(ids) + sampling.max_tokens > self._context:
            self._overflows.append((request, Completion("", len(ids), 0, finish="context")))
            return
        form = None
        if sampling.constrain:
            form = StructuredOutputsParams(regex=answer_regex(request.env, sampling.max_tokens))
        # Other settings, such as top-k, are off by default.
        parameters = vllm.SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.max_tokens,
            stop=list(self._ending.texts) or None,
            include_stop_str_in_output=True,
            stop_token_ids=sorted(self._ending.ends),
            skip_special_tokens=False,  # the stop text may be one
            # As servers are sent.
            seed=RandomStream("sampling", sampling.seed, request.key).word() >> 33,
            structured_outputs=form,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        self._running[request.key] = request
        self._engine.add_request(request.key, tokens_input(ids), parameters)

    def collect(self) -> Sequence[tuple[Request, Completion | RequestFailure]]:
        ended, self._overflows = self._overflows, []
        while not ended:
            for output in self._engine.step():
                if not output.finished:
                    continue
                [sequence] = output.outputs
                request = self._running.pop(output.request_id)
                if finish := _FINISH.get(sequence.finish_reason):
                    prompt, form = output.prompt_token_ids, request.env.response_format
                    answer = self._ending.make_completion(len(prompt), list(sequence.token_ids))
                    answer = self._reader.read(replace(answer, finish=finish), form, prompt)
                    functions, marks = functions_of(request.env), self._reader.marks
                    answer = self._chat.read_completion(answer, functions, marks)
                    ended.append((request, answer))
                else:
                    reason = f"vLLM gave {request.key} up: {sequence.finish_reason}"
                    ended.append((request, RequestFailure(reason)))
        return ended

    def close(self) -> None:
        self._engine.abort_request(list(self._running))
        self._running.clear()
        self._overflows = []


def _load(name: str, slots: int, dtype: str) -> vllm.LLM:
    check_folder(name)
    try:
        llm = vllm.LLM(
            name,
            dtype=dtype,
            max_num_seqs=slots,
            max_model_len=-1,  # the model's, or what fits into memory
            tokenizer_mode="hf",
            enforce_eager=current_platform.is_cpu(),  # compiling takes longer than it saves
            async_scheduling=False,  # otherwise timing decides which requests share a step
            use_tqdm_on_load=False,
        )
    except Exception as error:
        reason = textwrap.shorten(str(error) or type(error).__name__, _REASON_CHARACTERS)
        raise UserError(f"no model can be loaded from {name!r}: {reason}") from error
    # Grammars compiled in threads would make the start of a request depend on timing.
    manager = llm.llm_engine.engine_core.engine_core.structured_output_manager
    manager._use_async_grammar_compilation = False  # noqa: SLF001 (vLLM has no setting for it)
    core = llm.llm_engine.engine_core
    core.get_output = partial(_get_output, core.get_output)
    return llm


def _get_output(get_output: Callable[[], Any]) -> Any:
    """Return the samples of vLLM's engine; UserError if a model's logits are NaN."""
    outputs = get_output()
    if any(output.num_nans_in_logits for output in outputs.outputs):
        refuse_no_number()
    return outputs
