"""The oracle's thoughts: true in every state, and read by the analysis as they are meant."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.analysis.claims import claims_of, split_sentences
from ragen_bench.analysis.failures import find_labeler
from ragen_bench.analysis.plans import read_plan
from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.suites import EnvPool
from ragen_envs.core.failures import FinishedEpisode
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import random_answer
from ragen_envs.core.scene import Scene
from ragen_starpo.thoughts import write_thought

POOL = EnvPool("think")
ROOM = Scene(
    {
        "me": frozenset({(1, 1)}),
        "box": frozenset({(3, 2), (1, 4)}),
        "target": frozenset({(1, 4), (3, 3)}),
    },
    corners=(1, 4, 1, 4),
)
LAKE = Scene(
    {
        "me": frozenset({(1, 1)}),
        "goal": frozenset({(0, 1)}),
        "hole": frozenset({(1, 0), (2, 1), (3, 3)}),
    },
    corners=(0, 3, 0, 3),
)
IN_ROOM = (
    "The box is 2 rows below and 1 column right of me. The target is 1 column right of the box. ",
    "I am 2 rows above and 1 column left of the box. The box is 1 column left of the target. ",
    "The box is below and right of me. The target is right of the box. ",
)
ON_ICE = (
    "The goal is 1 row above me. There is a hole below me. There is a hole left of me. ",
    "I am 1 row below the goal. I am above a hole. I am right of a hole. ",
    "The goal is above me. There is a hole below me. There is a hole left of me. ",
)
PLANS = ("So Down || Up", "I choose Down || Up", "Plan: Down || Up")


@pytest.mark.parametrize(
    ("scene", "states"),
    [(ROOM, IN_ROOM), (LAKE, ON_ICE), (None, ("",))],
    ids=("room", "ice", "none"),
)
def test_every_wording(scene, states):
    told = {write_thought(scene, ("Down", "Up"), RandomStream("test", seed)) for seed in range(200)}
    assert told == {state + plan for state in states for plan in PLANS}


@pytest.mark.parametrize(
    "env",
    ["Sokoban", "SokobanLarge", "SokobanCoord", "FrozenLake", "FrozenLakeLarge", "FrozenLakeMild"],
)
@settings(max_examples=8, deadline=None)
@given(index=st.integers(0, 1 << 40))
def test_thoughts_are_true_and_read_as_they_are_meant(env, index):
    for text, plan, scene, actions in thoughts(f"ragen/{env}-v0", index):
        claims = claims_of(text, scene)
        assert claims.unread == 0
        assert all(claim.true and not claim.denies for claim in claims.read), text
        *state, _ = split_sentences(text)
        assert state
        assert [claim.text for claim in claims.read] == state
        assert read_plan(text, actions, 5) == plan, text


@settings(max_examples=6, deadline=None)
@given(
    env=st.sampled_from(["Bandit", "BanditRev", "BanditMultiPull"]), index=st.integers(0, 1 << 40)
)
def test_plans_without_a_board(env, index):
    for text, plan, scene, actions in thoughts(f"ragen/{env}-v0", index):
        assert scene is None
        assert read_plan(text, actions, 1) == plan != ()


def thoughts(env, index):
    """Yield the thoughts in an episode that is played at random, with what they are about."""
    labeler, made = find_labeler(env), POOL.take(env, "train")
    Episode(Task(env, "train", index, 0), 0, made, "think")
    whole = FinishedEpisode(env=made, instance=made.get_instance(index), steps=(), outcome="")
    stream, noise = RandomStream("wordings", index), RandomStream("moves", index)
    over = False
    while not over:
        scene, plan = labeler.build_scene(whole, labeler.read_state(made)), made.best_actions()
        yield write_thought(scene, plan, stream), plan, scene, labeler.list_actions(whole)
        over = any(made.step(random_answer(made, noise))[2:4])
    POOL.give_back(env, "train", made)
