"""Writes the English words that the reader of Twenty Questions must not take for misspelled.

    PYTHONPATH=. python scripts/build_meant_words.py /usr/share/wordnet

The folder is that of Princeton's WordNet 3.0. Of its words and their regular inflections those are
written to `ragen_envs/games/twenty_questions/understanding/tables/meant.txt` that differ by a
letter from
a word of the reader's tables, and would be corrected to it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from ragen_envs.games.twenty_questions.knowledge.loader import load
from ragen_envs.games.twenty_questions.understanding import grammar
from ragen_envs.games.twenty_questions.understanding.lexicon import lexicon
from ragen_envs.games.twenty_questions.understanding.spelling import correct_spelling

PAGE = Path(grammar.__file__).parent / "tables/meant.txt"
WIDTH = 100
_INFLECTIONS = {
    "noun": (grammar.plural,),
    "verb": (grammar.third_person, grammar.gerund, grammar.participle),
    "adj": (),
    "adv": (),
}


def english(folder: Path) -> Iterator[str]:
    """Yield single words of WordNet, as they stand and inflected."""
    for part, inflections in _INFLECTIONS.items():
        with (folder / f"index.{part}").open(encoding="latin-1") as lines:
            lemmas = [line.split()[0] for line in lines if line[0] != " "]
        for lemma in filter(str.isalpha, lemmas):
            yield lemma
            yield from (inflected(lemma) for inflected in inflections)
        with (folder / f"{part}.exc").open(encoding="latin-1") as lines:
            yield from (line.split()[0] for line in lines)


def main() -> None:
    """Write the words."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="with index.noun and the like")
    folder = parser.parse_args().folder
    PAGE.write_text("", "utf-8")
    known = lexicon(load())
    words = {word for word in english(folder) if word.isascii() and word.islower()}
    meant = sorted(w for w in words if correct_spelling((w,), known) != (w,))
    lines = [""]
    for word in meant:
        if len(lines[-1]) + len(word) >= WIDTH:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".lstrip()
    PAGE.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
