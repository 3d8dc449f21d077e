"""Loads a Hugging Face model and says which one it is."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import transformers
from jinja2.exceptions import TemplateError
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig

from ragen_bench.errors import UserError
from ragen_bench.models.base import Message
from ragen_bench.models.hf_support import enable_rows
from ragen_bench.prompt import opening

_HASHED_WHOLE = {".json", ".jinja", ".safetensors", ".bin", ".model", ".txt"}
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to generate.

    Attributes:
        tokenizer: with a chat template.
        model: in evaluation mode, on its device.
        ends: ids of the tokens that end a turn.
        pad: the id that fills up rows; it is masked, so any id serves.
        merges_system: whether the chat template refuses a system message, which then leads the
            first user message.
        waves: why it cannot be run continuously, or "" if it can.
    """

    tokenizer: Any
    model: Any
    ends: frozenset[int]
    pad: int
    merges_system: bool
    waves: str

    def prompt(self, messages: Sequence[Message]) -> str:
        """Return a conversation as the model reads it, up to where its answer begins."""
        shown = merged(messages) if self.merges_system else list(messages)
        text: str = self.tokenizer.apply_chat_template(
            shown, tokenize=False, add_generation_prompt=True
        )
        return text

    def read(self, messages: Sequence[Message]) -> list[int]:
        """Return a conversation as token ids."""
        ids: list[int] = self.tokenizer(self.prompt(messages), add_special_tokens=False)[
            "input_ids"
        ]
        return ids

    def has_room(self, ids: Sequence[int], max_tokens: int) -> bool:
        """Return whether the model's context holds a conversation and the longest answer to it."""
        context = getattr(self.model.config, "max_position_embeddings", None)
        return context is None or len(ids) + max_tokens <= context


def load(name: str) -> Loaded:
    """Load a folder, or a name that the hub knows.

    Raises:
        UserError: if there is no chat model at that place.
    """
    folder = Path(name)
    if folder.exists() and not (folder / "config.json").is_file():
        raise UserError(f"{name!r} is not a model folder: it has no config.json")
    # Advice on tokenizer settings, and bars beside ours.
    logging.getLogger("transformers").setLevel(logging.ERROR)
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, padding_side="left")
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model: Any = AutoModelForCausalLM.from_pretrained(name, dtype="auto")
        model = model.to(device).eval()
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).partition("\n")[0]
        raise UserError(f"no model can be loaded from {name!r}: {reason}") from error
    ends = _end_tokens(tokenizer, model)
    # Penalties, beams and stop texts of the model's own settings would change what is measured.
    model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
        eos_token_id=sorted(ends) or None
    )
    merges_system = _merges_system(name, tokenizer)
    loaded = Loaded(tokenizer, model, ends, min(ends, default=0), merges_system, waves="")
    return replace(loaded, waves=enable_rows(model, loaded.read(_conversation())))


def identity_of(name: str, loaded: Loaded) -> dict[str, Any]:
    """Return what tells the model from another: number format, content or revision.

    The content of a folder is read whole, weights included, since a checkpoint may be overwritten
    by one of the same size.
    """
    identity = {"dtype": str(loaded.model.dtype).removeprefix("torch.")}
    if loaded.merges_system:
        identity["system_message"] = "merged"
    folder = Path(name)
    if folder.is_dir():
        identity["fingerprint"] = _fingerprint(folder)
    else:
        identity["revision"] = str(getattr(loaded.model.config, "_commit_hash", None))
    return identity


def merged(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with the system's text at the head of the first user message."""
    system, first, *rest = messages
    return [{"role": "user", "content": f"{system['content']}\n\n{first['content']}"}, *rest]


def _conversation() -> list[Message]:
    return [*opening("think"), {"role": "user", "content": "-"}]


def _merges_system(name: str, tokenizer: Any) -> bool:
    if tokenizer.chat_template is None:
        raise UserError(f"{name!r} has no chat template; evaluate an instruction-tuned model")
    conversation = _conversation()
    for merges, messages in ((False, conversation), (True, merged(conversation))):
        try:
            tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        except TemplateError as error:
            reason = str(error).partition("\n")[0]
        else:
            return merges
    raise UserError(f"the chat template of {name!r} refuses a conversation: {reason}")


def _end_tokens(tokenizer: Any, model: Any) -> frozenset[int]:
    config = model.generation_config.eos_token_id
    ends = config if isinstance(config, list) else [config]
    return frozenset(i for i in [*ends, tokenizer.eos_token_id] if i is not None)


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(p for p in folder.iterdir() if p.is_file()):
        if file.suffix in _HASHED_WHOLE:
            digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
            with file.open("rb") as content:
                while block := content.read(_CHUNK):
                    digest.update(block)
    return digest.hexdigest()[:16]
