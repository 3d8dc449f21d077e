"""A lead on public instances is a sign where chance does not explain it, and not elsewhere."""

import json
import shutil
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from ragen_bench.cli import main
from ragen_bench.leaderboard import pack, verify
from ragen_bench.leaderboard.plausibility import EntryScores, find_public_leads, read_local_scores
from ragen_bench.pages.leaderboard import build_site
from ragen_bench.statistics import Estimate, wilson
from ragen_bench.suites import SUITES, Suite
from tests.ragen_bench.leaderboard.entries import ABOUT, edit_entry, entry_json, evaluation, run_of
from tests.ragen_bench.leaderboard.test_drawn import announce
from tests.ragen_bench.leaderboard.test_plausibility import Contender
from tests.ragen_bench.leaderboard.test_pull_request import commit, git
from tests.ragen_bench.pages.leaderboard.entries import made

PUBLIC, UNSEEN = (made(split, split=split).run for split in ("test", "sealed"))
TRIALS = 64


@cache
def solved(successes, trials=TRIALS):
    return Estimate(successes / trials, wilson(successes, trials))


def signs(public, unseen):
    """Return the signs of successes by environment."""
    return find_public_leads(EntryScores("a", PUBLIC, public), [EntryScores("b", UNSEEN, unseen)])


SUCCESSES = st.lists(st.tuples(st.integers(0, TRIALS), st.integers(0, TRIALS)), min_size=1)


@given(SUCCESSES)
def test_the_chance_by_another_way(pairs):
    """The lead of a mean over its standard error, each side from the bounds of Wilson's."""
    public = {f"e{i}": solved(a) for i, (a, _) in enumerate(pairs)}
    unseen = {f"e{i}": solved(b) for i, (_, b) in enumerate(pairs)} | {"other": solved(0)}
    lead = sum(a - b for a, b in pairs) / TRIALS
    squares = sum(
        (a / TRIALS - wilson(a, TRIALS)[0]) ** 2 + (wilson(b, TRIALS)[1] - b / TRIALS) ** 2
        for a, b in pairs
    )
    chance = norm.sf(norm.isf(0.025) * lead / squares**0.5)
    assert [sign.name for sign in signs(public, unseen)] == ["public"] * int(chance < 1e-4)


def test_chance_alone_makes_no_sign_and_a_model_that_has_seen_them_does():
    """By all outcomes, for as many instances as no suite undercuts by much."""
    found = {
        (a, b)
        for a in range(TRIALS + 1)
        for b in range(a)
        if signs({"e": solved(a)}, {"e": solved(b)})
    }

    def chance_of_a_sign(public, unseen):
        of_a, of_b = (binom.pmf(range(TRIALS + 1), TRIALS, p) for p in (public, unseen))
        return sum(of_a[a] * of_b[b] for a, b in found)

    assert max(chance_of_a_sign(p / 50, p / 50) for p in range(51)) < 2e-4
    assert chance_of_a_sign(0.9, 0.5) > 0.9


def test_what_is_not_compared():
    high, low = {"e": solved(TRIALS)}, {"e": solved(0)}
    assert len(signs(high, low)) == 1
    assert signs(low, high) == []
    assert signs(high, {"other": solved(0)}) == []
    unseen = EntryScores("b", UNSEEN, low)
    for changed in (
        {"model": "hf/other"},
        {"model_identity": {"revision": "abd"}},
        {"temperature": 0.0},
        {"split": "drawn"},
    ):
        other = PUBLIC.model_copy(update=changed)
        assert find_public_leads(EntryScores("a", other, high), [unseen]) == []
    for run in (PUBLIC, UNSEEN):  # of the same kind
        for one, other in ((high, low), (low, high)):
            assert (
                find_public_leads(EntryScores("a", run, one), [EntryScores("b", run, other)]) == []
            )
    random = [run.model_copy(update={"model": "random"}) for run in (PUBLIC, UNSEEN)]
    assert (
        find_public_leads(EntryScores("a", random[0], high), [EntryScores("b", random[1], low)])
        == []
    )


@pytest.fixture(scope="module", autouse=True)
def rooms():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "rooms", Suite(1, "for the tests", {"ragen/Sokoban-v0": 16}, 40))
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory, rooms):
    """A leaderboard of a model that has seen the public rooms, and plays new ones at random."""
    board = tmp_path_factory.mktemp("trained") / "leaderboard"
    (board / "entries").mkdir(parents=True)
    seen, new = (Contender(public, lambda _: (9, 9)) for public in (True, False))
    what = evaluation(suite="rooms", split="drawn")
    draw = announce(board, what, new)
    pack(run_of(board.parent / "new", replace(what, draw=draw), new).path,
         board / "entries/new", ABOUT)  # fmt: skip
    pack(run_of(board.parent / "seen", evaluation(suite="rooms"), seen).path,
         board / "entries/seen", ABOUT)  # fmt: skip
    return board


@pytest.fixture
def board(trained, tmp_path):
    """A copy to be changed."""
    return shutil.copytree(trained, tmp_path / "leaderboard")


def shares(board):
    return [
        100 * entry_json(board / "entries" / name)["summary"]["envs"][0]["success"]
        for name in ("seen", "new")
    ]


def test_verify_looks_at_the_entries_beside(board, tmp_path):
    high, low = shares(board)
    said = (
        f"seen solves {high:.1f} % on test, and new with the same model and settings {low:.1f} % "
        f"on drawn: {high - low:.1f}"
    )
    for name in ("seen", "new"):
        verdict = verify(board / "entries" / name)
        assert verdict.verified
        (sign,) = [sign for sign in verdict.signs if sign.name == "public"]
        assert sign.message.startswith(said)
    assert verdict.as_json()["signs"][-1]["name"] == "public"
    shutil.copytree(board / "entries", tmp_path / "elsewhere")  # in no leaderboard
    assert "public" not in [sign.name for sign in verify(tmp_path / "elsewhere/seen").signs]


@pytest.mark.parametrize("rate", ["1", 2, [], 1e308, None])
def test_what_is_no_entry_is_not_compared(board, rate):
    new = board / "entries/new"
    edit_entry(new, lambda entry: entry["summary"]["envs"][0].update(success=rate))
    (board / "entries/note").write_text("no entry")
    (board / "entries/broken").mkdir()
    assert [entry.name for entry in read_local_scores(new)] == ["seen"]
    assert list(read_local_scores(board / "entries/seen")) == []
    (new / "entry.json").write_text("{")
    assert list(read_local_scores(board / "entries/seen")) == []
    assert verify(board / "entries/seen").verified


def test_the_site_shows_it_with_the_public_entry(board, tmp_path):
    out = tmp_path / "site"
    assert build_site(board, out).refused == {}
    pages = {name: (out / f"entries/{name}/index.html").read_text() for name in ("seen", "new")}
    badge = "<strong>Sign (public)</strong>: seen solves "
    assert {name: badge in page for name, page in pages.items()} == {"seen": True, "new": False}
    boards = json.loads((out / "leaderboard.json").read_text())["boards"]
    found = {
        entry["entry"]: [sign["name"] for sign in entry["signs"]]
        for each in boards
        for entry in each["entries"]
    }
    assert found["seen"][-1] == "public"
    assert "public" not in found["new"]
    build_site(board, out, verified=False)
    assert badge not in (out / "entries/seen/index.html").read_text()


@pytest.mark.parametrize("added", ["seen", "new"])
def test_a_pull_request_is_compared_with_the_base(board, trained, capsys, monkeypatch, added):
    entry, root = board / "entries" / added, board.parent
    shutil.rmtree(entry)
    git(root, "init", "-q", "-b", "base")
    commit(root)
    git(root, "checkout", "-q", "-b", "head")
    shutil.copytree(trained / "entries" / added, entry)
    commit(root)
    monkeypatch.chdir(root)
    assert main(["leaderboard", "check", "base"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (said,) = [line for line in lines if line.startswith("sign  public     ")]
    high, low = shares(board)
    assert f"seen solves {high:.1f} % on test, and new with the same" in said
    assert f" {low:.1f} % on drawn" in said
