"""`play` as its user starts it, in the terminal and with a page."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pexpect
import pytest

from tests.ragen_bench.cli.command import COMMAND, run
from tests.ragen_bench.pages.play.support import made, oracle_episode

SHOP = ["play", "WebShop-v0", "--split", "test", "--seed", "5"]
BARE = """
import sys
from ragen_bench.cli import main
code = main(sys.argv[1:])
# Beyond the standard library, what the wheel depends on and what Gymnasium needs.
own = {"ragen_bench", "ragen_envs", "numpy", "gymnasium", "cloudpickle", "farama_notifications",
       "typing_extensions"}
names = {name.partition(".")[0] for name in sys.modules} - own - set(sys.stdlib_module_names)
foreign = {name for name in names if getattr(sys.modules[name], "__file__", None)}
print("foreign:", sorted(name for name in foreign if not name.startswith("_")))
sys.exit(code)
"""


def test_a_purchase_in_the_terminal(tmp_path):
    observations, answers, _, _ = oracle_episode("ragen/WebShop-v0", 5)
    child = pexpect.spawn(
        sys.executable,
        ["-m", "ragen_bench", *SHOP],
        cwd=str(tmp_path),
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        timeout=60,
    )
    child.expect_exact(observations[0].replace("\n", "\r\n"))
    child.expect_exact("(q ends the game, ? lists the actions)")
    child.expect("> ")
    child.sendline("?")
    child.expect_exact("  search[WORDS], with any words\r\n  search[shopping list: shower speaker")
    child.expect("> ")
    for number, answer in enumerate(answers, start=1):
        child.sendline("")  # an empty line costs no turn
        child.expect_exact("The line is empty. ? lists the actions.\r\n")
        child.expect("> ")
        child.sendline(answer)
        child.expect_exact(observations[number].replace("\n", "\r\n"))
        if number < len(answers):
            child.expect("> ")
    child.expect_exact(
        "Solved. Return 1.00, score 1.00.\r\n  r_type, the right kind of product: 1.00"
    )
    child.expect_exact("The oracle in the same episode, return 1.00:\r\n")
    child.expect_exact("".join(f"  {answer}\r\n" for answer in answers))
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0


def test_a_purchase_that_falls_short_says_of_what(tmp_path):
    _, answers, _, _ = oracle_episode("ragen/WebShop-v0", 5)
    done = run(*SHOP, cwd=tmp_path, stdin="\n".join([*answers[:2], answers[3], ""]))
    assert done.returncode == 0
    env = made("ragen/WebShop-v0")
    env.reset(seed=5)
    for answer in (*answers[:2], answers[3]):
        *_, info = env.step(answer)
    told = done.stdout.partition("Thank you for shopping with us!")[2].split("\n")
    assert told[2] == f"Solved in part. Return {info['score']:.2f}, score {info['score']:.2f}."
    assert 0 < info["score"] < 1
    assert told[5] == "  r_option, options that were chosen: 0.00"
    assert told[6] == "  r_price, within the price: 1.00"


def test_listing_the_actions_of_a_page(tmp_path):
    done = run(*SHOP, cwd=tmp_path, stdin="search[shower speaker]\n?\nq\n")
    listed = done.stdout.rpartition("Actions:\n")[2].splitlines()
    env = made("ragen/WebShop-v0")
    env.reset(seed=5)
    *_, info = env.step("search[shower speaker]")
    assert listed == [*(f"  {action}" for action in info["legal_actions"]), "> You left the game."]


def test_long_lists_are_cut_and_searched(tmp_path):
    play = ["play", "TwentyQuestions-v0", "--split", "test", "--seed", "0"]
    done = run(*play, cwd=tmp_path, stdin="?\n?PENguin\nq\n")
    every, some = done.stdout.split("Actions:\n")[1:]
    env = made("ragen/TwentyQuestions-v0")
    *_, info = env.reset(seed=0)
    legal = info["legal_actions"]
    own = "  WORDS, with any words"
    last = f"  ... and {len(legal) - 40} more; ?TEXT lists those with TEXT"
    assert every.splitlines() == [own, *(f"  {each}" for each in legal[:40]), last, "> "]
    assert some.splitlines() == [own, "  Is it a penguin?", "> You left the game."]


def served(*arguments, cwd):
    process = subprocess.Popen(
        [*COMMAND, *arguments, "--browser"],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    address = re.fullmatch(
        r"Play at (http://127\.0\.0\.1:(\d+)/\S+/) - Ctrl-C ends\.\n", process.stdout.readline()
    )
    return process, address[1], int(address[2])


def test_the_page_is_served_until_ctrl_c(tmp_path):
    process, url, port = served(*SHOP, "--noise-seed", "2", cwd=tmp_path)
    with urllib.request.urlopen(f"{url}state", timeout=60) as reply:
        state = json.loads(reply.read())
    assert (state["env"], state["split"], state["index"]) == ("ragen/WebShop-v0", "test", 5)
    assert state["noise_seed"] == 2
    assert state["observation"] == made("ragen/WebShop-v0").reset(seed=5)[0]
    taken = run("play", "Bandit-v0", "--browser", "--port", str(port), cwd=tmp_path)
    assert (taken.returncode, taken.stdout) == (2, "")
    assert taken.stderr.startswith(f"ragen-bench: port {port} is not available")
    assert taken.stderr.count("\n") == 1
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "\nragen-bench: interrupted\n")


def test_a_port_of_ones_own(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        wanted = free.getsockname()[1]
    process, _, port = served("play", "Bandit-v0", "--port", str(wanted), cwd=tmp_path)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert port == wanted


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["Chess-v0", "--browser"], "unknown environment 'Chess-v0'"),
        (["webshop-v0", "--browser"], "did you mean ragen/WebShop-v0?"),
        (["Bandit-v0", "--split", "tset", "--browser"], "did you mean test?"),
        (["Bandit-v0", "--seed", "-1", "--browser"], "at least 0"),
        (["Bandit-v0", "--port", "0"], "--port goes with --browser; remove it"),
        (["Bandit-v0", "--browser", "--port", "70000"], "--port is between 0 and 65535"),
        (["Bandit-v0", "--browser", "--port", "x"], "invalid int value: 'x'"),
    ],
)
def test_a_mistake_gets_one_line(tmp_path, arguments, says):
    done = run("play", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


def test_nothing_but_gymnasium_and_numpy_is_needed(tmp_path):
    for browser in ([], ["--browser"]):
        process = subprocess.Popen(
            [sys.executable, "-c", BARE, *SHOP, *browser],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        if browser:
            assert process.stdout.readline().startswith("Play at http://127.0.0.1:")
            process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert out.splitlines()[-1] == "foreign: []"
