"""Entries for the tests, and what a cheat does to them."""

import gzip
import hashlib
import json

from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.leaderboard import About, pack, verify
from ragen_bench.models import Completion, resolve
from ragen_bench.runs.json_lines import to_line
from ragen_bench.suites import SUITES
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from tests.ragen_bench.players import Player

BROKEN = ("", "<answer>Up</answer>", "\ud800", "<think>a</think><answer>Fly || Up</answer>")
ABOUT = About(name="A model [7B]", submitter="Somebody")


class Mixed(Player):
    """Plays well, at random or out of form, with thoughts, and counts tokens."""

    def complete(self, requests, sampling):
        return [self._answer(request, sampling) for request in requests]

    def _answer(self, request, sampling):
        stream = RandomStream("mixed", sampling.seed, request.key)
        roll = stream.below(10)
        if roll < 2:
            text = BROKEN[stream.below(len(BROKEN))]
        else:
            text = oracle_answer(request.env) if roll < 6 else random_answer(request.env, stream)
            text = text.replace("<think>", "<think>I think so.")
        finish = "length" if stream.below(5) == 0 else "stop"
        tokens = 1 + stream.below(40) if text else 0
        return Completion(text, 100 + stream.below(50), tokens, finish)


def evaluation(model="python:somebody:answer", suite="tiny", **changed):
    settings = {
        "instances": SUITES[suite].instances,
        "split": "test",
        "response_format": "think",
        "samples": 1,
        "seed": 0,
        "temperature": 0.5,
        "max_tokens": SUITES[suite].max_tokens,
    }
    return Evaluation(model=model, suite=suite, **{**settings, **changed})


def run_of(path, what, model=None):
    """Evaluate and return the unlocked run."""
    scripted = what.model in ("random", "oracle")
    run = play_run(what, model or (resolve(what.model) if scripted else Mixed()), path)
    run.unlock()
    return run


def entry_of(folder, what, model=None):
    """Evaluate and pack below a folder, and return the entry's directory."""
    run = run_of(folder / "run", what, model)
    pack(run.path, folder / "entry", ABOUT)
    return folder / "entry"


def entry_json(path):
    return json.loads((path / "entry.json").read_text())


def records(path):
    with gzip.open(path / "episodes.jsonl.gz") as lines:
        return [json.loads(line) for line in lines]


def write_entry(path, entry):
    (path / "entry.json").write_text(json.dumps(entry))


def write_lines(path, lines, rehash=True):
    """Write raw lines; hash and length follow if the cheat knows better."""
    data = b"".join(line + b"\n" for line in lines)
    (path / "episodes.jsonl.gz").write_bytes(gzip.compress(data, mtime=0))
    if rehash:
        entry = entry_json(path)
        entry["episodes_sha256"] = hashlib.sha256(data).hexdigest()
        entry["episodes_bytes"] = len(data)
        write_entry(path, entry)


def edit_records(path, edit, rehash=True):
    """Let a function change the list of records in place."""
    found = records(path)
    edit(found)
    write_records(path, found, rehash)


def write_records(path, found, rehash=True):
    write_lines(path, map(to_line, found), rehash)


def edit_entry(path, edit):
    """Let a function change the content of entry.json in place."""
    found = entry_json(path)
    edit(found)
    write_entry(path, found)


def problems_of(path):
    """Return why an entry is refused."""
    verdict = verify(path)
    assert verdict.verified == (not verdict.problems)
    assert all(len(one) < 500 and "\n" not in one for one in verdict.problems)
    return verdict.problems
