"""What an opponent said, in the turns in which it was asked."""

import re

import pytest
from playwright.sync_api import expect

from ragen_bench.pages.report import write_report

from .runs import episode, make_run, summary_of
from .test_hostile import HOSTILE, LONG, ODD, text_of

pytestmark = pytest.mark.xdist_group("report")

GAME = "ragen/TwentyQuestionsModel-v0"
OPPOSED = {"opponent": {"model": "random", "response_format": "think", "model_identity": {}}}
REPHRASE = "I cannot tell, please rephrase"
SILENT = "nothing: it does not understand the question"
UNREADABLE, CUT = "opponent not readable", "opponent cut at the token limit"
# What the reply is, what is shown of it, and what is remarked.
VERDICTS = {
    "agrees": ({}, ["Yes", "Yes", "yes"], []),
    "wrong": ({"read": "No", "agrees": False}, ["No", "Yes", "no"], ["opponent wrong"]),
    "told nothing": ({"read": None, "agrees": False}, [REPHRASE, "Yes", "no"], []),
    "unreadable": (
        {"read": None, "agrees": False, "readable": False, "finish": "length"},
        ["not readable", "Yes", "no"],
        [UNREADABLE, CUT],
    ),
    "not judged": ({"rule": None, "agrees": None}, ["Yes", SILENT, "not judged"], []),
    "neither": (
        {"rule": None, "read": None, "agrees": None, "readable": False},
        ["not readable", SILENT, "not judged"],
        [UNREADABLE],
    ),
}
NOT_ASKED = len(VERDICTS) + 1
COUNTS = {"judged": 4, "agreed": 1, "wrong": 1, "unreadable": 2}


def reply(answer="<think>It has a trunk.</think><answer>Yes</answer>", **more):
    return {
        "observation": "The word is a birch tree.",
        "answer": answer,
        "reasoning": "",
        "finish": "stop",
        "prompt_tokens": 4321,
        "completion_tokens": 765,
        "rule": "Yes",
        "read": "Yes",
        "readable": True,
        "agrees": True,
        **more,
    }


def opposed(index, *replies, overflowed=False):
    """An episode in which the opponent replied so; None for a turn that did not ask it."""
    asked = {"opponent": {**COUNTS, "overflowed": overflowed}}
    one = episode(index, env=GAME, answers=["Is it alive?"] * len(replies), **asked)
    for turn, said in zip(one["turns"], replies, strict=True):
        turn |= {"opponent": said} if said else {}
    return one


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Instance 0 holds every verdict, 1 thoughts apart and an overflow, the others odd texts."""
    texts = [*HOSTILE.values(), *(text for text, _ in ODD.values()), LONG]
    apart = reply("No.", reasoning="Birches are light.", read=texts[0], rule=texts[1])
    episodes = [
        opposed(0, *(reply(**changes) for changes, _, _ in VERDICTS.values()), None),
        opposed(1, apart, overflowed=True),
        *(
            opposed(index, reply(text, reasoning=text, observation=text))
            for index, text in enumerate(texts, start=2)
        ),
    ]
    run = make_run(tmp_path_factory.mktemp("opponent") / "run", episodes, **OPPOSED)
    return write_report(run, summary_of(episodes))


def opened(visit, report, index, turn):
    page = visit(report, f"#{GAME}/{index}/0/{turn}")
    expect(page.locator("#episode-title")).to_contain_text(f"instance {index}, sample 0")
    return page


@pytest.mark.parametrize("name", VERDICTS)
def test_a_reply_is_held_against_the_rule(visit, report, name):
    turn = list(VERDICTS).index(name) + 1
    _, figures, remarks = VERDICTS[name]
    page = opened(visit, report, 0, turn)
    part = page.get_by_role("region", name="Opponent")
    expect(part.locator("dt")).to_have_text(
        ["Read as", "The rule says", "Agrees", "Tokens read", "Generated"]
    )
    expect(part.locator("dd")).to_have_text([*figures, "4,321", "765"])
    expect(part.locator(".flags li")).to_have_text(remarks)
    spoken = ", ".join([f"Turn {turn}", "reward −0.5", *remarks])  # noqa: RUF001
    button = page.get_by_role("button", name=spoken, exact=True)
    expect(button).to_have_attribute("aria-current", "step")
    assert button.get_attribute("data-turn") == ("doubtful" if remarks else None)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    if turn > 1:
        expect(page.locator("#announcement")).to_have_text(re.compile(f"{', '.join(remarks)}$"))


def test_what_was_said_is_open_and_what_was_read_is_not(visit, report):
    page = opened(visit, report, 0, 1)
    part = page.get_by_role("region", name="Opponent")
    expect(part.locator(".thought")).to_have_text("It has a trunk.")
    expect(part.get_by_text("<answer>Yes</answer>", exact=True)).to_be_visible()
    read = part.get_by_text("The word is a birch tree.")
    expect(read).to_be_hidden()
    part.get_by_text("The opponent's prompt").click()
    expect(read).to_be_visible()
    whole = part.get_by_text("<think>It has a trunk.</think>")
    expect(whole).to_be_hidden()
    part.get_by_text("The opponent's raw reply").click()
    expect(whole).to_be_visible()


def test_the_players_part_is_its_own(visit, report):
    page = opened(visit, report, 0, 2)
    expect(page.locator("#turn > div > div > .quote")).to_have_text(
        [re.compile("^Done: 2"), "Is it alive?"]
    )
    expect(page.locator("#turn > div > div > .measures")).to_contain_text("1,200")
    expect(page.locator("#turn > div > div > .flags")).to_have_count(0)


def test_thoughts_apart_are_shown(visit, report):
    page = opened(visit, report, 1, 1)
    part = page.get_by_role("region", name="Opponent")
    expect(part.get_by_role("heading").first).to_contain_text("reasoning, separate from its reply")
    expect(part.locator(".thought")).to_have_text("Birches are light.")
    expect(part.get_by_text("No.", exact=True)).to_be_visible()
    expect(part.get_by_text("The opponent's raw reply")).to_have_count(0)
    assert [text_of(one) for one in part.locator("dd").all()[:2]] == list(HOSTILE.values())[:2]


def test_a_turn_that_asked_nobody_shows_no_opponent(visit, report):
    page = opened(visit, report, 0, NOT_ASKED)
    expect(page.get_by_role("region", name="Opponent")).to_have_count(0)
    assert "pponent" not in page.locator("#turn").inner_text()


@pytest.mark.parametrize(("index", "overflowed"), [(0, False), (1, True)])
def test_the_end_counts_the_replies_and_says_whose_context_was_full(
    visit, report, index, overflowed
):
    page = opened(visit, report, index, 99)
    expect(page.locator("#turn")).to_contain_text(
        "Replies of the opponent: 4 to questions that the rule understands (1 as the rule answers, "
        "1 another answer than the rule's), 2 not readable."
    )
    full = page.get_by_text("did not fit into the opponent's context")
    expect(full).to_have_count(int(overflowed))


@pytest.mark.parametrize("index", range(len(HOSTILE)), ids=list(HOSTILE))
def test_markup_is_text(visit, report, index):
    text = list(HOSTILE.values())[index]
    page = opened(visit, report, index + 2, 1)
    said = page.locator("#turn .opponent .quote")
    assert [text_of(one) for one in said.all()] == [text] * 3
    assert page.locator("#viewer :is(img, iframe, style, script, textarea)").count() == 0
    assert page.evaluate("document.querySelectorAll('[onerror], [onfocus]').length") == 0


def test_odd_characters_are_named(visit, report):
    page = opened(visit, report, 2 + len(HOSTILE), 1)
    for number, (_, shown) in enumerate(ODD.values(), start=2 + len(HOSTILE)):
        expect(page.locator("#episode-title")).to_contain_text(f"instance {number}, ")
        said = page.locator("#turn .opponent .quote")
        assert [text_of(one) for one in said.all()] == [shown] * 3
        page.get_by_role("button", name="Next episode").click()


def test_a_long_reply_is_cut(visit, report):
    page = opened(visit, report, 2 + len(HOSTILE) + len(ODD), 1)
    assert text_of(page.locator("#turn .opponent .quote").first) == LONG[:20_000]


@pytest.mark.parametrize(
    ("text", "found"), [("it has a TRUNK", 1), ("birches are", 1), ("the word is a birch", 0)]
)
def test_a_search_reads_what_was_said_and_not_what_was_read(visit, report, text, found):
    page = opened(visit, report, 3, 1)
    page.locator("#filter-text").fill(text)
    expect(page.locator("#count")).to_have_text(f"{found} of 15 episodes")
    if found:
        expect(page.locator("#turn .opponent mark").first).to_have_text(re.compile(text, re.I))


def test_paper_shows_the_opponent(visit, report):
    page = opened(visit, report, 0, 1)
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("#print .opponent")).to_have_count(len(VERDICTS))


def test_a_narrow_screen_scrolls_one_way_only(visit, report):
    page = opened(visit, report, 0, 4)
    page.set_viewport_size({"width": 320, "height": 800})
    expect(page.locator(".opponent .flags li")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_without_an_opponent_nothing_of_one_is_there(visit, tmp_path):
    episodes = [episode(0)]
    page = visit(write_report(make_run(tmp_path / "run", episodes), summary_of(episodes)))
    assert "pponent" not in page.locator("body").inner_text()
    page.get_by_role("button", name="The end").click()
    assert "pponent" not in page.locator("body").inner_text()
