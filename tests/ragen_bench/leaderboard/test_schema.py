"""The published form of entry.json."""

import copy
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from ragen_bench.leaderboard.schema import (
    build_schema,
    parse_entry,
    read_statement,
)
from ragen_bench.leaderboard.strict_json import EntryError
from tests.ragen_bench.leaderboard.entries import edit_entry, entry_json, problems_of

PUBLISHED = Path(__file__).parents[3] / "leaderboard/entry.schema.json"


WHOLE = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
STRICT = extend(Draft202012Validator, type_checker=WHOLE)
"""For JSON Schema 1.0 is an integer too; the models want a count to be written in one way."""


def test_the_published_schema_is_the_models():
    text = json.dumps(build_schema(), indent=2) + "\n"
    assert PUBLISHED.read_text(encoding="utf-8") == text, "write this text to the file"
    Draft202012Validator.check_schema(build_schema())


def resolved(schema, whole=None):
    """Return a schema with its definitions in their places."""
    whole = whole or schema
    if "$ref" in schema:
        schema = whole["$defs"][schema["$ref"].rpartition("/")[2]]
    inside = {name: resolved(part, whole) for name, part in schema.get("properties", {}).items()}
    return {**schema, "properties": inside}


def problem_of(entry):
    try:
        parse_entry(entry)
    except EntryError as error:
        return str(error)
    return None


def test_it_names_what_the_harness_writes(honest):
    entry, schema = entry_json(honest), resolved(build_schema())
    assert set(schema["required"]) == set(schema["properties"]) == set(entry)
    run, summary = (schema["properties"][name] for name in ("run", "summary"))
    assert set(run["required"]) == set(entry["run"]) - {"machine"}
    rare = {"sealed_key_hash", "draw", "top_p", "pictures", "on_error"}
    assert set(run["properties"]) == {*entry["run"], *rare}
    assert set(summary["required"]) == set(entry["summary"])
    assert set(summary["properties"]) == {*entry["summary"], "given_up", "people"}
    assert problem_of(entry) is None
    assert STRICT(build_schema()).is_valid(entry)


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("schema", 2, "schema: 2 only a newer ragen-bench reads (install one)"),
        ("schema", 1.0, "schema: 1.0 is not a whole number"),
        ("run.schema", 1.0, "run.schema: 1.0 is not a whole number"),
        ("parameters", 7.0, "parameters: 7.0 is not a whole number"),
        ("episodes_bytes", 1e5, "episodes_bytes: 100000.0 is not a whole number"),
        ("name", "", 'name: "" is too short'),
        ("name", "x" * 101, 'name: "' + "x" * 48 + '"... is too long'),
        ("name", " x", 'name: " x" begins with a space'),
        ("name", "a\nb", 'name: "a\\nb" has invisible characters'),
        ("name", "a\n", 'name: "a\\n" has invisible characters'),
        ("name", "a\u202eb", 'name: "a\\u202eb" has invisible characters'),
        ("name", "a\ud800", 'name: "a\\ud800" holds half a surrogate pair, which is not a text'),
        ("name", None, "name: null is not a text"),
        ("submitter", 3, "submitter: 3 is not a text"),
        ("contact", "", 'contact: "" is too short'),
        (
            "link",
            "javascript:alert(1)",
            'link: "javascript:alert(1)" is not an address that begins with http',
        ),
        ("link", "https://x.org/\u202e", "link: "),
        ("link", 'https://x.org/"onload=', "link: "),
        ("link", "https://x.org/<b>", "link: "),
        ("link", "https://x.org/ ", "link: "),
        ("parameters", 0, "parameters: 0 is below 1"),
        ("parameters", True, "parameters: true is not a whole number"),
        ("parameters", 1.5, "parameters: 1.5 is not a whole number"),
        ("open_weights", "yes", 'open_weights: "yes" is not true or false'),
        ("date", "2026-02-30", 'date: "2026-02-30" is not a day'),
        ("date", "2026-02-3\n", 'date: "2026-02-3\\n" is not of the form YYYY-MM-DD'),
        ("run.prompt_hash", "x", 'run.prompt_hash: "x" has not the form that it must have'),
        ("date", 20260101, "date: 20260101 is not a text"),
        ("episodes_sha256", "A" * 64, "episodes_sha256: "),
        ("episodes_sha256", "a" * 64 + "\n", "episodes_sha256: "),
        ("episodes_bytes", -5, "episodes_bytes: -5 is below 1"),
        ("run", [], "run: a list of 0 is not an object"),
        ("run.envs", [], "run.envs: a list of 0 is too short"),
        ("run.envs", [3], "run.envs[0]: 3 is not an object"),
        ("run.samples", "1", 'run.samples: "1" is not a whole number'),
        ("run.split", "train", "run.split: \"train\" is not 'test', 'sealed' or 'drawn'"),
        ("run.split", ["test"], "run.split: a list of 1 is not 'test', 'sealed' or 'drawn'"),
        ("run.temperature", -1, "run.temperature: -1 is below 0"),
        ("run.history", "full", 'run.history: "full" is not a whole number'),
        ("run.versions", {"a\nb": 3}, 'run.versions."a\\nb": 3 is not a text'),
        ("run.machine", {"cpu": 3}, "run.machine.cpu: 3 is not a text"),
        ("run.machine", ["a"], "run.machine: a list of 1 is not an object"),
        (
            "run.model",
            "\ud800",
            'run.model: "\\ud800" holds half a surrogate pair, which is not a text',
        ),
        (
            "run.model_identity",
            {"a": "\ud800"},
            "holds half a surrogate pair, which is not a text",
        ),
        ("run.opponent", None, 'run: has the unknown field "opponent"'),
        ("run.sealed_key_hash", None, "run.sealed_key_hash: null is not a text"),
        ("run.extra", 1, 'run: has the unknown field "extra"'),
        ("summary.infra_faults", 1, "summary.infra_faults: 1 is above 0"),
        ("summary.cost", {"amount": -1, "currency": "EUR"}, "summary.cost.amount: -1 is below 0"),
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


LOOK_ALIKES = [
    ("Dеmo agent", "has letters that look like others"),  # noqa: RUF001
    ("ΟpenAI", "has letters that look like others"),  # noqa: RUF001
    ("ΟΡΕΝ", "has letters that look like others"),  # noqa: RUF001
    ("о3", "has letters that look like others"),  # noqa: RUF001
    ("Grok ССС", "has letters that look like others"),  # noqa: RUF001
    ("ꓚꓡꓮꓴꓓꓰ", "has letters that look like others"),  # noqa: RUF001
    ("ᏢᎪᏞᎷ", "has letters that look like others"),  # noqa: RUF001
    ("Ｄｅｍｏ", "has letters that look like others"),  # noqa: RUF001
    ("\U0001d403emo", "has letters that look like others"),
    ("Demo\xa0agent", "has invisible characters"),
    ("De\xadmo", "has invisible characters"),
    ("Demo\u3164", "has invisible characters"),
    ("Demo\u2800", "has invisible characters"),
    ("Demo\ufe0f", "has invisible characters"),
    ("Demo\ue000", "has invisible characters"),
    ("Demo\U000e0041", "has invisible characters"),
]
PLAIN = [
    "Demo agent [7B] 4.5",
    "μTransfer-α",  # noqa: RUF001
    "ΔNet",
    "Модель 7B",
    "Яндекс",
    "π0 Σοφία",
    "ロボ 日本",
    "模型",
    "Qwen²™ ½",
    "café é",
    "ö",
]


@pytest.mark.parametrize(("name", "says"), LOOK_ALIKES)
@pytest.mark.parametrize("field", ["name", "submitter"])
def test_names_that_look_like_others_are_refused(entry, name, says, field):
    edit_entry(entry, lambda e: e.update({field: name}))
    [problem] = problems_of(entry)
    assert problem.startswith(f"entry.json: {field}: ")
    assert says in problem


@pytest.mark.parametrize("name", PLAIN)
def test_names_in_any_script_are_taken(entry, name):
    edit_entry(entry, lambda e: e.update(name=name))
    assert problems_of(entry) == []


def test_every_field_is_needed(honest):
    whole = entry_json(honest)
    paths = list(leaves(resolved(build_schema())))
    assert len(paths) == 43
    for *inside, name in paths:
        entry = copy.deepcopy(whole)
        holder = entry
        for key in inside:
            holder = holder[key]
        del holder[name]
        assert problem_of(entry).endswith(f"lacks {name}")
        assert not STRICT(build_schema()).is_valid(entry)


def test_what_the_submitter_says_is_checked_alone():
    said = dict.fromkeys(("contact", "link", "parameters", "open_weights"))
    said |= {"name": "x", "submitter": "y", "date": "2026-01-01"}
    read_statement(said)
    for name, value, says in (
        ("name", "", 'name: "" is too short'),
        ("date", "2026-13-01", 'date: "2026-13-01" is not a day'),
    ):
        with pytest.raises(EntryError, match=f"^{says}$"):
            read_statement({**said, name: value})
