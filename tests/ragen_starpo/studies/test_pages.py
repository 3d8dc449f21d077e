"""The published findings: texts, pictures and numbers."""

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from ragen_starpo.studies.definition import METRICS, OWN, Arm, Task
from ragen_starpo.studies.legend import MEANINGS
from ragen_starpo.studies.pages import render_page, write_pages
from ragen_starpo.studies.pictures import render_forest
from ragen_starpo.studies.results import make_results
from ragen_starpo.studies.store import load_finding, open_store, run_study
from tests.ragen_starpo.studies.stand_in import StandIn, claim, make_study


def find(folder, study, player):
    with open_store(folder, [study]):
        judgement = run_study(study, folder, player, "cpu", lambda _: None)
    return load_finding(folder, study, judgement)


@pytest.fixture
def pages(tmp_path):
    study = make_study(
        claim("up", figure="figure 7", number="+5 points"),
        claim("down", says="lower", paper="B & C, arXiv 2"),
        claim("alike", metric="collapsed", about_collapse=True, same=10.0),
        claim("down", paper=OWN),
    )
    write_pages(tmp_path, [find(tmp_path / "store", study, StandIn())])
    return tmp_path


def test_the_page_has_a_line_for_each_claim(pages):
    page = (pages / "findings.md").read_text()
    assert (
        "Rows that test claims of papers: 3. Of these 2 hold here, 0 do not, 0 are undecided, and "
        "1 could not be tested. Rows that test expectations of this suite: 1. Of these 0 " in page
    )
    assert "128 runs of 4 variants of training took 0.0 core-hours" in page
    assert "Before training, success on held-out instances is: FrozenLake 3x3 30.0." in page
    assert "| [B &amp; C, arXiv 2](#b--c-arxiv-2) | 1 | 1 | 0 | 0 | 0 |" in page
    assert "| [this suite](#this-suite) | 1 | 0 | 1 | 0 | 0 |" in page
    line = next(line for line in page.splitlines() if "+5 points" in line)
    game = "FrozenLake 3x3; rate 0.001, 60 iterations"
    assert line.startswith(f"| up is better (mean) | {game} | figure 7 | +5 points | +1")
    assert "| **higher**, as claimed | 32 | [mine](findings/study-mine.svg) |" in line
    assert "**lower**, as claimed" in page
    assert "**lower**, not as claimed" in page
    assert "0 % of the runs collapse, fewer than 25 %" in page


def test_pictures_are_valid_and_have_all_runs(pages):
    for file in sorted((pages / "findings").glob("*.svg")):
        ElementTree.fromstring(file.read_text())
    assert {file.name for file in (pages / "findings").iterdir()} == {
        "a.svg",
        "b---c.svg",
        "this-suite.svg",
        "study-mine.svg",
        "curves.npz",
    }
    curves = (pages / "findings" / "study-mine.svg").read_text()
    assert curves.count("M0 ") == 4 * (32 + 2)


def test_json_and_curves_have_the_numbers(pages):
    study = json.loads((pages / "findings.json").read_text())["studies"][0]
    first = study["claims"][0]
    assert first["interval"][0] < first["mean"] < first["interval"][1]
    assert first["levels"]["up"] - first["levels"]["base"] == pytest.approx(first["mean"], abs=0.01)
    assert study["claims"][2]["as_claimed"] is None
    arm = study["arms"][0]
    with np.load(pages / "findings" / "curves.npz") as curves:
        success = curves[f"{arm['hash']}/success"]
        assert (success.dtype, success.shape) == (np.uint8, (arm["runs"], 60))
        assert success.mean() / 2 == pytest.approx(first["levels"][arm["name"]], abs=12)
        assert curves[f"{arm['hash']}/reward_deviation"] == pytest.approx(np.full(60, 0.4))


def test_levels_are_those_of_one_side_against_those_of_the_other(tmp_path):
    both = replace(claim("up"), plus=("up", "down"), minus=("base", "alike"))
    study = make_study(both, claim("up", "", than=50.0))
    finding = find(tmp_path, study, StandIn(noise=0.0))
    page = render_page(make_results([finding]))
    assert "| up 64.2; down 40.2 vs base 52.2; alike 52.2 |" in page
    assert "| up 64.2 vs 50 |" in page


def test_a_claim_names_the_game_that_all_of_its_arms_play(tmp_path):
    icy = {"slip": 1 / 3, "test": "4x4"}
    study = make_study(claim("up"), claim("down", "alike"))
    arms = {name: Arm(study.arms[name].settings, icy) for name in ("down", "alike")}
    study = replace(study, arms={**study.arms, **arms})
    first, second = make_results([find(tmp_path, study, StandIn())])["studies"][0]["claims"]
    assert first["setting"] == "FrozenLake 3x3; rate 0.001, 60 iterations"
    title = "FrozenLake 3x3 with slips of 0.33, tested on 4x4"
    longer = replace(study, arms={**study.arms, "base": Arm(("loss.clip_high=3",), {}, 80)})
    (first, _) = make_results([find(tmp_path / "longer", longer, StandIn())])["studies"][0][
        "claims"
    ]
    assert first["setting"] == "FrozenLake 3x3; rate 0.001, 60 and 80 iterations"
    assert second["setting"] == f"{title}; rate 0.001, 60 iterations"


@pytest.mark.parametrize(("start", "is_below"), [(0.605, True), (0.595, False)])
def test_a_claim_says_where_all_of_its_arms_end_below_their_start(tmp_path, start, is_below):
    study = make_study(claim("down", metric="test", says="lower"))
    finding = find(tmp_path, study, StandIn(noise=0.0))
    assert finding.verdicts[0].levels == pytest.approx({"down": 48, "base": 60})
    runs = {
        name: replace(one, start=np.full_like(one.start, start))
        for name, one in finding.runs.items()
    }
    results = make_results([finding._replace(runs=runs)])
    assert results["studies"][0]["claims"][0]["below_start"] == is_below
    assert ("all end below their starting models" in render_page(results)) == is_below


def test_a_game_with_few_boards_has_its_success_in_training_for_a_start(tmp_path):
    study = replace(make_study(claim("up")), task=Task("sokoban", 6, test="5x5"))
    page = render_page(make_results([find(tmp_path, study, StandIn(noise=0.0))]))
    assert "instances is: Sokoban 6x6 (first iteration of training) 36.0." in page


def test_a_lead_shows_how_many_collapsed_runs_had_no_sign(tmp_path):
    study = make_study(claim("up", "", metric="deviation_lead", about_collapse=True))
    finding = find(tmp_path, study, StandIn(collapse={0: 1}))
    page = render_page(make_results([finding]))
    runs = finding.verdicts[0].seeds * study.warm_starts
    assert f"(no sign in {runs // 4} of {runs // 4} collapsed runs) vs 0 |" in page


def test_a_cell_has_the_settings_that_not_all_variants_have(tmp_path):
    study = make_study(claim("up"), settings=("updates=2",))
    changed = Arm(("loss.clip_high=3",), {"samples": 4}, 40)
    study = replace(study, arms={**study.arms, "base": changed})
    page = render_page(make_results([find(tmp_path, study, StandIn())]))
    assert "<br>base: `loss.clip_high=3`, `samples=4`, `iterations=40` |" in page
    assert "updates=2" not in page


def test_each_metric_has_a_meaning():
    assert MEANINGS.keys() == METRICS.keys()


FACTS = {"game": "Bandit", "text": "It is.", "verdict": "higher", "same": 2.0, "as_claimed": True}


def draw(mean, low, high, as_claimed=True):
    return render_forest(
        [FACTS | {"mean": mean, "interval": [low, high], "as_claimed": as_claimed}]
    )


def test_the_edge_shows_what_it_cuts():
    markers = 3  # of the legend
    assert draw(5, 2, 8).count("<circle") == markers
    assert draw(5, 2, 8).count("l9-5") + draw(5, 2, 8).count("l-9-5") == 0
    cut = draw(5, 2, 13)
    assert (cut.count("<circle"), cut.count("l-9-5"), cut.count("l9-5")) == (markers, 1, 0)
    beyond = draw(-15, -17, -13)
    assert (beyond.count("<circle"), beyond.count("l-9-5"), beyond.count("l9-5")) == (2, 0, 1)


def test_the_colour_shows_whether_a_claim_holds():
    colours = {True: "#0b66d0", False: "#cf6008", None: "#949494"}
    for outcome, colour in colours.items():
        picture = draw(5, 2, 8, outcome)
        drawn = [
            one for one in colours.values() if f'stroke="{one}" stroke-width="2"/><g' in picture
        ]
        assert drawn == [colour]


def test_equal_claims_of_two_studies_are_told_apart():
    facts = FACTS | {"mean": 5, "interval": [2, 8]}
    names = ["losses", "losses-calm"]
    picture = render_forest(
        [*(facts | {"study": name} for name in names), facts | {"game": "Lake"}]
    )
    labels = re.findall(r"<title>(.*?)</title>", picture)
    assert labels == ["Bandit, losses: It is.", "Bandit, losses-calm: It is.", "Lake: It is."]
