"""Hugging Face models: loading, the check for continuous batching, and their identity."""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DynamicCache,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.cache_utils import DynamicLayer

from ragen_bench.errors import UserError, described
from ragen_bench.models.base import Sampling
from ragen_bench.models.chat import Chat, make_chat, sample_conversation
from ragen_bench.models.hf.cache import ATTENTION, RowCache, compute_logits, make_step
from ragen_bench.models.hf.sampling import Ending
from ragen_bench.models.model_folder import check_folder

_CHANGING_ROPES = {"dynamic", "longrope"}
"""Rotary embeddings whose frequencies depend on the longest conversation of a pass."""
_ENDS = 7, 19, 20
"""Number of tokens at which each trial pass ends."""
_FAILURES = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors of models that expect another attention."""
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-3}
_TOLERANCE_OF_HALF = 5e-2
"""Maximum error of the logits relative to their standard deviation; 16 bits have 2 digits."""


def enable_rows(model: PreTrainedModel, ids: list[int]) -> str:
    """Switch a model to the attention of `cache`, if it gives the same logits with it.

    A short conversation, read in pieces next to another one, must give the logits of a plain pass.
    Sliding windows and the like show only in long conversations, so layer types are checked too.
    The conversation `ids` is repeated if it is short. Return why the model cannot, in a few words,
    or ""; if it cannot, it is unchanged. A UserError says that it cannot be run at all.
    """
    if reason := _find_obstacle(model):
        return reason
    before = model.config._attn_implementation  # noqa: SLF001 (transformers has only the setter)
    ids = (ids * _ENDS[-1])[: _ENDS[-1]]
    try:
        plain = _run_plain(model, ids)
    except _FAILURES as failure:
        raise UserError(
            f"the model cannot be run on {model.device}: {described(failure)}", exit_code=1
        ) from failure
    model.set_attn_implementation(ATTENTION)
    try:
        by_rows = _run_by_rows(model, ids)
    except _FAILURES as refusal:
        reason = str(refusal).partition("\n")[0] or type(refusal).__name__
    else:
        error = (by_rows - plain).square().mean().sqrt() / plain.std()
        if not error <= _TOLERANCE.get(model.dtype, _TOLERANCE_OF_HALF):
            reason = "its logits differ when it reads in pieces"
    if reason:
        model.set_attn_implementation(before)
    return reason


def _find_obstacle(model: Any) -> str:
    if not model.is_backend_compatible():
        return "its attention cannot be replaced"
    if not {"position_ids", "logits_to_keep"} <= inspect.signature(model.forward).parameters.keys():
        return "its positions cannot be given"
    config = model.config.get_text_config(decoder=True)
    layers = DynamicCache(config=model.config).layers
    if len(layers) != config.num_hidden_layers or any(type(x) is not DynamicLayer for x in layers):
        return "its layers do not all keep all keys and values"
    ropes = getattr(config, "rope_parameters", None) or {}
    if ropes.get("rope_type") in _CHANGING_ROPES:
        return "its positions depend on the length"
    return ""


@torch.inference_mode()
def _run_plain(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    """Return the logits after each trial pass, [passes, vocabulary], from plain passes."""
    device = model.device
    passes = [model(input_ids=torch.tensor([ids[:end]], device=device)) for end in _ENDS]
    return torch.stack([output.logits[0, -1].float() for output in passes])


@torch.inference_mode()
def _run_by_rows(model: PreTrainedModel, ids: list[int]) -> torch.Tensor:
    """Return the same in pieces, from the second row of two; the first one has reversed tokens."""
    cache = RowCache(2)
    logits, start = [], 0
    for end in _ENDS:
        new = [ids[start:end][::-1], ids[start:end]]
        step = make_step(cache, [start, start], new, model.device, model.dtype)
        logits.append(compute_logits(model, step)[1].float())
        start = end
    return torch.stack(logits)


@dataclass(frozen=True)
class LoadedModel:
    """A model that is ready to generate: in evaluation mode, on its device.

    `ends` are the ids of the tokens that end a turn, the model's and the template's. `pad` is the
    id of the padding, which is masked, so that any id will do. `waves` is why it cannot use
    continuous batching; "" if it can. `end_text` ends a turn too, if the template's end is not
    a single token.
    """

    chat: Chat
    model: Any
    ends: frozenset[int]
    pad: int
    waves: str
    end_text: str = ""

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer."""
        return self.chat.tokenizer

    def ending(self, sampling: Sampling) -> Ending:
        """Return the tokens that end its generations."""
        return Ending(self.tokenizer, self.ends, sampling, self.end_text)

    @property
    def context(self) -> int | None:
        """Context length in tokens, if the configuration has it."""
        config = self.model.config.get_text_config(decoder=True)
        tokens: int | None = getattr(config, "max_position_embeddings", None)
        return tokens


def load(name: str, day: str | None = None) -> LoadedModel:
    """Load a folder, or a name on the hub; a UserError says that it has no chat model.

    `day` is the date that its template may write, in ISO format; today by default.
    """
    check_folder(name)
    # Silence advice on tokenizers, retries at an unreachable hub, and progress bars next to ours.
    for library in ("transformers", "huggingface_hub"):
        logging.getLogger(library).setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        # If it were unset, transformers would ask on the terminal about a model's own code.
        tokenizer = AutoTokenizer.from_pretrained(
            name, padding_side="left", trust_remote_code=False
        )
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model: Any = AutoModelForCausalLM.from_pretrained(
            name, dtype="auto", trust_remote_code=False
        )
        model = model.to(device).eval()
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).partition("\n")[0]
        raise UserError(f"no model can be loaded from {name!r}: {reason}") from error
    configured = model.generation_config.eos_token_id
    ends = [*(configured if isinstance(configured, list) else [configured]), tokenizer.eos_token_id]
    ends = [token for token in ends if token is not None]
    # Penalties, beams and stop texts of the model's own settings would change the measurement.
    model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
        eos_token_id=sorted(set(ends)) or None
    )
    chat = make_chat(name, tokenizer, day)
    known = chat.add_end(ends)
    return LoadedModel(
        chat,
        model,
        ends=known,
        pad=min(ends, default=0),
        waves=enable_rows(model, chat.tokenize(sample_conversation())),
        end_text=chat.find_end_text(known),
    )
