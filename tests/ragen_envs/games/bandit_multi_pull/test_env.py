from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import RandomStream, content_hash, draw, partition_of
from ragen_envs.games.bandit_multi_pull.env import (
    COLOURS,
    VARIANTS,
    Arms,
    MultiPullEnv,
    MultiPullVariant,
)
from tests.cases import examples
from tests.ragen_envs.support import blocks, chi_square, contingency, make

ID = "BanditMultiPull-v0"
BLUE, GREEN, RED, YELLOW, PURPLE = COLOURS
HAND = (60, 30, 15, 10, 15)
"""The chances of test instance 0."""


def started(seed=0, rollout=0, split="test"):
    env = make(ID, split=split, response_format="plain")
    env.reset(seed=seed, options={"noise_seed": rollout})
    return env


def test_the_variant():
    budget = Budget(max_turns=20, max_actions_per_turn=1, max_actions=20, penalty=10)
    assert {ID: MultiPullVariant(ID, 5, budget)} == VARIANTS
    assert COLOURS == ("Blue", "Green", "Red", "Yellow", "Purple")


def test_the_first_observation_in_full():
    first, info = make(ID, split="test").reset(seed=0)
    assert first == (
        "You are at a machine with 5 arms. Each action pulls one.\n"
        "Actions: Blue, Green, Red, Yellow, Purple.\n"
        "Each arm wins with a chance of its own, which never changes. "
        "A win pays 1, a loss 0.\n"
        "You have 20 turns with one pull each. Win as often as you can.\n"
        "\n"
        "Wins so far: Blue 0 of 0, Green 0 of 0, Red 0 of 0, Yellow 0 of 0, Purple 0 of 0.\n"
        "\n"
        "First reason, then answer in exactly this form:\n"
        "<think>REASONING</think><answer>ACTION</answer>"
    )
    assert info["legal_actions"] == COLOURS


def test_score_and_regret_by_hand():
    assert blocks("bandit_multi_pull/chances", f"{ID}-test.txt")[0][1] == ["60 30 15 10 15"]
    env = started()
    # 8 Blue gain 50 each, 5 Green 20, 4 Red 5, 3 Yellow 0: 520 of the 1000 that 20 Blue give.
    pulls = [BLUE] * 8 + [GREEN] * 5 + [RED] * 4 + [YELLOW] * 3
    scores = [env.step(pull)[4]["score"] for pull in pulls]
    assert scores[-1] == 0.52
    assert scores[0] == 0.05
    assert scores[7] == 0.4
    assert scores[12] == 0.5
    for pulls, score in (([BLUE] * 20, 1.0), ([YELLOW] * 20, 0.0), ([RED] * 20, 0.1)):
        env = started()
        assert [env.step(pull)[4]["score"] for pull in pulls][-1] == score


def test_a_turn_without_a_pull_scores_0():
    env = started()
    for n in range(20):
        _, reward, terminated, truncated, info = env.step("nothing" if n % 2 else BLUE)
        assert reward == -0.1 if n % 2 else reward in (0.0, 1.0)
    assert (terminated, truncated) == (False, True)
    assert (info["score"], info["success"], info["actions_left"]) == (0.5, False, 10)


@pytest.mark.parametrize(("best", "success"), [(9, False), (10, False), (11, True), (20, True)])
def test_success_is_more_than_half_of_the_pulls(best, success):
    for first, second in ((BLUE, GREEN), (GREEN, BLUE)):
        env = started()
        order = [BLUE] * best + [GREEN] * (20 - best)
        order.sort(key=[first, second].index)
        for n, pull in enumerate(order):
            _, _, terminated, truncated, info = env.step(pull)
            assert terminated == (n == 19)
            assert not truncated
        assert info["success"] is success


def test_success_is_of_all_pulls_and_not_of_those_made():
    env = started()
    for _ in range(10):
        env.step(BLUE)
    for _ in range(10):
        info = env.step("nothing")[4]
    assert not info["success"]
    env = started()
    infos = [env.step(BLUE)[4]["success"] for _ in range(11)]
    assert infos == [False] * 10 + [True]


def test_one_pull_a_turn():
    env = started()
    observation, _, _, _, info = env.step("Blue || Green || Red")
    assert info["actions_left"] == 19
    assert info["action_is_valid"]
    assert observation.startswith("Done: Blue. The last 2 actions were not run.")
    assert observation.endswith(" of 1, Green 0 of 0, Red 0 of 0, Yellow 0 of 0, Purple 0 of 0.")


@settings(max_examples=examples(100))
@given(
    st.integers(0, 255),
    st.integers(0, 99),
    st.lists(st.sampled_from([*COLOURS, "none"]), min_size=20, max_size=20),
)
def test_episodes_agree_with_a_count_by_hand(seed, rollout, answers):
    percentages = chances("val")[seed]
    worst, best = min(percentages), max(percentages)
    env = started(seed, rollout, "val")
    wins, pulls, gained = Counter(), Counter(), 0
    for turn, answer in enumerate(answers, 1):
        observation, reward, terminated, truncated, info = env.step(answer)
        if answer == "none":
            assert reward == -0.1
        else:
            assert reward in (0.0, 1.0)
            pulls[answer] += 1
            wins[answer] += reward == 1.0
            gained += percentages[COLOURS.index(answer)] - worst
        told = ", ".join(f"{name} {wins[name]} of {pulls[name]}" for name in COLOURS)
        assert observation.split("\n")[1] == f"Wins so far: {told}."
        assert info["score"] == pytest.approx(gained / (20 * (best - worst)), abs=1e-9)
        assert info["success"] == (pulls[COLOURS[percentages.index(best)]] > 10)
        assert terminated == (pulls.total() == 20)
        assert truncated == (turn == 20 and not terminated)


def chances(split):
    found = blocks("bandit_multi_pull/chances", f"{ID}-{split}.txt")
    return [tuple(map(int, rows[0].split())) for _, rows in found]


def test_arms_win_as_often_as_they_should():
    wins = Counter()
    for rollout in range(400):
        for i, name in enumerate(COLOURS):
            env = started(0, rollout)
            wins[i] += sum(env.step(name)[1] == 1.0 for _ in range(20))
    for i, percentage in enumerate(HAND):
        # 8,000 pulls each, 1 degree of freedom: beyond 11 with odds of one in 1,000.
        assert chi_square([wins[i], 8_000 - wins[i]], [percentage, 100 - percentage]) < 11


def test_the_nth_pull_of_an_arm_depends_on_nothing_else():
    for rollout in range(50):
        env = started(0, rollout)
        alone = [env.step(BLUE)[1] for _ in range(10)]
        env = started(0, rollout)
        mixed = []
        for n in range(10):
            env.step((GREEN, RED, PURPLE)[n % 3])
            mixed.append(env.step(BLUE)[1])
        assert mixed == alone


def test_arms_and_pulls_are_independent():
    pairs, lagged = [], []
    for rollout in range(1_500):
        env = started(0, rollout)
        blue = [env.step(BLUE)[1] for _ in range(5)]
        green = [env.step(GREEN)[1] for _ in range(5)]
        pairs += zip(blue, green, strict=True)
        lagged += pairwise(blue)
    assert contingency(pairs) < 11
    assert contingency(lagged) < 11


@pytest.mark.parametrize("split", ["val", "test"])
def test_the_held_out_chances(split):
    found = chances(split)
    assert len(found) == 256
    assert len({tuple(sorted(arms)) for arms in found}) == 256
    for arms in found:
        assert len(arms) == 5
        assert all(5 <= p <= 95 and p % 5 == 0 for p in arms)
        assert sorted(arms)[-1] - sorted(arms)[-2] >= 10
        assert Arms(arms).part == split


def test_no_train_instance_is_held_out_in_any_order():
    taken = {tuple(sorted(arms)) for split in ("val", "test") for arms in chances(split)}
    assert len(taken) == 512
    env = MultiPullEnv(ID)
    best = Counter()
    for seed in range(5_000):
        arms = draw(env.generate_instances, RandomStream("instance", ID, "train", seed), "train")
        assert tuple(sorted(arms.percentages)) not in taken
        assert sorted(arms.percentages)[-1] - sorted(arms.percentages)[-2] >= 10
        best[arms.percentages.index(max(arms.percentages))] += 1
    assert chi_square([best[i] for i in range(5)], [1] * 5) < 25


@given(st.permutations(HAND))
def test_the_digest_knows_no_order(order):
    assert Arms(tuple(order)).digest == content_hash("bandit-multi-pull", b"10,15,15,30,60")
    assert Arms(tuple(order)).part == partition_of(Arms(HAND).digest) == "test"


def test_the_environment_plays_the_drawn_chances():
    env = make(ID, response_format="plain")
    for seed in range(100):
        info = env.reset(seed=seed)[1]
        arms = draw(env.generate_instances, RandomStream("instance", ID, "train", seed), "train")
        assert info["instance"] == arms.digest
        assert env.best_actions() == (COLOURS[arms.percentages.index(max(arms.percentages))],)
