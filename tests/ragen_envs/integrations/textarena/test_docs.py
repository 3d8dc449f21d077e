"""What the page says is what happens."""

import contextlib
import io
import re
from pathlib import Path

import gymnasium
import pytest
from gymnasium.error import Error

from ragen_envs.integrations.textarena import SINGLE_PLAYER

DOCS = Path(__file__).parents[4] / "docs"
PAGE = (DOCS / "reference" / "textarena.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)
FAILURES = {
    "needs NLTK data": "nltk.downloader",
    "needs OPENROUTER_API_KEY, or `gamemaster=`": "OPENROUTER_API_KEY",
    "SyntaxError in TextArena": "SyntaxError",
    "SyntaxError before Python 3.12": "SyntaxError",
}


def listed():
    for names, state in re.findall(
        r"^\| (`[\w`, +-]+`) \| (plays|needs.*|Syntax.*) \|$", PAGE, re.M
    ):
        base, *variants = re.findall(r"`([\w-]+)`", names)
        if " + " not in names:
            yield base, state
        yield from ((base + variant, state) for variant in variants)


def test_the_examples_print_what_the_page_shows():
    assert len(EXAMPLES) == 4
    for code, shown in EXAMPLES:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, {})
        assert printed.getvalue() == shown


def test_the_table_lists_every_id_once():
    ids = [env_id for env_id, _ in listed()]
    assert sorted(ids) == sorted(SINGLE_PLAYER)
    assert len([s for _, s in listed() if s == "plays"]) == 57


@pytest.mark.slow
@pytest.mark.parametrize(("env_id", "state"), list(listed()))
def test_an_id_plays_or_lacks_what_the_table_says(env_id, state, monkeypatch):
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    if state != "plays":
        try:  # the data, or a later Python, may be there
            gymnasium.make(f"ragen_textarena/{env_id}")
        except Error as wrong:
            assert FAILURES[state] in str(wrong)  # noqa: PT017
        return
    env = gymnasium.make(f"ragen_textarena/{env_id}")
    observation, _ = env.reset(seed=0)  # of which Sokoban-v0-medium is soon made
    assert len(observation) > 100
    for answer in ("[up]", "[1 2]", "hello"):
        assert observation in env.observation_space
        observation, _, terminated, truncated, _ = env.step(answer)
        assert not truncated
        if terminated:
            break
