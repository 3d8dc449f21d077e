"""Hugging Face models: loading, and what identifies them in a record."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from ragen_bench.errors import UserError
from ragen_bench.models.chat import Chat, chat_of, sample_conversation
from ragen_bench.models.hf.support import enable_rows
from ragen_bench.models.model_folder import check_place, content_of


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to generate.

    Attributes:
        chat: its tokenizer and how conversations read.
        model: in evaluation mode, on its device.
        ends: ids of the tokens that end a turn.
        pad: the id that fills up rows; it is masked, so any id serves.
        waves: why it cannot be run continuously, or "" if it can.
    """

    chat: Chat
    model: Any
    ends: frozenset[int]
    pad: int
    waves: str

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of its chat."""
        return self.chat.tokenizer

    @property
    def context(self) -> int | None:
        """Tokens of the model's context, if its configuration names them."""
        config = self.model.config.get_text_config(decoder=True)
        tokens: int | None = getattr(config, "max_position_embeddings", None)
        return tokens

    def has_room(self, ids: Sequence[int], max_tokens: int) -> bool:
        """Return whether the model's context holds a conversation and the longest answer to it."""
        return self.context is None or len(ids) + max_tokens <= self.context


def load(name: str) -> Loaded:
    """Load a folder, or a name that the hub knows.

    Raises:
        UserError: if there is no chat model at that place.
    """
    check_place(name)
    # Advice on tokenizer settings, each retry at a hub that is not there, and bars beside ours.
    for library in ("transformers", "huggingface_hub"):
        logging.getLogger(library).setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        # Without the word on code of the model's own, the user would be asked on the terminal.
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
    ends = _end_tokens(tokenizer, model)
    # Penalties, beams and stop texts of the model's own settings would change what is measured.
    model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
        eos_token_id=sorted(ends) or None
    )
    loaded = Loaded(chat_of(name, tokenizer), model, ends, min(ends, default=0), waves="")
    return replace(loaded, waves=enable_rows(model, loaded.chat.read(sample_conversation())))


def identity_of(name: str, loaded: Loaded) -> dict[str, Any]:
    """Return what tells the model from another: number format, content or revision."""
    return {
        "dtype": str(loaded.model.dtype).removeprefix("torch."),
        **loaded.chat.identity(),
        **content_of(name, loaded.model.config),
    }


def _end_tokens(tokenizer: Any, model: Any) -> frozenset[int]:
    config = model.generation_config.eos_token_id
    ends = config if isinstance(config, list) else [config]
    return frozenset(i for i in [*ends, tokenizer.eos_token_id] if i is not None)
