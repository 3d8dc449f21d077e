"""`hf/NAME-OR-DIR`: a Hugging Face model in process, many conversations at once."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.models.base import Completion, Request, Sampling
from ragen_envs.instances import Stream

try:
    import torch
    import transformers
    from transformers import AutoModelForCausalLM, AutoTokenizer
except ImportError as missing:
    raise UserError(
        f"models in process need {missing.name}: pip install 'ragen-bench[hf]'"
    ) from missing

_TAIL_TOKENS = 16
"""The stop text is looked for in so many last tokens; no tokenizer needs as many for it."""


class HFModel:
    """Generates with `transformers.generate`, left-padded, one batch for many episodes.

    Sampling inverts the distribution at a uniform number that depends on seed, request and token
    alone, so that an answer does not depend on which other requests share its batch (up to the
    rounding of the logits), and no global generator is read.

    Args:
        name: a folder with config.json, tokenizer and weights, or a name that the hub knows.
        batch_size: conversations generated at once.

    Raises:
        UserError: if there is no model at that place.
    """

    def __init__(self, name: str, batch_size: int = 16) -> None:
        self.batch_size = batch_size
        self._name = name
        # Its advice on tokenizer settings would break the progress bar.
        logging.getLogger("transformers").setLevel(logging.ERROR)
        transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self._tokenizer, self._model = self._load(name)
        self._device = self._model.device
        self._ends = self._end_tokens()

    def identity(self) -> dict[str, Any]:
        """Return the number format and, for a folder, a hash of its small files and file sizes."""
        identity = {"dtype": str(self._model.dtype).removeprefix("torch.")}
        folder = Path(self._name)
        if folder.is_dir():
            digest = hashlib.sha256()
            for file in sorted(p for p in folder.iterdir() if p.is_file()):
                digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
                if file.suffix in {".json", ".jinja"}:
                    digest.update(file.read_bytes())
            identity["fingerprint"] = digest.hexdigest()[:16]
        return identity

    def complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """Return one completion for each request; one call to `generate` for them all."""
        prompts = [
            self._tokenizer.apply_chat_template(
                list(request.messages), tokenize=False, add_generation_prompt=True
            )
            for request in requests
        ]
        inputs = self._tokenizer(
            prompts, return_tensors="pt", padding=True, add_special_tokens=False
        ).to(self._device)
        ends = _Ends(self._tokenizer, self._ends, sampling.stop, inputs["input_ids"].shape[1])
        streams = [Stream("sampling", sampling.seed, request.key) for request in requests]
        with torch.inference_mode():
            ids = self._model.generate(
                **inputs,
                max_new_tokens=sampling.max_tokens,
                do_sample=False,
                logits_processor=[_Sampler(streams, sampling.temperature)],
                stopping_criteria=[ends],
                pad_token_id=self._tokenizer.pad_token_id,
            )
        return self._completions(ids, inputs["attention_mask"], ends)

    def _completions(self, ids: Any, mask: Any, ends: _Ends) -> list[Completion]:
        start = mask.shape[1]
        completions = []
        for row, read, length in zip(ids, mask.sum(dim=1), ends.lengths, strict=True):
            sampled = row[start:] if length is None else row[start : start + length]
            text = self._tokenizer.decode(
                sampled, skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
            completions.append(Completion(text, int(read), len(sampled)))
        return completions

    def _load(self, name: str) -> tuple[Any, Any]:
        folder = Path(name)
        if folder.exists() and not (folder / "config.json").is_file():
            raise UserError(f"{name!r} is not a model folder: it has no config.json")
        try:
            tokenizer = AutoTokenizer.from_pretrained(name, padding_side="left")
            device = "cuda" if torch.cuda.is_available() else "cpu"
            model: Any = AutoModelForCausalLM.from_pretrained(name, dtype="auto")
            model = model.to(device).eval()
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise UserError(f"no model can be loaded from {name!r}: {reason}") from error
        if tokenizer.chat_template is None:
            raise UserError(f"{name!r} has no chat template; evaluate an instruction-tuned model")
        if tokenizer.pad_token_id is None:
            # Padding is masked, so any token serves.
            tokenizer.pad_token_id = model.config.eos_token_id or 0
        return tokenizer, model

    def _end_tokens(self) -> frozenset[int]:
        config = self._model.generation_config.eos_token_id
        ends = config if isinstance(config, list) else [config]
        return frozenset(i for i in [*ends, self._tokenizer.eos_token_id] if i is not None)


class _Sampler(transformers.LogitsProcessor):
    """Leaves one token a row possible: the one that the row's own stream chooses."""

    def __init__(self, streams: Sequence[Stream], temperature: float) -> None:
        self._streams = streams
        self._temperature = temperature

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if self._temperature == 0:
            return scores
        rolls = torch.tensor(
            [stream.word() / 2**64 for stream in self._streams], dtype=torch.float64
        ).to(scores.device)
        # In double precision, so that the sum over a large vocabulary is 1 to 1e-12.
        odds = torch.softmax(scores.double() / self._temperature, dim=-1).cumsum(dim=-1)
        chosen = torch.searchsorted(odds, rolls[:, None], right=True)
        chosen = chosen.clamp(max=scores.shape[1] - 1)
        return torch.full_like(scores, float("-inf")).scatter(1, chosen, 0.0)


class _Ends(transformers.StoppingCriteria):
    """Ends each row after the stop text or an end-of-turn token, and counts its tokens."""

    def __init__(self, tokenizer: Any, ends: frozenset[int], stop: str, start: int) -> None:
        self._tokenizer, self._ends, self._stop, self._start = tokenizer, ends, stop, start
        self.lengths: list[int | None] = []

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        if not self.lengths:
            self.lengths = [None] * len(input_ids)
        length = input_ids.shape[1] - self._start
        tail = input_ids[:, max(self._start, input_ids.shape[1] - _TAIL_TOKENS) :]
        for i, row in enumerate(tail.tolist()):
            if self.lengths[i] is None and self._ended(row):
                self.lengths[i] = length
        return torch.tensor([n is not None for n in self.lengths], device=input_ids.device)

    def _ended(self, row: list[int]) -> bool:
        return row[-1] in self._ends or self._stop in self._tokenizer.decode(row)
