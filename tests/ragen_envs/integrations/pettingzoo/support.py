"""What the tests of the bridge share: answers of every kind, and a game that is played by them."""

from hypothesis import strategies as st

from ragen_envs.core.protocol import RESPONSE_FORMATS, format_answer
from tests.ragen_envs.support import IDS, make

TURNS = {id_: make(id_).budget.max_turns for id_ in IDS}
SHARED = [(id_, n) for id_ in IDS for n in (1, 2, 3) if n <= TURNS[id_]]
DUELS = [(id_, n) for id_ in IDS for n in (2, 3)]
MULTI_TURN = [id_ for id_ in IDS if TURNS[id_] > 2]

recipes = st.lists(st.integers(0, 9), min_size=1, max_size=7) | st.text(max_size=40)
"""An answer in the making: the numbers of actions, or a text as it is."""
rounds = st.lists(st.lists(recipes, min_size=3, max_size=3), min_size=3, max_size=20).map(
    lambda drawn: drawn * 20  # no game has more turns than 60
)
settings_of_a_game = st.fixed_dictionaries(
    {
        "split": st.sampled_from(["train", "val", "test"]),
        "response_format": st.sampled_from(RESPONSE_FORMATS),
    }
)
resets = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 600),
        "options": st.none() | st.builds(lambda j: {"noise_seed": j}, st.integers(0, 99)),
    }
)


def written(recipe, legal, response_format):
    """Return the answer of a recipe, in form where it names actions."""
    if isinstance(recipe, str):
        return recipe
    return format_answer([legal[i % len(legal)] for i in recipe], response_format)


def names(n):
    return [f"agent_{i}" for i in range(n)]
