"""The bandits: games whose answer names one thing, with one token for each name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from ragen_envs.core.budget import Budget
from ragen_envs.games.bandit import env as bandit
from ragen_envs.games.bandit.names import BOLD, STEADY, part_of
from ragen_envs.games.bandit_multi_pull import env as multi_pull
from ragen_starpo.laboratory.games.game import (
    ASSISTANT,
    CLOSE,
    END,
    FRAME,
    OPEN,
    PAD,
    USER,
    Game,
    I,
    State,
    choose_way,
)

WORD = len(FRAME)
"""First of a game's own tokens."""
_HELD_OUT = 4
"""One pair of names in four is held out."""


class NamingGame(Game[I]):
    """A game with one action a turn, of some tokens, each one of some ways to go on."""

    pegs = 1

    @abstractmethod
    def show(self, state: State) -> Tensor:
        """Return the tokens of the facts of a turn, (S, B, n), -1 on empty places."""

    @abstractmethod
    def name_ways(self, state: State) -> Tensor:
        """Return the tokens that a player chooses from at each place, (S, B, ways)."""

    @abstractmethod
    def prefer(self, state: State, ways: list[Tensor]) -> Tensor:
        """Return which ways a good player may choose after those chosen, (S, B, ways)."""

    @abstractmethod
    def act(self, state: State, ways: Tensor, goes: Tensor) -> Tensor:
        """Take the action of ways (S, B, pegs) where `goes`; return the rewards."""

    def observe(self, state: State) -> tuple[Tensor, Tensor]:
        """Return the facts in their frame."""
        facts = self.show(state)
        one = facts[..., :1]
        frame = [torch.full_like(one, token) for token in (END, USER, ASSISTANT)]
        ids = torch.cat([*frame[: 2 if state.turn else 0], facts, frame[2]], -1)
        if not state.turn:
            ids = torch.cat([frame[1], ids], -1)
        return torch.where(ids < 0, PAD, ids), ids >= 0

    def step(self, state: State, answer: Tensor) -> Tensor:
        known = self.name_ways(state)
        chosen = answer[..., 1:-1, None] == known[..., None, :]
        framed = (answer[..., 0] == OPEN) & (answer[..., -1] == CLOSE)
        running = ~state.over
        goes = running & framed & chosen.any(-1).all(-1)
        reward = torch.where(goes, self.act(state, chosen.long().argmax(-1), goes), 0.0)
        state.actions_left = state.actions_left - goes.long()
        state.turn += 1
        ended = (state.actions_left <= 0) | torch.tensor(state.turn >= self.budget.max_turns)
        state.over = state.over | ended
        return reward - torch.where(goes | ~running, 0.0, self.budget.penalty / 100)

    def choose(
        self, state: State, plan: Tensor, skill: float, generators: Sequence[torch.Generator]
    ) -> tuple[Tensor, Tensor]:
        del plan
        known, ways = self.name_ways(state), list[Tensor]()
        answer = torch.full((*state.over.shape, self.answer_tokens), CLOSE, device=known.device)
        answer[..., 0] = OPEN
        best = torch.zeros(answer.shape, device=known.device)
        bits = 1 << torch.arange(known.shape[-1], device=known.device)
        for place in range(1, self.pegs + 1):
            prefers = self.prefer(state, ways)
            # A choice of one token among names of the instance is learned as it was made.
            best[..., place] = (prefers * bits).sum(-1) if self.choices[1] > 1 else 1
            ways.append(choose_way(prefers, skill, generators))
            answer[..., place] = known.gather(-1, ways[-1][..., None])[..., 0]
        return answer, best

    def begin(self, board: Tensor, sought: Tensor, noise: Tensor, memory: Tensor) -> State:
        """Return the first states."""
        left = torch.full_like(sought, self.budget.max_actions)
        over = torch.zeros_like(left, dtype=torch.bool)
        return State(board, sought, noise, left, over, over, memory=memory)


class BanditGame(NamingGame[bandit.NamedArms]):
    """Bandit and BanditRev with the names of the train split."""

    names = tuple(name for name in (*STEADY, *BOLD) if part_of(name) == "train")
    tokens = (*FRAME, *names)
    is_random = True
    choices = WORD, 1, len(names)

    def __init__(self, *, is_reversed: bool) -> None:
        variant = bandit.VARIANTS["BanditRev-v0" if is_reversed else "Bandit-v0"]
        env = bandit.BanditEnv(variant, split="train", response_format="answer")
        super().__init__(env, variant.budget, 3, 4, 0)
        self._is_reversed = is_reversed

    def load(self, count: int) -> Tensor:
        return self._load(count, is_held_out=False)

    def load_held_out(self, count: int) -> Tensor:
        """Return pairs that are not trained on, since a name has a token of its own."""
        return self._load(count, is_held_out=True)

    def _load(self, count: int, *, is_held_out: bool) -> Tensor:
        boards = super().load(2 * _HELD_OUT * count)
        return boards[(boards.sum(-1) % _HELD_OUT == 0) == is_held_out][:count]

    def encode(self, instances: Sequence[bandit.NamedArms]) -> Tensor:
        return torch.tensor([[*map(self.tokens.index, one.names)] for one in instances])

    def start(self, boards: Tensor, noise: Tensor) -> State:
        """Return the first states; the arm that is sought is the high-risk one."""
        is_steady = boards < WORD + len(set(STEADY).intersection(self.names))
        high = (is_steady == self._is_reversed).long().argmax(-1)
        return self.begin(boards, high, noise, boards[..., :0])

    def show(self, state: State) -> Tensor:
        return state.board

    name_ways = show

    def prefer(self, state: State, ways: list[Tensor]) -> Tensor:
        del ways
        return state.player[..., None] == torch.arange(2, device=state.player.device)

    def act(self, state: State, ways: Tensor, goes: Tensor) -> Tensor:
        state.success = goes & (ways[..., 0] == state.player)
        high = (state.noise[..., 0] < 1 / bandit.HIGH_ODDS).float() * bandit.HIGH_POINTS
        return torch.where(state.success, high, bandit.LOW_POINTS) / 100

    def position(self, state: State) -> Tensor:
        return torch.zeros_like(state.player)


class MultiPullGame(NamingGame[multi_pull.Arms]):
    """The bandit of many pulls, with three arms and ten pulls by default."""

    is_random = True

    def __init__(self, arms: int = 3, pulls: int = 10) -> None:
        variant = multi_pull.MultiPullVariant(
            f"BanditMultiPull{arms}-v0", arms, Budget(pulls, 1, pulls)
        )
        env = multi_pull.MultiPullEnv(variant, split="train", response_format="answer")
        super().__init__(env, variant.budget, 3, 2 * arms + 2, 2 * arms + 3)
        self._arms, self._number = arms, WORD + arms
        self.tokens = (*FRAME, *multi_pull.COLOURS[:arms], *map(str, range(pulls + 1)))
        self.choices = WORD, arms, 1
        self.noise_count = arms * pulls

    def encode(self, instances: Sequence[multi_pull.Arms]) -> Tensor:
        """Return the probabilities in percent."""
        return torch.tensor([one.percentages for one in instances])

    def start(self, boards: Tensor, noise: Tensor) -> State:
        """Return the first states; the memory has the wins and the pulls of each arm."""
        memory = boards.new_zeros(*boards.shape, 2)
        return self.begin(boards, boards.argmax(-1), noise, memory)

    def show(self, state: State) -> Tensor:
        assert state.memory is not None
        return state.memory.flatten(-2) + self._number

    def name_ways(self, state: State) -> Tensor:
        return torch.arange(WORD, self._number, device=state.board.device).expand_as(state.board)

    def prefer(self, state: State, ways: list[Tensor]) -> Tensor:
        """Return the best arm, which only the player knows."""
        del ways
        return state.player[..., None] == torch.arange(self._arms, device=state.player.device)

    def act(self, state: State, ways: Tensor, goes: Tensor) -> Tensor:
        assert state.memory is not None
        pulled = state.memory[..., 1].gather(-1, ways)
        at = ways * self.budget.max_actions + pulled.clamp(max=self.budget.max_actions - 1)
        wins = (state.noise.gather(-1, at) * 100).long() < state.board.gather(-1, ways)
        arm = (ways == torch.arange(self._arms, device=ways.device)) & goes[..., None]
        state.memory = state.memory + torch.stack((arm & wins, arm), -1).long()
        best = state.memory[..., 1].gather(-1, state.player[..., None])[..., 0]
        state.success = 2 * best > self.budget.max_actions
        return wins[..., 0].float() * multi_pull.WIN_POINTS / 100

    def position(self, state: State) -> Tensor:
        assert state.memory is not None
        number = torch.zeros_like(state.player)
        for column in state.memory.flatten(-2).unbind(-1):
            number = number * (self.budget.max_actions + 1) + column
        return number
