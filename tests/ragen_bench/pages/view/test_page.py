"""The page: what it serves, and what it does in a browser."""

import http.client
import json
import re

import pytest
from playwright.sync_api import expect

from ragen_bench.analysis import analyse
from ragen_bench.cli.main import main
from ragen_bench.pages.comparison import render_comparison
from ragen_bench.pages.report import Home, report_pieces
from ragen_bench.runs.directory import open_run, read_run
from ragen_bench.scores.compare import compare_with_first
from ragen_bench.scores.summary import summarise
from tests.ragen_bench.pages.looks import BACKGROUND, DARK, LIGHT, check_contrast
from tests.ragen_bench.scores import compared

pytestmark = pytest.mark.xdist_group("view")

BANDIT, LAKE = "ragen/Bandit-v0", "ragen/FrozenLake-v0"
HOSTILE = "'\"></td><img src=x onerror=alert(1)>{{ 7 * 7 }}"
INSTANCES = {BANDIT: 6, LAKE: 2}


def played(path, **changes):
    return compared.played(path, **{"instances": INSTANCES, "samples": 1, **changes})


def fetch(server, place):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request("GET", f"/{server.word}/{place}")
    reply = connection.getresponse()
    content = reply.read().decode()
    connection.close()
    return reply.status, content


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three complete runs, one of them of another environment, one that grows, and a broken one."""
    folder = tmp_path_factory.mktemp("runs")
    whole = played(folder / "random")
    played(folder / "oracle", model="oracle")
    lake = played(folder / "lake", instances={LAKE: 3}, split="val")
    config = {**lake.config.as_json(), "model": HOSTILE}
    (lake.path / "run.json").write_text(json.dumps(config))
    growing = open_run(folder / "deep" / "growing", whole.config)
    growing.append(next(iter(whole.episodes())))
    growing.unlock()
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text("{<script>alert(1)</script>")
    return folder


def ids(server):
    return {row.place: row.id for row in server.folder.list_runs()[0]}


def test_reports_and_comparisons_are_those_of_the_commands(served, runs):
    server = served(runs)
    of = ids(server)
    home = Home("All runs", f"/{server.word}/")
    found = read_run(runs / "random")
    report = "".join(report_pieces(found, summarise(found), analyse(found), home))
    assert fetch(server, f"report/{of['random']}") == (200, report)
    three = [read_run(runs / place) for place in ("oracle", "random", "deep/growing")]
    compared = render_comparison(compare_with_first(three), home.address)
    place = "/".join(of[run] for run in ("oracle", "random", "deep/growing"))
    assert fetch(server, f"compare/{place}") == (200, compared)
    assert not (runs / "random" / "report.html").exists()


def test_a_mistake_is_a_page_with_a_line(served, runs, tmp_path, capsys):
    server = served(runs)
    of = ids(server)
    summary = runs / "lake" / "summary.json"
    summary.write_text(json.dumps({"episodes": 3, "envs": 0}))
    for place, says in (
        (f"report/{of['broken']}", "broken/run.json is not a JSON object"),
        (f"report/{of['lake']}", "summary.json is not a summary; `ragen-bench report"),
        ("report/0123456789abcdef", "this run is not there any more"),
        (f"compare/{of['random']}/{of['lake']}", "split: test in A, val in B"),
        (f"compare/{of['random']}", "2 to 26 runs can be compared, got 1"),
    ):
        status, page = fetch(server, place)
        said = re.search('<p class="badge strong" role="alert">(.*)</p>', page)
        assert (status, says in said[1]) == (409, True), place
    rows = [{"env": BANDIT, "success": 10**400}]
    summary.write_text(json.dumps({"episodes": 3, "envs": rows}))
    assert "is not a summary" in fetch(server, f"report/{of['lake']}")[1]
    summary.unlink()
    for place in ("report/..", "report/../random", "../random", "random/run.json", "run.json"):
        status, page = fetch(server, place)
        assert (status in (404, 409), "spec_hash" in page) == (True, False), place
    status, page = fetch(served(tmp_path), "")
    assert (status, "There are no runs below this folder yet" in page) == (200, True)
    assert main(["view", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


SIZES = ((1200, "light", LIGHT), (390, "dark", DARK))
FILTERS = (
    ("Text", "BANDIT val", []),
    ("Text", "bandit deep", ["deep/growing"]),
    ("Model", "oracle", ["oracle"]),
    ("Environment", BANDIT, ["deep/growing", "oracle", "random"]),
    ("Outcome", "unreadable", ["broken"]),
    ("Outcome", "incomplete", ["deep/growing"]),
)


def in_both_sizes(page):
    """Look at the page wide and light, then narrow and dark, and stop there."""
    for width, scheme, paper in SIZES:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(BACKGROUND) == paper
        check_contrast(page, "body *", 20)
        yield


def check_filters(page):
    shown = page.locator("#runs tr:visible")
    for label, value, expected in FILTERS:
        if label == "Text":
            page.get_by_role("searchbox", name=label).fill(value)
        else:
            page.get_by_role("combobox", name=label).select_option(value)
        expect(shown.locator("code")).to_have_text(expected)
        assert page.locator("#count").text_content() == f"{len(expected)} of 5 runs"
        page.get_by_role("button", name="Show all").click()
    expect(shown).to_have_count(5)


def test_runs_are_filtered_compared_and_followed(served, visit, runs):
    server = served(runs)
    page = visit(server)
    expect(page.locator("#count")).to_have_text("5 runs")
    expect(page.locator("#runs bdi").nth(1)).to_have_text(HOSTILE)
    for _ in in_both_sizes(page):
        check_filters(page)

    compare = page.get_by_role("button", name="Compare", exact=True)
    for model, said in (
        ("random, random", "Select two runs or more to compare them."),
        ("oracle, oracle", "Select another run to compare with A."),
    ):
        expect(compare).to_be_in_viewport()
        expect(compare).to_have_attribute("aria-disabled", "true")
        expect(page.locator("#chosen")).to_have_text(said)
        page.get_by_label(f"Compare {model}").check()
    compare.click()
    expect(page.locator("h1")).to_have_text("random against oracle")
    two = [read_run(runs / name) for name in ("random", "oracle")]
    success = compare_with_first(two)["comparisons"][0]["envs"][0]["success"]
    shown = f"{100 * success['difference']:+.1f}".replace("-", "\N{MINUS SIGN}")
    three = "/".join(ids(server)[run] for run in ("oracle", "random", "deep/growing"))
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{server.url}compare/{three}")
    expect(page.locator("h1")).to_have_text("oracle against random, random")
    cut = "all => all.filter(place => place.scrollWidth > place.clientWidth).length"
    assert page.locator(".wide").evaluate_all(cut) == 0
    page.go_back()
    assert len([None for _ in in_both_sizes(page)]) == 2
    expect(page.locator("tr:has(td.drawn) strong.key").first).to_have_text(shown)
    page.get_by_role("link", name="All runs").click()
    expect(page.locator(".letter", has_text="B")).to_have_count(1)

    growing, whole = read_run(runs / "deep" / "growing"), read_run(runs / "random")
    row = page.locator("#runs tr", has_text="deep/growing")
    expect(row.locator("td").nth(4)).to_contain_text("1 of 8")
    page.evaluate("window.loadedOnce = true")
    for each in list(whole.episodes())[1:3]:
        growing.append(each)
    expect(row.locator("td").nth(4)).to_contain_text("3 of 8")
    solved = sum(bool(each.success) for each in growing.episodes())
    expect(row.locator("td").nth(1)).to_contain_text(f"{100 * solved / 3:.1f}")
    assert page.evaluate("window.loadedOnce")
    expect(page.locator(".letter", has_text="B")).to_have_count(1)
    row.get_by_role("link").click()
    expect(page.locator(".lead")).to_contain_text("3 of 8 episodes")
