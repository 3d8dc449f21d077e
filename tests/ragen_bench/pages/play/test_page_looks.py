"""The page on narrow screens, in the dark, for screen readers, and without scripts."""

import pytest
from playwright.sync_api import expect

from tests.ragen_bench.pages.looks import BACKGROUND, DARK, LIGHT, check_contrast

from .support import oracle_episode

pytestmark = pytest.mark.xdist_group("play")

WIDTHS = (320, 390, 800, 1200)
PLACES = """() => [...document.querySelectorAll("button, input")]
    .map(e => e.getBoundingClientRect()).filter(b => b.width)
    .map(b => [b.left, b.right, b.height])"""


@pytest.fixture
def views(served, visit):
    """Plays an episode with what is long in it, and stops at each of its turns."""
    page = visit(served("WebShop-v0", 5))

    def each():
        yield page
        answers = oracle_episode("ragen/WebShop-v0", 5)[1]
        for answer in [*answers[:3], "y" * 200, "click[buy now]"]:
            page.get_by_role("textbox", name="Response").fill(answer)
            page.keyboard.press("Enter")
            expect(page.locator("#turns li code").last).to_have_text(answer)
            yield page

    return each()


def test_narrow_and_wide(views):
    for page in views:
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            places = page.evaluate(PLACES)
            assert len(places) >= 2
            for left, right, height in places:
                assert left >= 0
                assert right <= width
                # WCAG 2.2 (success criterion 2.5.8) asks for 24 pixels.
                assert height >= 24
            past, now = (page.locator(part).bounding_box() for part in ("#past", "#now"))
            beside = past is not None and past["x"] > now["x"] + now["width"]
            assert beside == (width == 1200 and past is not None)


def test_a_board_its_legend_and_the_one_box(served, visit):
    page = visit(served("SokobanLarge-v0", 1))
    expect(page.get_by_role("textbox")).to_have_count(1)
    for count, action in enumerate(("Up", "no action", "Left"), start=1):
        page.get_by_role("textbox").fill(action)
        page.keyboard.press("Enter")
        expect(page.locator("#turns > li")).to_have_count(count)
    for width, height, least in ((1200, 800, 60), (390, 844, 40)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate("scrollTo(0, 0)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        board, legend, form = (
            page.locator(part).bounding_box()
            for part in ("#observation .board", "#observation .meanings", "#answering")
        )
        assert board["width"] / 8 >= least
        assert board["height"] / 8 == pytest.approx(board["width"] / 8, abs=1)
        assert legend["y"] >= board["y"] + board["height"]
        assert legend["y"] + legend["height"] <= height
        assert (form["y"] > legend["y"]) == (width == 390)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            check_contrast(page, "body *", 64)


def test_text_has_contrast(views):
    for page in views:
        for scheme, paper in (("light", LIGHT), ("dark", DARK)):
            page.emulate_media(color_scheme=scheme)
            assert page.evaluate(BACKGROUND) == paper
            check_contrast(page, "body *", 20)


def test_a_screen_reader_finds_its_way(served, visit):
    page = visit(served("WebShop-v0", 5))
    tree = page.locator("body").aria_snapshot()
    for line in (
        'heading "WebShop-v0" [level=1]',
        'region "Turn 1 of 9"',
        'region "Actions"',
        'button "search[speaker]"',
        'textbox "Response"',
        'button "Send the response"',
    ):
        assert line in tree, line
    page.get_by_role("textbox", name="Response").fill("click[buy now]")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").first).to_contain_text("What is not an action was skipped.")
    expect(page.get_by_role("region", name="Turns so far")).to_be_visible()
    every = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(every) == len(set(every))


def test_without_scripts(served, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(served("Bandit-v0").url)
    expect(page.get_by_text("This page needs JavaScript")).to_be_visible()
    context.close()
