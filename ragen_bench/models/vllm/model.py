"""`vllm/NAME-OR-DIR`: a model that vLLM runs in this process, for GPUs above all."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models.base import (
    Completion,
    Engine,
    Fault,
    Finish,
    Request,
    Sampling,
    refuse_limit,
)
from ragen_bench.models.grammar import answer_regex
from ragen_bench.models.tool_messages import functions_of
from ragen_envs.core.instances import RandomStream

# vLLM reads these when it is imported. With a process of its own its steps would not follow the
# requests in a fixed order; its chatter would tear the table; and a user is not to be counted.
os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")

try:
    import vllm
    from vllm.inputs import tokens_input
    from vllm.platforms import current_platform
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    from ragen_bench.models.chat import Chat, chat_of
    from ragen_bench.models.model_folder import check_place, content_of
except (ImportError, OSError) as missing:  # OSError: a library of its own that is not there
    raise UserError(
        f"vllm/NAME-OR-DIR needs vLLM ({missing}): on a machine with a GPU, in a checkout "
        "pip install '.[vllm]' (after the first release: pip install 'ragen-bench[vllm]')"
    ) from missing

SLOTS = 64
"""Requests in flight at once, if nothing else is asked for."""
_GROUP = 4
"""A group has so many episodes a slot: at its end, slots run empty."""
_REASON_CHARACTERS = 300
_FINISH: dict[str | None, Finish] = {"stop": "stop", "length": "length"}


class VLLMModel:
    """A model in vLLM's engine, which gives a freed slot to the next request at once.

    An answer is sampled by the generator of its own request, seeded by the run's seed and the
    request's key alone, with the seed that a vLLM server would be sent. What else shares a step
    changes the rounding of the logits, though, so groups of episodes are replayed whole.

    Args:
        name: a folder with config.json, tokenizer and weights, or a name that the hub knows.
        slots: requests in flight at once.
        dtype: the number format, as vLLM names it; "auto" halves what the folder holds in float32.

    Raises:
        UserError: if there is no chat model at that place, or it does not fit the machine.
    """

    def __init__(self, name: str, slots: int = SLOTS, dtype: str = "auto") -> None:
        self._name = name
        self._llm = _load(name, slots, dtype)
        self._chat = chat_of(name, self._llm.get_tokenizer())
        self.slots = slots
        self.group_size = slots * _GROUP

    def identity(self) -> dict[str, Any]:
        """Return vLLM's version, the number format, and a folder's hash or the hub's revision."""
        config = self._llm.model_config
        return {
            **content_of(self._name, config.hf_config),
            **self._chat.identity(),
            "dtype": str(config.dtype).removeprefix("torch."),
            "vllm": vllm.__version__,
        }

    def probe(self) -> str:
        """Return the device it runs on."""
        return f"in this process, by vLLM {vllm.__version__} on {current_platform.device_type}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that works on `slots` requests at once.

        Raises:
            UserError: if the context is shorter than the longest answer.
        """
        refuse_limit(sampling, self._name, self._llm.model_config.max_model_len)
        return _StepEngine(self._llm, self._chat, sampling)


class _StepEngine:
    """Submits to vLLM's queue, and has it step until an answer is finished.

    It is deterministic: the same calls in the same order give the same answers on one machine,
    since nothing is left in the cache from an engine before.
    """

    def __init__(self, llm: Any, chat: Chat, sampling: Sampling) -> None:
        self._engine = llm.llm_engine
        self._context: int = llm.model_config.max_model_len
        self._chat, self._sampling = chat, sampling
        self._running: dict[str, Request] = {}
        self._refused: list[tuple[Request, Completion | Fault]] = []
        if not llm.reset_prefix_cache():
            raise RuntimeError("the model's last engine was not closed")

    def submit(self, request: Request) -> None:
        """Take a request; it is worked on when answers are collected."""
        ids = self._chat.read(request.messages, functions_of(request.env))
        if len(ids) + self._sampling.max_tokens > self._context:
            self._refused.append((request, Completion("", len(ids), 0, finish="context")))
            return
        self._running[request.key] = request
        self._engine.add_request(
            request.key, tokens_input(ids), _parameters(request, self._sampling)
        )

    def collect(self) -> Sequence[tuple[Request, Completion | Fault]]:
        """Step until at least one answer is finished."""
        ended, self._refused = self._refused, []
        while not ended:
            outputs = self._engine.step()
            ended = [self._ended(output) for output in outputs if output.finished]
        return ended

    def close(self) -> None:
        """Drop what is unanswered."""
        self._engine.abort_request(list(self._running))
        self._running.clear()
        self._refused = []

    def _ended(self, output: Any) -> tuple[Request, Completion | Fault]:
        [answer] = output.outputs
        request = self._running.pop(output.request_id)
        finish = _FINISH.get(answer.finish_reason)
        if finish is None:
            return request, Fault(f"vLLM gave {request.key} up: {answer.finish_reason}")
        read, sampled = len(output.prompt_token_ids), len(answer.token_ids)
        return request, Completion(answer.text, read, sampled, finish)


def _parameters(request: Request, sampling: Sampling) -> Any:
    """Return what vLLM is asked for; what is not named here, such as top-k, is off."""
    form = None
    if sampling.constrain:
        regex = answer_regex(request.env, sampling.max_tokens)
        form = StructuredOutputsParams(regex=regex)
    return vllm.SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_tokens=sampling.max_tokens,
        stop=[sampling.stop] if sampling.stop else None,
        include_stop_str_in_output=True,
        seed=RandomStream("sampling", sampling.seed, request.key).word()
        >> 33,  # as servers are sent
        structured_outputs=form,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def _load(name: str, slots: int, dtype: str) -> Any:
    check_place(name)
    try:
        llm = vllm.LLM(
            name,
            dtype=dtype,
            max_num_seqs=slots,
            max_model_len=-1,  # the model's own, or as much as the memory holds
            tokenizer_mode="hf",
            enforce_eager=current_platform.is_cpu(),  # where compiling takes longer than it saves
            async_scheduling=False,  # else the clock may decide what a step works on
            use_tqdm_on_load=False,
        )
    except Exception as error:
        reason = textwrap.shorten(str(error) or type(error).__name__, _REASON_CHARACTERS)
        raise UserError(f"no model can be loaded from {name!r}: {reason}") from error
    # Grammars would be compiled in threads, and the clock would decide when a request starts.
    manager = llm.llm_engine.engine_core.engine_core.structured_output_manager
    manager._use_async_grammar_compilation = False  # noqa: SLF001 (vLLM has no setting for it)
    return llm
