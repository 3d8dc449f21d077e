"""The commands `study` and `studies`: output, pages, resumption and mistakes."""

import json
from dataclasses import replace

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.cli.main import main
from ragen_starpo.cli.study import StudyCommand
from ragen_starpo.laboratory import run
from ragen_starpo.laboratory.warm_start import WarmStart
from ragen_starpo.studies.definition import list_studies
from tests.ragen_starpo.studies.stand_in import StandIn

STUDY = """
question = "Is {weird} <b>more</b> better?"
iterations = 20
reference = "base"
warm_starts = 4
looks = [1]
collapse_look = 2
[task]
game = "lake"
size = 3
groups = 2
samples = 4
[arms]
base = {settings = ["loss.clip_high=0"]}
up = {settings = ["loss.clip_high=1"]}
[[claims]]
text = "More is better."
paper = "this test"
metric = "mean"
plus = ["up"]
minus = ["base"]
"""


@pytest.fixture
def laboratory(tmp_path, monkeypatch):
    stand_in = StandIn({"base": 0.0, "up": 30.0}, noise=0.5)

    def run_arm(*arguments, cache, **settings):
        assert cache.name == "warm"
        return stand_in(*arguments, **settings)

    monkeypatch.setattr("ragen_starpo.laboratory.run.run_arm", run_arm)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(STUDY)
    return stand_in


def test_a_study_is_run_once_and_has_its_pages(tmp_path, capsys, laboratory):
    assert main(["study", "mine.toml", "--out", "store", "--pages", "pages"]) == 0
    printed = capsys.readouterr().out
    assert "mine: 4 runs of up are done" in printed
    assert "seed-iterations a second" in printed
    assert "higher" in printed
    assert "Findings  pages/findings.md" in printed
    study = json.loads((tmp_path / "pages/findings.json").read_text())["studies"][0]
    assert study["claims"][0]["verdict"] == "higher"
    assert len(laboratory.calls) == 2
    assert main(["study", "mine.toml", "--out", "store"]) == 0
    assert len(laboratory.calls) == 2
    assert (
        "| Is &#123;weird&#125; &lt;b&gt;more&lt;/b&gt; better? |"
        in (tmp_path / "store/findings.md").read_text()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mine.toml", "--looks", "0"], "--looks must be at least 1, got 0"),
        (["mine.toml", "--device", "gpu"], "device.*gpu.*cpu"),
        (["nothing"], "study.*nothing"),
        (["both.toml"], "both.toml: arms.up: the laboratory does not read response_format"),
        (["rare.toml"], "slip is 0, or from 0.001 to 0.999, got 0.0004"),
    ],
)
def test_a_mistake_has_one_line_before_anything_runs(tmp_path, laboratory, arguments, message):
    wrong = STUDY.replace("loss.clip_high=1", "response_format=think")
    (tmp_path / "both.toml").write_text(wrong)
    (tmp_path / "rare.toml").write_text(STUDY.replace("size = 3", "size = 3\nslip = 0.0004"))
    device = arguments[-1] if "--device" in arguments else "cpu"
    looks = 0 if "--looks" in arguments else None
    names = tuple(arguments[:1])
    command = StudyCommand(studies=names, out=tmp_path / "store", looks=looks, device=device)
    with pytest.raises(UserError, match=message):
        command.run()
    assert not (tmp_path / "store").exists()
    assert laboratory.calls == []


@pytest.mark.parametrize(("available", "free"), [(False, 0), (True, 1 << 20)])
def test_a_gpu_that_is_missing_or_too_small_is_named(monkeypatch, laboratory, available, free):
    monkeypatch.setattr("torch.cuda.is_available", lambda: available)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (free, free))
    expected = "mine may need 1.5 GiB" if available else "torch finds no GPU"
    with pytest.raises(UserError, match=expected):
        StudyCommand(studies=("mine.toml",), out="store", device="cuda").run()
    assert laboratory.calls == []


def test_runs_of_a_gpu_are_not_continued_on_a_cpu(tmp_path, capsys, monkeypatch, laboratory):
    def run_arm(*arguments, cache, **settings):
        return replace(laboratory(*arguments, **settings), seconds=0.0)

    monkeypatch.setattr("ragen_starpo.laboratory.run.run_arm", run_arm)
    command = ["study", "mine.toml", "--out", "store"]
    assert main(command) == 0
    assert main(command) == 0  # nothing is missing
    file = next((tmp_path / "store/arms").glob("*/*.npz"))
    file.unlink()
    capsys.readouterr()
    assert main(command) == 2
    assert "--device cuda; go on with that device" in capsys.readouterr().err
    assert len(laboratory.calls) == 2


def test_studies_are_listed(capsys):
    assert main(["studies"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in list_studies())


@pytest.mark.slow
def test_a_study_runs_in_the_laboratory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "TEST", 32)
    monkeypatch.setattr(run, "WarmStart", lambda skill: WarmStart(skill, steps=10, batch=8))
    (tmp_path / "mine.toml").write_text(STUDY.replace("clip_high=1", "clip_high=0.5"))
    assert main(["study", "mine.toml", "--out", "store"]) == 0
    study = json.loads((tmp_path / "store/findings.json").read_text())["studies"][0]
    assert [arm["runs"] for arm in study["arms"]] == [4, 4]
    assert all(arm["seconds"] > 0 for arm in study["arms"])
