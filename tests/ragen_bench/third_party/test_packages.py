"""Environments of other packages in the harness, by their ids."""

import json

import pytest

from ragen_bench.environments import has_oracle, is_known
from ragen_bench.errors import UserError
from ragen_bench.scores.baselines import compute_baseline
from ragen_bench.suites import env_id, held_out_size, make_env, plays
from ragen_bench.third_party import get_game
from ragen_envs.integrations import external
from tests.ragen_bench.cli.command import run

SUM, OPEN = "reasoning-gym:chain_sum", "reasoning-gym:propositional_logic"


def test_the_solution_of_a_package_is_the_oracle():
    assert (env_id(SUM), has_oracle(SUM), plays("oracle", SUM)) == (SUM, True, True)
    assert (has_oracle(OPEN), plays("oracle", OPEN), plays("random", SUM)) == (False, False, False)
    oracle = compute_baseline("oracle", SUM, "val", range(3))
    assert oracle is not None
    assert (oracle["episodes"], oracle["success"], oracle["ceiling"]) == (3, 1.0, 1.0)
    assert held_out_size(SUM) == 256
    first = [make_env(SUM, split, "plain").reset(seed=0)[0] for split in ("train", "val", "test")]
    assert len(set(first)) == 3


def test_no_solution_is_noted():
    assert get_game(SUM).notes() == [
        f"{SUM} has no legal_actions, so no random baseline; name a player with --random-player."
    ]
    assert get_game(OPEN).notes()[-1] == f"{OPEN} has no oracle: no normalised score."


def test_another_version_is_noted(monkeypatch):
    monkeypatch.setattr(external, "version", lambda name: "0.2.0")
    note = get_game(SUM).notes()[0]
    assert note.startswith("reasoning-gym is 0.2.0, tested with 0.1.23: instances and scores may")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("reasoning-gym:chain_sun", r"no environment 'chain_sun'; did you mean .*:chain_sum\?$"),
        ("reasoning_gyn:chain_sum", r"\(did you mean reasoning-gym:\?\)"),
    ],
)
def test_a_mistyped_id_is_one_line_with_a_suggestion(name, message):
    with pytest.raises(UserError, match=message) as error:
        env_id(name)
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_a_run_is_replayed_by_its_record_alone(tmp_path):
    guess = "ragen_envs.integrations.external.reasoning_gym:guess"
    command = ["evaluate", "oracle", "--env", SUM, "--limit", "4", "--out", "run", "--json"]
    done = run(*command, "--random-player", guess, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["envs"]
    assert (row["success"], row["random"]["episodes"]) == (1.0, 64)
    assert row["random"]["score"] < 0.2
    replayed = run("replay", "run", "--random-player", guess, cwd=tmp_path)
    assert "Replayed 4 of 4 planned episodes: 4 equal, 0 different." in replayed.stdout
    assert is_known(SUM)
