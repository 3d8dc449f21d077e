"""The tables of a study: figures of thoughts stand in them where there are any."""

from ragen_bench.pages.formats import NONE
from ragen_starpo.studies.pages import (
    NOTES,
    explain_arm_columns,
    list_arm_columns,
    list_run_columns,
    make_arm_rows,
    make_run_rows,
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
    assert list_arm_columns(tested) == ["arm", "start", "test", "rollouts at last"]
    assert make_arm_rows(tested) == [["a", "50.0", NONE, "25.0"]]
    assert list_run_columns(tested) == ["run", "start", "test", "rollouts at last", "problem"]
    assert make_run_rows(tested)[1] == ["runs/a/seed-0", "50.0", "50.0", "25.0", ""]
    for run in tested["runs"]:
        run["test"] = {}
    assert list_arm_columns(tested) == ["arm", "start", "rollouts at last"]


def test_thoughts_have_columns_where_a_run_has_thoughts():
    without, thinking = results({"start": 0.5}), results({"start": 0.5, **THOUGHTS})
    heads = ["plan ok before", "plan ok", "true before", "true"]
    assert list_arm_columns(thinking) == [*list_arm_columns(without), *heads]
    assert list_run_columns(thinking) == [*list_run_columns(without)[:-1], *heads, "problem"]
    assert not set(heads) & {*list_arm_columns(without), *list_run_columns(without)}
    assert make_arm_rows(thinking)[0][-4:] == ["100.0", "25.0", "0.0", "75.0"]
    assert make_run_rows(thinking)[1][-5:] == ["100.0", "25.0", "0.0", "75.0", ""]
    assert make_run_rows(thinking)[0][-5:] == [NONE, NONE, NONE, NONE, ""]
    for table in (without, thinking):
        assert {len(row) for row in make_arm_rows(table)} == {len(list_arm_columns(table))}
        assert {len(row) for row in make_run_rows(table)} == {len(list_run_columns(table))}


def test_columns_that_few_studies_have_are_explained_where_they_are():
    assert explain_arm_columns(results({"start": 0.5})) == NOTES["arms"]
    assert explain_arm_columns(results(THOUGHTS)) == f"{NOTES['arms']} {NOTES['thoughts']}"
    alike = results({"failures_alike": 0.25, "failures_alike/ragen/SokobanLarge-v0": 0.25})
    assert explain_arm_columns(alike) == f"{NOTES['arms']} {NOTES['failures']}"
    assert list_run_columns(alike) == ["run", "test", "failures alike", "problem"]
    assert make_run_rows(alike)[1] == ["runs/a/seed-0", "50.0", "25.0", ""]
    assert explain_arm_columns(results({"failures_alike": None})) == NOTES["arms"]
