"""One run has one announcement: other spellings of it are refused, before a draw is made."""

import json
import random
from pathlib import Path

import pytest

from ragen_bench.leaderboard.announcements import (
    Announcement,
    check_announcement,
    check_draw,
    read_announcement,
    render_json,
)
from ragen_bench.leaderboard.strict_json import EntryError
from ragen_bench.runs.draws import DEFAULTS, Draw, build_announcement, compute_commitment
from tests.cases import examples
from tests.ragen_bench.leaderboard.entries import Mixed, evaluation

PUBLISHED = sorted((Path(__file__).parents[3] / "leaderboard/announcements").glob("*.json"))


def written(**identity):
    """An announcement of two environments, by the harness."""
    model = "openai/some" if identity else "python:somebody:answer"
    announced = build_announcement(evaluation(model, split="drawn").config(Mixed()).as_json())
    return {**announced, "model_identity": identity}


def accepts(announcement):
    try:
        check_announcement(read_announcement(render_json(announcement).encode()))
    except EntryError:
        return False
    return True


@pytest.mark.parametrize("file", PUBLISHED, ids=lambda file: file.stem)
def test_published_announcements_are_canonical_and_have_their_draw(file):
    announcement = read_announcement(file.read_bytes())
    assert build_announcement(announcement) == announcement
    drawn = file.parents[1] / "draws" / f"{compute_commitment(announcement)}.json"
    assert json.loads(drawn.read_text())["announcement"] == announcement


def test_defaults_are_those_of_the_announcement():
    fields = Announcement.model_fields
    assert {n: f.default for n, f in fields.items() if not f.is_required()} == DEFAULTS


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"pictures": False}, "pictures has to be left out"),
        ({"top_p": 1.0}, "top_p has to be left out"),
        ({"top_p": 1}, "top_p has to be left out"),
        ({"temperature": -0.0}, "temperature has another spelling"),
        ({"temperature": 1}, "temperature has another spelling"),
        ({"envs": "reversed"}, "envs has another spelling"),
        ({"on_error": "exclude"}, 'unknown field "on_error"'),
        ({"model": "hf/./agent"}, 'model "hf/./agent" has blanks, marks or parts of a path'),
        ({"model": "hf/agent/"}, "parts of a path"),
        ({"model": "hf/agent "}, "blanks"),
        ({"model": "hf/e\u0301"}, "marks"),
        ({"suite_version": 9}, "version 9 of the suite"),
        ({"suite": "other", "envs": "reversed"}, "version 3 of the suite"),
        ({"model_identity": {"note": "x"}}, 'model_identity has "note", which is unknown'),
        ({"model_identity": {"source_sha256": ""}}, "has to be left out"),
        ({"model": "random", "model_identity": {"dtype": "float32"}}, '"dtype", which is unknown'),
    ],
)
def test_another_spelling_is_refused_with_the_field(change, says):
    announcement = written() | change
    if change.get("envs") == "reversed":
        announcement["envs"] = written()["envs"][::-1]
    with pytest.raises(EntryError, match=says):
        check_announcement(read_announcement(render_json(announcement).encode()))


@pytest.mark.parametrize(
    ("identity", "is_fine"),
    [
        ({"listed": False}, True),
        ({"listed": 0}, False),
        ({"listed": True}, False),
        ({"id": "some"}, True),
        ({"id": "some", "listed": False}, False),
        ({"extra_body": {"top_k": 20}, "listed": False}, True),
        ({"extra_body": {"top_k": 20.0}, "listed": False}, False),
        ({"extra_body": {"min_p": 0.05}, "listed": False}, True),
        ({"extra_body": {"min_p": -0.0}, "listed": False}, False),
        ({"extra_body": {}, "listed": False}, False),
        ({"refused": ["seed", "top_p"], "listed": False}, True),
        ({"refused": ["top_p", "seed"], "listed": False}, False),
        ({"refused": ["seed", "seed"], "listed": False}, False),
        ({"thinking_marks": "magistral", "listed": False}, True),
        ({"thinking_marks": "[THINK] [/THINK]", "listed": False}, False),
        ({"thinking_marks": "think", "listed": False}, False),
        ({"thinking_marks": "<a> <b>", "listed": False}, True),
        ({"thinking_marks": "<a>  <b>", "listed": False}, False),
        ({"system_message": "merged", "listed": False}, True),
        ({"system_message": "system", "listed": False}, False),
    ],
)
def test_identities_of_servers_have_one_spelling(identity, is_fine):
    assert accepts(written(**identity)) == is_fine


def meaning(announcement):
    """What an announcement says, whatever its spelling: an independent, slow reference."""

    def plain(value):
        if isinstance(value, dict):
            return frozenset((name, plain(item)) for name, item in value.items())
        if isinstance(value, list):
            return tuple(map(plain, value))
        return (isinstance(value, bool), value)

    filled = {"top_p": 1, "pictures": False, **announcement}
    filled["envs"] = sorted(filled["envs"], key=json.dumps)
    return plain(filled)


def mutate(value, dice):
    """Change a value of an announcement anywhere, in a way that often means the same."""
    if isinstance(value, dict):
        name = dice.choice([*value, "top_p", "pictures", "listed", "extra"])
        changed = dict(value)
        if name in changed and dice.random() < 0.7:
            changed[name] = mutate(changed[name], dice)
        elif name in changed and dice.random() < 0.3:
            del changed[name]
        else:
            changed[name] = dice.choice([1.0, 1, False, None, "", [], {}, 0, -0.0])
        return dict(sorted(changed.items())) if dice.random() < 0.3 else changed
    if isinstance(value, list):
        shuffled = dice.sample(value, len(value))
        return shuffled if dice.random() < 0.5 or not value else [*value, mutate(value[0], dice)]
    if isinstance(value, bool):
        return dice.choice([int(value), not value])
    if isinstance(value, float):
        return dice.choice([int(value), -value, value + 0.5])
    if isinstance(value, int):
        return dice.choice([float(value), bool(value), value + 1])
    return dice.choice([f"{value} ", f"{value}/", str(value).upper(), f"./{value}", None])


@pytest.mark.parametrize("seed", range(examples(40)))
def test_no_two_spellings_of_one_meaning_get_a_commitment(seed):
    """What is accepted means something else than all that was accepted before."""
    dice = random.Random(seed)
    start = written(id="some", max_model_len=4096, meta={"n": 1, "x": [0.5, 2]})
    assert accepts(start)
    accepted = {meaning(start): compute_commitment(start)}
    for _ in range(60):
        changed = start
        for _ in range(dice.randrange(1, 3)):
            changed = mutate(changed, dice)
        try:
            read_announcement(render_json(changed).encode())
        except EntryError:
            continue
        commitment = compute_commitment(changed)
        assert accepted.setdefault(meaning(changed), commitment) == commitment


def test_a_draw_of_a_redundant_earlier_announcement_is_still_met():
    config = evaluation(split="drawn").config(Mixed()).as_json()
    old = {**build_announcement(config), "pictures": False}
    draw = Draw(old, compute_commitment(old), "1" * 64, "2026-01-01T00:00:00Z")
    run = check_announcement(build_announcement(config))
    drawn = run.model_copy(update={"draw": type(run.draw)(**draw.of_run())})
    assert check_draw(drawn, lambda _: draw).startswith("announced as ")
