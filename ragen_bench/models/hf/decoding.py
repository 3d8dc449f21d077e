"""The decode loop of models in process: one more token for every answer under way in each step."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Protocol

import torch

from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.loading import Loaded
from ragen_bench.models.hf.rows import Rows
from ragen_bench.models.hf.sampling import Answer, Ending, choose
from ragen_bench.models.hf.waves import Waves
from ragen_envs.core.instances import RandomStream


class Batch(Protocol):
    """The answers that are decoded together, and what the model has read of them."""

    def grow(self, slots: int) -> None:
        """Take so many answers at once at least."""
        ...

    def admit(self, waiting: deque[Answer]) -> None:
        """Move waiting answers into the batch, as many as it takes now."""
        ...

    def read(self) -> tuple[Sequence[Answer], torch.Tensor]:
        """Have the model read what is unread of every answer under way.

        Returns:
            The answers, and the logits after each one's last token, [answers, vocabulary].
        """
        ...

    def release(self, ended: Sequence[Answer]) -> Sequence[Answer]:
        """Take ended answers out of the batch, and return those that can be handed out now."""
        ...


class Decoder:
    """Samples the tokens of many answers side by side.

    The harness and the trainer share it. It is deterministic: the same calls in the same order give
    the same answers on one machine. An answer depends on what else is under way by the rounding of
    matrix products only.

    Args:
        loaded: the model.
        sampling: how; the seed is not read, since each answer brings its stream.
        slots: how many answers are under way at once.
        log_probs: whether to compute the log-probabilities of the sampled tokens, for temperatures
            above 0.
        reuse: whether common beginnings of prompts are read once only.

    Attributes:
        ending: when an answer is over.
    """

    def __init__(
        self,
        loaded: Loaded,
        sampling: Sampling,
        slots: int,
        *,
        log_probs: bool = False,
        reuse: bool = True,
    ) -> None:
        self._temperature, self._log_probs = sampling.temperature, log_probs
        self.ending = Ending(loaded.tokenizer, loaded.ends, sampling)
        self._waiting: deque[Answer] = deque()
        self._batch: Batch = (
            Waves(loaded, slots) if loaded.waves else Rows(loaded.model, slots, reuse)
        )

    def grow(self, slots: int) -> None:
        """Have so many answers under way at once at least; what the model has read stays known."""
        self._batch.grow(slots)

    def submit(self, prompt: Sequence[int], stream: RandomStream) -> Answer:
        """Return the answer to a prompt of at least one token, which `collect` will complete.

        Args:
            prompt: the whole conversation. The model reads what it does not know yet.
            stream: where the answer's random numbers come from.
        """
        answer = Answer(list(prompt), stream)
        self._waiting.append(answer)
        return answer

    @torch.inference_mode()
    def collect(self) -> Sequence[Answer]:
        """Decode until at least one answer has ended, and return those that have."""
        ended: Sequence[Answer] = []
        while not ended:
            ended = self._step()
        return ended

    def _step(self) -> Sequence[Answer]:
        self._batch.admit(self._waiting)
        answers, logits = self._batch.read()
        chosen = choose(logits, [answer.stream for answer in answers], self._temperature)
        # The only wait for the device in a step.
        for answer, token in zip(answers, chosen.tolist(), strict=True):
            answer.ids.append(token)
            answer.unread = [token]
        if self._log_probs:
            log_probs = torch.log_softmax(logits.float() / self._temperature, dim=-1)
            sampled = log_probs.gather(1, chosen[:, None])[:, 0].tolist()
            for answer, log_prob in zip(answers, sampled, strict=True):
                answer.log_probs.append(log_prob)
        return self._batch.release([answer for answer in answers if self.ending.over(answer.ids)])
