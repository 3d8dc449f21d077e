"""An encyclopedia as a patient reader has it, who knows pages, wordings and nothing else."""

import math
import re
import tomllib
from importlib.resources import files

from ragen_envs.core.terms import terms

TABLES = tomllib.loads(
    files("ragen_envs.games.search").joinpath("vocabulary.toml").read_text(encoding="utf-8")
)
RELATIONS = TABLES["relation"]


def facts_on(page):
    """Return the title of a page, and (relation, name) for each of its sentences."""
    title, kind, rest = re.fullmatch(r"(.+) \((\w+)\)\. ?(.*)", page).groups()
    found = []
    for sentence in rest.split(". ") if rest else []:
        read = [
            (relation["name"], match[1])
            for relation in RELATIONS
            if relation["subject"] == kind
            for clause in relation["clauses"]
            if (match := re.fullmatch(_pattern(clause.rstrip(".")), sentence.rstrip(".")))
        ]
        assert len(read) == 1, sentence
        found += read
    return title, found


def answers(pages, question):
    """Return the names of each step of a question in words, all of them that fit."""
    facts = [(title, *fact) for title, found in map(facts_on, pages) for fact in found]
    phrase = re.fullmatch(r"(?:Who|What) is (.+)\?", question)[1]
    hops = []
    while read := _outermost(phrase):
        hops.append(read[:2])
        phrase = read[2]
    steps = [{phrase}]
    for relation, is_inverse in reversed(hops):
        steps.append(
            {
                subject if is_inverse else thing
                for subject, name, thing in facts
                if name == relation and (thing if is_inverse else subject) in steps[-1]
            }
        )
    return steps


def _outermost(phrase):
    """Return the relation of the outermost phrase, its direction, and the phrase inside."""
    found = [
        (relation["name"], way == "inverse", match[1])
        for relation in RELATIONS
        for way in ("forward", "inverse")
        if way in relation and (match := re.fullmatch(_pattern(relation[way]), phrase))
    ]
    assert len(found) < 2, phrase
    return found[0] if found else None


def _pattern(form):
    return re.escape(form).replace(re.escape("{}"), "(.+)")


def scores(titles, pages, query):
    """Return the BM25 of each page, from the formula; titles count twice."""
    documents = [
        terms(f"{title} {page}".lower()) for title, page in zip(titles, pages, strict=True)
    ]
    average = sum(map(len, documents)) / len(documents)
    found = []
    for document in documents:
        score = 0.0
        for word in terms(query.lower()):
            holders = sum(word in other for other in documents)
            count = document.count(word)
            if count:
                idf = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
                score += idf * count / (count + 0.9 * (0.6 + 0.4 * len(document) / average))
        found.append(score)
    return found
