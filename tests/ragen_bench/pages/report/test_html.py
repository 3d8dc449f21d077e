"""The page as a file: complete, self-contained, and safe with whatever a name or figure holds."""

import re
from html.parser import HTMLParser

import pytest

from ragen_bench.pages.rendering import csp_hash
from ragen_bench.pages.report import write_report
from ragen_bench.runs.directory import RunDirectory, read_run
from ragen_bench.scores.summary import summarise

from .runs import FROZEN_LAKE, SOKOBAN, episode, make_run, row, summary, summary_of

pytestmark = pytest.mark.slow

VOID = {"meta", "link", "input", "br"}


class Page(HTMLParser):
    """Checks that tags nest, and collects attributes and text."""

    def __init__(self, path):
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.open, self.attributes, self.names = [], [], []
        self.texts, self.scripts = [], []
        self.feed(self.source)
        assert self.open == []
        self.text = re.sub(r"\s+", " ", "".join(self.texts))

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append([dict(attrs), ""])

    def handle_startendtag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.scripts[-1][1] += data
        elif self.open[-1:] != ["style"]:
            self.texts.append(data)

    def values(self, tag, name):
        return [value for t, n, value in self.attributes if (t, n) == (tag, name)]


def page_of(tmp_path, figures, analysis=None, episodes=None, **config):
    run = make_run(tmp_path / "run", episodes or [episode(0)], **config)
    return Page(write_report(run, figures, analysis))


def test_it_loads_nothing_and_runs_its_own_script_only(tmp_path):
    page = page_of(tmp_path, summary(row(SOKOBAN, 8)))
    assert not {"img", "iframe", "object", "embed", "base", "form"} & set(page.names)
    assert [a for a in page.attributes if a[1] == "src"] == []
    # A favicon of nothing, which keeps a server from being asked for one.
    assert page.values("link", "href") == ["data:,"]
    assert all(link.startswith("#") for link in page.values("a", "href"))
    code = [text for attributes, text in page.scripts if not attributes]
    data = [attributes["type"] for attributes, _ in page.scripts if attributes]
    assert len(code) == 1
    assert set(data) == {"text/plain"}
    policy = page.values("meta", "content")[0]
    assert "default-src 'none'" in policy
    assert f"script-src '{csp_hash(code[0])}'" in policy
    style = re.search(r"<style>(.*?)</style>", page.source, re.DOTALL)[1]
    assert f"style-src '{csp_hash(style)}'" in policy
    assert not [a for a in page.attributes if a[1].startswith("on") or a[1] == "style"]


def test_a_real_run(small, random_model, tmp_path):
    from ragen_bench.episodes.evaluation import play_run

    run = play_run(small, random_model, tmp_path / "run")
    figures = summarise(run)
    page = Page(write_report(run, figures))
    for found in figures["envs"]:
        assert found["env"].removeprefix("ragen/") in page.text
        for player in ("random", "oracle"):
            assert f"{100 * found[player]['success']:.1f}" in page.text
    assert [a for a in page.attributes if a[2] == "chunk"]


def test_a_reference_player_is_named_and_explained(tmp_path):
    large = "ragen/MinesweeperLarge-v0"
    said = (
        "MinesweeperLarge-v0: the oracle is a reference player and its score is not an upper bound"
    )
    figures = summary(row(SOKOBAN, 8), row(large, 8))
    assert page_of(tmp_path, figures).text.count(said) == 1
    assert said not in page_of(tmp_path / "other", summary(row(SOKOBAN, 8))).text


def test_it_says_how_the_run_was_made(tmp_path):
    page = page_of(
        tmp_path,
        summary(row(SOKOBAN, 8)),
        history=2,
        command="ragen-bench evaluate 'a b'",
        episodes=[episode(0, sample=3)],
    )
    for fact in (
        "hf/some-model",
        "Suite quick v3",
        "5u17e",
        "test split",
        "8 episodes, 4 per instance",
        "temperature 0.75, up to 99 tokens, seed 17",
        "think, unconstrained",
        "2 turns",
        "9r0m97",
        "5pec-Sokoban-v0",
        "ragen-bench evaluate 'a b'",
        "ragen-bench0.1.0",
        "python3.11.0",
        "revisionabc",
    ):
        assert fact in page.text.replace("</dt><dd>", ""), fact
    assert "Constrained" not in page.text
    assert "Incomplete" not in page.text
    assert "Errors" not in page.text


def test_what_a_reader_must_know_is_marked(tmp_path):
    figures = summary(row(SOKOBAN, 8), planned=20, infra_faults=3)
    page = page_of(tmp_path, figures, constrained=True, temperature=0)
    assert "Constrained: the engine allowed only responses in the required format" in page.text
    assert "think, constrained" in page.text
    assert "8 of 20 episodes" in page.text
    assert "Incomplete: 12 episodes are missing" in page.text
    assert "Errors: 3 episodes could not be played" in page.text
    assert "greedy, up to 99 tokens" in page.text


def test_the_interval_is_drawn_where_it_is(tmp_path):
    page = page_of(tmp_path, summary(row(SOKOBAN, 8)))
    drawing = re.search(r'<svg class="interval".*?</svg>', page.source, re.DOTALL)[0]
    found = [
        [float(x) for x in pair]
        for pair in re.findall(r'<line class="(?:span|mark)" x1="(.*?)" x2="(.*?)"', drawing)
    ]
    at = [12 + 296 * rate for rate in (0.03125, 0.125, 0.0625, 0.75, 0.9375, 0.875, 0.25, 0.5625)]
    expected = [at[0:2], [at[2]] * 2, at[3:5], [at[5]] * 2, at[6:8]]
    assert [x for pair in found for x in pair] == pytest.approx(
        [x for pair in expected for x in pair], abs=0.006
    )
    (point,) = re.findall(r'<circle class="point" cx="(.*?)"', drawing)
    assert float(point) == pytest.approx(12 + 296 * 0.375)
    assert "37.5 %, interval 25.0 to 56.2 %; random 6.2 %; oracle 87.5 %" in drawing


def test_figures_stand_in_the_tables(tmp_path):
    page = page_of(tmp_path, summary(row(SOKOBAN, 8)))
    for figure in ("0.432", "−0.25", "91.2", "82.3", "7.1", "123,456", "7,890", "493.1", "12.3"):  # noqa: RUF001
        assert figure in page.text, figure
    parts = re.findall(r'data-outcome="(\w+)" x="(.*?)" y="0" width="(.*?)"', page.source)
    assert parts == [("success", "0", "280"), ("truncated", "280", "40")]


def test_the_score_is_called_by_its_name(tmp_path):
    suite = page_of(tmp_path, summary(row(SOKOBAN, 8), suite="core")).text
    assert "Suite score" in suite
    assert "Mean normalised score" not in suite
    chosen = page_of(tmp_path, summary(row(SOKOBAN, 8), suite="")).text
    assert "Suite score" not in chosen
    assert "Mean normalised score" in chosen


def test_sections_without_figures_are_left_out(tmp_path):
    page = page_of(tmp_path, summary(row(SOKOBAN, 8), suite_score=None))
    for title in ("difficulty", "number of turns", "Failures", "Reasoning", "pass@k"):
        assert title not in page.text, title
    assert "Suite score" not in page.text
    assert "Cost" not in page.text


def test_sections_with_figures_are_there(tmp_path):
    more = {
        "by_difficulty": [
            {"by": "ceiling", "bucket": "3-4", "episodes": 11, "success": 0.5}
            | {"interval": [0.25, 0.75]},
            {"bucket": "5-9", "episodes": 12, "success": 0.1, "interval": [0.0, 0.2]},
        ],
        "by_turn": [0.25, 0.5, 1.0],
        "pass_at_k": {"1": 0.375, "4": 0.611},
        "pass_at_k_interval": {"1": [0.25, 0.5], "4": [0.411, 0.811]},
        "pass_hat_k": {"1": 0.375, "4": 0.017},
        "normalised_interval": [-0.75, 0.25],
        "cut": 0.0321,
        "turns": 19,
    }
    figures = summary(
        row(SOKOBAN, 8, **more),
        row(FROZEN_LAKE, 8, by_turn=[0.5]),
        suite_score_interval=[-0.25, 0.75],
        cost={"amount": 1.25, "currency": "EUR"},
    )
    page = page_of(tmp_path, figures)
    cells = re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", page.source))
    assert "95 % interval −0.250 to 0.750" in page.text  # noqa: RUF001
    assert "Cost1.25 EUR" in page.text.replace("</dt><dd>", "")
    assert "pass@k 37.5 25.0 – 50.0 61.1 41.1 – 81.1" in cells  # noqa: RUF001
    assert "pass^k 37.5 1.7" in cells
    assert "−0.25 −0.75 to 0.25" in cells  # noqa: RUF001
    assert "7.1 3.2" in cells
    assert "Sokoban-v0 19 2.4 91.2" in cells
    assert "Mean@k, over all k samples, is the success above." in page.text
    labels = page.values("svg", "aria-label")
    assert (
        "3-4: 50.0 %, interval 25.0 to 75.0 %, 11 episodes; "
        "5-9: 10.0 %, interval 0.0 to 20.0 %, 12 episodes" in labels
    )
    assert "within 1: 25.0 %; within 2: 50.0 %; within 3: 100.0 %" in labels
    assert "optimal expected score" in page.text
    assert sum("within" in label for label in labels) == 1  # one turn is no curve
    # From y = 120 for 0 up to y = 20 for all.
    assert re.search(r'points="\S+,95 \S+,70 \S+,20 "', page.source)
    assert 'y1="95" y2="45"' in page.source
    # The score's axis reaches from the interval's low end, -0.25, to 1.
    (score,) = re.findall(r'<circle class="point" cx="(\S+)" cy="15" r="5"/>', page.source)
    assert float(score) == pytest.approx(30 + 278 * (0.321 + 0.25) / 1.25, abs=0.006)


def test_an_analysis_is_shown(tmp_path):
    failures = [
        {"label": "box_stuck", "about": "It is <stuck>.", "episodes": 5, "share": 0.625}
        | {"examples": [[0, 0, 1], [3, 1, 2], [4, 0, 3], [5, 0, 1]]}
    ]
    reasoning = {"words_mean": 12.5, "plans": {"agree": 3}}
    analysis = {
        "envs": [
            {"env": SOKOBAN, "failed": 5, "episodes": 8, "not_replayed": 2}
            | {"failures": failures, "reasoning": reasoning}
        ]
    }
    page = page_of(tmp_path, summary(row(SOKOBAN, 8)), analysis)
    assert "Sokoban-v0, 5 of 8 failed; 2 others are excluded" in page.text
    assert "box stuck" in page.text
    assert "It is <stuck>." in page.text
    assert "62.5" in page.text
    links = [link for link in page.values("a", "href") if "/" in link]
    assert links == [f"#{SOKOBAN}/0/0/1", f"#{SOKOBAN}/3/1/2", f"#{SOKOBAN}/4/0/3"]
    assert "words mean" in page.text
    assert "plans: agree" in page.text


def test_hostile_names_are_text(tmp_path):
    bad = (
        "</title></style><script>alert(1)</script><img src=x onerror=alert(2)>\ud800\u202e{{ 7*7 }}"
    )
    figures = summary(row(SOKOBAN, 8, outcomes={bad: 8}), model=bad)
    page = page_of(tmp_path, figures, model=bad, command=bad, model_identity={bad: bad})
    assert "img" not in page.names
    assert [attributes for attributes, _ in page.scripts if not attributes] == [{}]
    assert page.text.count("<script>alert(1)</script>") >= 4
    assert "{{ 7*7 }}" in page.text
    assert page.text.count("⟨U+202E⟩{{ 7*7 }}") >= 4
    assert "\u202e" not in page.text


def test_a_page_is_written_while_episodes_are_read(tmp_path):
    written = []

    class Watched(RunDirectory):
        def episodes(self):
            for one in super().episodes():
                draft = self.path / "report.draft"
                written.append(draft.stat().st_size if draft.is_file() else 0)
                yield one

    import random

    noise = random.Random(0).randbytes
    episodes = [episode(index, answers=[noise(100_000).hex()]) for index in range(12)]
    run = make_run(tmp_path / "run", episodes)
    write_report(Watched(run.path, run.config), summary_of(episodes))
    assert written[-1] - written[4] > 500_000
    assert not (run.path / "report.draft").exists()


def test_the_old_report_stays_if_a_new_one_fails(tmp_path):
    run = make_run(tmp_path / "run", [episode(0)])
    path = write_report(run, summary_of([episode(0)]))
    before = path.read_bytes()
    with run.episodes_file.open("a") as lines:
        lines.write("{}\n")
    with pytest.raises(Exception, match="line 2"):
        write_report(read_run(run.path), summary_of([episode(0)]))
    assert path.read_bytes() == before
