"""The file of open models that comes along, and what its page says of it."""

import re
from pathlib import Path

from ragen_bench.cli.evaluate_models import read_models
from ragen_bench.settings.options import EvaluationOptions

ROOT = Path(__file__).parents[3]


def test_the_file_lists_the_twelve_models_of_the_page():
    models = read_models(ROOT / "leaderboard" / "open_models.toml", EvaluationOptions(model=""))
    names = [model.model for model in models]
    assert len(set(names)) == 12
    assert {name.partition("/")[0] for name in names} == {"vllm"}
    page = (ROOT / "docs" / "open-models.md").read_text(encoding="utf-8")
    table = "".join(re.findall(r"^\| .*3 \+ 3.*$", page, re.MULTILINE))
    for name in names:
        family = name.rpartition("/")[2].split("-")[0]
        assert family in table
