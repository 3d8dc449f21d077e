"""Training with a template that writes the date: the day on which a run began."""

import json
import shutil

import pytest

from ragen_bench.models import chat as chats
from ragen_bench.models.hf.model import HFModel
from ragen_starpo.local.actor import Actor
from ragen_starpo.local.train import train
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.warm_start import warm_start
from ragen_starpo.warm_start_settings import WarmStartSettings

pytestmark = pytest.mark.slow
SETTINGS = {
    "model": "small",
    "envs": ["FrozenLake-v0"],
    "response_format": "answer",
    "iterations": 2,
    "mini_batch": 4,
    "rollouts": {"instances": 2, "samples": 2, "max_tokens": 6},
    "filter": {"strategy": "all"},
}


@pytest.fixture
def dated(small, tmp_path):
    folder = tmp_path / "dated"
    shutil.copytree(small, folder)
    template = folder / "chat_template.jinja"
    template.write_text("{{ strftime_now('%d') }}" + template.read_text())
    return folder


class KilledError(Exception):
    pass


@pytest.mark.parametrize("validation", [{"every": 0}, {"every": 1, "instances": 2}])
def test_a_run_keeps_its_day(dated, tmp_path, monkeypatch, validation):
    recipe = recipe_of({**SETTINGS, "checkpoint_every": 1, "validation": validation}, "a test")
    prompts = []
    plain = Actor.rollouts

    def kill(iteration):
        if iteration.number == 1:
            raise KilledError

    def watched(actor, *arguments):
        played = plain(actor, *arguments)
        prompts.extend(actor.tokenizer.decode(one.turns[0].observed)[:2] for one in played)
        return played

    monkeypatch.setattr(Actor, "rollouts", watched)
    validated = []
    set_day = HFModel.set_day
    monkeypatch.setattr(
        HFModel, "set_day", lambda model, day: validated.append(day) or set_day(model, day)
    )
    monkeypatch.setattr(chats, "today", lambda: "2026-11-27")
    with pytest.raises(KilledError):
        train(recipe, dated, tmp_path / "run", kill)
    monkeypatch.setattr(chats, "today", lambda: "2026-11-28")
    train(recipe, dated, tmp_path / "run")
    start = json.loads((tmp_path / "run/start.json").read_text())
    assert start.pop("date") == "2026-11-27"
    assert ("val/success" in start) == (validation["every"] > 0)
    assert set(prompts) == {"27"}
    assert len(prompts) == 3 * 4
    assert set(validated) == ({"2026-11-27"} if validation["every"] else set())


def test_without_a_date_nothing_is_recorded(small, tmp_path):
    recipe = recipe_of({**SETTINGS, "iterations": 1, "validation": {"every": 0}}, "a test")
    train(recipe, small, tmp_path / "run")
    assert not (tmp_path / "run/start.json").exists()


def test_a_warm_start_is_the_same_on_another_day(dated, tmp_path, monkeypatch):
    settings = WarmStartSettings(envs=("FrozenLake-v0",), response_format="answer", episodes=4)
    out = tmp_path / "warm"
    weights = []
    for day in ("2026-11-27", "2026-11-28"):
        monkeypatch.setattr(chats, "today", lambda day=day: day)
        warm_start(settings, dated, out)
        weights.append((out / "model.safetensors").read_bytes())
        assert json.loads((out / "ragen-train.json").read_text())["date"] == "2026-11-27"
    assert weights[0] == weights[1]
