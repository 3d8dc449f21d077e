"""The page in a browser: it asks for nothing, says what the files say, and takes text as text."""

import json
import math
import re
from dataclasses import asdict
from operator import itemgetter

import pytest
from playwright.sync_api import expect

from ragen_bench.errors import UserError
from ragen_starpo.diagnostics.drift import find_drift
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.report import read_training_run, write_report
from tests.ragen_bench.pages.looks import BACKGROUND, DARK, LIGHT
from tests.ragen_bench.pages.report.test_html import Page

from .runs import ENVS, make_run, metrics

pytestmark = pytest.mark.slow

HOSTILE = '</title></style><script>alert(1)</script><img src=x onerror="alert(2)">{{ 7*7 }}\u202e'
TABLES = """() => [...document.querySelectorAll('table.figures')].map(table =>
  [...table.rows].map(row => [...row.cells].map(cell => cell.textContent)))"""


def report(folder, *arguments):
    return write_report(read_training_run(make_run(folder, *arguments)))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return report(tmp_path_factory.mktemp("page") / "run")


def test_the_tables_are_the_file(visit, made):
    page = visit(made, ready="table")
    lines = [json.loads(one) for one in (made.parent / "metrics.jsonl").read_text().splitlines()]
    found = [{"iteration": line["iteration"]} for line in lines]
    for head, *rows in page.evaluate(TABLES):
        assert head[0] == "iteration"
        assert [int(row[0]) for row in rows] == list(range(len(lines)))
        for row, line in zip(rows, found, strict=True):
            cells = zip(head[1:], row[1:], strict=True)
            line |= {name: json.loads(cell) for name, cell in cells if cell != "–"}  # noqa: RUF001
    without = [{k: v for k, v in line.items() if not k.startswith("val/")} for line in lines]
    assert found == without


def test_held_out_success_and_its_cost(visit, made):
    page = visit(made, ready="table")
    lines = [one for one in metrics() if "val/success" in one]
    rows = page.get_by_role("table", name="Held-out success").locator("tbody tr")
    expect(rows).to_have_count(len(lines))
    share = lines[1]["val/success"]
    expect(rows.nth(1).locator("td").first).to_have_text(f"{100 * share:.1f}")
    costs = page.get_by_role("table", name="What was spent").locator("tbody tr")
    turns = sum(one["rollout/environment_turns"] for one in metrics()[20:40])
    each = turns / (100 * (share - lines[0]["val/success"]))
    expect(costs.nth(1).locator("td").nth(6)).to_have_text(f"{each:,.0f}")
    expect(costs.last.locator("td").nth(6)).to_have_text("–")  # noqa: RUF001
    expect(page.get_by_text("Seconds660.0")).to_be_attached()


def test_what_training_began_with_stands_before_it(visit, tmp_path):
    run = make_run(tmp_path / "run")
    start = {"val/success": 0.125}
    for env in ENVS:
        start |= {f"val/{env}/success": 0.125, f"val/{env}/low": 0.06, f"val/{env}/high": 0.25}
    (run / "start.json").write_text(json.dumps(start))
    page = visit(write_report(read_training_run(run)), ready="table")
    rows = page.get_by_role("table", name="Held-out success").locator("tbody tr")
    expect(rows.first).to_have_text(f"before12.5{2 * '12.56.0 – 25.0'}")  # noqa: RUF001
    expect(rows.nth(1).locator("th")).to_have_text("19")
    expect(rows.nth(2).locator("th")).to_have_text("39 best")
    lines = page.locator("line.start")
    assert [float(line.get_attribute("y1")) for line in lines.all()] == [120 - 104 / 8] * 2
    drawing = page.get_by_role("img", name="before: 12.5 %; iteration 19")
    expect(drawing).to_have_count(2)


def test_warnings_stand_on_every_curve(visit, made):
    page = visit(made, ready="table")
    drift = map(asdict, find_drift(metrics(), {}, 5))
    warnings = [*map(json.loads, (made.parent / "warnings.jsonl").open()), *drift]
    warnings.sort(key=itemgetter("iteration"))
    assert {one["kind"] for one in warnings} == {"early", "confirmed", "drift"}
    for one in warnings:
        expect(page.locator(".badge", has_text=one["text"])).to_have_count(1)
    drawings = page.locator("figure svg")
    assert drawings.count() == 14
    for drawing in drawings.all():
        expect(drawing.locator("line.best title")).to_have_text("best checkpoint: iteration 39")
        marks = drawing.locator("line:is(.early, .confirmed, .drift)")
        assert marks.locator("title").all_text_contents() == [one["text"] for one in warnings]
        at = [float(mark.get_attribute("x1")) for mark in marks.all()]
        assert at == pytest.approx(
            [68 + 224 * one["iteration"] / 119 for one in warnings], abs=0.01
        )
        label = drawing.get_attribute("aria-label")
        confirmed = next(one for one in warnings if one["kind"] == "confirmed")
        assert f"confirmed warning in iteration {confirmed['iteration']}" in label
        assert "best checkpoint in iteration 39; early warning" in label


def test_the_best_checkpoint_and_the_latest_stand_first(visit, made):
    page = visit(made, ready="table")
    expect(page.locator(".score")).to_have_text(
        re.compile(
            r"Best held-out success15\.6.% in iteration 39 \(best/\)\s+0\.0.% in iteration 119"
        )
    )


def test_curves_that_do_not_move_are_folded_away(visit, made):
    page = visit(made, ready="table")
    folded = page.locator("details", has_text="Did not move")
    expect(folded.locator("summary")).to_have_text(
        "Did not move: policy clip fraction 0.00000333, kl from rollouts 0.00; filter kept 0.25; "
        "training steps 4"
    )
    kept = folded.locator("figure", has_text="kept")
    expect(kept).to_be_hidden()
    folded.locator("summary").click()
    expect(kept).to_be_visible()
    expect(page.locator("main > section figure", has_text="kept")).to_have_count(0)


def test_a_curve_lies_where_its_values_are(visit, made):
    page = visit(made, ready="table")
    drawing = page.get_by_role("img", name="grad norm: ")
    points = drawing.locator(".raw").get_attribute("points").split()
    values = {n["iteration"]: n["policy/grad_norm"] for n in metrics() if "policy/grad_norm" in n}
    low, high = min(values.values()), max(values.values())
    for point, (number, value) in zip(points, values.items(), strict=True):
        x, y = map(float, point.split(","))
        assert x == pytest.approx(68 + 224 * number / 119, abs=0.01)
        assert y == pytest.approx(120 - 104 * (value - low) / (high - low), abs=0.01)


def test_it_loads_nothing_and_runs_its_own_script_only(made):
    page = Page(made)
    assert not {"img", "iframe", "object", "embed", "base", "form"} & set(page.names)
    assert "default-src 'none'" in page.values("meta", "content")[0]
    assert not [a for a in page.attributes if a[1].startswith("on") or a[1] in ("style", "src")]
    assert len(page.scripts) == 1


def test_hostile_text_is_text(visit, tmp_path):
    named = {"name": HOSTILE, "model": HOSTILE, "envs": [HOSTILE]}
    recipe = recipe_of(named, "a test").as_json()
    recipe["loss"] = {HOSTILE: HOSTILE}
    lines = [one | {f"{HOSTILE}/{HOSTILE}": 1.5} for one in metrics(30)]
    path = report(tmp_path / "run", lines, recipe)
    with (tmp_path / "run/warnings.jsonl").open("a") as file:
        file.write(json.dumps({"iteration": 3, "kind": "early", "text": HOSTILE}) + "\n")
    write_report(read_training_run(tmp_path / "run"))
    page = visit(path, ready="table")
    seen = HOSTILE.replace("\u202e", "⟨U+202E⟩")
    expect(page.locator("h1")).to_have_text(f"{seen} on {seen}")
    assert page.title() == f"{seen} on {seen}"
    expect(page.locator(".lead bdi")).to_have_text(seen)
    expect(page.locator(".badge")).to_have_text(seen)
    expect(page.locator("dt", has_text=seen)).to_have_text(f"loss.{seen}")
    assert page.locator("script").count() == 1
    assert page.locator("img[src], [onerror]").count() == 0


def test_light_dark_and_narrow(visit, made):
    page = visit(made, ready="table", color_scheme="light")
    assert page.evaluate(BACKGROUND) == LIGHT
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(BACKGROUND) == DARK
    for summary in page.locator("summary").all():
        summary.click()
    for width in (320, 390, 768):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_keyboard_and_screen_reader(visit, made):
    page = visit(made, ready="table")
    tree = page.locator("body").aria_snapshot()
    for line in (
        'heading "grpo@small on Sokoban-v0, FrozenLake-v0" [level=1]',
        'region "Held-out success"',
        'img "entropy: ',
        'img "iteration 19: 12.5 %, interval 0.5 to 24.5 %',
        'table "What was spent',
    ):
        assert line in tree, line
    assert page.get_by_role("table", name="As metrics.jsonl").count() == 0
    page.get_by_text("Table of rollout figures").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("table", name="As metrics.jsonl")).to_have_count(1)
    page.keyboard.press("Tab")
    table = page.get_by_role("group", name="Table of rollout figures")
    expect(table).to_be_focused()
    # Chromium lets any table that scrolls be focused, others do not.
    expect(table).to_have_attribute("tabindex", "0")


def test_without_scripts_all_is_there(visit, made):
    page = visit(made, ready="table", java_script_enabled=False)
    expect(page.locator("figure svg")).to_have_count(14)


def test_a_run_that_has_just_begun(visit, tmp_path):
    lines = [{"iteration": 0, "rollout/success": 0.0, "policy/grad_norm": math.nan}]
    path = report(tmp_path / "run", lines)
    with (tmp_path / "run/metrics.jsonl").open("a") as file:
        file.write('{"iteration": 1, "torn')
    page = visit(write_report(read_training_run(path.parent)), ready="table")
    expect(page.locator("figure svg")).to_have_count(1)
    expect(page.get_by_text("No warning: nothing that is watched")).to_be_visible()
    assert page.evaluate(TABLES)[1][1] == ["0", "NaN"]


def test_what_is_no_run(tmp_path):
    with pytest.raises(UserError, match=r"is not a training run: it has no recipe\.json"):
        read_training_run(tmp_path)
    (tmp_path / "recipe.json").write_text("{}")
    with pytest.raises(UserError, match="holds no finished iteration yet"):
        read_training_run(tmp_path)
    (tmp_path / "metrics.jsonl").write_text('{"iteration": 0}\n{"itera\n')
    with pytest.raises(UserError, match=r"metrics.jsonl line 2 is not a JSON object"):
        read_training_run(tmp_path)
    (tmp_path / "metrics.jsonl").write_text("3\n")
    with pytest.raises(UserError, match=r"metrics.jsonl line 1 is not a JSON object"):
        read_training_run(tmp_path)
