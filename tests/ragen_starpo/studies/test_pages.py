"""The verdicts of several studies on one page."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from ragen_bench.errors import UserError
from ragen_bench.pages.formats import NONE
from ragen_starpo.cli.main import main
from ragen_starpo.studies.pages import make_pages, render_overview

VERDICT = {"word": "held", "mean": 0.25, "interval": [0.1, 0.4], "margin": 0.0, "detectable": 0.2}
PUBLISHED = Path(__file__).parents[3] / "docs/results/studies"
CLAIM = {"text": "a | b", "source": "here", "figure": "test", "problem": "", "verdict": VERDICT}


STATE = "scale `small`, 5 seeds an arm; 1 of 2 runs are finished"
SEEDS = "The study asks for 6 seeds, so its verdicts are not final."


def put(folder, name, *claims):
    study = {"name": "any", "question": f"What of {name}?", "seeds": 6}
    runs = [{"problem": ""}, {"problem": "not finished"}]
    results = {"study": study, "scale": "small", "seeds": 5, "runs": runs, "claims": claims}
    (folder / name).mkdir()
    (folder / name / "study.json").write_text(json.dumps(results))


def test_each_study_with_claims_has_a_section(tmp_path, capsys):
    put(tmp_path, "b", CLAIM)
    put(tmp_path, "pilot")
    put(tmp_path, "a", CLAIM, {**CLAIM, "verdict": None, "problem": "runs/x: failed"})
    assert main(["studies", "--verdicts", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed == render_overview(tmp_path)
    assert printed.split("\n\n") == [
        "## a",
        f"What of a? [{STATE}](a/study.md). {SEEDS}",
        "| claim | source | verdict | difference | interval | margin | detectable |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| a \\| b | here | held | 25.0 | 10.0 to 40.0 | 0.0 | 20.0 |\n"
        f"| a \\| b | here | undecided | {NONE} | {NONE} | {NONE} | runs/x: failed |",
        "## b",
        f"What of b? [{STATE}](b/study.md). {SEEDS}",
        "| claim | source | verdict | difference | interval | margin | detectable |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| a \\| b | here | held | 25.0 | 10.0 to 40.0 | 0.0 | 20.0 |\n",
    ]


def test_a_folder_without_verdicts_is_refused(tmp_path):
    put(tmp_path, "pilot")
    with pytest.raises(UserError, match="has no folder with the study"):
        render_overview(tmp_path)


def test_the_page_of_all_studies_has_their_tables_and_counts_their_verdicts():
    published = Path("docs/results/studies")
    page = (published / "index.md").read_text()
    printed = render_overview(published)
    sections = re.split(r"\n\n(?=## )", printed.strip())
    assert [section for section in sections if section not in page] == []
    assert page.count("\n## ") == len(sections)
    words = Counter(re.findall(r"\| (held|not held|undecided) \|", printed))
    held, not_held, undecided = words["held"], words["not held"], words["undecided"]
    counted = f"Of {words.total()} claims {held} hold, {not_held} do not, and {undecided} are"
    assert counted in page


@pytest.mark.parametrize("file", PUBLISHED.rglob("study.json"), ids=lambda file: file.parent.name)
def test_pages_are_made_of_every_published_study(file):
    results = json.loads(file.read_text(encoding="utf-8"))
    pages = make_pages(results)
    assert all(run["folder"] in pages["study.html"] for run in results["runs"])
