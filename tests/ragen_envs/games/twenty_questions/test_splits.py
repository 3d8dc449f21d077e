"""Words are dealt by category, and none of a held-out part is ever played in training."""

import hashlib
from collections import Counter

import pytest

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.twenty_questions.env import TwentyQuestionsEnv
from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.splits import NEW_CATEGORIES, PER_CATEGORY, parts, secrets
from tests.ragen_envs.support import TWENTY_QUESTIONS, blocks, make

V0, NEW = TWENTY_QUESTIONS


def words_of(name, split):
    """Return the shipped words and categories, read without the package's reader."""
    return [
        (rows[0], figures["category"])
        for figures, rows in blocks("twenty_questions/words", f"{name}-{split}.txt")
    ]


def test_every_word_is_dealt_once():
    assert parts().keys() == load().concepts.keys()
    assert Counter(parts().values())["none"] <= len(NEW_CATEGORIES)
    by_part = Counter(parts().values())
    assert by_part["val"] == by_part["test"] == 60 + 31
    assert by_part["train"] > 250


@pytest.mark.parametrize("split", ["val", "test"])
def test_each_category_gives_as_many_words(split):
    counts = Counter(category for _, category in words_of(V0, split))
    assert counts == dict.fromkeys(load().categories.keys() - NEW_CATEGORIES, PER_CATEGORY)
    new = Counter(category for _, category in words_of(NEW, split))
    assert new == {c: len(load().categories[c]) // 2 for c in NEW_CATEGORIES}
    for name in TWENTY_QUESTIONS:
        for word, category in words_of(name, split):
            assert load().concepts[word].category == category


def test_all_words_are_published_so_none_can_be_sealed():
    assert [TwentyQuestionsEnv.held_out_size(name) for name in TWENTY_QUESTIONS] == [60, 31]
    assert not TwentyQuestionsEnv.has_sealed


def test_the_deal_is_that_of_a_hash_of_the_name():
    for category, words in load().categories.items():
        ordered = sorted(
            words, key=lambda word: hashlib.sha256(f"twenty-questions\0{word}".encode()).hexdigest()
        )
        share = len(words) // 2 if category in NEW_CATEGORIES else 3
        assert {parts()[word] for word in ordered[:share]} == {"val"}
        assert {parts()[word] for word in ordered[share : 2 * share]} == {"test"}
        assert {parts()[word] for word in ordered[2 * share :]} <= {"train", "none"}


def test_no_held_out_word_is_a_word_of_training():
    held_out = {
        word for name in TWENTY_QUESTIONS for split in ("val", "test")
        for word, _ in words_of(name, split)
    }  # fmt: skip
    assert len(held_out) == 2 * (60 + 31)
    played = {}
    for name in TWENTY_QUESTIONS:
        env = make(name)
        played[name] = {env.get_instance(seed).word for seed in range(4000)}
        assert played[name].isdisjoint(held_out)
        categories = {load().concepts[word].category for word in played[name]}
        assert categories == load().categories.keys() - NEW_CATEGORIES
    train = {word for word, part in parts().items() if part == "train"}
    assert played[V0] == played[NEW] == train


@pytest.mark.parametrize("name", TWENTY_QUESTIONS)
def test_the_held_out_number_of_a_variant_is_that_of_its_words(name):
    variant = TwentyQuestionsEnv.variants[name]
    for split in ("val", "test"):
        words = [one for one in secrets(variant.new_categories) if one.part == split]
        assert len(words) == TwentyQuestionsEnv.held_out_size(name) == variant.held_out
        assert sorted(one.word for one in words) == sorted(w for w, _ in words_of(name, split))


def test_words_of_training_come_as_often_as_others():
    env = make(V0)
    candidates = env.generate_instances(RandomStream("often"))
    counts = Counter(next(candidates).word for _ in range(20_000))
    assert max(counts.values()) < 3 * min(counts.values())
    assert len(counts) == len(secrets(False))
