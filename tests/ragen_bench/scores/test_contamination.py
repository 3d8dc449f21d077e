"""Public against sealed instances: the figures by hand, and what is refused."""

import json
import shutil
from hashlib import sha256
from math import sqrt
from statistics import fmean

import pytest

from ragen_bench.cli import main
from ragen_bench.cli.compare import describe_lead
from ragen_bench.errors import UserError
from ragen_bench.runs.directory import read_run
from ragen_bench.scores.contamination import compare_public_and_sealed, find_setting_differences
from ragen_bench.statistics import wilson
from ragen_envs.core.sealed import KEY_VARIABLE
from tests.ragen_bench.cli.command import run as command

pytestmark = pytest.mark.xdist_group("contamination")  # its runs are made once

ENVS = ["--env", "Bandit-v0", "--env", "FrozenLake-v0", "--limit", "12"]
# One key for good: with one in twenty, chance gives the random player a lead on either side.
KEY = sha256(b"public against sealed").hexdigest()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    for split in ("test", "sealed"):
        options = [*ENVS, "--split", split, "--out", split]
        done = command("evaluate", "random", *options, cwd=place, **{KEY_VARIABLE: KEY})
        assert done.returncode == 0, done.stderr
    return place


def test_the_figures_by_hand(folder):
    public, sealed = read_run(folder / "test"), read_run(folder / "sealed")
    found = compare_public_and_sealed(public, sealed)
    leads, below, above = [], 0.0, 0.0
    for row in found["envs"]:
        solved = [
            [bool(each.success) for each in side.episodes() if each.env == row["env"]]
            for side in (public, sealed)
        ]
        assert row["instances"] == {"public": 12, "sealed": 12}
        a, b = map(fmean, solved)
        (a_low, a_high), (b_low, b_high) = (wilson(sum(each), 12) for each in solved)
        down = sqrt((a - a_low) ** 2 + (b_high - b) ** 2)
        up = sqrt((a_high - a) ** 2 + (b - b_low) ** 2)
        assert row["difference"] == pytest.approx(a - b, abs=1e-6)
        assert row["interval"] == pytest.approx([a - b - down, a - b + up], abs=1e-6)
        assert row["detectable"] == pytest.approx((up + down) / 3.919928 * 2.801585, abs=1e-5)
        leads, below, above = [*leads, a - b], below + down**2, above + up**2
    suite = found["suite"]
    assert suite["difference"] == pytest.approx(fmean(leads), abs=1e-6)
    wanted = [fmean(leads) - sqrt(below) / 2, fmean(leads) + sqrt(above) / 2]
    assert suite["interval"] == pytest.approx(wanted, abs=1e-6)


def test_the_command_says_what_it_could_have_found(folder):
    done = command("compare", "--public", "test", "--sealed", "sealed", cwd=folder)
    assert done.returncode == 0, done.stderr
    suite = compare_public_and_sealed(read_run(folder / "test"), read_run(folder / "sealed"))[
        "suite"
    ]
    assert describe_lead(suite) in " ".join(done.stdout.split())
    assert f"a lead of {100 * suite['detectable']:.1f} points is detected" in describe_lead(suite)


@pytest.mark.parametrize(
    ("interval", "says"),
    [([0.01, 0.2], "it may have seen them"), ([-0.2, -0.01], "contamination does not explain")],
)
def test_a_lead_is_named(interval, says):
    assert says in describe_lead({"interval": interval, "detectable": 0.1})


def test_other_splits_and_settings_are_refused(folder, tmp_path):
    public, sealed = read_run(folder / "test"), read_run(folder / "sealed")
    with pytest.raises(
        UserError, match=r"--sealed one on sealed or drawn; .*test is on test, .*test on test"
    ):
        compare_public_and_sealed(public, public)
    with pytest.raises(UserError, match="sealed is on sealed"):
        compare_public_and_sealed(sealed, sealed)
    shutil.copytree(folder / "sealed", tmp_path / "other")
    config = json.loads((tmp_path / "other/run.json").read_text())
    changed = {**config, "model": "oracle", "temperature": 1.5}
    (tmp_path / "other/run.json").write_text(json.dumps(changed))
    with pytest.raises(UserError, match="differ in model, temperature, which affects success"):
        compare_public_and_sealed(public, read_run(tmp_path / "other"))


@pytest.mark.parametrize(("name", "differ"), [("calls_read_as", []), ("id", ["model_identity"])])
def test_forms_of_calls_in_the_answers_are_no_other_model(folder, name, differ):
    config = read_run(folder / "test").config
    other = config.model_copy(update={"model_identity": {**config.model_identity, name: ["x"]}})
    assert find_setting_differences(config, other) == differ


def test_a_drawn_run_is_as_good_as_a_sealed_one(tmp_path):
    draw = {"schema": 1, "announcement": None, "commitment": "a" * 64, "value": "b" * 64}
    file = tmp_path / "draw.json"
    file.write_text(json.dumps({**draw, "time": "2026-11-23T22:23:51Z"}))
    options = ["evaluate", "random", "--env", "Bandit-v0", "--limit", "4", "--quiet"]
    assert main([*options, "--out", f"{tmp_path}/test"]) == 0
    drawn = ["--split", "drawn", "--draw", str(file), "--out", f"{tmp_path}/drawn"]
    assert main([*options, *drawn]) == 0
    done = command("compare", "--public", "test", "--sealed", "drawn", cwd=tmp_path)
    assert (done.returncode, "random, test less drawn" in done.stdout) == (0, True), done.stderr
    found = compare_public_and_sealed(read_run(tmp_path / "test"), read_run(tmp_path / "drawn"))
    assert [found[side]["split"] for side in ("public", "sealed")] == ["test", "drawn"]
    turned = command("compare", "--public", "drawn", "--sealed", "test", cwd=tmp_path)
    assert (turned.returncode, turned.stderr.count("\n")) == (2, 1)
