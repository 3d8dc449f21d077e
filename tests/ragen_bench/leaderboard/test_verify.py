"""Honest entries are verified, and what is said of them is true."""

import dataclasses
import hashlib
import json
import shutil

import pytest

from ragen_bench.leaderboard import pack, verify
from ragen_bench.leaderboard.files import PackedEpisodes
from tests.ragen_bench.leaderboard.entries import (
    ABOUT,
    entry_json,
    entry_of,
    evaluation,
    problems_of,
    records,
    run_of,
)


def test_an_honest_entry_is_verified(honest):
    seen = []
    verdict = verify(honest, lambda episodes, planned: seen.append((episodes, planned)))
    assert verdict.problems == []
    assert [check.name for check in verdict.checks] == [
        "files",
        "entry.json",
        "run",
        "episodes",
        "figures",
    ]
    assert seen == [(number, 8) for number in range(1, 9)]
    assert (verdict.episodes, verdict.turns) == (8, sum(len(r["turns"]) for r in records(honest)))
    said = verdict.as_json()
    assert (said["verified"], said["apart"]) == (True, [])
    assert said["suite_score"] == entry_json(honest)["summary"]["suite_score"]
    assert json.loads(json.dumps(said)) == said


@pytest.mark.parametrize("model", ["random", "oracle"])
def test_scripted_players_are_verified(model, tmp_path):
    path = entry_of(tmp_path, evaluation(model, samples=2))
    assert problems_of(path) == []


def test_thoughts_apart_from_answers_and_constraints_are_verified_and_ranked_apart(tmp_path):
    what = evaluation(response_format="answer", history=1, max_tokens=90, constrain=True)
    verdict = verify(entry_of(tmp_path, what))
    assert verdict.problems == []
    assert verdict.as_json()["apart"] == [
        "constrained to the form",
        "format answer",
        "history 1",
        "90 tokens per response",
    ]
    assert (
        "; ranked separately: constrained to the form, format answer" in verdict.checks[2].message
    )


def test_the_same_run_gives_the_same_bytes(honest, tmp_path):
    run = run_of(tmp_path / "run", evaluation())
    # What the clock says differs, and is no part of the record.
    shutil.copy(honest.parent / "run/timings.jsonl", run.timings_file)
    pack(run.path, tmp_path / "entry", ABOUT)
    for name in ("entry.json", "episodes.jsonl.gz"):
        assert (tmp_path / "entry" / name).read_bytes() == (honest / name).read_bytes()
    assert {file.name for file in tmp_path.iterdir()} == {"run", "entry"}


def test_the_hash_is_that_of_the_run_s_own_file(honest):
    data = (honest.parent / "run/episodes.jsonl").read_bytes()
    entry = entry_json(honest)
    assert entry["episodes_sha256"] == hashlib.sha256(data).hexdigest()
    assert entry["episodes_bytes"] == len(data)
    with (honest / "episodes.jsonl.gz").open("rb") as file:
        packed = PackedEpisodes(file, len(data))
        assert b"".join(line + b"\n" for line in packed.lines()) == data
    assert (packed.sha256, packed.length) == (entry["episodes_sha256"], len(data))


def test_what_the_submitter_says_is_kept(honest, tmp_path):
    about = dataclasses.replace(
        ABOUT,
        name="日本語 🎲",
        contact="a@b.example",
        link="https://example.org/a?b=c#d",
        parameters=135_000_000,
        open_weights=True,
        date="2026-02-28",
    )
    entry = pack(honest.parent / "run", tmp_path / "entry", about)
    for name, value in dataclasses.asdict(about).items():
        assert entry[name] == value
    assert entry_json(tmp_path / "entry") == entry
    assert problems_of(tmp_path / "entry") == []
