"""A training iteration written by hand on transformers and torch alone.

`trainer_speed.py` compares the local driver with it. It repeats the driver's previous iteration: it
plays the same episodes and learns from the same trajectories.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    AutoModelForCausalLM,
    AutoModelForTokenClassification,
    AutoTokenizer,
    DynamicCache,
)

from ragen_bench.episodes.episode import derive_noise_seed
from ragen_bench.models.prompt import conversation
from ragen_bench.suites import make_env
from ragen_starpo.algorithms.aggregation import mini_batches, token_weights
from ragen_starpo.objective import compute_advantages, policy_contribution, value_contribution
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.run_sections import OptimiserSettings
from ragen_starpo.rollout.episodes import RolloutSpec
from ragen_starpo.rollout.trajectory import TokenBatch, TokenTrajectory


class PlainRollouts:
    """Plays all episodes of an iteration in one batch, turn by turn.

    The keys and values of all conversations are kept between turns. The new part of a
    conversation, a prompt or an observation, is read in a batch, padded on the left. Then one token
    per episode is sampled at a time, until the longest response of the turn has ended.

    Args:
        folder: Folder of the model.
        recipe: Recipe with one environment, the full history and no stop text.
    """

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        self._recipe = recipe
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self._end = self._tokenizer.eos_token_id
        self._envs: list[Any] = []

    @torch.inference_mode()
    def play(
        self, specs: Sequence[RolloutSpec], to_repeat: Sequence[TokenTrajectory]
    ) -> list[list[list[float]]]:
        """Play all episodes.

        Args:
            specs: The episodes.
            to_repeat: Trajectories whose tokens replace the sampled ones, so that both play alike.

        Returns:
            The log-probabilities of the tokens, by episode and response.
        """
        form = self._recipe.response_format
        while len(self._envs) < len(specs):
            self._envs.append(make_env(specs[0].task.env, "train", form))
        envs = self._envs
        log_probs_of: list[list[list[float]]] = [[] for _ in specs]
        new = [self._first(env, spec) for env, spec in zip(envs, specs, strict=False)]
        going, cache = list(range(len(specs))), DynamicCache(config=self.model.config)
        mask = torch.zeros(len(specs), 0, dtype=torch.long)
        turn = 0
        while going:
            answers = [to_repeat[row].turns[turn].sampled for row in going]
            longest = max(len(answer.ids) for answer in answers)
            mask, log_probs = self._answer(new, [answer.ids for answer in answers], mask, cache)
            unfinished, new = [], []
            for place, row in enumerate(going):
                log_probs_of[row].append(log_probs[place][: len(answers[place].ids)])
                text = self._tokenizer.decode(answers[place].ids, skip_special_tokens=True)
                observation, _, terminated, truncated, _ = envs[row].step(text)
                if not terminated and not truncated:
                    unfinished.append(place)
                    # The last token of the longest answers has not been read.
                    unread = answers[place].ids[longest - 1 :]
                    new.append([*unread, *self._next(observation, answers[place].ids)])
            going, kept = [going[place] for place in unfinished], torch.tensor(unfinished)
            if going and len(unfinished) < len(mask):
                mask = mask[kept]
                cache.batch_select_indices(kept)
            turn += 1
        return log_probs_of

    def _first(self, env: Any, spec: RolloutSpec) -> list[int]:
        options = {"noise_seed": derive_noise_seed(spec.seed, spec.task.sample)}
        observation, _ = env.reset(seed=spec.task.index, options=options)
        return self._ids(conversation([observation], [], self._recipe.response_format))

    def _next(self, observation: str, answer: Sequence[int]) -> list[int]:
        """Return the tokens after a response, with its end token if that was not sampled."""
        ids = self._ids([{"role": "user", "content": observation}])
        return ids if answer[-1] == self._end else [self._end, *ids]

    def _ids(self, messages: Sequence[Any]) -> list[int]:
        text = self._tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _answer(
        self, new: Sequence[list[int]], repeated: Sequence[Sequence[int]], mask: Tensor, cache: Any
    ) -> tuple[Tensor, list[list[float]]]:
        """Read the new tokens, and sample until all responses have ended.

        Returns:
            The mask of all tokens read so far, and the log-probabilities of the responses' tokens.
        """
        width, longest = max(map(len, new)), max(map(len, repeated))
        ids = torch.tensor([[self._end] * (width - len(row)) + row for row in new])
        real = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in new])
        wanted = torch.tensor([[*row, *[self._end] * (longest - len(row))] for row in repeated])
        lengths = torch.tensor([len(row) for row in repeated])
        log_probs = torch.zeros(wanted.shape)
        for place in range(longest):
            mask = torch.cat([mask, real], dim=1)
            positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
            logits = self.model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            ).logits[:, -1]
            spread = torch.log_softmax(logits / self._recipe.rollouts.temperature, dim=-1)
            torch.multinomial(spread.exp(), 1)
            ids = wanted[:, place : place + 1]
            log_probs[:, place] = spread.gather(1, ids)[:, 0]
            real = (place < lengths).long()[:, None]
        return mask, log_probs.tolist()


class PlainLearning:
    """Learns from trajectories by plain forward and backward passes and torch's AdamW.

    Losses and advantages are the trainer's own functions of tensors.

    Args:
        folder: Folder of the model.
        recipe: Recipe with all weights trained, without reference policy or correction.
    """

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        self._recipe = recipe
        kinds: dict[str, Any] = {"dtype": torch.float32}
        self.policy: Any = AutoModelForCausalLM.from_pretrained(folder, **kinds)
        self.critic: Any = AutoModelForTokenClassification.from_pretrained(
            folder, num_labels=1, **kinds
        )
        self._optimisers = [
            _adam(self.policy, recipe.optimiser),
            _adam(self.critic, recipe.critic),
        ]

    def learn(self, batch: TokenBatch, number: int) -> None:
        """Take the steps of an iteration.

        Args:
            batch: The trajectories.
            number: Number of the iteration.
        """
        recipe = self._recipe
        with torch.no_grad():
            values = torch.zeros(batch.mask.shape)
            for rows in self._micro_batches(batch):
                part = self._values(batch, rows)
                values[rows, : part.shape[1]] = part
            values = values * batch.mask
        advantages, returns = compute_advantages(recipe.advantage, batch, values)
        assert returns is not None
        columns = {
            "advantages": advantages,
            "old_log_probs": batch.log_probs,
            "old_values": values,
            "returns": returns,
        }
        for rows in mini_batches(
            batch.count, number, size=recipe.mini_batch, passes=recipe.updates, seed=recipe.seed
        ):
            some = batch.rows(rows)
            weights = token_weights(some.mask, recipe.loss.aggregation)
            of_rows = {name: column[rows] for name, column in columns.items()}
            self._step(some, {**of_rows, "weights": weights, "mask": some.mask})

    def _step(self, batch: TokenBatch, columns: dict[str, Tensor]) -> None:
        loss = self._recipe.loss
        for rows in self._micro_batches(batch):
            log_probs, entropies = self._spread(batch, rows)
            part = _cut(columns, rows, log_probs.shape[1])
            mask = part["mask"].bool()
            policy_contribution(loss, log_probs.where(mask, 0), entropies.where(mask, 0), part)[
                0
            ].backward()
            values = self._values(batch, rows).where(mask, 0)
            value_contribution(loss, values, part)[0].backward()
        limits = self._recipe.optimiser.clip_grad, self._recipe.critic.clip_grad
        models = self.policy, self.critic
        for model, optimiser, most in zip(models, self._optimisers, limits, strict=True):
            torch.nn.utils.clip_grad_norm_(model.parameters(), most)
            optimiser.step()
            optimiser.zero_grad()

    def _micro_batches(self, batch: TokenBatch) -> Sequence[Tensor]:
        """Return the rows of each, from the shortest on."""
        order = torch.argsort(batch.attention.sum(1), stable=True)
        return torch.split(order, self._recipe.micro_batch)

    def _spread(self, batch: TokenBatch, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Return log-probabilities and entropies of tokens; 0 of the first one of each row."""
        ids, attention = _padded(batch, rows)
        logits = self.policy(input_ids=ids, attention_mask=attention, use_cache=False).logits
        spread = torch.log_softmax(logits[:, :-1] / self._recipe.rollouts.temperature, dim=-1)
        log_probs = spread.gather(2, ids[:, 1:, None])[..., 0]
        entropies = -(spread.exp() * spread).sum(-1)
        return _after_first(log_probs), _after_first(entropies)

    def _values(self, batch: TokenBatch, rows: Tensor) -> Tensor:
        ids, attention = _padded(batch, rows)
        values = self.critic(input_ids=ids, attention_mask=attention, use_cache=False).logits
        return _after_first(values[:, :-1, 0])


def _adam(model: Any, settings: OptimiserSettings) -> torch.optim.AdamW:
    return torch.optim.AdamW(
        model.parameters(),
        lr=settings.learning_rate,
        betas=settings.betas,
        weight_decay=settings.weight_decay,
    )


def _padded(batch: TokenBatch, rows: Tensor) -> tuple[Tensor, Tensor]:
    width = int(batch.attention[rows].sum(1).max())
    return batch.ids[rows, :width], batch.attention[rows, :width]


def _cut(columns: dict[str, Tensor], rows: Tensor, width: int) -> dict[str, Tensor]:
    return {name: column[rows, :width] for name, column in columns.items()}


def _after_first(told: Tensor) -> Tensor:
    return torch.nn.functional.pad(told, (1, 0))
