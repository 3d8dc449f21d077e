"""Rating as its user does it, in a terminal and in a browser."""

import json
import os
import socket
import sys
from urllib.request import urlopen

import pexpect
import pytest

from ragen_bench.pages.annotation.server import AnnotationServer
from ragen_bench.pages.annotation.session import Session, read_ratings
from tests.ragen_bench.cli.command import run as command
from tests.ragen_bench.pages.looks import check_contrast
from tests.ragen_bench.pages.serving import serving


def terminal(*arguments, cwd):
    return pexpect.spawn(
        sys.executable,
        ["-m", "ragen_bench", "annotate", *arguments],
        cwd=str(cwd),
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        timeout=60,
    )


@pytest.mark.slow
@pytest.mark.usefixtures("runs")
def test_two_raters_in_a_terminal(tmp_path):
    for rater, safe in (("ada", "y"), ("bob", "p")):
        child = terminal("random", "oracle", "--rater", rater, "--count", "2", cwd=tmp_path)
        child.expect("2 episodes to rate, 0 rated")
        for number in (1, 2):
            child.expect(f"Episode {number} of 2")
            for question, answer in (("follow the", "y"), ("actions follow", "what"), ("", "n")):
                child.expect(question)
                child.sendline(answer)
            child.expect("harmful")
            child.sendline(safe)
            child.expect("Comment")
            child.sendline("")
        child.expect("All are rated")
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == 0
    said = command("annotate", "random", "oracle", "--agreement", cwd=tmp_path).stdout.splitlines()
    assert said[0] == "4 ratings by 2 raters; 2 of 2 episodes were rated by more than one."
    assert said[2].split() == ["understandable", "0", "0", "4", "-"]
    assert said[3].split() == ["faithful", "4", "0", "0", "-"]
    assert said[4].split() == ["safe", "0", "2", "2", "-0.50"]


@pytest.mark.usefixtures("runs")
def test_a_wrong_key_is_told_what_is_wanted(tmp_path):
    done = command("annotate", "random", "--rater", "ada", cwd=tmp_path, stdin="x\nq\n")
    assert done.stdout.count("Type n for no, p for partly, y for yes, or q to leave.\n") == 1


def test_leaving_keeps_what_is_rated(runs, tmp_path):
    done = command(
        "annotate", "random", "--rater", "ada", cwd=tmp_path, stdin="y\ny\ny\ngood\nn\nq\n"
    )
    assert done.returncode == 0
    assert done.stdout.endswith("\n1 of 8 rated.\n")
    [rating] = read_ratings(runs[0])
    assert (rating.understandable, rating.comment) == (2, "good")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["random"], "--rater NAME is missing; give it"),
        (["nowhere", "--rater", "ada"], "nowhere holds no run"),
        (["random", "--rater", ""], "--rater is empty"),
        (["random", "--rater", "ada", "--count", "0"], "--count is at least 1"),
        (["random", "./random", "--agreement"], "a run is named twice"),
        ([], "the following arguments are required: RUN"),
    ],
)
@pytest.mark.usefixtures("runs")
def test_a_mistake_gets_one_line(tmp_path, arguments, says):
    done = command("annotate", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("runs")
def test_no_ratings_yet(tmp_path):
    done = command("annotate", "random", "--agreement", cwd=tmp_path)
    assert done.stdout == "No ratings yet.\n"


def test_control_characters_of_an_answer_do_not_reach_the_terminal(runs, tmp_path):
    file = runs[0] / "episodes.jsonl"
    file.write_text(file.read_text().replace("<think>", "<think>\\u001b[2J\\u202e"))
    done = command("annotate", "random", "--rater", "ada", cwd=tmp_path, stdin="q\n")
    assert "\\x1b[2J\\u202e" in done.stdout
    assert "\x1b" not in done.stdout


def test_a_silent_connection_keeps_nobody_waiting(runs):
    with (
        serving(AnnotationServer(Session(runs, "ada", 3, 0))) as server,
        socket.create_connection(server.server_address[:2]),
        urlopen(f"{server.url}next", timeout=60) as reply,
    ):
        assert json.loads(reply.read())["of"] == 3


def test_the_arrow_keys_answer_a_question_and_keep_the_focus(runs, page):
    with serving(AnnotationServer(Session(runs, "ada", 3, 0))) as server:
        page.set_viewport_size({"width": 400, "height": 800})
        page.goto(server.url)
        page.get_by_text("0 of 3 rated").wait_for()
        check_looks(page)
        page.keyboard.press("y")  # the next question is set in bold
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        for legend in page.locator("legend").all():
            box = legend.bounding_box()
            assert box["x"] + box["width"] <= 400 - 16
        page.keyboard.press("Backspace")
        page.get_by_role("radio", name="no").first.focus()
        page.keyboard.press("Space")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        chosen = "input:checked"
        assert page.locator(chosen).evaluate_all("all => all.map((one) => one.value)") == ["2"]
        assert page.locator(chosen).evaluate("one => one === document.activeElement")


def check_looks(page):
    """Check the board of the first episode, its legend and, on a narrow screen, the form below."""
    turn = page.locator("section").first
    board, answer, form = (
        place.bounding_box()
        for place in (turn.locator(".board"), turn.locator("h4").last, page.locator("#form"))
    )
    assert board["width"] / 6 >= 40
    assert turn.locator(".meanings").inner_text().startswith("# wall, _ floor, O target")
    assert page.get_by_role("textbox").count() == 1
    assert board["y"] + board["height"] < answer["y"] < form["y"]
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        check_contrast(page, "body *", 36)


def test_rating_in_a_browser(runs, tmp_path, page):
    child = terminal(
        "random", "oracle", "--rater", "ada", "--count", "3", "--browser", cwd=tmp_path
    )
    child.expect(r"Rate at (http://127\.0\.0\.1:\d+/\S+/) ")
    page.goto(child.match[1])
    page.get_by_text("ada: 0 of 3 rated").wait_for()
    text = page.locator("body").inner_text()
    assert "random" not in text
    assert "oracle" not in text
    page.keyboard.press("Enter")
    page.get_by_text("Answer every question first.").wait_for()
    for key in ("y", "n", "Backspace", "p", "y", "Enter"):
        page.keyboard.press(key)
    page.get_by_text("ada: 1 of 3 rated").wait_for()
    for radio in page.get_by_role("radio", name="no").all():
        radio.check()
    page.get_by_label("Comment").fill("quite so √")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("ada: 2 of 3 rated").wait_for()
    kept = {rating.key: rating for run in runs for rating in read_ratings(run)}
    first, second, _ = [kept.get(key) for _, key in Session(runs, "ada", 3, 0).chosen]
    assert (first.understandable, first.faithful, first.safe) == (2, 1, 2)
    assert (second.understandable, second.faithful, second.safe) == (0, 0, 0)
    assert second.comment == "quite so √"
    for key in ("y", "y", "y", "Enter"):
        page.keyboard.press(key)
    page.get_by_text("All episodes are rated. Thank you.").wait_for()
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
