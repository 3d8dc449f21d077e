"""Writes what Twenty Questions takes from WordNet: nouns, and which the words are kinds of.

    python scripts/build_nouns.py /usr/share/wordnet

The folder is that of Princeton's WordNet 3.0 (Debian: wordnet-base), with data.noun and index.noun.
It writes nouns.txt and related.toml in `ragen_envs/games/twenty_questions/knowledge/wordnet/`, out
of the
senses in senses.toml. The licence lies beside them.
"""

from __future__ import annotations

import argparse
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parents[1] / "ragen_envs/games/twenty_questions/knowledge/wordnet"
OTHERWISE = {
    table: frozenset(words.split())
    for table, words in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text("utf-8")
    ).items()
}
"""The exceptions of build_nouns.toml."""
CLASSES = {
    5: "animal", 6: "artifact", 8: "body", 13: "food", 17: "nature", 18: "person", 19: "nature",
    11: "event", 20: "plant", 21: "possession", 27: "nature",
}  # fmt: skip
"""Classes by WordNet's number of a noun file. Nouns of other files are abstract and left out."""
TOPS = 3
WIDEST = {"animal": 4000, "person": 60, "artifact": 25, "plant": 60, "food": 25}
WIDEST_ABOVE = {"animal": 4000, "plant": 300}
"""Maximum number of kinds below a noun for which membership is denied, by class."""
RANKS = {"above": 3, "below": 1}
"""The last sense of a noun that counts: a slug is rarely a coin."""


@dataclass(frozen=True)
class Synset:
    """A set of synonyms.

    Attributes:
        file: WordNet's number of its noun file.
        words: The words, as spelled.
        above: Offsets of its direct hypernyms.
        instance: True for an individual, such as a person or a place.
    """

    file: int
    words: tuple[str, ...]
    above: tuple[str, ...]
    instance: bool


class WordNet:
    """The nouns of WordNet, by the files of its database."""

    def __init__(self, folder: Path) -> None:
        self.synsets = dict(map(_synset, _lines(folder / "data.noun")))
        self.senses = dict(map(_senses, _lines(folder / "index.noun")))
        self._below: dict[str, list[str]] = defaultdict(list)
        for offset, synset in self.synsets.items():
            for above in () if synset.instance else synset.above:
                self._below[above].append(offset)

    def above(self, offset: str) -> set[str]:
        """Return all hypernyms."""
        return _reached(offset, {key: synset.above for key, synset in self.synsets.items()})

    def below(self, offset: str) -> set[str]:
        """Return all hyponyms."""
        return _reached(offset, self._below)

    def sense(self, written: str) -> str:
        """Return the offset of a sense, such as "dog 1"."""
        lemma, number = written.split()
        return self.senses[lemma][int(number) - 1]


def _lines(path: Path) -> Iterable[list[str]]:
    with path.open(encoding="latin-1") as lines:
        yield from (line.split(" | ")[0].split() for line in lines if line[0] != " ")


def _synset(fields: list[str]) -> tuple[str, Synset]:
    count = int(fields[3], 16)
    words = tuple(fields[4 : 4 + 2 * count : 2])
    rest = fields[5 + 2 * count :]
    pointers = [(rest[at], rest[at + 1]) for at in range(0, 4 * int(fields[4 + 2 * count]), 4)]
    above = tuple(offset for sign, offset in pointers if sign in ("@", "@i"))
    instance = any(sign == "@i" for sign, _ in pointers)
    return fields[0], Synset(int(fields[1]), words, above, instance)


def _senses(fields: list[str]) -> tuple[str, list[str]]:
    return fields[0], fields[-int(fields[2]) :]


def _reached(start: str, edges: Mapping[str, Iterable[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for other in edges.get(waiting.pop(), ()):
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return reached


def related(net: WordNet, senses: Mapping[str, str]) -> dict[str, dict[str, list[str]]]:
    """Return the nouns that words are kinds of, and those that are kinds of words.

    Args:
        net: all nouns.
        senses: the senses of each word.
    """
    found: dict[str, dict[str, set[str]]] = {"above": {}, "below": {}}
    for word, written in senses.items():
        own = {net.sense(each) for each in written.split(", ")}
        for side, reach in (("above", net.above), ("below", net.below)):
            same = own if side == "above" else set()
            for offset in same.union(*map(reach, own)):
                for noun in _nouns(net, offset, RANKS[side]):
                    found[side].setdefault(noun, set()).add(word)
    names = {word.lower() for word in senses}
    return {
        side: {
            noun: sorted(words)
            for noun, words in sorted(nouns.items())
            if noun not in names or (side == "above" and len(words) > 1)
        }
        for side, nouns in found.items()
    }


def _nouns(net: WordNet, offset: str, rank: int) -> Iterable[str]:
    """Yield the nouns of a synset that are written small and have it among their first senses."""
    synset = net.synsets[offset]
    if synset.file == TOPS or synset.instance or synset.file not in CLASSES:
        return
    left_out = OTHERWISE["not_said"] | OTHERWISE["by_use"] | OTHERWISE["of_life"]
    for word in synset.words:
        if _plain(word) and word not in left_out and offset in net.senses[word.lower()][:rank]:
            yield _spoken(word)


def _spoken(word: str) -> str:
    return word.replace("_", " ").replace("-", " ")


def _plain(word: str) -> bool:
    return bool(re.fullmatch(r"[a-z][a-z'-]+(_[a-z][a-z'-]+)?", word))


def classes(net: WordNet, above: Mapping[str, object]) -> dict[str, str]:
    """Return the classes of each noun, those with many kinds below with a "+" behind.

    Args:
        net: all nouns.
        above: the nouns that words of the game are kinds of; as WordNet does not name all that is,
            few kinds make them wide.
    """
    found: dict[str, dict[str, bool]] = {}
    for offset, synset in net.synsets.items():
        kind = CLASSES.get(synset.file)
        if synset.instance or kind is None:
            continue
        count = len(net.below(offset))
        for word in filter(_plain, synset.words):
            most = WIDEST_ABOVE.get(kind, 8) if _spoken(word) in above else WIDEST.get(kind, 300)
            wide = count > most or word in OTHERWISE["by_life"]
            if word in OTHERWISE["of_life"]:
                found[word] = {"animal": True, "person": True}
            elif word not in OTHERWISE["by_use"]:
                each = found.setdefault(_spoken(word), {})
                each[kind] = each.get(kind, False) or wide
    found |= {word: {"idea": False} for word in OTHERWISE["no_thing"] if word not in found}
    return {
        noun: " ".join(kind + "+" * wide for kind, wide in sorted(each.items()))
        for noun, each in sorted(found.items())
    }


def _short(
    nouns: Mapping[str, str], sides: Mapping[str, Mapping[str, object]], names: set[str]
) -> dict[str, str]:
    """Return the single words, and those of several words that are not what their last word is.

    "Guinea pig" is kept, as it is no pig; of "fur coat" the last word says enough.
    """
    return {
        noun: kinds
        for noun, kinds in nouns.items()
        if " " not in noun or (noun.split()[-1] in names and noun not in sides["below"])
    }


def main() -> None:
    """Write the extract."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="with data.noun and index.noun")
    net = WordNet(parser.parse_args().folder)
    senses: dict[str, str] = tomllib.loads((HERE / "senses.toml").read_text("utf-8"))
    sides = related(net, senses)
    names = {word.lower() for word in senses}
    by_class: dict[str, list[str]] = {}
    for noun, kinds in _short(classes(net, sides["above"]), sides, names).items():
        by_class.setdefault(kinds, []).append(noun)
    lines = [f"{kinds}: {', '.join(nouns)}\n" for kinds, nouns in sorted(by_class.items())]
    (HERE / "nouns.txt").write_text(_NOUNS + "".join(lines), "utf-8")
    sides["below"] = {
        noun: words for noun, words in sides["below"].items() if noun.split()[-1] not in words
    }
    tables = [
        f"[{side}]\n"
        + "".join(f'"{noun}" = "{", ".join(words)}"\n' for noun, words in nouns.items())
        for side, nouns in sides.items()
    ]
    (HERE / "related.toml").write_text(f"{_RELATED}\n" + "\n".join(tables), "utf-8")


_FROM = "# Written by scripts/build_nouns.py from WordNet 3.0, under the licence in LICENSE.txt.\n"
_RELATED = f"{_FROM}# above: what words of the game are kinds of; below: kinds of a word.\n"
_NOUNS = f"{_FROM}# The classes of a noun, with + where much is of that kind, and the nouns.\n"

if __name__ == "__main__":
    main()
