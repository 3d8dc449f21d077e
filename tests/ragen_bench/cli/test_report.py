"""`report` as its user types it: what the tokens cost."""

import json

import pytest

from tests.ragen_bench.cli.command import run

PRICES = """\
currency = "EUR"

[[price]]
models = ["random"]
prompt = 1.00
completion = 4.00
"""


@pytest.mark.parametrize(
    ("tokens", "says"),
    [(0, None), (25, "Cost    0.0004 EUR\n"), (100_000, "Cost    1.60 EUR\n")],
)
def test_a_cost_below_a_cent_is_not_called_nothing(tmp_path, tokens, says):
    played = ["evaluate", "random", "--env", "Bandit-v0", "--limit", "4", "--out", "run"]
    assert run(*played, cwd=tmp_path).returncode == 0
    file = tmp_path / "run" / "episodes.jsonl"
    episodes = [json.loads(line) for line in file.read_text().splitlines()]
    for episode in episodes:
        episode["turns"][0]["completion_tokens"] = tokens
    file.write_text("".join(json.dumps(episode) + "\n" for episode in episodes))
    (tmp_path / "prices.toml").write_text(PRICES)
    done = run("report", "run", "--prices", "prices.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    if says is None:
        assert "Cost" not in done.stdout
    else:
        assert says in done.stdout
