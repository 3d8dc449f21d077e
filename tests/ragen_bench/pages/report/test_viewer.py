"""The trajectories in a browser: buttons, keys, filters, search and addresses."""

import pytest
from playwright.sync_api import expect

from ragen_bench.pages.report import write_report

from .runs import FROZEN_LAKE, SOKOBAN, episode, make_run, summary_of, turn

pytestmark = pytest.mark.xdist_group("report")

TOTAL = 12


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Six episodes of each of two games, by index and sample; later turns say which they are."""
    episodes = [
        episode(
            index,
            sample,
            env,
            [f"<think>I think {index}{sample}.</think><answer>Left</answer>", "No form", "<b>Up"],
            outcome="success" if sample == 0 else "invalid_format",
        )
        for env in (SOKOBAN, FROZEN_LAKE)
        for index in range(3)
        for sample in range(2)
    ]
    odd = episodes[3]["turns"]
    odd[1] = turn("A needle (here", 2, format_is_valid=False, action_is_valid=False, reward=0.25)
    odd[1] |= {"finish": "length", "reasoning": "apart", "actions": []}
    odd[1]["action_is_effective"] = odd[2]["action_is_effective"] = False
    odd[2]["answer_is_example"] = True
    analysis = {
        "labels": {f"{SOKOBAN}/1/1": "box_stuck", f"{FROZEN_LAKE}/2/1": "gave_up"},
        "envs": [
            {"env": SOKOBAN, "failures": [_failure(SOKOBAN, [[1, 1, 2]])]},
            {"env": FROZEN_LAKE, "failures": [_failure(FROZEN_LAKE, [[2, 1, 3]])]},
        ],
    }
    run = make_run(tmp_path_factory.mktemp("viewer") / "run", episodes)
    return write_report(run, summary_of(episodes), analysis)


def _failure(env, examples):
    return {"label": env, "about": "", "episodes": 1, "share": 1.0, "examples": examples}


@pytest.fixture
def page(visit, report):
    return visit(report)


def shows(page, title, current):
    expect(page.locator("#episode-title")).to_have_text(title)
    expect(page.locator("#turns [aria-current]")).to_have_text(current)


def counts(page, text):
    expect(page.locator("#count")).to_have_text(text)


def test_the_first_episode_is_open(page):
    shows(page, "Sokoban-v0, instance 0, sample 0", "1")
    counts(page, "12 episodes")
    assert page.evaluate("location.hash") == ""
    assert page.evaluate("scrollY") == 0


def test_a_turn_shows_what_was_seen_thought_done_and_paid(page):
    turn = page.locator("#turn")
    expect(turn.locator(".board")).to_have_text("#####\n#OXP#\n#####", use_inner_text=True)
    expect(turn.locator(".board [data-kind=you]")).to_have_text("P")
    expect(turn.locator(".board [data-kind=box]")).to_have_text("X")
    expect(turn.locator(".board [data-kind=goal]")).to_have_text("O")
    expect(turn.locator(".board [data-kind=wall]")).to_have_count(12)
    expect(turn.locator(".meanings")).to_have_text(
        "# wall, _ floor, O target, X box, √ box on target, P you, S you on target"
    )
    expect(turn.locator(".thought")).to_have_text("I think 00.")
    expect(turn.get_by_text("<answer>Left</answer>", exact=True)).to_be_visible()
    expect(turn.locator(".reward")).to_have_text("−0.5")  # noqa: RUF001
    expect(turn.locator(".measures")).to_contain_text("Left")
    expect(turn.locator(".measures")).to_contain_text("1,200")
    assert "push the box onto the target" not in turn.inner_text()
    turn.get_by_text("Rules and instructions").click()
    assert "push the box onto the target" in turn.inner_text()


def test_arrows_step_through_turns(page):
    page.locator("#episode").focus()
    page.keyboard.press("ArrowLeft")
    shows(page, "Sokoban-v0, instance 0, sample 0", "1")
    for current in ("2", "3", "End", "End"):
        page.keyboard.press("ArrowRight")
        shows(page, "Sokoban-v0, instance 0, sample 0", current)
    expect(page.locator("#turn")).to_contain_text("success, return −1.5, score 0")  # noqa: RUF001
    expect(page.locator("#turn .board [data-kind=done]")).to_have_text("√")
    page.keyboard.press("ArrowLeft")
    shows(page, "Sokoban-v0, instance 0, sample 0", "3")
    expect(page.locator("#turn")).to_contain_text("<b>Up")
    expect(page.locator("#turn .measures")).to_contain_text("−1.5")  # noqa: RUF001


def test_letters_and_list_keys_change_the_episode(page):
    page.locator("#episode").focus()
    page.keyboard.press("k")
    shows(page, "Sokoban-v0, instance 0, sample 0", "1")
    page.keyboard.press("j")
    shows(page, "Sokoban-v0, instance 0, sample 1", "1")
    page.locator("#list").focus()
    page.keyboard.press("ArrowDown")
    shows(page, "Sokoban-v0, instance 1, sample 0", "1")
    page.keyboard.press("ArrowUp")
    shows(page, "Sokoban-v0, instance 0, sample 1", "1")
    page.keyboard.press("End")
    shows(page, "FrozenLake-v0, instance 2, sample 1", "1")
    expect(page.locator("[role=option][aria-selected=true]")).to_contain_text("FrozenLake-v0 2/1")
    chosen = page.locator("#list").get_attribute("aria-activedescendant")
    assert page.locator(f"#{chosen}").get_attribute("aria-posinset") == str(TOTAL)
    page.keyboard.press("Home")
    shows(page, "Sokoban-v0, instance 0, sample 0", "1")
    page.keyboard.press("Enter")
    expect(page.locator("#episode")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#list")).to_be_focused()


def test_keys_work_without_focus_where_the_viewer_is_seen(page):
    page.keyboard.press("j")
    page.wait_for_timeout(100)
    shows(page, "Sokoban-v0, instance 0, sample 0", "1")  # it is far below
    page.locator("#viewer").scroll_into_view_if_needed()
    page.keyboard.press("j")
    shows(page, "Sokoban-v0, instance 0, sample 1", "1")


def test_keys_leave_other_controls_alone(page):
    page.locator("#filter-env").focus()
    page.keyboard.press("ArrowRight")
    page.locator("#filter-text").focus()
    page.keyboard.press("j")
    expect(page.locator("#filter-text")).to_have_value("j")
    page.keyboard.press("Control+j")
    page.locator(".keys summary").click()
    page.get_by_label("Enable single-letter keys").uncheck()
    page.locator("#filter-reset").click()
    page.locator("#list").focus()
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    shows(page, "Sokoban-v0, instance 0, sample 1", "1")


def test_buttons_do_what_keys_do(page):
    page.get_by_role("button", name="Next turn").click()
    shows(page, "Sokoban-v0, instance 0, sample 0", "2")
    page.get_by_role("button", name="Previous turn").click()
    shows(page, "Sokoban-v0, instance 0, sample 0", "1")
    page.get_by_role("button", name="Next episode").click()
    shows(page, "Sokoban-v0, instance 0, sample 1", "1")
    page.get_by_role("button", name="Previous episode").click()
    shows(page, "Sokoban-v0, instance 0, sample 0", "1")
    expect(page.get_by_role("button", name="Previous episode")).to_have_attribute(
        "aria-disabled", "true"
    )
    page.get_by_role("button", name="The end").click()
    shows(page, "Sokoban-v0, instance 0, sample 0", "End")
    expect(page.get_by_role("button", name="The end")).to_be_focused()
    page.get_by_role("option").filter(has_text="Sokoban-v0 2/1").click()
    shows(page, "Sokoban-v0, instance 2, sample 1", "1")


def test_filters(page):
    page.get_by_role("combobox", name="Environment").select_option("FrozenLake-v0")
    counts(page, "6 of 12 episodes")
    shows(page, "FrozenLake-v0, instance 0, sample 0", "1")
    page.get_by_role("combobox", name="Outcome").select_option("invalid format")
    counts(page, "3 of 12 episodes")
    expect(page.locator("#list [role=option]")).to_have_count(3)
    shows(page, "FrozenLake-v0, instance 0, sample 1", "1")
    page.get_by_role("combobox", name="Failure").select_option("gave up")
    counts(page, "1 of 12 episodes")
    shows(page, "FrozenLake-v0, instance 2, sample 1", "1")
    page.get_by_role("combobox", name="Failure").select_option("box stuck")
    counts(page, "0 of 12 episodes")
    page.get_by_role("button", name="Show all").click()
    counts(page, "12 episodes")


def test_search_opens_and_marks_what_it_finds(page):
    page.locator("#episode").focus()
    page.keyboard.press("/")
    expect(page.locator("#filter-text")).to_be_focused()
    page.keyboard.type("NEEDLE (")
    counts(page, "1 of 12 episodes")
    shows(page, "Sokoban-v0, instance 1, sample 1", "2")
    expect(page.locator("#turn mark")).to_have_text(["needle ("])
    page.keyboard.press("Escape")
    expect(page.locator("#list")).to_be_focused()
    page.locator("#filter-text").fill("i think 2")
    counts(page, "4 of 12 episodes")
    page.locator("#filter-text").fill("nowhere")
    counts(page, "0 of 12 episodes")
    page.locator("#filter-text").fill("done: 3")  # in an observation
    counts(page, "12 episodes")
    page.locator("#list").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#turns [aria-current]")).to_have_text("3")
    page.locator("#filter-text").fill("at last")
    counts(page, "12 episodes")
    page.keyboard.press("Enter")
    page.locator("#list").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#turns [aria-current]")).to_have_text("End")


def test_remarks_on_a_turn(visit, report):
    page = visit(report, f"#{SOKOBAN}/1/1/2")
    shows(page, "Sokoban-v0, instance 1, sample 1", "2")
    flags = page.get_by_role("list", name="Remarks").get_by_role("listitem")
    expect(flags).to_have_text(["invalid format", "cut at the token limit"])
    expect(page.locator("#turn")).to_contain_text("apart")
    expect(page.locator("#turn .measures")).to_contain_text("none")
    expect(page.locator("#episode-facts")).to_contain_text("invalid format, box stuck")
    expect(page.locator("#announcement")).to_have_text(
        "Sokoban-v0, instance 1, sample 1: turn 2 of 3, reward +0.25, invalid format, "
        "cut at the token limit"
    )
    gain = page.locator("#turns button").nth(1)
    expect(gain).to_have_attribute("data-turn", "wrong")
    expect(gain).to_have_accessible_name("Turn 2, reward +0.25")
    page.keyboard.press("ArrowRight")
    expect(flags).to_have_text(["copies the example", "no effect"])


def test_an_address_opens_a_turn_and_names_it(visit, report):
    page = visit(report, f"#{FROZEN_LAKE}/1/1/3")
    shows(page, "FrozenLake-v0, instance 1, sample 1", "3")
    counts(page, "12 episodes")
    expect(page.locator("#episode")).to_be_focused()
    expect(page.locator("#viewer")).to_be_in_viewport()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**#{FROZEN_LAKE}/1/1/2")
    page.keyboard.press("j")
    page.wait_for_url(f"**#{FROZEN_LAKE}/2/0/1")


def test_an_address_without_a_turn_or_beyond_the_end(visit, report):
    shows(visit(report, f"#{SOKOBAN}/2/0"), "Sokoban-v0, instance 2, sample 0", "1")
    shows(visit(report, f"#{SOKOBAN}/2/0/99"), "Sokoban-v0, instance 2, sample 0", "End")


@pytest.mark.parametrize("fragment", ["#ragen/Sokoban-v0/99/0/1", "#x/1/2", "#%/1/1/1"])
def test_an_address_that_names_nothing_is_told(visit, report, fragment):
    page = visit(report, fragment)
    expect(page.get_by_role("alert")).to_have_text(f"This run has no episode {fragment[1:]}.")
    shows(page, "Sokoban-v0, instance 0, sample 0", "1")


def test_an_example_opens_its_turn_whatever_is_filtered(page):
    page.get_by_role("combobox", name="Environment").select_option("Sokoban-v0")
    counts(page, "6 of 12 episodes")
    example = page.get_by_role("link", name="FrozenLake-v0, instance 2, sample 1, turn 3")
    for _ in range(2):  # also when it is open already
        example.click()
        shows(page, "FrozenLake-v0, instance 2, sample 1", "3")
        counts(page, "12 episodes")
        expect(page.locator("#viewer")).to_be_in_viewport()
        page.evaluate("scrollTo(0, 0)")
    page.get_by_role("link", name="Sokoban-v0, instance 1, sample 1, turn 2").click()
    shows(page, "Sokoban-v0, instance 1, sample 1", "2")
    page.go_back()
    shows(page, "FrozenLake-v0, instance 2, sample 1", "3")
