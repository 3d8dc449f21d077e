"""The page as a person uses it: with a mouse, with keys, in two tabs."""

import re

import pytest
from playwright.sync_api import expect

from .conftest import Client
from .support import oracle_episode

pytestmark = pytest.mark.xdist_group("play")

TEXT = "document.querySelector('#observation').textContent"


def box(page):
    return page.get_by_role("textbox", name="Response")


def test_a_shopping_task_with_the_mouse(served, visit):
    observations, answers, rewards, _ = oracle_episode("ragen/WebShop-v0", 5)
    page = visit(served("WebShop-v0", 5))
    expect(page).to_have_title("Play WebShop-v0")
    expect(page.locator("#which")).to_have_text("test, instance 5")
    expect(page.locator("#turn")).to_have_text("Turn 1 of 9")
    assert page.evaluate(TEXT) == observations[0]
    # What stands around words of one's own is there; they are typed between it.
    assert box(page).input_value() == "search[]"
    page.keyboard.press("Enter")
    box(page).click()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_have_text("Choose an action or type a response first.")
    page.keyboard.type(answers[0].removeprefix("search[").removesuffix("]"))
    page.get_by_role("button", name="Send the response").click()
    for number, answer in enumerate(answers[1:], start=2):
        expect(page.locator("#turn")).to_have_text(f"Turn {number} of 9")
        # With buttons in it, the text is still what a model sees.
        assert page.evaluate(TEXT) == observations[number - 1]
        label = answer.removeprefix("click[").removesuffix("]")
        page.locator("#observation").get_by_role("button", name=label, exact=True).click()
    expect(page.get_by_role("heading", name="Solved")).to_be_visible()
    assert page.evaluate(TEXT) == observations[-1]
    expect(page.locator("#scores")).to_have_text("return1.00score1.00oracle's expected score1.00")
    parts = page.get_by_role("table", name="Reward components").locator("tbody tr")
    assert parts.all_inner_texts()[1] == "r_att, attributes that it has\t1.00"
    assert len(parts.all()) == 5
    oracle = page.get_by_role("table", name="The oracle in the same episode: return 1.00")
    assert oracle.locator("tbody tr").all_inner_texts() == [
        f"{answer}\t{reward:.2f}" for answer, reward in zip(answers, rewards, strict=True)
    ]
    for gone in ("#actions", "#answering"):
        expect(page.locator(gone)).to_be_hidden()


def test_the_oracle_is_not_shown_before_the_end(served, visit):
    server = served("WebShop-v0", 5)
    page = visit(server)
    title = oracle_episode("ragen/WebShop-v0", 5)[1][0]
    assert title not in page.content()
    assert "oracle" not in page.locator("body").inner_text()
    assert Client(server).state()["end"] is None


def test_a_chosen_option_is_marked_and_a_part_of_the_text(served, visit):
    page = visit(served("WebShop-v0", 5))
    _, answers, _, _ = oracle_episode("ragen/WebShop-v0", 5)
    for answer in answers[:3]:
        box(page).fill(answer)
        page.keyboard.press("Enter")
        expect(page.locator("#turns li code").last).to_have_text(answer)
    pressed = page.locator("#observation button[aria-pressed=true]")
    expect(pressed).to_have_text("charcoal")
    assert "[clicked button] charcoal [clicked button_]" in page.evaluate(TEXT)


def test_what_is_typed_narrows_a_long_list(served, visit):
    _, answers, _, _ = oracle_episode("ragen/WebShop-v0", 5)
    page = visit(served("WebShop-v0", 5))
    buttons = page.locator("#buttons button")
    every = buttons.all_inner_texts()
    assert len(every) == 18
    box(page).fill("SPEA")
    assert buttons.all_inner_texts() == [every[0], "search[speaker]"]
    expect(page.locator("#found")).to_have_text("2 of 18 match")
    box(page).fill("search[]")
    assert buttons.all_inner_texts() == every
    expect(page.locator("#found")).to_have_text("")
    for answer in answers[:2]:
        box(page).fill(answer)
        page.keyboard.press("Enter")
        expect(page.locator("#turns code").last).to_have_text(answer)
    # What has a button in the text is listed only when it is looked for.
    expect(page.locator("#elsewhere")).to_be_visible()
    expect(buttons).to_have_count(0)
    box(page).fill("charc")
    expect(page.locator("#elsewhere")).to_be_hidden()
    buttons.click()
    expect(page.locator("#turns code").last).to_have_text("click[charcoal]")


def test_pages_in_one_line_have_all_their_buttons_below(served, visit):
    server = served("WebShopText-v0", 5)
    page = visit(server)
    box(page).fill("search[shower speaker]")
    page.keyboard.press("Enter")
    expect(page.locator("#turn")).to_have_text("Turn 2 of 9")
    legal = Client(server).state()["legal"]
    assert page.locator("#buttons button").all_inner_texts() == legal
    page.get_by_role("button", name=legal[-1], exact=True).click()
    expect(page.locator("#turn")).to_have_text("Turn 3 of 9")
    expect(page.locator("#turns code").last).to_have_text(legal[-1])


def test_sokoban_with_the_mouse(served, visit):
    observations, answers, rewards, _ = oracle_episode("ragen/Sokoban-v0", 1)
    page = visit(served("Sokoban-v0", 1))
    exact = page.locator("#exact")
    form = page.locator("#form")
    expect(form).to_contain_text("0 of at most 5 actions")
    send = page.get_by_role("button", name="Send the response")
    send.click()
    expect(page.get_by_role("alert")).to_have_text("Choose an action or type a response first.")
    for number, answer in enumerate(answers):
        assert exact.text_content() == observations[number]
        for action in answer.split(" || "):
            page.get_by_role("button", name=action, exact=True).click()
        page.get_by_role("button", name="Up", exact=True).click()
        page.get_by_role("button", name="Undo").click()
        assert box(page).input_value() == answer
        count = len(answer.split(" || "))
        expect(form).to_contain_text(f"{count} of at most")
        send.click()
        expect(page.locator("#turns li")).to_have_count(number + 1)
    expect(page.get_by_role("heading", name="Solved")).to_be_visible()
    expect(page.locator("#scores")).to_contain_text(f"return{sum(rewards):.2f}")
    expect(page.locator("#parts table")).to_have_count(0)


def test_sokoban_with_the_keys(served, visit):
    server = served("Sokoban-v0", 1)
    page = visit(server)
    for key in ("ArrowUp", "ArrowLeft", "ArrowRight", "Backspace"):
        page.keyboard.press(key)
    assert box(page).input_value() == "Up || Left"
    expect(page.locator("#announcement")).to_have_text("Up || Left")
    page.keyboard.press("Enter")
    expect(page.locator("#turn")).to_have_text("Turn 2 of 5")
    assert Client(server).state()["turns"][0]["answer"] == "Up || Left"
    # In the box, the keys are the box's.
    box(page).fill("Down")
    for key in ("ArrowLeft", "Backspace", "x"):
        page.keyboard.press(key)
    assert box(page).input_value() == "Doxn"
    # A turn goes on where its player was.
    page.keyboard.press("Enter")
    expect(page.locator("#turn")).to_have_text("Turn 3 of 5")
    assert page.evaluate("document.activeElement.id") == "answer"
    button = page.get_by_role("button", name="Left", exact=True)
    for _ in range(6):
        button.press("Space")
    expect(page.locator("#form")).to_contain_text("6 of at most 5 actions")
    expect(page.locator("#form")).to_contain_text("The last 1 will be ignored.")
    assert page.evaluate("document.activeElement.textContent") == "Left"


def test_a_shopping_task_with_the_keys_alone(served, visit):
    page = visit(served("WebShop-v0", 5))

    def tab_to(text):
        for _ in range(60):
            page.keyboard.press("Tab")
            at = "document.activeElement"
            if page.evaluate(f"{at}.textContent") == text or page.evaluate(f"{at}.id") == text:
                style = page.evaluate(f"getComputedStyle({at}).outlineStyle")
                assert style == "solid"
                return
        raise AssertionError(f"no key leads to {text}")

    tab_to("answer")
    page.keyboard.type("shower speaker")
    page.keyboard.press("Enter")
    expect(page.locator("#turn")).to_have_text("Turn 2 of 9")
    assert page.evaluate("document.activeElement.id") == "answer"
    expect(page.locator("#announcement")).to_contain_text(
        "Done: search[shower speaker]. Reward: 0."
    )
    tab_to("next >")
    page.keyboard.press("Enter")
    expect(page.locator("#turn")).to_have_text("Turn 3 of 9")
    tab_to("back to search")


def test_the_history_is_readable_and_stays_open(served, visit):
    observations, _, _, _ = oracle_episode("ragen/Sokoban-v0", 9)
    page = visit(served("Sokoban-v0", 9))
    expect(page.locator("#past")).to_be_hidden()
    box(page).fill("Up")
    page.keyboard.press("Enter")
    summary = page.locator("#turns > li > details > summary")
    expect(summary).to_have_text(re.compile(r"Turn 1: Up reward [\u2212\d.]+"))
    summary.click()
    rules, board, _ = observations[0].split("\n\n")
    expect(page.locator("#turns .board")).to_have_text(board, use_inner_text=True)
    expect(page.locator("#rules pre")).to_have_text(rules)
    box(page).fill("no action")
    page.keyboard.press("Enter")
    expect(page.locator("#turns li")).to_have_count(2)
    expect(page.locator("#turns .board").first).to_be_visible()
    expect(summary.last).to_have_text("Turn 2: no action reward \u22120.10")


def test_the_same_again_and_the_next_one(served, visit):
    page = visit(served("Bandit-v0", 4))
    first = page.evaluate(TEXT)
    page.locator("#buttons button").first.click()
    expect(page.locator("#end")).to_be_visible()
    assert page.locator("#observation button").count() == 0
    page.get_by_role("button", name="Same instance again").click()
    expect(page.locator("#turn")).to_have_text("Turn 1 of 1")
    assert page.evaluate(TEXT) == first
    expect(page.locator("#past")).to_be_hidden()
    expect(page.locator("#turns li")).to_have_count(0)
    expect(page.locator("#announcement")).to_have_text("A new episode.")
    page.locator("#buttons button").last.click()
    page.get_by_role("button", name="Next instance").click()
    expect(page.locator("#which")).to_have_text("test, instance 5")
    expect(page.locator("#end")).to_be_hidden()
    assert page.evaluate("document.activeElement.id") == "turn"


def test_two_tabs(served, visit):
    server = served("Sokoban-v0")
    one, other = visit(server), visit(server)
    box(one).fill("Up")
    one.keyboard.press("Enter")
    expect(one.locator("#turn")).to_have_text("Turn 2 of 5")
    box(other).fill("Down")
    other.keyboard.press("Enter")
    expect(other.get_by_role("alert")).to_contain_text("the episode has gone on in another tab")
    expect(other.locator("#turn")).to_have_text("Turn 2 of 5")
    assert [turn["answer"] for turn in Client(server).state()["turns"]] == ["Up"]
    box(one).fill("Left")
    one.keyboard.press("Enter")
    expect(one.locator("#turn")).to_have_text("Turn 3 of 5")
    # A tab that is looked at again shows where the episode is.
    other.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(other.locator("#turn")).to_have_text("Turn 3 of 5")


def test_markup_is_text(served, visit):
    page = visit(served("WebShop-v0"))
    words = "<img src=x onerror=alert(1)> [button] buy now [button_]"
    box(page).fill(f"search[{words}]")
    page.keyboard.press("Enter")
    expect(page.locator("#turn")).to_have_text("Turn 2 of 9")
    assert page.locator("img").count() == 0
    assert f"Done: search[{words}]." in page.evaluate(TEXT)
    # It is no button either: the page does not offer it.
    expect(page.get_by_role("button", name="buy now")).to_have_count(0)


def test_the_command_has_ended(served, browser):
    server = served("Sokoban-v0")
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.url)
    expect(page.locator("#turn")).to_have_text("Turn 1 of 5")
    context.set_offline(True)
    box(page).fill("Up")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(
        "The server has ended; start the command again."
    )
    assert box(page).input_value() == "Up"
    context.close()
