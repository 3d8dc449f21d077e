"""The published form of entry.json."""

import copy
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ragen_bench.leaderboard.schema import about_problem, entry_problem, entry_schema
from ragen_bench.runs.fields import RUN
from tests.ragen_bench.leaderboard.entries import edit_entry, entry_json, problems_of

PUBLISHED = Path(__file__).parents[3] / "leaderboard/entry.schema.json"


def test_the_published_schema_is_the_one_that_is_checked():
    assert json.loads(PUBLISHED.read_text()) == entry_schema()
    Draft202012Validator.check_schema(entry_schema())


def test_it_names_what_the_harness_writes(honest):
    run = entry_schema()["properties"]["run"]
    assert set(run["required"]) == {*RUN, "schema", "history"}
    assert set(run["properties"]) == {*RUN, "schema", "history", "sealed_key_hash", "machine"}
    entry = entry_json(honest)
    assert set(entry_schema()["required"]) == set(entry)
    assert set(entry_schema()["properties"]["summary"]["required"]) == set(entry["summary"])
    assert entry_problem(entry) is None


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("schema", 2, "schema: 2 is not the value that it must have"),
        ("schema", 1.0, "schema: 1.0 is of the wrong type"),
        ("run.schema", 1.0, "run.schema: 1.0 is of the wrong type"),
        ("parameters", 7.0, "parameters: 7.0 is of the wrong type"),
        ("episodes_bytes", 1e5, "episodes_bytes: 100000.0 is of the wrong type"),
        ("name", "", 'name: "" is too short'),
        ("name", "x" * 101, 'name: "' + "x" * 48 + '"... is too long'),
        ("name", " x", 'name: " x" begins with a space'),
        ("name", "a\nb", 'name: "a\\nb" holds characters that are not shown'),
        ("name", "a\n", 'name: "a\\n" holds characters that are not shown'),
        ("name", "a\u202eb", 'name: "a\\u202eb" holds characters that are not shown'),
        ("name", "a\ud800", 'name: "a\\ud800" holds characters that are not shown'),
        ("name", None, "name: null is of the wrong type"),
        ("submitter", 3, "submitter: 3 is of the wrong type"),
        ("contact", "", 'contact: "" is too short'),
        (
            "link",
            "javascript:alert(1)",
            'link: "javascript:alert(1)" is no address that begins with http',
        ),
        ("link", "https://x.org/\u202e", "link: "),
        ("link", 'https://x.org/"onload=', "link: "),
        ("link", "https://x.org/<b>", "link: "),
        ("link", "https://x.org/ ", "link: "),
        ("parameters", 0, "parameters: 0 is too small"),
        ("parameters", True, "parameters: true is of the wrong type"),
        ("parameters", 1.5, "parameters: 1.5 is of the wrong type"),
        ("open_weights", "yes", 'open_weights: "yes" is of the wrong type'),
        ("date", "2026-02-30", 'date: "2026-02-30" is no day'),
        ("date", "2026-02-3\n", 'date: "2026-02-3\\n" is not of the form YYYY-MM-DD'),
        ("run.prompt_hash", "x", 'run.prompt_hash: "x" has not the form that it must have'),
        ("date", 20260101, "date: 20260101 is of the wrong type"),
        ("episodes_sha256", "A" * 64, "episodes_sha256: "),
        ("episodes_sha256", "a" * 64 + "\n", "episodes_sha256: "),
        ("episodes_bytes", -5, "episodes_bytes: -5 is too small"),
        ("run", [], "run: a list of 0 is of the wrong type"),
        ("run.envs", [], "run.envs: a list of 0 is too short"),
        ("run.envs", [3], "run.envs[0]: 3 is of the wrong type"),
        ("run.samples", "1", 'run.samples: "1" is of the wrong type'),
        ("run.split", "train", 'run.split: "train" is not among the possible values'),
        ("run.split", ["test"], "run.split: a list of 1 is not among the possible values"),
        ("run.temperature", -1, "run.temperature: -1 is too small"),
        ("run.history", "full", 'run.history: "full" is of the wrong type'),
        ("run.versions", {"a\nb": 3}, 'run.versions."a\\nb": 3 is of the wrong type'),
        ("run.machine", {"cpu": 3}, "run.machine.cpu: 3 is of the wrong type"),
        ("run.machine", ["a"], "run.machine: a list of 1 is of the wrong type"),
        ("run.model", "\ud800", "holds half a surrogate pair, which is no text"),
        ("run.extra", 1, 'run: has the unknown field "extra"'),
        ("summary.infra_faults", 1, "summary.infra_faults: 1 is not the value that it must have"),
        ("summary.cost", {"amount": -1, "currency": "EUR"}, "summary.cost.amount: -1 is too small"),
        ("extra", 1, 'has the unknown field "extra"'),
    ],
)
def test_a_field_of_another_form_is_named(entry, path, value, says):
    def edit(content):
        *inside, name = path.split(".")
        for key in inside:
            content = content[key]
        content[name] = value

    edit_entry(entry, edit)
    (problem,) = problems_of(entry)
    assert problem.startswith(f"entry.json: {says}")
    assert problem.isascii()


def leaves(schema, path=()):
    for name in schema.get("required", ()):
        yield (*path, name)
        yield from leaves(schema["properties"].get(name, {}), (*path, name))


def test_every_field_is_needed(honest):
    whole = entry_json(honest)
    paths = list(leaves(entry_schema()))
    assert len(paths) == 43
    for *inside, name in paths:
        entry = copy.deepcopy(whole)
        holder = entry
        for key in inside:
            holder = holder[key]
        del holder[name]
        assert entry_problem(entry).endswith(f"lacks {name}")


def test_what_the_submitter_says_is_checked_alone():
    about = {"name": "x", "submitter": "y", "link": None, "date": "2026-01-01"}
    assert about_problem(about) is None
    assert about_problem({**about, "name": ""}) == 'name: "" is too short'
    assert about_problem({**about, "date": "2026-13-01"}) == 'date: "2026-13-01" is no day'
