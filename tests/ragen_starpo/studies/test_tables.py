"""The tables of a study: figures of thoughts stand in them where there are any."""

from ragen_bench.pages.formats import NONE
from ragen_starpo.studies.tables import (
    NOTES,
    arm_columns,
    arm_rows,
    notes_on_arms,
    run_columns,
    run_rows,
)

RUN = {"folder": "runs/a/seed-0", "problem": "", "test": {"ragen/Bandit-v0": 0.5}, "gains": {}}
THOUGHTS = {"agreement_start": 1.0, "agreement": 0.25, "truth_start": 0.0, "truth": 0.75}


def results(figures):
    of_arm = {name: None if value is None else {"mean": value} for name, value in figures.items()}
    return {
        "arms": [{"name": "a", "figures": of_arm}],
        "runs": [{**RUN, "figures": {}}, {**RUN, "figures": figures}],
    }


def test_a_figure_has_a_column_where_a_run_has_it():
    tested = results({"start": 0.5, "rollouts_last": 0.25, "best": None})
    assert arm_columns(tested) == ["arm", "start", "test", "rollouts at last"]
    assert arm_rows(tested) == [["a", "50.0", NONE, "25.0"]]
    assert run_columns(tested) == ["run", "start", "test", "rollouts at last", "problem"]
    assert run_rows(tested)[1] == ["runs/a/seed-0", "50.0", "50.0", "25.0", ""]
    for run in tested["runs"]:
        run["test"] = {}
    assert arm_columns(tested) == ["arm", "start", "rollouts at last"]


def test_thoughts_have_columns_where_a_run_has_thoughts():
    without, thinking = results({"start": 0.5}), results({"start": 0.5, **THOUGHTS})
    heads = ["plan ok before", "plan ok", "true before", "true"]
    assert arm_columns(thinking) == [*arm_columns(without), *heads]
    assert run_columns(thinking) == [*run_columns(without)[:-1], *heads, "problem"]
    assert not set(heads) & {*arm_columns(without), *run_columns(without)}
    assert arm_rows(thinking)[0][-4:] == ["100.0", "25.0", "0.0", "75.0"]
    assert run_rows(thinking)[1][-5:] == ["100.0", "25.0", "0.0", "75.0", ""]
    assert run_rows(thinking)[0][-5:] == [NONE, NONE, NONE, NONE, ""]
    for table in (without, thinking):
        assert {len(row) for row in arm_rows(table)} == {len(arm_columns(table))}
        assert {len(row) for row in run_rows(table)} == {len(run_columns(table))}


def test_columns_that_few_studies_have_are_explained_where_they_are():
    assert notes_on_arms(results({"start": 0.5})) == NOTES["arms"]
    assert notes_on_arms(results(THOUGHTS)) == f"{NOTES['arms']} {NOTES['thoughts']}"
    alike = results({"failures_alike": 0.25, "failures_alike/ragen/SokobanLarge-v0": 0.25})
    assert notes_on_arms(alike) == f"{NOTES['arms']} {NOTES['failures']}"
    assert run_columns(alike) == ["run", "test", "failures alike", "problem"]
    assert run_rows(alike)[1] == ["runs/a/seed-0", "50.0", "25.0", ""]
    assert notes_on_arms(results({"failures_alike": None})) == NOTES["arms"]
