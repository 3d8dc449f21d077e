"""A study from its file to its pages, by real commands on next to nothing."""

import json

import pytest

from ragen_starpo.cli.main import main
from ragen_starpo.engine.platform import release
from ragen_starpo.studies import running
from tests.ragen_starpo.commands_here import CommandsHere

pytestmark = pytest.mark.xdist_group("verl")

STUDY = """
question = "Is {weird} <b>more</b> better?"
seeds = 2
test_instances = 4

[settings]
small = [
  "envs=['Bandit-v0']", "iterations=2", "rollouts.instances=2", "rollouts.samples=2",
  "rollouts.max_tokens=14", "validation.every=1", "validation.instances=2", "filter.strategy=all",
  "records.every=0", "give_up_after=2",
]

[models.bandit]
envs = ["Bandit-v0"]
episodes = 4
epochs = 1

[arms.grpo]
rows = "grpo"
model = "bandit"

[[claims]]
text = "The last model solves something."
source = "this test"
figure = "test"
plus = ["grpo"]
margin = -0.5

[[claims]]
text = "It reaches what it cannot."
source = "this test"
figure = "gain"
plus = ["grpo"]
margin = 2.0
"""


def test_a_study_is_run_once_judged_and_gone_on_with(tmp_path, capsys, monkeypatch, request):
    request.addfinalizer(release)  # the process group that the training joins
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "Commands", CommandsHere)
    (tmp_path / "mine.toml").write_text(STUDY)
    assert main(["study", "mine.toml", "--out", "mine"]) == 0
    assert "mine/study.html, mine/study.md, mine/study.json" in capsys.readouterr().out
    found = json.loads((tmp_path / "mine/study.json").read_text())
    assert [run["folder"] for run in found["runs"]] == ["runs/grpo/seed-0", "runs/grpo/seed-1"]
    for run in found["runs"]:
        assert run["problem"] == ""
        summary = json.loads((tmp_path / "mine" / run["folder"] / "test/summary.json").read_text())
        assert run["test"] == {"ragen/Bandit-v0": summary["envs"][0]["success"]}
        assert summary["envs"][0]["episodes"] == 4
    last = [run["figures"]["last"] for run in found["runs"]]
    (arm,) = found["arms"]
    assert arm["figures"]["last"]["mean"] == pytest.approx(sum(last) / 2)
    assert [point[0] for point in arm["curves"]["val/success"]] == [-1, 0, 1]
    assert found["claims"][1]["differences"] == [
        run["figures"]["last"] - run["figures"]["start"] for run in found["runs"]
    ]
    assert (tmp_path / "mine/study.md").read_text().startswith("# Is {weird} \\<b\\>more")
    page = (tmp_path / "mine/study.html").read_text()
    assert "Is {weird} &lt;b&gt;more&lt;/b&gt; better?" in page

    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "mine/runs").rglob("*.jsonl")}
    assert main(["study", "mine.toml", "--out", "mine"]) == 0
    assert {path: path.stat().st_mtime_ns for path in done} == done
    assert json.loads((tmp_path / "mine/study.json").read_text()) == found
