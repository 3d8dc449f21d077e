"""The published findings: texts, pictures and numbers."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from ragen_starpo.studies.pages import write_pages
from ragen_starpo.studies.store import load_finding, open_store, run_study
from tests.ragen_starpo.studies.stand_in import StandIn, claim, make_study


@pytest.fixture
def pages(tmp_path):
    study = make_study(
        claim("up", figure="figure 7", number="+5 points"),
        claim("down", says="lower", paper="B & C, arXiv 2"),
        claim("alike", metric="collapsed", about_collapse=True, same=10.0),
        claim("down"),
    )
    with open_store(tmp_path / "store", [study]):
        judgement = run_study(study, tmp_path / "store", StandIn(), "cpu", lambda _: None)
    write_pages(tmp_path, [load_finding(tmp_path / "store", study, judgement)])
    return tmp_path


def test_the_page_has_a_line_for_each_claim(pages):
    page = (pages / "findings.md").read_text()
    assert "Claims: 4. Decided: 3, as the paper says: 2. Undecided: 0. " in page
    assert "Not testable here: 1." in page
    assert "| [B &amp; C, arXiv 2](#b--c-arxiv-2) | 1 | 1 | 0 | 0 | 0 |" in page
    assert "| 3 | 1 | 1 | 0 | 1 |" in page
    line = next(line for line in page.splitlines() if "+5 points" in line)
    assert line.startswith("| up is better (mean) | FrozenLake 3x3 | figure 7 | +5 points | +1")
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
