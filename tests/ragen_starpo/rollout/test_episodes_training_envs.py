"""What a recipe changes in the environments that are trained on, and what stays."""

import pytest

from ragen_bench.errors import UserError
from ragen_bench.suites import make_env
from ragen_envs.core.budget import Budget
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.run_sections import EnvironmentSettings
from ragen_starpo.rollout.episodes import training_env, training_pool


def pool_of(env, changes):
    recipe = recipe_of({"model": "m", "envs": [env], "environment": changes}, "r")
    return training_pool(recipe.envs, recipe.response_format, recipe.environment)


def changed(env, **changes):
    return training_env(env, "train", "plain", EnvironmentSettings(**changes))


@pytest.mark.parametrize(
    ("actions", "turns"), [(1, 10), (2, 5), (3, 5), (4, 5), (5, 5), (6, 5), (7, 5)]
)
def test_actions_of_a_turn(actions, turns):
    env = changed("ragen/Sokoban-v0", actions_per_turn=actions)
    assert env.budget == Budget(turns, actions, 10, 10)
    observation, _ = env.reset(seed=4)
    assert f"at most {actions} action" in observation.lower()
    observation, *_ = env.step(" || ".join(["Up"] * 9))
    assert f"{10 - actions} actions" in observation


def test_the_instances_are_those_of_the_suite():
    plain = make_env("ragen/FrozenLake-v0", "train", "plain")
    other = changed("ragen/FrozenLake-v0", slip=(1, 0), actions_per_turn=2)
    for seed in range(20):
        assert plain.get_instance(seed).digest == other.get_instance(seed).digest


@pytest.mark.parametrize(("odds", "share"), [((1, 0), 0.0), ((8, 1), 0.2), ((0, 1), 1.0)])
def test_slip(odds, share):
    env = changed("ragen/FrozenLake-v0", slip=odds, actions_per_turn=1)
    aside = steps = 0
    for seed in range(300):
        env.reset(seed=seed)
        start = env.position
        env.step("Right")
        neighbours = env.get_instance(seed).neighbours[start]
        if len(set(neighbours)) == 4:  # not at the edge, where ways fall together
            steps += 1
            aside += env.position != neighbours[1]
    assert steps > 50
    assert aside / steps == pytest.approx(share, abs=0.12)


def test_nothing_changed_is_the_suites_own():
    env = training_env("ragen/Sokoban-v0", "train", "think", EnvironmentSettings())
    assert env.variant is type(env).variants["Sokoban-v0"]
    assert training_env("ragen/Sokoban-v0", "val", "think", EnvironmentSettings()).reset(seed=0)


@pytest.mark.parametrize(
    ("env", "changes", "said"),
    [
        ("Sokoban-v0", {"slip": (1, 1)}, "ragen/Sokoban-v0 cannot have this [environment]"),
        ("FrozenLake-v0", {"slip": (0, 0)}, "slip must be two odds, at least one above 0"),
        ("FrozenLake-v0", {"slip": (-1, 2)}, "slip must be two odds, at least one above 0"),
        (
            "Sokoban-v0",
            {"actions_per_turn": 0},
            "environment.actions_per_turn: is at least 1, got 0",
        ),
    ],
)
def test_what_cannot_be_changed_is_one_line(env, changes, said):
    with pytest.raises(UserError) as refused:
        pool_of(env, changes)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_pool_makes_them_once():
    pool = pool_of("Sokoban-v0", {"actions_per_turn": 3})
    env = pool.take("ragen/Sokoban-v0", "train")
    assert env.budget.max_actions_per_turn == 3
    pool.give_back("ragen/Sokoban-v0", "train", env)
    assert pool.take("ragen/Sokoban-v0", "train") is env
