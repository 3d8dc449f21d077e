from itertools import pairwise, product

import pytest

from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import content_hash
from ragen_envs.games.bandit.env import VARIANTS, BanditVariant, NamedArms
from ragen_envs.games.bandit.names import BOLD, STEADY, part_of
from tests.ragen_envs.support import blocks, chi_square, contingency, make, state_in

IDS = ["Bandit-v0", "BanditRev-v0"]


def steady_and_bold(names):
    (steady,) = [name for name in names if name in STEADY]
    (bold,) = [name for name in names if name in BOLD]
    return steady, bold


def high_arm(id_, names):
    """The bold name in Bandit, the steady one in BanditRev."""
    steady, bold = steady_and_bold(names)
    return bold if id_ == "Bandit-v0" else steady


def low_arm(id_, names):
    steady, bold = steady_and_bold(names)
    return steady if id_ == "Bandit-v0" else bold


def test_the_variants():
    budget = Budget(max_turns=1, max_actions_per_turn=1, max_actions=1, penalty=10)
    assert VARIANTS["Bandit-v0"] == BanditVariant("Bandit-v0", False, budget)
    assert VARIANTS["BanditRev-v0"] == BanditVariant("BanditRev-v0", True, budget)
    assert set(VARIANTS) == set(IDS)


def test_the_first_observation_in_full():
    assert make("Bandit-v0", split="test").reset(seed=0)[0] == (
        "You are at a machine with two arms and may pull one of them, once. "
        "Each action pulls the arm of that name.\n"
        "One arm pays a little every time. The other pays a lot, but seldom. "
        "Which is which, you have to judge by their names.\n"
        "Pull the arm that pays more on average.\n"
        "\n"
        "Actions: Astronaut, Typist.\n"
        "\n"
        "First reason, then answer in exactly this form:\n"
        "<think>REASONING</think><answer>ACTION</answer>"
    )


def pulled(id_, seed, rollout, arm):
    env = make(id_, split="val", response_format="plain")
    info = env.reset(seed=seed, options={"noise_seed": rollout})[1]
    name = (high_arm if arm == "high" else low_arm)(id_, info["legal_actions"])
    return env.step(name)


@pytest.mark.parametrize("id_", IDS)
def test_the_low_arm_pays_015_always_and_is_no_success(id_):
    for seed, rollout in product(range(40), range(5)):
        _, reward, terminated, truncated, info = pulled(id_, seed, rollout, "low")
        assert (reward, terminated, truncated) == (0.15, True, False)
        assert (info["success"], info["score"]) == (False, 0.0)


@pytest.mark.parametrize("id_", IDS)
def test_success_is_the_arm_and_not_the_payout(id_):
    rewards = set()
    for seed, rollout in product(range(40), range(5)):
        _, reward, terminated, truncated, info = pulled(id_, seed, rollout, "high")
        rewards.add(reward)
        assert (terminated, truncated) == (True, False)
        assert (info["success"], info["score"]) == (True, 1.0)
    assert rewards == {0.0, 1.0}


@pytest.mark.parametrize("id_", IDS)
def test_the_high_arm_pays_once_in_four_over_rollouts_and_seeds(id_):
    env = make(id_, split="test", response_format="plain")

    def pays(seed, rollout):
        info = env.reset(seed=seed, options={"noise_seed": rollout})[1]
        reward = env.step(high_arm(id_, info["legal_actions"]))[1]
        return reward == 1.0

    # 1 degree of freedom: beyond 11 with odds of one in 1,000.
    over_rollouts = [pays(7, rollout) for rollout in range(6_000)]
    wins = sum(over_rollouts)
    assert chi_square([wins, 6_000 - wins], [1, 3]) < 11
    assert contingency(pairwise(over_rollouts)) < 11
    over_seeds = [pays(seed, rollout) for rollout in range(20) for seed in range(256)]
    wins = sum(over_seeds)
    assert chi_square([wins, len(over_seeds) - wins], [1, 3]) < 11


@pytest.mark.parametrize("id_", IDS)
def test_the_payout_does_not_depend_on_what_is_seen(id_):
    env = make(id_, response_format="plain")
    seen = []
    for seed in range(6_000):
        names = env.reset(seed=seed)[1]["legal_actions"]
        pays = env.step(high_arm(id_, names))[1] == 1.0
        seen.append((pays, names[0] in STEADY, names[0][0] < "M"))
    assert contingency((pays, order) for pays, order, _ in seen) < 11
    assert contingency((pays, letter) for pays, _, letter in seen) < 11
    first = sum(order for _, order, _ in seen)
    assert chi_square([first, 6_000 - first], [1, 1]) < 11


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("Nobody", "Done: nothing. What is not an action was skipped."),
        ("", "Done: nothing. What is not an action was skipped."),
        ("ACTION", "Done: nothing. What is not an action was skipped."),
    ],
)
def test_an_answer_without_an_arm_forfeits_the_pull(id_, answer, told):
    env = make(id_, split="val", response_format="plain")
    env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(answer)
    assert observation.startswith(f"{told} Reward: -0.1. Remaining: 0 turns, 1 action.\nActions: ")
    assert (reward, terminated, truncated) == (-0.1, True, False)
    assert (info["success"], info["actions_left"], info["legal_actions"]) == (False, 1, ())
    env = make(id_, split="val")
    env.reset(seed=0)
    observation, reward, terminated, truncated, _ = env.step("no form")
    assert observation.startswith("The answer was not in the required form")
    assert (reward, terminated, truncated) == (-0.1, True, False)


@pytest.mark.parametrize("id_", IDS)
def test_of_two_arms_the_first_is_pulled(id_):
    env = make(id_, split="val", response_format="plain")
    names = env.reset(seed=0)[1]["legal_actions"]
    low, high = low_arm(id_, names), high_arm(id_, names)
    _, reward, terminated, _, info = env.step(f"{low} || {high}")
    assert (reward, terminated, info["success"], info["action_is_valid"]) == (
        0.15,
        True,
        False,
        True,
    )
    env.reset(seed=0)
    assert env.step(f"Nobody || {low}")[1] == 0.05


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("split", ["train", "val", "test"])
def test_both_names_belong_to_the_split(id_, split):
    env = make(id_, split=split)
    for seed in range(2_000 if split == "train" else 256):
        first, info = env.reset(seed=seed)
        names = info["legal_actions"]
        assert {part_of(name) for name in names} == {split}
        steady_and_bold(names)
        assert state_in(first) == f"Actions: {names[0]}, {names[1]}."


def test_the_splits_share_no_name_and_no_pair_stands_twice():
    names = {"val": set(), "test": set()}
    for id_, split in product(IDS, names):
        found = [tuple(rows) for _, rows in blocks("bandit/names", f"{id_}-{split}.txt")]
        assert len(found) == 256
        assert len({frozenset(pair) for pair in found}) == 256
        names[split] |= {name for pair in found for name in pair}
    env = make("Bandit-v0")
    train = {name for seed in range(3_000) for name in env.reset(seed=seed)[1]["legal_actions"]}
    assert not train & (names["val"] | names["test"])
    assert not names["val"] & names["test"]
    assert "Librarian" in names["test"]
    assert "Trader" in names["test"]
    assert {"Teacher", "Engineer", "Phoenix", "Dragon"} <= train


def test_arms():
    arms = NamedArms(("Dragon", "Phoenix"))
    assert arms.steady == 1
    assert NamedArms(("Phoenix", "Dragon")).steady == 0
    assert arms.digest == NamedArms(("Phoenix", "Dragon")).digest
    assert arms.digest == content_hash("bandit", b"Dragon/Phoenix")
    assert arms.part == "train"
    assert NamedArms(("Librarian", "Trader")).part == "test"
    assert NamedArms(("Librarian", "Dragon")).part == "none"


@pytest.mark.parametrize("id_", IDS)
def test_names_are_read_in_any_case(id_):
    env = make(id_, split="val", response_format="plain")
    names = env.reset(seed=0)[1]["legal_actions"]
    assert env.step(f"  {high_arm(id_, names).upper()} \n")[4]["success"]
