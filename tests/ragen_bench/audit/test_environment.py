"""The audit holds where the suite does, and names each guarantee that was broken on purpose."""

from dataclasses import replace

import pytest

from ragen_bench.audit import audit_environment, count_guarantees, count_steps, environment
from ragen_envs.cli.build_held_out import held_out_files
from ragen_envs.games.bandit.env import BanditEnv
from ragen_envs.games.bandit_multi_pull.env import MultiPullEnv
from ragen_envs.games.frozen_lake.env import FrozenLakeEnv
from ragen_envs.games.minesweeper.env import MinesweeperEnv
from ragen_envs.games.sokoban.env import SokobanEnv
from ragen_envs.testing import CHECKS

pytestmark = pytest.mark.slow


def counted(name, levels=40, **options):
    return count_guarantees(f"ragen/{name}", levels, lambda steps, doing: None, **options)


def problem_names(audit):
    return {problem.partition(":")[0] for problem in audit.problems}


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("Sokoban-v0", 256),
        ("FrozenLake-v0", 256),
        ("WebShop-v0", 256),
        ("TwentyQuestionsNewCategories-v0", 31),
    ],
)
def test_every_guarantee_holds_and_every_step_is_told(name, size):
    steps, doings = [], []

    def advance(count, doing):
        steps.append(count)
        doings.append(doing)

    audit = audit_environment(f"ragen/{name}", 40, advance)
    assert audit.problems == []
    assert (audit.levels, audit.held_out, audit.shipped) == (40, 2 * size, 2 * size)
    assert (audit.unsolved, audit.leaked, audit.doubled) == (0, 0, 0)
    assert sum(steps) == count_steps(f"ragen/{name}", 40) == 40 + 4 * size + len(CHECKS)
    assert set(CHECKS) <= set(doings)
    assert [outcome.name for outcome in audit.checks] == list(CHECKS)
    skipped = [outcome.name for outcome in audit.checks if outcome.status != "passed"]
    assert skipped == ([] if name == "FrozenLake-v0" else ["rollouts_differ_in_noise"])


def test_the_figures_are_those_of_the_instances():
    audit = counted("Sokoban-v0", levels=1)
    env = SokobanEnv("Sokoban-v0")
    lengths = [env.get_instance(0).optimal_length] + [
        level.optimal_length
        for split in ("val", "test")
        for level in env.load_shipped(env.variant.name, split)
    ]
    assert (audit.shortest, audit.longest) == (min(lengths), max(lengths))
    assert (audit.ceiling, audit.oracle) == (1.0, 1.0)
    lakes = counted("FrozenLake-v0", levels=1)
    lake = FrozenLakeEnv("FrozenLake-v0", oracle_info=True)
    ceilings = [lake.reset(seed=0)[1]["ceiling"]] + [
        one.ceiling
        for split in ("val", "test")
        for one in lake.load_shipped("FrozenLake-v0", split)
    ]
    assert lakes.ceiling == pytest.approx(sum(ceilings) / 513, abs=1e-12)


def test_a_reference_player_is_held_to_its_estimates_and_to_no_sure_win(monkeypatch):
    monkeypatch.setattr(environment, "held_out_files", lambda *_, **__: iter(()))
    audit = counted("MinesweeperLarge-v0")
    assert (audit.problems, audit.unsolved) == ([], 0)
    assert 0.8 < audit.ceiling < 0.95
    figures = MinesweeperEnv.compute_oracle_info
    monkeypatch.setattr(
        MinesweeperEnv, "compute_oracle_info", lambda *of: {**figures(*of), "ceiling": 1.0}
    )
    audit = counted("MinesweeperLarge-v0")
    assert (problem_names(audit), audit.unsolved) == ({"ceiling"}, 0)
    assert problem_names(counted("Minesweeper-v0")) == {"ceiling", "unsolved"}


def test_the_sealed_split_is_looked_at_when_asked(monkeypatch):
    monkeypatch.setenv("RAGEN_SEALED_KEY", "ab" * 32)
    audit = counted("Bandit-v0", sealed=True)
    assert (audit.held_out, audit.problems) == (768, [])
    for env, more in (("ragen/Bandit-v0", 256), ("ragen/TwentyQuestions-v0", 0)):
        assert count_steps(env, 1, sealed=True) == count_steps(env, 1) + more
    assert counted("TwentyQuestions-v0", sealed=True).held_out == 120


def test_an_oracle_that_plays_badly_is_found(monkeypatch):
    monkeypatch.setattr(BanditEnv, "find_best_actions", lambda self: (self._names[1 - self._high],))
    audit = counted("Bandit-v0")
    assert audit.unsolved == 552
    assert problem_names(audit) == {"unsolved", "ceiling"}
    assert "unsolved: train seed 0: ceiling 1, oracle 0" in audit.problems


def test_a_ceiling_that_is_stated_too_high_is_found(monkeypatch):
    figures = FrozenLakeEnv.compute_oracle_info

    def higher(self, instance):
        found = figures(self, instance)
        return {**found, "ceiling": (found["ceiling"] + 1) / 2}

    monkeypatch.setattr(FrozenLakeEnv, "compute_oracle_info", higher)
    audit = counted("FrozenLake-v0")
    assert problem_names(audit) == {"ceiling"}
    assert f"in 552 episodes where the mean ceiling is {audit.ceiling:.4f}" in audit.problems[0]


def test_an_instance_beyond_the_budget_is_found(monkeypatch):
    for length, beyond in ((1, 0), (2, 552)):
        figures = {"ceiling": 1.0, "optimal_length": length}
        monkeypatch.setattr(
            BanditEnv, "compute_oracle_info", lambda self, arms, figures=figures: figures
        )
        audit = counted("Bandit-v0")
        assert (audit.unsolved, audit.shortest, audit.longest) == (beyond, length, length)
        assert problem_names(audit) == ({"unsolved"} if beyond else set())


def shipped_instead(monkeypatch, change):
    shipped = MultiPullEnv.load_shipped.__func__
    monkeypatch.setattr(
        MultiPullEnv,
        "load_shipped",
        classmethod(lambda cls, name, split: change(split, shipped(cls, name, split))),
    )


def test_a_held_out_instance_that_occurs_twice_is_found(monkeypatch):
    shipped_instead(
        monkeypatch,
        lambda split, found: (*found[:9], found[3], *found[10:]) if split == "val" else found,
    )
    audit = counted("BanditMultiPull-v0")
    assert (audit.doubled, audit.problems) == (
        1,
        ["doubled: val seed 9 occurs earlier in its split"],
    )


def test_a_train_instance_that_is_shipped_is_found(monkeypatch):
    train = MultiPullEnv("BanditMultiPull-v0").get_instance(7)
    shipped_instead(
        monkeypatch,
        lambda split, found: (*found[:9], train, *found[10:]) if split == "val" else found,
    )
    audit = counted("BanditMultiPull-v0", levels=8)
    # The held-out one whose content belongs to train, and the train one that is held out.
    assert (audit.leaked, problem_names(audit)) == (2, {"leaked"})


def test_instances_that_are_shipped_in_the_wrong_split_are_found(monkeypatch):
    shipped = MultiPullEnv.load_shipped.__func__
    shipped_instead(
        monkeypatch, lambda split, found: shipped(MultiPullEnv, "BanditMultiPull-v0", "test")
    )
    audit = counted("BanditMultiPull-v0")
    assert audit.leaked == 256
    assert audit.problems == ["leaked: the content of val seed 0 belongs to test"]


def test_a_shipped_file_that_differs_is_found(monkeypatch):
    def changed(games, only):
        for file in held_out_files(games, only):
            yield replace_text(file) if file.split == "test" else file

    def replace_text(file):
        return file._replace(text=file.text.replace("Teacher", "teacher", 1) + " ")

    monkeypatch.setattr(environment, "held_out_files", changed)
    audit = counted("Bandit-v0")
    assert audit.shipped == 256
    assert audit.problems == ["shipped: Bandit-v0-test.txt is not what the generators give"]


def test_a_check_of_the_kit_that_fails_is_a_problem(monkeypatch):
    step = BanditEnv.step

    def at_random(self, action):
        import random

        random.random()
        return step(self, action)

    monkeypatch.setattr(BanditEnv, "step", at_random)
    audit = audit_environment("ragen/Bandit-v0", 5, lambda steps, doing: None)
    assert "global_random_not_written" in problem_names(audit)


def test_only_the_first_example_of_a_problem_is_kept():
    audit = counted("Bandit-v0", levels=1)
    for example in ("first", "second"):
        audit.add_problem("leaked", example)
    audit.add_problem("doubled", "third")
    assert audit.problems == ["leaked: first", "doubled: third"]
    assert replace(audit, problems=[]).problems == []
