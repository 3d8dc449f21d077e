"""Answers are hostile text: they are shown as what they are, and do nothing."""

import pytest
from playwright.sync_api import expect

from ragen_bench.pages.report import write_report

from .runs import SOKOBAN, episode, make_run, summary_of

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("report")]

# Each in a thought, in an answer, in an observation, and as an action and a label.
HOSTILE = {
    "a script": "</script><script>alert(1)</script>",
    "an image": '<img src="x" onerror="alert(2)">',
    "a frame": "<iframe src='https://example.org'></iframe><style>*{display:none}</style>",
    "a comment": "<!-- <script> --!> ]]> {{ 7*7 }} ${8*8} </textarea></title>",
    "quotes": '"\' onfocus=alert(3) autofocus x="',
}
ODD = {
    "a null": ("a\0b", "a⟨U+0000⟩b"),
    "an escape": ("\x1b[31mred\x7f", "⟨U+001B⟩[31mred⟨U+007F⟩"),
    "a lone surrogate": ("a\ud800b\udc00", "a⟨U+D800⟩b⟨U+DC00⟩"),
    "text turned around": ("\u202eevil\u2066", "⟨U+202E⟩evil⟨U+2066⟩"),
    "hidden text": ("a\u200b\U000e0041\ufeff\u00ad", "a⟨U+200B⟩⟨U+E0041⟩⟨U+FEFF⟩⟨U+00AD⟩"),
    "lines of others": ("a\r\nb\u2028c", "a⟨U+000D⟩\nb⟨U+2028⟩c"),
    "what is no oddity": ("שלום 👩\u200d👧 \t√ é", "שלום 👩\u200d👧 \t√ é"),
}
LONG = "ab<i>" * 200_000 + "the end"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    texts = [*HOSTILE.values(), *(text for text, _ in ODD.values()), LONG]
    episodes = [
        episode(index, answers=[f"<think>{text}</think><answer>Up</answer>", text])
        for index, text in enumerate(texts)
    ]
    for text, one in zip(HOSTILE.values(), episodes, strict=False):
        one["turns"][1]["observation"] = text
        one["turns"][1]["actions"] = [text]
        one["final_observation"] = text
    labels = {f"{SOKOBAN}/{index}/0": text for index, text in enumerate(HOSTILE.values())}
    run = make_run(tmp_path_factory.mktemp("hostile") / "run", episodes)
    return write_report(run, summary_of(episodes), {"labels": labels})


def opened(visit, report, index, turn):
    page = visit(report, f"#{SOKOBAN}/{index}/0/{turn}")
    expect(page.locator("#episode-title")).to_have_text(f"Sokoban-v0, instance {index}, sample 0")
    return page


def text_of(locator):
    """The text that is there, without the browser's white space."""
    return locator.evaluate("element => element.textContent")


@pytest.mark.parametrize("index", range(len(HOSTILE)), ids=list(HOSTILE))
def test_markup_is_text(visit, report, index):
    text = list(HOSTILE.values())[index]
    page = opened(visit, report, index, 1)
    assert text_of(page.locator("#turn .thought")) == text
    page.keyboard.press("ArrowRight")
    said = page.locator("#turn .quote")
    expect(said).to_have_count(2)
    assert [text_of(one) for one in said.all()] == [text, text]
    assert text in text_of(page.locator("#turn .measures"))
    assert text.replace("_", " ") in text_of(page.locator("#episode-facts"))
    page.keyboard.press("ArrowRight")
    assert text_of(page.locator("#turn .quote")) == text
    page.locator("#filter-text").fill(text)
    expect(page.locator("#count")).to_have_text("1 of 13 episodes")
    assert page.locator("#viewer :is(img, iframe, style, script, textarea)").count() == 0
    assert page.evaluate("document.querySelectorAll('[onerror], [onfocus]').length") == 0


@pytest.mark.parametrize("name", ODD)
def test_odd_characters_are_named(visit, report, name):
    index = len(HOSTILE) + list(ODD).index(name)
    page = opened(visit, report, index, 2)
    expect(page.locator("#turn .quote")).to_have_count(2 if index < len(HOSTILE) else 1 + 1)
    assert text_of(page.locator("#turn .quote").last) == ODD[name][1]


def test_a_long_answer_is_cut_until_it_is_asked_for(visit, report):
    page = opened(visit, report, len(HOSTILE) + len(ODD), 2)
    said = page.locator("#turn .quote").last
    assert text_of(said) == LONG[:20_000]
    page.get_by_role("button", name="Show all 1,000,007 characters").click()
    assert text_of(said) == LONG
    expect(page.get_by_role("button", name="Show all 1")).to_have_count(0)


def test_a_search_finds_what_is_cut(visit, report):
    page = opened(visit, report, 0, 1)
    page.locator("#filter-text").fill("THE END")
    expect(page.locator("#count")).to_have_text("1 of 13 episodes")
    expect(page.locator("#turn mark").last).to_have_text("the end")
