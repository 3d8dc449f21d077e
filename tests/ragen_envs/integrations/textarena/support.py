"""What the bridge's tests share: games that run offline, answers, and raw TextArena to compare."""

import random

import numpy as np
import textarena
from hypothesis import strategies as st

SINGLE = (
    "Blackjack-v0",
    "Crosswords-v0",
    "FrozenLake-v0-random",
    "GuessTheNumber-v0",
    "Mastermind-v0",
    "Minesweeper-v0",
    "Sudoku-v0-very-easy",
    "ThreeCardMonte-v0",
    "TowerOfHanoi-v0",
    "2048-v0",
)
SEVERAL = (
    ("TicTacToe-v0", 2),
    ("Nim-v0", 2),
    ("ConnectFour-v0", 2),
    ("IteratedPrisonersDilemma-v0", 2),
    ("SimpleNegotiation-v0", 2),
    ("KuhnPoker-v0", 2),
    ("ThreePlayerTicTacToe-v0", 3),
)
SENSIBLE = (
    *("[up]", "[down]", "[left]", "[right]", "[hit]", "[stand]", "[3 4]", "[0 0]", "[1 2 3 4]"),
    *("[A C]", "[A B]", "[1]", "[2]", "[4]", "[10]", "[1 1 5]", "[bet]", "[check]", "[call]"),
    *("[cooperate]", "[defect]", "[0 1]", "[col 3]", "[Accept]", "let us talk"),
)
HOSTILE = st.one_of(
    st.text(max_size=60),
    st.text("[]0123456789 -,ABab/+²٣\n", max_size=20),
    st.sampled_from(["", "[", "[]", "[" + "9" * 5000 + "]", "x" * 40000, "[-1 -1]", "[\ud800]"]),
)


def answers(seed: int, count: int) -> list[str]:
    """Return answers that many games understand, the same for the same seed."""
    return random.Random(seed).choices(SENSIBLE, k=count)


def global_state():
    """Return all that the global generators would draw next, in comparable form."""
    name, key, *rest = np.random.get_state()
    return random.getstate(), (name, key.tobytes(), *rest)


class Raw:
    """TextArena itself, which seeds and draws from the process's generators.

    A bridged game beside it leaves those as they are.
    """

    def __init__(self, env_id, players, seed):
        self.env = textarena.make(env_id)
        self.core = self.env
        while isinstance(self.core, textarena.Wrapper):
            self.core = self.core.env
        random.seed(seed)
        self.env.reset(num_players=players, seed=seed)

    def look(self):
        """Return whose turn it is, and what is new to that player, a line for each message."""
        player, messages = self.core.get_observation()
        names = {**self.core.state.role_mapping, -1: "GAME"}
        return player, [
            f"[{names[sender]}] {message}"
            for sender, message, kind in messages
            if (sender, kind) != (player, textarena.ObservationType.PLAYER_ACTION)
        ]

    def step(self, action):
        return self.env.step(action)[0]
