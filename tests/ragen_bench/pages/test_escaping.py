"""Strangers' texts in cells, links and lines."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.escaping import escape_csv_cell, escape_invisible, link
from ragen_bench.pages.leaderboard.exports import render_csv, render_json_export
from ragen_bench.pages.leaderboard.pages import breakable, size, size_class
from ragen_bench.pages.leaderboard.ranking import build_rankings
from tests.ragen_bench.pages.leaderboard.conftest import SOURCE
from tests.ragen_bench.pages.leaderboard.entries import drawn, gallery, made, rerun

FORMULAS = (
    '=HYPERLINK("http://evil.example","win")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1:A9)",
    "  =1+1",
    "\uff1d1+1",
)


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_is_a_formula(formula):
    assert escape_csv_cell(formula) == f"'{formula}"


@given(st.text())
def test_no_text_is_a_formula(text):
    cell = escape_csv_cell(text)
    assert cell.strip()[:1] not in {"=", "+", "-", "@", "\t", "\r"}
    assert "\n" not in cell


def test_numbers_and_plain_text_stay():
    assert [escape_csv_cell(cell) for cell in (-0.5, 3, None, "a=b", "x")] == [
        -0.5,
        3,
        None,
        "a=b",
        "x",
    ]


@pytest.mark.parametrize("url", ["https://example.org/a?b=c#d", "http://1.2.3.4:80/", "https://a"])
def test_pages_of_the_web_are_links(url):
    assert link(url) == url


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        " https://example.org",
        "data:text/html,x",
        "file:///etc/passwd",
        "//example.org",
        "https://",
        'https://a"onclick="x',
        "https://a<b>",
        "https://a\nb",
        "https://a\n",
    ],
)
def test_nothing_else_is_one(url):
    assert link(url) is None


def test_what_cannot_be_seen_is_named():
    assert (
        escape_invisible("a\u202eb\n\0\u200b\ud800") == "a⟨U+202E⟩b⟨U+000A⟩⟨U+0000⟩⟨U+200B⟩⟨U+D800⟩"
    )
    assert escape_invisible("日本語 é [7B] <b>") == "日本語 é [7B] <b>"


def test_the_tables_hold_everything():
    hostile = made("hostile", name=FORMULAS[0], model="hf/a\n=b", rerun=rerun())
    found = build_rankings([*gallery(), hostile])
    content = json.loads(render_json_export(found, [SOURCE]))
    rows = list(csv.DictReader(io.StringIO(render_csv(found))))
    entries = [entry for ranking in content["boards"] for entry in ranking["entries"]]
    assert len(entries) == 12
    assert len(rows) == 12 * 3
    assert None not in {key for row in rows for key in row} | {
        value for row in rows for value in row.values()
    }
    by_name = {row["entry"]: row for row in rows if row["env"] == "ragen/FrozenLake-v0"}
    for entry in entries:
        row = by_name[entry["entry"]]
        assert row["rank"] == ("" if entry["rank"] is None else str(entry["rank"]))
        assert float(row["suite_score"]) == entry["suite_score"]
        assert [float(row["suite_score_low"]), float(row["suite_score_high"])] == (
            entry["suite_interval"]
        )
        assert float(row["success"]) == entry["rows"][2]["success"]
        assert float(row["oracle_success_high"]) == 0.96875
        assert (row["verified"] == "yes") == entry["verified"]
    assert by_name["large"]["parameters"] == "70000000000"
    assert (by_name["large"]["reproduced"], by_name["middle"]["reproduced"]) == ("yes", "no")
    assert (by_name["twin"]["reproduced"], by_name["twin"]["open_weights"]) == ("", "yes")
    assert by_name["tied"]["apart"] == "constrained to the form"
    assert by_name["hostile"]["name"] == f"'{FORMULAS[0]}"
    assert by_name["hostile"]["model"] == "hf/a⟨U+000A⟩=b"
    hostile = next(entry for entry in entries if entry["entry"] == "hostile")
    assert (hostile["name"], hostile["reproduction"]["seed"]) == (FORMULAS[0], 1)
    (source,) = content["reported_elsewhere_not_comparable"]
    assert source["rows"][0]["scores"] == {"Sokoban": 21.48}


def test_the_tables_hold_what_was_drawn():
    found = build_rankings([drawn("it"), made("other")])
    told = [entry["draw"] for board in json.loads(render_json_export(found, []))["boards"]
            for entry in board["entries"]]  # fmt: skip
    draw = {"commitment": "c0" * 32, "value": "da" * 32, "time": "2026-11-23T22:23:51Z"}
    assert told == [None, draw]
    rows = list(csv.DictReader(io.StringIO(render_csv(found))))
    assert [[row[f"draw_{name}"] for name in draw] for row in rows[::3]] == [
        ["", "", ""],
        list(draw.values()),
    ]


def test_a_temperature_that_a_server_refused_is_empty():
    refused = {"refused": ["temperature"]}
    found = build_rankings([made("told"), made("refusing", model_identity=refused)])
    [board] = json.loads(render_json_export(found, []))["boards"]
    told = {entry["entry"]: entry["temperature"] for entry in board["entries"]}
    assert told == {"told": 0.5, "refusing": None}
    rows = csv.DictReader(io.StringIO(render_csv(found)))
    assert {row["entry"]: row["temperature"] for row in rows} == {"told": "0.5", "refusing": ""}


def test_without_entries_there_are_heads():
    assert json.loads(render_json_export([], []))["boards"] == []
    assert render_csv([]).startswith("suite,suite_version,suite_hash,split,")
    assert render_csv([]).count("\n") == 1


def test_sizes_and_names():
    sizes = (None, 999, 135 * 10**6, 10**9 - 1, 10**9, 1_540_000_000, 7 * 10**10, 2 * 10**12)
    assert [size(one) for one in sizes] == [
        "\N{EN DASH}", "999", "135M", "1B", "1B", "1.54B", "70B", "2T"
    ]  # fmt: skip
    assert [size_class(one) for one in sizes] == [
        "unsaid", "under-1b", "under-1b", "under-1b", "under-10b", "under-10b", "under-100b", "more"
    ]  # fmt: skip
    assert breakable("ragen/SokobanNewVocab-v0") == ["Sokoban", "New", "Vocab", "-v0"]
