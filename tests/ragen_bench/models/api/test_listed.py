"""Servers whose list of models changes: a run goes on with the same model, and not with another."""

import asyncio
import json

import openai
import pytest

from ragen_bench.cli import main
from ragen_bench.models.api.served_template import look, read_template
from ragen_bench.models.listed import comparable, describe_entry, keep_listed, read_context

from . import hosted
from .raw import replying

pytestmark = pytest.mark.slow

ENTRY = {"id": hosted.NAME, "owned_by": "hosted", "root": "/models/o9", "meta": {"n_params": 7}}
SAME = {
    "another company": {**ENTRY, "owned_by": "other"},
    "no company": {"id": hosted.NAME},
    "more of the file": {**ENTRY, "meta": {"n_params": 7, "ftype": "Q4", "new": [1]}},
    "less of the file": {**ENTRY, "meta": {"size": 3}},
    "no file": {**ENTRY, "meta": None},
    "a parent": {**ENTRY, "parent": "o9"},
    "a context": {**ENTRY, "max_model_len": 4096},
    "other fields": {**ENTRY, "created": 5, "pricing": {"prompt": "1"}, "status": "loaded"},
    "no root": {"id": hosted.NAME, "owned_by": "hosted"},
}
OTHERS = {
    "another root": ({**ENTRY, "root": "/models/o8"}, 'root: "/models/o9" there, "/models/o8"'),
    "another size": ({**ENTRY, "meta": {"n_params": 8}}, "meta.n_params: 7 there, 8 here"),
}
LISTS = {name: (200, {"data": [entry]}) for name, entry in SAME.items()} | {
    "other models": (200, {"data": [{"id": "a"}, ENTRY, {"id": "b", "meta": [[]]}]}),
    "no models": (200, {"data": []}),
    "no list": (404, {"error": "there is none"}),
}


def evaluate(stub, path):
    options = ["--env", "FrozenLake-v0", "--limit", "4", "--retries", "0", "--base-url", stub.url]
    return main(["evaluate", f"openai/{hosted.NAME}", *options, "--out", str(path)])


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A server, and a run of which it has left episodes unfinished."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with hosted.running() as stub:
        stub.listing = 200, {"data": [ENTRY]}
        stub.refuses = lambda body: (500, "later") if len(stub.bodies) > 6 else None
        assert evaluate(stub, tmp_path / "run") == 1
        stub.refuses = lambda body: None
        yield stub, tmp_path / "run"


@pytest.mark.parametrize("listing", LISTS.values(), ids=LISTS)
def test_a_run_goes_on_where_only_the_list_changed(begun, listing):
    stub, path = begun
    recorded = (path / "run.json").read_bytes()
    stub.listing = listing
    assert evaluate(stub, path) == 0
    assert (path / "run.json").read_bytes() == recorded


@pytest.mark.parametrize(("entry", "told"), OTHERS.values(), ids=OTHERS)
def test_a_run_does_not_go_on_with_another_model(begun, capsys, entry, told):
    stub, path = begun
    stub.listing = 200, {"data": [entry]}
    assert evaluate(stub, path) == 2
    assert told in capsys.readouterr().err


def test_other_engines_and_ways_of_asking_differ():
    there = {"id": "a", "owned_by": "vllm", "refused": ["seed"]}
    left, right = comparable(there, {"id": "a", "owned_by": "sglang"})
    assert left == there
    assert right == {"id": "a", "owned_by": "sglang"}
    assert keep_listed(there, {"listed": False, "refused": []}) == {**there, "refused": []}
    weights = {"fingerprint": "1"}, {"fingerprint": "2"}
    assert comparable(*weights) == weights


HUGE = (10**4000, 10**15, float("nan"), float("inf"), -(10**400))


@pytest.mark.parametrize("huge", HUGE, ids=range(len(HUGE)))
def test_what_is_recorded_can_be_read_back(huge):
    entry = {"id": "a", "max_model_len": huge, "meta": {"n_ctx": huge, "n_params": 7}, "x": huge}
    found = describe_entry(entry)
    assert found == {"id": "a", "meta": {"n_ctx": None, "n_params": 7}}
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert read_context(entry) is None


def test_large_entries_are_left_out():
    deep = {"a": {}}
    for _ in range(20):
        deep = {"a": deep}
    for meta in (deep, {"a": "x" * 20_000}, ["x"] * 10_000):
        assert describe_entry({"id": "a", "meta": meta}) == {"id": "a"}
    assert describe_entry({}) == {"listed": False}


def test_a_template_in_deep_json_is_not_shown():
    deep = b"[" * 100_000
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    with replying(head % len(deep) + deep) as server:
        client = openai.AsyncOpenAI(base_url=server.url, api_key="none", max_retries=0)

        def show(path, body):
            return look(client, f"{server.url}/{path}", body)

        assert asyncio.run(read_template(show, None)) is None
