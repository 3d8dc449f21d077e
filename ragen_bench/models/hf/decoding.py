"""The decode loop: each step samples one more token of every active generation."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import torch

from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.loading import LoadedModel
from ragen_bench.models.hf.rows import RowBatch
from ragen_bench.models.hf.sampling import Ending, Generation, sample_tokens
from ragen_bench.models.hf.waves import WaveBatch
from ragen_envs.core.instances import RandomStream


class Decoder:
    """Samples the tokens of many generations together, for the harness and the trainer.

    It is deterministic: the same calls in the same order give the same tokens on one machine. A
    generation depends on the others only by the rounding of matrix products.

    Args:
        loaded: The model.
        sampling: Sampling settings; the seed is not read, as each generation has its own stream.
        slots: Number of active generations.
        log_probs: Record the log-probabilities of the sampled tokens; needs a temperature above 0.
        reuse: Read common prefixes of prompts only once.

    Attributes:
        ending: Decides when a generation is finished.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        sampling: Sampling,
        slots: int,
        *,
        log_probs: bool = False,
        reuse: bool = True,
    ) -> None:
        self._temperature, self._log_probs = sampling.temperature, log_probs
        self.ending = Ending(loaded.tokenizer, loaded.ends, sampling)
        self._waiting: deque[Generation] = deque()
        rows = None if loaded.waves else RowBatch(loaded.model, slots, reuse)
        self._batch = rows or WaveBatch(loaded, slots)

    def grow(self, slots: int) -> None:
        """Allow at least `slots` active generations, keeping the cache."""
        self._batch.grow(slots)

    def submit(self, prompt: Sequence[int], stream: RandomStream) -> Generation:
        """Return the generation after a prompt, which `collect` will complete.

        Args:
            prompt: Token ids of the whole conversation, at least one. The model reads those that
                it does not know yet.
            stream: Random numbers of the generation.
        """
        generation = Generation(list(prompt), stream)
        self._waiting.append(generation)
        return generation

    @torch.inference_mode()
    def collect(self) -> Sequence[Generation]:
        """Decode until at least one generation has ended, and return those that have."""
        ended: Sequence[Generation] = []
        while not ended:
            ended = self._step()
        return ended

    def _step(self) -> Sequence[Generation]:
        self._batch.admit(self._waiting)
        active, logits = self._batch.read()
        chosen = sample_tokens(logits, [one.stream for one in active], self._temperature)
        # The only wait for the device in a step.
        for generation, token in zip(active, chosen.tolist(), strict=True):
            generation.ids.append(token)
            generation.unread = [token]
        if self._log_probs:
            log_probs = torch.log_softmax(logits.float() / self._temperature, dim=-1)
            sampled = log_probs.gather(1, chosen[:, None])[:, 0].tolist()
            for generation, log_prob in zip(active, sampled, strict=True):
                generation.log_probs.append(log_prob)
        return self._batch.release([one for one in active if self.ending.is_finished(one.ids)])
