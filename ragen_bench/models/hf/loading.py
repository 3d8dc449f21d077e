"""Hugging Face models: loading, and their identity in a record."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from ragen_bench.errors import UserError
from ragen_bench.models.chat import Chat, make_chat, sample_conversation
from ragen_bench.models.hf.support import enable_rows
from ragen_bench.models.model_folder import check_folder, describe_content


@dataclass(frozen=True)
class LoadedModel:
    """A model that is ready to generate.

    Attributes:
        chat: Its tokenizer and chat template.
        model: The model of transformers, in evaluation mode, on its device.
        ends: Ids of the tokens that end a turn.
        pad: Id of the padding, which is masked, so that any id will do.
        waves: Why it cannot use continuous batching; "" if it can.
    """

    chat: Chat
    model: Any
    ends: frozenset[int]
    pad: int
    waves: str

    @property
    def tokenizer(self) -> Any:
        """The tokenizer."""
        return self.chat.tokenizer

    @property
    def context(self) -> int | None:
        """Context length in tokens, if the configuration has it."""
        config = self.model.config.get_text_config(decoder=True)
        tokens: int | None = getattr(config, "max_position_embeddings", None)
        return tokens

    def has_room(self, ids: Sequence[int], max_tokens: int) -> bool:
        """Return whether a conversation and its longest completion fit into the context."""
        return self.context is None or len(ids) + max_tokens <= self.context


def load(name: str) -> LoadedModel:
    """Load a folder, or a name on the hub.

    Raises:
        UserError: There is no chat model at that place.
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
    chat = make_chat(name, tokenizer)
    loaded = LoadedModel(chat, model, frozenset(ends), min(ends, default=0), waves="")
    return replace(loaded, waves=enable_rows(model, chat.tokenize(sample_conversation())))


def describe_identity(name: str, loaded: LoadedModel) -> dict[str, Any]:
    """Return what identifies a model: number format, and content or revision."""
    return {
        "dtype": str(loaded.model.dtype).removeprefix("torch."),
        **loaded.chat.identity(),
        **describe_content(name, loaded.model.config),
    }
