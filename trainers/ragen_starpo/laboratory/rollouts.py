"""Rollouts of all seeds at once, as rows of tokens without gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from ragen_starpo.algorithms.masked import group_std
from ragen_starpo.laboratory.games.game import CLOSE, END, PAD, AnyGame, State
from ragen_starpo.laboratory.model import StackedModel, Weights
from ragen_starpo.laboratory.readers import Cache, find_distinct, name_beginnings, put_first, take
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.sections import FilterSettings
from ragen_starpo.rollout.selection import select_groups


@dataclass(frozen=True)
class Rollouts:
    """Episodes of S seeds, R of each; tensors of tokens are (S, R, T), padded behind each row.

    Attributes:
        states: (S, R, turns) number of the state that a turn began in, which no two groups share;
            -1 after the last turn. The budget is no part of it, as in `ragen_envs`.
    """

    ids: Tensor  # tokens, from the first observation to the last answer
    mask: Tensor  # 1 on sampled tokens
    turns: Tensor  # the turn that a token belongs to
    log_probs: Tensor  # log-probabilities of sampled tokens, else 0
    rewards: Tensor  # (S, R, turns) rewards
    success: Tensor  # (S, R) whether an episode was solved
    groups: Tensor  # (S, R) number of the group, counted through all seeds
    states: Tensor
    is_void: Tensor  # (S, R) whether an episode has a turn without an action

    def find_deviations(self) -> Tensor:
        """Return the standard deviations of the groups' returns, (S, groups)."""
        scores, groups = self.rewards.sum(-1).double().flatten(), self.groups.flatten()
        return group_std(scores, groups, int(groups.max()) + 1).view(len(self.ids), -1)


@dataclass(frozen=True)
class Chances:
    """Random numbers in [0, 1) that decide episodes."""

    noise: Tensor  # (S, R, noise_count), of the game
    tokens: Tensor  # (S, R, turns, answer tokens), of the sampled tokens


@torch.no_grad()
def play(
    model: StackedModel,
    weights: Weights,
    game: AnyGame,
    boards: Tensor,
    samples: int,
    chances: Chances,
    temperature: Tensor | float = 1.0,
) -> Rollouts:
    """Play `samples` episodes on each of the boards, (S, groups, ...)."""
    seeds, groups = boards.shape[:2]
    count, device = groups * samples, boards.device
    record = Record(game, seeds, count, device)
    cache = Cache(model.shape, seeds * groups, device)
    group = (torch.arange(count, device=device) // samples).expand(seeds, count)
    histories = Histories(Sampler(model, weights, cache, temperature), group, groups)
    state = game.start(boards.repeat_interleave(samples, 1), chances.noise)
    for turn in range(game.budget.max_turns):
        going = ~state.over
        if not going.any():
            break
        ids, present = game.observe(state)
        histories.read(ids, present, going)
        record.observe(ids, present)
        answer = histories.answer(chances.tokens[:, :, turn], going, record)
        record.step(state, answer)
    numbers = torch.arange(seeds * groups, device=device).view(seeds, groups)
    return record.rollouts(numbers.repeat_interleave(samples, 1))


class Sampler:
    """Samples answers after what it has read, for rows that all read the same slots."""

    def __init__(
        self, model: StackedModel, weights: Weights, cache: Cache, temperature: Tensor | float
    ) -> None:
        self._model, self._folded, self._temperature = model, model.fold(weights), temperature
        self._cache, self._hidden = cache, torch.empty(0)

    def keep_rows(self, index: Tensor, rows: Tensor) -> None:
        """Go on with some rows, given by their numbers in all seeds, and in each, (S, rows)."""
        self._cache = self._cache.rows(index)
        place = rows[..., None].expand(*rows.shape, self._hidden.shape[-1])
        self._hidden = self._hidden.gather(1, place)

    def read(self, ids: Tensor, present: Tensor) -> None:
        """Read the next tokens, (S, rows, T); `present` is False on empty slots."""
        self._cache.begin(present)
        self._hidden = self._model.hidden(self._folded, ids.flatten(1), self._cache)

    def log_probs(self) -> Tensor:
        """Return the log-probabilities of the next token, (S, rows, V)."""
        return self._model.log_probs(self._folded, self._hidden, self._temperature)


class Histories:
    """The distinct histories of episodes, each a row of a sampler, which are computed once.

    The last token of an answer is read with the next observation.
    """

    def __init__(self, sampler: Sampler, row: Tensor, count: int) -> None:
        """`row`, (S, B), is the sampler's row of each episode, of `count` rows of a seed."""
        self._sampler, self._row, self._count = sampler, row, count
        nothing = row[..., None][..., :0]
        self._pending = [nothing, nothing.bool()]

    def read(self, ids: Tensor, present: Tensor, going: Tensor) -> None:
        """Read the next tokens, (S, B, T), of the episodes that are `going`."""
        pairs = zip(self._pending, (ids, present), strict=True)
        self._pending = [torch.cat(pair, -1) for pair in pairs]
        self._advance(going)

    def _advance(self, going: Tensor) -> None:
        """Read the pending tokens; episodes that now differ get rows of their own."""
        ids, present = self._pending
        columns = torch.cat([self._row[..., None], torch.where(present, ids, -1)], -1)
        names = name_beginnings(columns)[..., -1]
        some = names.gather(1, going.long().argmax(1, keepdim=True))
        place, row = find_distinct(torch.where(going, names, some))
        before, self._row = self._row.gather(1, place), row
        offsets = torch.arange(len(row), device=row.device)[:, None] * self._count
        index = (before + offsets).flatten()
        if not torch.equal(index, torch.arange(len(row) * self._count, device=row.device)):
            self._sampler.keep_rows(index, before)
        self._count = place.shape[1]
        ids, present = (
            one.gather(1, place[..., None].expand(*place.shape, one.shape[-1]))
            for one in (ids, present)
        )
        self._sampler.read(ids, present)

    def answer(self, drawn: Tensor, going: Tensor, record: Record) -> Tensor:
        """Return answers of the episodes that are `going`, (S, B, answer tokens)."""
        answer, running = torch.full(drawn.shape, PAD, device=drawn.device), going
        for place in range(drawn.shape[-1]):
            if place:
                self._advance(running)
            log_probs = self._sampler.log_probs()
            offsets = torch.arange(len(drawn), device=drawn.device)[:, None] * log_probs.shape[1]
            row, log_probs = self._row + offsets, log_probs.flatten(0, 1)
            cumulated = take(log_probs.exp().cumsum(-1), row)
            bound = drawn[..., place, None] * cumulated[..., -1:]
            token = torch.where(going, (cumulated < bound).sum(-1), PAD)
            answer[..., place] = token
            chosen = log_probs.flatten()[row * log_probs.shape[1] + token]
            record.sample(token, going, chosen)
            self._pending = [token[..., None], going[..., None]]
            going = going & (token != CLOSE) & (token != END)
        return answer


class Record:
    """The tokens that rows have read and sampled, in slots that are the same for all."""

    def __init__(self, game: AnyGame, seeds: int, count: int, device: torch.device) -> None:
        self._game, self.slots = game, game.slots
        size = (seeds, count, self.slots)
        self._ids = torch.full(size, PAD, device=device)
        self._present = torch.zeros(size, dtype=torch.bool, device=device)
        self._mask = torch.zeros_like(self._present)
        self._log_probs = torch.zeros(size, device=device)
        self._turns = torch.zeros(self.slots, dtype=torch.long, device=device)
        self._rewards = torch.zeros(seeds, count, game.budget.max_turns, device=device)
        self._success = torch.zeros(seeds, count, dtype=torch.bool, device=device)
        self._is_void = torch.zeros_like(self._success)
        self._states = torch.full(self._rewards.shape, -1, device=device)
        self._slot = self._turn = 0

    def observe(self, ids: Tensor, present: Tensor) -> None:
        """Add an observation to all rows, (S, R, T)."""
        at = slice(self._slot, self._slot + ids.shape[-1])
        self._ids[..., at], self._present[..., at] = ids, present
        self._turns[self._slot :] = self._turn
        self._slot += ids.shape[-1]

    def sample(self, ids: Tensor, going: Tensor, log_probs: Tensor) -> None:
        """Add a token of an answer to the rows that are `going`."""
        at = self._slot
        self._ids[..., at], self._present[..., at], self._mask[..., at] = ids, going, going
        self._log_probs[..., at] = log_probs * going
        self._slot += 1

    def step(self, state: State, answer: Tensor) -> None:
        """Take a turn of the game, and add its results."""
        left, going = state.actions_left, ~state.over
        self._states[..., self._turn] = torch.where(going, self._game.position(state), -1)
        self._rewards[..., self._turn] = self._game.step(state, answer)
        self._is_void |= going & (state.actions_left == left)
        self._success = state.success
        self._turn += 1

    def rollouts(self, groups: Tensor) -> Rollouts:
        """Return the rows without empty slots; observations after the end are left out."""
        last = self._mask * torch.arange(1, self.slots + 1, device=self._ids.device)
        places = torch.arange(self.slots, device=self._ids.device)
        kept = self._present & (places < last.amax(-1, keepdim=True))
        order = put_first(kept)[..., : int(kept.sum(-1).max())]
        there = kept.gather(-1, order)

        def compact(column: Tensor) -> Tensor:
            return column.gather(-1, order) * there

        return Rollouts(
            compact(self._ids),
            compact(self._mask),
            compact(self._turns.expand_as(self._ids)),
            compact(self._log_probs),
            self._rewards,
            self._success,
            groups,
            torch.where(self._states < 0, -1, self._states + groups[..., None] * (1 << 32)),
            self._is_void,
        )


def keep_groups(recipe: Recipe, rollouts: Rollouts) -> Tensor:
    """Return which rollouts the recipe's filter keeps for each seed, (S, R), on the CPU."""
    scores = rollouts.rewards.sum(-1).double()
    return torch.stack(
        [
            select_groups(recipe.filter, one, groups)
            for one, groups in zip(scores.cpu(), rollouts.groups.cpu(), strict=True)
        ]
    )


def weigh_groups(settings: FilterSettings, rollouts: Rollouts, kept: Tensor) -> Tensor:
    """Return the factor of each rollout's advantages by its group's deviation, (S, R).

    It is that of `ragen_starpo.rollout.selection.weigh_groups`, for each seed.
    """
    if settings.reweight == "none":
        return torch.ones_like(kept, dtype=torch.float32)
    weights = rollouts.find_deviations()
    if settings.reweight == "variance":
        weights = weights.square()
    samples = kept.shape[1] // weights.shape[1]
    is_kept = kept.unflatten(1, (-1, samples)).any(-1)  # type: ignore[no-untyped-call]
    mean = (weights * is_kept).sum(1, keepdim=True) / is_kept.sum(1, keepdim=True).clamp(min=1)
    weights = torch.where(mean > 0, weights / mean, 1.0)
    return weights.float().repeat_interleave(samples, 1)


def replace_groups(rollouts: Rollouts, extra: Rollouts, flat: Tensor) -> Rollouts:
    """Return rollouts whose groups that are `flat`, (S, groups), are the first of `extra`."""
    seeds, groups = flat.shape
    samples = rollouts.ids.shape[1] // groups
    tokens = max(rollouts.ids.shape[2], extra.ids.shape[2])
    rank = (flat.cumsum(1) - 1).clamp(min=0)
    row = rank[..., None] * samples + torch.arange(samples, device=flat.device)
    row, is_new = row.flatten(1), flat.repeat_interleave(samples, 1)

    def choose(name: str) -> Tensor:
        before, after = getattr(rollouts, name), getattr(extra, name)
        if name in ("ids", "mask", "turns", "log_probs"):
            before, after = (F.pad(one, (0, tokens - one.shape[2])) for one in (before, after))
        shape = (seeds, -1, *[1] * (before.dim() - 2))
        index = row.view(shape).expand(*row.shape, *after.shape[2:])
        return torch.where(is_new.view(shape), after.gather(1, index), before)

    names = ("ids", "mask", "turns", "log_probs", "rewards", "success", "states", "is_void")
    chosen = replace(rollouts, **{name: choose(name) for name in names})
    # A state's number has that of its group, and the new groups have the places of the old ones.
    states = chosen.states % (1 << 32) + rollouts.groups[..., None] * (1 << 32)
    return replace(chosen, states=torch.where(chosen.states < 0, -1, states))
