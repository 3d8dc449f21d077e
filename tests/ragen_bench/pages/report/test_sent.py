"""What was sent to the model, as the page shows it, beside what the harness puts together."""

import pytest
from playwright.sync_api import expect

from ragen_bench.models.prompt import conversation, prompt_hash
from ragen_bench.pages.report import write_report

from .runs import CONFIG, SOKOBAN, episode, make_run, summary_of

pytestmark = pytest.mark.xdist_group("report")

ANSWERS = ["<think>A.</think><answer>Left</answer>", "No form", "<b>Up", "<answer>Down</answer>"]


def written(tmp_path, history, recorded=None):
    played = [episode(0, 0, SOKOBAN, ANSWERS)]
    recorded = recorded or prompt_hash("think", history)
    config = {"history": history, "prompt_hash": recorded}
    return write_report(make_run(tmp_path / "run", played, **config), summary_of(played)), played[0]


def shown(page):
    """Return the messages below "What was sent", read in the page."""
    page.locator("#turn .sent summary").click()
    page.locator("#turn .sent pre").first.wait_for()
    roles = page.locator("#turn .sent h5").all_text_contents()
    return list(zip(roles, page.locator("#turn .sent pre").all_text_contents(), strict=True))


@pytest.mark.parametrize("history", [None, 0, 2])
@pytest.mark.parametrize("number", [1, 4])
def test_the_page_shows_the_conversation_of_the_harness(visit, tmp_path, history, number):
    report, played = written(tmp_path, history)
    page = visit(report, f"#{SOKOBAN}/0/0/{number}")
    turns = played["turns"][:number]
    messages = conversation(
        [turn["observation"] for turn in turns],
        [turn["answer"] for turn in turns[:-1]],
        "think",
        history,
    )
    assert shown(page) == [(message["role"], message["content"]) for message in messages]


def test_the_first_messages_stand_on_the_page_once(visit, tmp_path):
    report, _ = written(tmp_path, None)
    page = visit(report)
    first = page.locator("section", has=page.locator("#prompt-title"))
    first.get_by_text("3 messages").click()
    expect(first.locator("h3")).to_have_text(["system", "user", "assistant"])
    expect(first.locator("pre").first).to_contain_text("You are a player in a text game.")
    expect(first.locator("pre").last).to_have_text(
        "<think>It is dark, so I light the lamp first.</think><answer>Light</answer>"
    )


def test_a_prompt_of_another_version_is_not_shown(visit, tmp_path):
    report, _ = written(tmp_path, None, recorded=CONFIG["prompt_hash"])
    page = visit(report)
    expect(page.locator("#turn .board")).to_be_visible()
    expect(page.locator(".sent")).to_have_count(0)
    expect(page.locator("#prompt-title")).to_have_count(0)


def test_the_end_was_sent_to_nobody(visit, tmp_path):
    report, played = written(tmp_path, None)
    page = visit(report, f"#{SOKOBAN}/0/0/{len(played['turns']) + 1}")
    expect(page.locator("#turn")).to_contain_text("The end")
    expect(page.locator(".sent")).to_have_count(0)
