"""Templates that write the date: one day for a run, in the record, and set again on resuming."""

import json
import re

import pytest

from ragen_bench.cli import main
from ragen_bench.models import chat as chats
from ragen_bench.models.chat import make_chat
from ragen_bench.models.hf.model import HFModel

from .families import FAMILIES
from .hf_models import save_tiny

CHATML = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
DATED = "Today is {{ strftime_now('%d %b %Y, %H:%M') }}." + CHATML
USERS = [{"role": "system", "content": "S"}, {"role": "user", "content": "Go"}]


def on(monkeypatch, day):
    monkeypatch.setattr(chats, "today", lambda: day)


@pytest.mark.parametrize("name", FAMILIES)
def test_two_days_differ_in_the_date_alone(name, monkeypatch):
    tokenizer = FAMILIES[name].tokenizer()
    texts = []
    for day in ("2026-11-27", "2027-01-02"):
        on(monkeypatch, day)
        chat = make_chat(name, tokenizer)
        texts.append(chat.render(USERS))
        assert chat.render(USERS) == texts[-1]
        assert (chat.identity().get("date") == day) == chat.uses_day
        assert make_chat(name, tokenizer, "2026-11-27").render(USERS) == texts[0]
    dates = r"2026-11-27|27 Nov 2026|2027-01-02|02 Jan 2027"
    assert re.sub(dates, "", texts[0]) == re.sub(dates, "", texts[1])
    assert (texts[0] != texts[1]) == chat.uses_day
    assert chat.uses_day == (name in {"llama3", "gpt-oss"})


def test_a_day_has_no_hours(monkeypatch):
    on(monkeypatch, "2026-11-27")
    tokenizer = FAMILIES["qwen25"].tokenizer()
    tokenizer.chat_template = DATED
    assert make_chat("it", tokenizer).render(USERS).startswith("Today is 27 Nov 2026, 00:00.")


@pytest.mark.slow
@pytest.mark.parametrize("pair", [False, True])
def test_a_resumed_run_keeps_its_day(tmp_path, monkeypatch, pair):
    folder = save_tiny(tmp_path / "model", num_hidden_layers=1, max_position_embeddings=2048)
    (folder / "chat_template.jinja").write_text(DATED)
    days = []
    plain = HFModel.set_day
    monkeypatch.setattr(
        HFModel, "set_day", lambda model, day: days.append(day) or plain(model, day)
    )
    env = "TwentyQuestionsModel-v0" if pair else "Bandit-v0"
    args = ["evaluate", f"hf/{folder}", "--env", env, "--max-tokens", "4", "--history", "none"]
    args += ["--out", str(tmp_path / "run"), *(["--opponent", f"hf/{folder}"] if pair else [])]
    on(monkeypatch, "2026-11-27")
    assert main([*args, "--limit", "1"]) == 0
    config = json.loads((tmp_path / "run/run.json").read_text())
    sides = [config, *([config["opponent"]] if pair else [])]
    assert [side["model_identity"]["date"] for side in sides] == ["2026-11-27"] * len(sides)
    assert days == []
    on(monkeypatch, "2026-11-28")
    assert main([*args, "--limit", "1"]) == 0
    assert days == ["2026-11-27"] * len(sides)
