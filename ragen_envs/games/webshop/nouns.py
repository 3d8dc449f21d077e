"""The nouns of titles: by spaCy where it is installed, else by a rule."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator

from ragen_envs.games.webshop.colours import COLOURS
from ragen_envs.games.webshop.tokens import STOP_WORDS

Nouns = Iterator[tuple[str, ...]]
MODELS = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm")
"""spaCy's English models; the original takes the first one."""
RULE = "a rule: words of 3 letters or more but stop words, colours, long ones in -able, -less, ..."

_WORD = re.compile(r"[^\W\d_]{3,}").findall
_NO_NOUNS = STOP_WORDS | frozenset(COLOURS) | {"all", "from", "more", "our", "out", "you", "your"}
_ENDINGS = ("able", "ible", "less", "ful", "ous")
_LONG = 7
"""Letters from which on an ending tells an adjective: "durable", and not "table" or "cable"."""


def noun_finder() -> tuple[Callable[[Iterable[str]], Nouns], str]:
    """Return what finds the nouns of titles, and what it is, in words.

    It yields each title's nouns in lower case, in their order and as often as they occur. What
    spaCy's models take for a noun differs from the rule, and between models: rewards that are to
    be compared need the same one.
    """
    if importlib.util.find_spec("spacy") is None:
        return _by_rule, RULE
    import spacy

    model = next((name for name in MODELS if spacy.util.is_package(name)), None)
    if model is None:
        return _by_rule, f"{RULE} (spaCy is installed, and none of {', '.join(MODELS)})"
    pipe = spacy.load(model, exclude=["ner"]).pipe

    def by_spacy(titles: Iterable[str]) -> Nouns:
        for title in pipe(titles):
            yield tuple(t.text.lower() for t in title if t.pos_ in ("NOUN", "PROPN"))

    return by_spacy, f"spaCy {spacy.__version__}, {model}"


def _by_rule(titles: Iterable[str]) -> Nouns:
    for title in titles:
        yield tuple(filter(_may_be_noun, _WORD(title.lower())))


def _may_be_noun(word: str) -> bool:
    return word not in _NO_NOUNS and not (len(word) >= _LONG and word.endswith(_ENDINGS))
