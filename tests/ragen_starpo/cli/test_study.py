"""A study from its file to its pages, by real commands on next to nothing."""

import json
from xml.etree import ElementTree

import pytest

from ragen_starpo.cli.main import main
from ragen_starpo.commands import Commands
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
response_format = "think"
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


@pytest.mark.slow
def test_a_study_is_run_once_judged_and_gone_on_with(tmp_path, capsys, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ragen_starpo.commands.Commands", CommandsHere)
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
        analysis = json.loads(
            (tmp_path / "mine" / run["folder"] / "test/analysis.json").read_text()
        )
        of_plans = analysis["envs"][0]["reasoning"]["plans"]["agreement"]
        assert run["figures"]["agreement"] == of_plans
        assert (tmp_path / "mine" / run["folder"] / "before/analysis.json").exists()
        before = json.loads((tmp_path / "mine" / run["folder"] / "before/summary.json").read_text())
        start = before["envs"][0]["success"]
        assert run["figures"]["test_start"] == start
        assert run["gains"] == {"ragen/Bandit-v0": summary["envs"][0]["success"] - start}
    last = [run["figures"]["last"] for run in found["runs"]]
    (arm,) = found["arms"]
    assert arm["figures"]["last"]["mean"] == pytest.approx(sum(last) / 2)
    assert [point[0] for point in arm["curves"]["val/success"]] == [-1, 0, 1]
    assert found["claims"][1]["differences"] == [
        run["figures"]["last"] - run["figures"]["start"] for run in found["runs"]
    ]
    assert (tmp_path / "mine/study.md").read_text().startswith("# Is {weird} \\<b\\>more")
    picture = ElementTree.parse(tmp_path / "mine/study.svg").getroot()
    lines = picture.findall(".//{*}polyline[@class='smooth']")
    # Of held-out success before and after two iterations, the first of the figures.
    assert len(lines[0].get("points").split()) == 3
    assert len(lines) == len([texts for texts in picture.iter() if texts.get("class") == "title"])
    page = (tmp_path / "mine/study.html").read_text()
    assert "Is {weird} &lt;b&gt;more&lt;/b&gt; better?" in page
    assert page.count('<th scope="col">test before</th>') == 2

    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "mine/runs").rglob("*.jsonl")}
    assert main(["study", "mine.toml", "--out", "mine", "--seeds", "2"]) == 0
    assert {path: path.stat().st_mtime_ns for path in done} == done
    assert json.loads((tmp_path / "mine/study.json").read_text()) == found


def commands_that_do_nothing(monkeypatch, fails):
    """Return the list of the folders and stages that are run from now on."""
    ran = []

    def code(self, folder, stage, log):
        ran.append((f"{folder.parent.name}/{folder.name}", stage.name))
        log.write("no room\n")
        return int(fails in str(folder))

    monkeypatch.setattr(Commands, "_code", code)
    return ran


def test_a_model_that_fails_is_named_at_its_runs(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = commands_that_do_nothing(monkeypatch, fails="seed-1")
    (tmp_path / "mine.toml").write_text(STUDY)
    assert main(["study", "mine.toml", "--out", "mine"]) == 1
    said = capsys.readouterr().out
    assert "models/bandit/seed-1: `ragen-train small-model" in said
    assert [line for line in said.splitlines() if " is done" in line] == [
        "models/bandit/seed-0 is done",
        "runs/grpo/seed-0 is done, about 0 min left",
    ]
    # Both models and the run of the one that was made.
    of_run = ["training", "test", "before", "analysis of before", "analysis of test"]
    assert [stage for _, stage in ran] == ["model", "warm start", "model", *of_run]
    runs = json.loads((tmp_path / "mine/study.json").read_text())["runs"]
    assert runs[1]["problem"].startswith("models/bandit/seed-1: `ragen-train small-model untrained")
    assert main(["study", "mine.toml", "--out", "mine", "--seeds", "3"]) == 1
    assert main(["study", "mine.toml", "--out", "mine"]) == 1
    assert "3 seeds of some arm exist already: all are run and judged" in capsys.readouterr().out
    page = (tmp_path / "mine/study.md").read_text()
    assert "The study asks for 2 seeds; the others were added to them." in page


def test_runs_that_were_played_elsewhere_count_and_are_not_played(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = STUDY.replace('figure = "test"', 'figure = "last"')
    (tmp_path / "mine.toml").write_text(study)
    ran = commands_that_do_nothing(monkeypatch, fails="nothing")
    assert main(["study", "mine.toml", "--out", "mine"]) == 0
    found = json.loads((tmp_path / "mine/study.json").read_text())
    for run in found["runs"]:
        run |= {"problem": "", "figures": {"last": 0.5, "gain": 0.25}}
    (tmp_path / "published.json").write_text(json.dumps(found))
    ran.clear()
    capsys.readouterr()
    again = ["study", "mine.toml", "--earlier", "published.json", "--seeds", "3"]
    assert main([*again, "--out", "new"]) == 0
    assert {folder for folder, _ in ran} == {"bandit/seed-2", "grpo/seed-2"}
    more = json.loads((tmp_path / "new/study.json").read_text())
    assert [run["seed"] for run in more["runs"]] == [0, 1, 2]
    assert [run["figures"].get("last") for run in more["runs"]] == [0.5, 0.5, None]
    page = (tmp_path / "new/study.md").read_text()
    assert "2 runs were played before, and taken from the study.json whose SHA-256 is `" in page
    # With no more seeds than there are, nothing is left to run.
    ran.clear()
    assert main(["study", "mine.toml", "--earlier", "published.json", "--out", "none"]) == 0
    assert ran == []
    judged = json.loads((tmp_path / "none/study.json").read_text())["claims"]
    assert [claim["differences"] for claim in judged] == [[0.5, 0.5], [0.25, 0.25]]
