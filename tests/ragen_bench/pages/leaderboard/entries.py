"""Entries that are made by hand: figures, settings and words at will."""

import copy
import dataclasses
import json

from ragen_bench.leaderboard.schema import Entry
from ragen_bench.leaderboard.verify import Check
from ragen_bench.pages.leaderboard.figures import read_figures
from ragen_bench.pages.leaderboard.site_entries import SiteEntry
from ragen_bench.runs.draws import Draw

ENVS = ("ragen/Bandit-v0", "ragen/SokobanNewVocab-v0", "ragen/FrozenLake-v0")
RUN = {
    "schema": 1,
    "model": "hf/some-model",
    "model_identity": {"revision": "abc"},
    "slots": 1,
    "group_size": 1,
    "suite": "core",
    "suite_version": 1,
    "suite_hash": "0123456789abcdef",
    "split": "test",
    "samples": 1,
    "seed": 0,
    "temperature": 0.5,
    "max_tokens": 200,
    "response_format": "think",
    "history": None,
    "constrained": False,
    "prompt_hash": "fedcba9876543210",
    "envs": [{"id": env, "instances": 256, "spec_hash": "0" * 16} for env in ENVS],
    "versions": {"python": "3.11.0", "ragen-bench": "0.1.0"},
    "command": "ragen-bench evaluate hf/some-model",
}
ABOUT = {
    "schema": 1,
    "name": "Some model",
    "submitter": "Somebody",
    "contact": None,
    "link": None,
    "parameters": None,
    "open_weights": None,
    "date": None,
    "ragen_version": "0.1.0",
    "episodes_sha256": "ab" * 32,
    "episodes_bytes": 1000,
}
CHECKS = (Check("files", True, "entry.json 1 bytes"), Check("figures", True, "all equal"))


def summary(score, low, high, success=0.5):
    """A summary whose environments have successes around `success`."""
    player = {"episodes": 64, "score": 0.1}
    rows = [
        {
            "env": env,
            "episodes": 256,
            "success": min(1.0, success + place / 10),
            "success_interval": [max(0.0, success - 0.06), min(1.0, success + 0.1 + place / 10)],
            "score": 0.4,
            "score_interval": [0.3, 0.5],
            "normalised": score,
            "normalised_interval": [low, high],
            "random": {**player, "success": 0.125, "success_interval": [0.0625, 0.1875]},
            "oracle": {**player, "success": 0.9375, "success_interval": [0.875, 0.96875]},
            "seconds": 1.5,
        }
        for place, env in enumerate(ENVS)
    ]
    about = {"model": "hf/some-model", "suite": "core", "split": "test"}
    about |= {"episodes": 768, "planned": 768, "infra_faults": 0, "cost": None}
    return {**about, "suite_score": score, "suite_score_interval": [low, high], "envs": rows}


def made(
    directory,
    score=0.5,
    low=0.4,
    high=0.6,
    *,
    checks=CHECKS,
    rerun=None,
    success=0.5,
    unchecked=None,
    **more,
):
    """An entry; further arguments are fields of entry.json or of run.json.

    Those in `unchecked` are set after the entry was validated, so they may be what it refuses.
    """
    run = {**copy.deepcopy(RUN), **{name: more[name] for name in more if name in RUN}}
    run |= {name: more[name] for name in more if name == "sealed_key_hash"}
    about = {**ABOUT, **{name: more[name] for name in more if name in ABOUT}}
    assert more.keys() <= {*RUN, *ABOUT, "sealed_key_hash"}
    written = {**about, "run": run, "summary": summary(score, low, high, success)}
    content = json.loads(json.dumps(written))
    entry = Entry.model_validate(content).model_copy(update=unchecked)
    return SiteEntry(directory, entry, read_figures(content["summary"]), checks, rerun)


def unscored(entry):
    """The same entry without a suite score."""
    figures = dataclasses.replace(entry.figures, suite_score=None, suite_interval=None)
    return dataclasses.replace(entry, figures=figures)


def rerun(reproduced=True):
    """What `reproduce` says of a made entry."""
    both = {
        "entry": 0.5,
        "entry_interval": [0.4, 0.6],
        "rerun": 0.55,
        "rerun_interval": [0.45, 0.65],
        "overlap": reproduced,
    }
    envs = [{"env": env, **both} for env in ENVS]
    model = {"model": "hf/it", "seed": 1, "draw": None}
    return {"reproduced": reproduced, "suite": both, "envs": envs, **model}


def drawn(directory, *scores, **more):
    """An entry of the split drawn."""
    draw = Draw(None, "c0" * 32, "da" * 32, "2026-11-23T22:23:51Z")
    return dataclasses.replace(made(directory, *scores, split="drawn", **more), draw=draw)


def gallery():
    """One entry of each kind that the site tells apart."""
    return [
        made("random_core_test", 0.001, -0.012, 0.015, success=0.13, model="random", name="Random"),
        made("oracle_core_test", 1.02, 0.99, 1.05, success=0.9, model="oracle", name="Oracle"),
        made("large", 0.71, 0.68, 0.74, success=0.7, name="Large model", parameters=70 * 10**9,
             date="2026-03-05", rerun=rerun(), link="https://example.org/large?a=1&b=2"),
        made("twin", 0.7, 0.67, 0.73, success=0.69, name="Its twin", parameters=65 * 10**9,
             date="2026-01-20", open_weights=True, contact="twin@example.org"),
        made("middle", 0.43, 0.4, 0.46, success=0.4, name="A model in the middle",
             parameters=7 * 10**9, date="2025-11-02", rerun=rerun(False)),
        made("small", -0.1, -0.15, -0.05, success=0.1, name="A small one with a rather long name",
             parameters=135 * 10**6, date="2025-10-01", checks=()),
        made("undated", 0.3, 0.25, 0.35, success=0.3, name="Undated"),
        made("tied", 0.75, 0.7, 0.8, name="In form by force", constrained=True, date="2026-01-01"),
        made("old", 0.9, 0.85, 0.95, name="Of an old suite", suite_hash="f" * 16),
        made("quick", 0.2, 0.1, 0.3, name="A quick one", suite="quick", max_tokens=64,
             model="python:mine:Player"),
        made("hidden", 0.6, 0.5, 0.7, name="Sealed", split="sealed", sealed_key_hash="5" * 64),
    ]  # fmt: skip
