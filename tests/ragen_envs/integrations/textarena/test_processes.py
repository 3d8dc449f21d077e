"""What only other processes can show: hash seeds, missing packages and data."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.cases import first_fast

PLAY = """
import random, sys
import gymnasium, ragen_envs.integrations.textarena
random.seed(int(sys.argv[1]))
for env_id in sys.argv[2:]:
    env = gymnasium.make(f"ragen_textarena/{env_id}")
    for seed in range(3):
        print(repr(env.reset(seed=seed)))
        for answer in ("[1 2 3 4]", "[A C]", "[hit]", "[apple]", "[e]"):
            shown = env.step(answer)
            print(repr(shown))
            if shown[2]:
                break
"""
GAMES = ("Mastermind-v0", "TowerOfHanoi-v0", "Blackjack-v0", "Crosswords-v0", "LogicPuzzle-v0")
WORD_GAMES = ("Hangman-v0", "Wordle-v0", "WordSearch-v0")


def run(code, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_texts_do_not_depend_on_the_process():
    shown = [run(PLAY, h, *GAMES, PYTHONHASHSEED=str(h)).stdout for h in (1, 2)]
    assert shown[0] == shown[1]
    assert shown[0].count("\n") > 30


@pytest.fixture(scope="session")
def nltk_data(tmp_path_factory):
    """NLTK's data as these games read it, made of the words that TextArena ships."""
    root = tmp_path_factory.mktemp("nltk_data")
    package = Path(find_spec("textarena").submodule_search_locations[0])
    found = package.joinpath("envs/utils/data/en_US.dic").read_text(encoding="utf-8").split()
    words = sorted({w.partition("/")[0] for w in found if re.match("[a-e][a-z]{2,6}(/|$)", w)})
    corpus = root / "corpora" / "words"
    corpus.mkdir(parents=True)
    for name in ("en", "en-basic", "README"):
        (corpus / name).write_text("\n".join(words), encoding="utf-8")
    tagger = root / "taggers" / "averaged_perceptron_tagger_eng"
    tagger.mkdir(parents=True)
    tags = {"weights": {}, "tagdict": dict.fromkeys([*words, "test"], "NN"), "classes": ["NN"]}
    for name, data in tags.items():
        tagger.joinpath(f"{tagger.name}.{name}.json").write_text(json.dumps(data))
    return root


@pytest.mark.slow
def test_word_games_play_where_nltk_has_its_data(nltk_data):
    done = [
        run(PLAY, h, *WORD_GAMES, PYTHONHASHSEED=str(h), NLTK_DATA=str(nltk_data)) for h in (1, 2)
    ]
    assert "You are Playing Wordle" in done[0].stdout, done[0].stderr
    assert done[0].stdout == done[1].stdout


@pytest.mark.slow
def test_word_games_say_which_data_they_need(tmp_path):
    done = run(PLAY, 0, "Hangman-v0", NLTK_DATA=str(tmp_path), HOME=str(tmp_path))
    assert done.stderr.splitlines()[-1] == (
        "gymnasium.error.Error: TextArena cannot make Hangman-v0: it needs data: "
        "python -m nltk.downloader words averaged_perceptron_tagger_eng"
    )


@pytest.mark.parametrize(
    ("missing", "code", "said"),
    first_fast(
        [
            ("textarena", "", "ragen_envs.integrations.textarena needs textarena"),
            ("pettingzoo", "; t.pettingzoo_env('Nim-v0')", "pettingzoo_env needs pettingzoo"),
        ]
    ),
)
def test_a_missing_package_is_named_in_one_line(missing, code, said):
    block = f"import sys; sys.modules[{missing!r}] = None; "
    block += f"import ragen_envs.integrations.textarena as t{code}"
    last = run(block).stderr.splitlines()[-1]
    assert last == (
        f"ImportError: {said}: pip install 'ragen-bench[textarena]' "
        "(in a checkout: pip install '.[textarena]')"
    )


def test_the_core_does_not_import_textarena():
    code = "import sys, ragen_envs; print([m for m in ('textarena', 'nltk') if m in sys.modules])"
    assert run(code).stdout == "[]\n"
