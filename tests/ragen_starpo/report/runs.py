"""Directories of runs that were never played: a collapse, with every kind of figure."""

import json
import random
from dataclasses import asdict

from ragen_starpo.diagnostics.monitor import EchoTrapMonitor
from ragen_starpo.recipes.recipe import recipe_of
from tests.ragen_starpo.diagnostics.test_monitor import collapse, noisy

ENVS = ("Sokoban-v0", "FrozenLake-v0")


def metrics(iterations=120, every=20):
    noise = random.Random(1)
    found = noisy(3, 0.05, list(collapse(50))[:iterations])
    for line in found:
        number = line["iteration"]
        line |= {"rollout/environment_turns": 300 + number, "filter/kept": 0.25}
        line |= {"rollout/generated_tokens": noise.randrange(2000, 3000), "steps": 4}
        line |= {"trained_tokens": noise.randrange(500, 900), "policy/clip_fraction": 1 / 3e5}
        line["policy/kl_from_rollouts"] = noise.gauss(0, 1e-8)
        if number % 10 == 3:
            for name in [name for name in line if name.startswith("policy/")]:
                del line[name]
        if number % every == every - 1:
            share = round(line["rollout/success"] * 32) / 32
            line["val/success"] = share
            for env in ENVS:
                line |= {f"val/{env}/success": share, f"val/{env}/low": max(0, share - 0.12)}
                line[f"val/{env}/high"] = min(1, share + 0.12)
    return found


def make_run(folder, lines=None, recipe=None):
    """Write a run's files; return the directory."""
    folder.mkdir(parents=True)
    lines = metrics() if lines is None else lines
    named = {"name": "grpo@small", "model": "warm", "envs": ENVS}
    settings = recipe or recipe_of(named, "a test").as_json()
    (folder / "recipe.json").write_text(json.dumps({"schema": 1, **settings}))
    monitor = EchoTrapMonitor(recipe_of({"model": "m", "envs": ENVS}, "a test").monitor)
    warnings = [asdict(one) for line in lines for one in monitor.take(line)]
    timings = [{"iteration": one["iteration"], "rollouts": 2.0, "updates": 3.5} for one in lines]
    for name, found in (("metrics", lines), ("timings", timings), ("warnings", warnings)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in found))
    return folder
