"""Light and dark, narrow screens, paper, screen readers, and browsers without scripts."""

import re

import pytest
from playwright.sync_api import expect

from ragen_bench.pages.report import write_report
from tests.ragen_bench.pages.looks import BACKGROUND, DARK, LIGHT, check_contrast

from .runs import FROZEN_LAKE, SOKOBAN, episode, make_run, row, summary

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report")]

TEXTS = """p, td, th, dt, dd, caption, a, h2, .row div, .quote, .flags li, #turns button,
    [data-kind]"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report with every section."""
    bucket = {"bucket": "3-4", "episodes": 11, "success": 0.5, "interval": [0.25, 0.75]}
    more = {"by_difficulty": [bucket] * 6, "by_turn": [0.1] * 20, "pass_at_k": {"1": 0.5}}
    rows = [row(env, 12, **more) for env in (SOKOBAN, FROZEN_LAKE)]
    about = "What this failure is about, in a sentence of some length."
    failure = {"label": "stuck", "about": about, "episodes": 5, "share": 0.5}
    failure["examples"] = [[0, 0, 1], [1, 0, 1], [2, 0, 1]]
    found = {"env": SOKOBAN, "failures": [failure], "reasoning": {"words_mean": 1.5}}
    episodes = [
        episode(index, env=env, answers=["x" * 300, "Up " * 200, "Left"])
        for env in (SOKOBAN, FROZEN_LAKE)
        for index in range(12)
    ]
    run = make_run(tmp_path_factory.mktemp("looks") / "run", episodes)
    figures = summary(*rows, suite_score_interval=[-0.1, 0.4])
    return write_report(run, figures, {"envs": [found], "labels": {f"{SOKOBAN}/0/0": "stuck"}})


@pytest.mark.parametrize(
    ("system", "first", "second"), [("light", LIGHT, DARK), ("dark", DARK, LIGHT)]
)
def test_the_theme_is_the_systems_until_it_is_changed(visit, report, system, first, second):
    page = visit(report, color_scheme=system)
    button = page.get_by_role("button", name="Dark")
    assert page.evaluate(BACKGROUND) == first
    expect(button).to_have_attribute("aria-pressed", str(system == "dark").lower())
    button.click()
    assert page.evaluate(BACKGROUND) == second
    expect(button).to_have_attribute("aria-pressed", str(system != "dark").lower())
    button.click()
    assert page.evaluate(BACKGROUND) == first


@pytest.mark.parametrize("width", [320, 390, 768])
def test_narrow_screens_scroll_one_way_only(visit, report, width):
    page = visit(report)
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    table = page.get_by_role("group", name="Table of results")
    shadows = table.evaluate("place => getComputedStyle(place).backgroundAttachment")
    assert shadows == "local, local, scroll, scroll"
    table.press("ArrowRight")
    expect(table).not_to_have_js_property("scrollLeft", 0)
    page.locator("#viewer").scroll_into_view_if_needed()
    page.get_by_role("button", name="Next turn").click()
    expect(page.locator("#turns [aria-current]")).to_have_text("2")
    page.locator(".row").nth(1).click()
    expect(page.locator("#episode-title")).to_have_text("Sokoban-v0, instance 1, sample 0")


def test_touch(visit, report):
    page = visit(report, has_touch=True)
    page.get_by_role("button", name="Next turn").tap()
    expect(page.locator("#turns [aria-current]")).to_have_text("2")
    page.locator(".row").nth(2).tap()
    expect(page.locator("#episode-title")).to_have_text("Sokoban-v0, instance 2, sample 0")


def test_paper_shows_all_turns_of_the_open_episode(visit, report):
    page = visit(report, color_scheme="dark")
    assert page.locator("#print .turn").count() == 0
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("#print h4", has_text=re.compile("^(Turn|End)"))).to_have_text(
        ["Turn 1", "Turn 2", "Turn 3", "End"]
    )
    expect(page.locator("#print .turn").last).to_be_visible()
    for gone in ("#list", ".filters", ".steps", "#turn", "#theme"):
        expect(page.locator(gone)).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    assert page.pdf()[:5] == b"%PDF-"
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#print .turn").count() == 0


def test_a_screen_reader_finds_its_way(visit, report):
    page = visit(report)
    tree = page.locator("body").aria_snapshot()
    for line in (
        'heading "hf/some-model" [level=1]',
        'region "Results"',
        'table "Success of each',
        'img "3-4: 50.0 %, interval 25.0 to 75.0 %, 11 episodes',
        'search "Episodes"',
        'combobox "Outcome"',
        'searchbox "Text"',
        'listbox "Episodes"',
        'option "Sokoban-v0 0/0',
        "[selected]",
        'article "Sokoban-v0, instance 0, sample 0"',
        'button "Turn 1, reward −0.5"',  # noqa: RUF001
        'group "Board"',
        'link "Sokoban-v0, instance 0, sample 0, turn 1"',
    ):
        assert line in tree, line
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, select, input, [tabindex=\"0\"]')]"
        ".filter(e => !(e.textContent.trim() || e.labels?.length || e.ariaLabel)).length"
    )
    assert unnamed == 0
    assert page.evaluate("[...document.querySelectorAll('[id]')].length") == page.evaluate(
        "new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size"
    )


def test_the_focus_is_seen(visit, report):
    page = visit(report)
    page.locator("#viewer").scroll_into_view_if_needed()
    page.locator("#filter-env").focus()
    for _ in range(12):
        page.keyboard.press("Tab")
        style = page.evaluate(
            "(() => { const s = getComputedStyle(document.activeElement);"
            " return [s.outlineStyle, parseFloat(s.outlineWidth)]; })()"
        )
        assert style == ["solid", 2]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_contrast(visit, report, theme):
    check_contrast(visit(report, color_scheme=theme), TEXTS, 100)


def test_without_scripts_the_figures_are_there(visit, report):
    page = visit(report, ready="table", java_script_enabled=False)
    expect(page.get_by_text("need JavaScript, which has not run")).to_be_visible()
    expect(page.locator("#viewer")).to_be_hidden()
    expect(page.locator("svg.interval")).to_have_count(2)


def test_an_old_browser_is_told(browser, report):
    context = browser.new_context()
    page = context.new_page()
    page.add_init_script("delete window.DecompressionStream")
    page.goto(report.as_uri())
    expect(page.get_by_role("alert")).to_contain_text("too old to show the trajectories")
    expect(page.locator("#viewer")).to_be_hidden()
    context.close()
