"""The report: complete, self-contained, and safe with whatever a model answered."""

import re
from html.parser import HTMLParser

import pytest

from ragen_bench.evaluation import evaluate
from ragen_bench.models import Completion
from ragen_bench.report import write_report
from ragen_bench.summary import summarise

HOSTILE = "<script>alert(1)</script>\ud800 & </pre> <think>plan</think><answer>Up</answer>"
VOID = {"meta", "circle", "line"}


class Hostile:
    batch_size = 64

    def identity(self):
        return {}

    def complete(self, requests, sampling):
        return [Completion(HOSTILE, 11, 5) for _ in requests]


class Tags(HTMLParser):
    """Checks that tags nest, and collects attributes and text."""

    def __init__(self):
        super().__init__()
        self.open, self.attributes, self.text, self.names = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture
def page(small, tmp_path):
    run = evaluate(small, Hostile(), tmp_path / "run")
    summary = summarise(run)
    path = write_report(run, summary)
    parser = Tags()
    parser.feed(path.read_text(encoding="utf-8"))
    return summary, parser


def test_it_nests_and_loads_nothing(page):
    _, parser = page
    assert parser.open == []
    assert not {"script", "link", "img", "iframe"} & set(parser.names)
    assert not [a for a in parser.attributes if a[1] in {"src", "href"}]


def test_it_shows_figures_and_trajectories(page):
    summary, parser = page
    text = " ".join(parser.text)
    for row in summary["envs"]:
        assert row["env"] in text
        assert f"{100 * row['random']['success']:.1f}" in text
        assert f"{100 * row['oracle']['success']:.1f}" in text
    assert parser.names.count("details") == 40 * 4 - 20  # the first 60 of Bandit's 80
    assert "<script>alert(1)</script>" in text
    assert "plan" in text


def test_the_interval_is_drawn_where_it_is(page):
    summary, parser = page
    drawn = [float(v) for tag, name, v in parser.attributes if tag == "circle" and name == "cx"]
    row = summary["envs"][0]
    expected = [
        10 + 200 * rate
        for rate in (
            row["success"],
            row["random"]["success"],
            row["oracle"]["success"],
        )
    ]
    assert drawn[:3] == pytest.approx(expected)
    assert re.search(r"%", " ".join(parser.text))
