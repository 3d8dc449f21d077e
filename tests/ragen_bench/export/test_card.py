"""Cards, as the Hub's own classes and `datasets` read them."""

import datasets
import pytest
from datasets.utils.metadata import MetadataConfigs, known_task_ids
from huggingface_hub import DatasetCard, DatasetCardData
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.cli.main import main
from ragen_bench.export.card import TAGS, render_card, size_category
from ragen_bench.export.episodes import play_oracle_episodes
from ragen_bench.export.parquet import export
from tests.links import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path_factory):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path_factory.mktemp("cache"))


def loaded(directory):
    """Return the card of a directory, which the Hub's class reads without complaint."""
    read = DatasetCard.load(directory / "README.md")
    assert isinstance(read.data, DatasetCardData)
    assert set(read.data.task_categories) <= set(known_task_ids)
    assert [*MetadataConfigs.from_dataset_card_data(read.data)] == ["default"]
    return read


def test_the_card_of_an_export(tmp_path):
    instances = {"ragen/Sokoban-v0": 3, "ragen/FrozenLake-v0": 2}
    export(play_oracle_episodes(instances, "answer"), tmp_path / "set")
    read = loaded(tmp_path / "set")
    assert read.data.pretty_name == "Episodes of oracle"
    assert read.data.tags == [*TAGS, "rl-environment"]
    assert read.data.size_categories == ["n<1K"]
    assert read.data.license is None
    assert "| ragen/Sokoban-v0 | 3 | 1.000 |\n| ragen/FrozenLake-v0 | 2 | " in read.text
    [(split, rows)] = datasets.load_dataset(str(tmp_path / "set")).items()
    assert (split, len(rows)) == ("train", 5)


@pytest.mark.xdist_group("baselines")  # which the published entries share
@pytest.mark.usefixtures("kept_results")
def test_the_leaderboards_site_is_a_data_set_of_its_entries(tmp_path):
    site = tmp_path / "site"
    build = ["leaderboard", "build", str(ROOT / "leaderboard"), "--unverified"]
    assert main([*build, "--out", str(site)]) == 0
    read = loaded(site)
    assert read.data.tags == [*TAGS, "leaderboard"]
    rows = datasets.load_dataset(str(site))["entries"]
    entries = {entry.name for entry in (ROOT / "leaderboard" / "entries").iterdir()}
    assert set(rows["entry"]) == entries
    assert len(rows) == len((site / "leaderboard.csv").read_text().splitlines()) - 1
    [score] = {row["suite_score"] for row in rows if row["entry"] == "oracle_quick_test"}
    assert 0.9 < score < 1


@given(st.text())
def test_any_name_is_read_back(name):
    name = name.encode("utf-8", "replace").decode()
    read = DatasetCard(render_card(name, "About.", "test", "test.parquet", 1, [name]))
    assert (read.data.pretty_name, read.data.tags[-1]) == (name, name)


@pytest.mark.parametrize(
    ("rows", "category"),
    [
        (0, "n<1K"),
        (999, "n<1K"),
        (1000, "1K<n<10K"),
        (99_999, "10K<n<100K"),
        (999_999_999, "100M<n<1B"),
        (10**9, "n>1B"),
    ],
)
def test_sizes(rows, category):
    assert size_category(rows) == category
