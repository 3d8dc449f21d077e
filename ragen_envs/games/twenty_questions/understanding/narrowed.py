"""Questions that say more than the tables hold.

"Does it have a hard shell that protects its body?" is surely false of a thing without a shell; of a
thing with one, the answer is unknown. So words that are not understood may be left out, if the rest
is understood and is surely wider. Such a question is never answered Yes.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragen_envs.games.twenty_questions import forms
from ragen_envs.games.twenty_questions.forms import Form
from ragen_envs.games.twenty_questions.knowledge.schema import Knowledge
from ragen_envs.games.twenty_questions.understanding.conjunctions import ReadClause
from ragen_envs.games.twenty_questions.understanding.grammar import is_asked
from ragen_envs.games.twenty_questions.understanding.lexicon import Lexicon
from ragen_envs.games.twenty_questions.understanding.tokens import Tokens, word_set

_ARTICLES = word_set("a an the its")
_MARKS = word_set("that which who whose")
"""Words after a noun that narrow it, as do those of the next two sets."""
_TIMES = word_set("in on at during while when throughout across by using as before after near with")
_PURPOSES = word_set("for to of from through around along over under between like where")
_SUBJECTS = word_set("it people")
_NO_ADJECTIVES = (
    _TIMES | _PURPOSES | _MARKS | _SUBJECTS | word_set("inside outside up down out off")
)
_TURNING = word_set(
    "not no without fewer less few little more most least zero rather any than unlike except "
    "fake false artificial toy mock imaginary or and if unless but what how other another never "
    "non missing lost absent broken equal same i me my mine our "
    "pretend virtual power treatment balloon robot wax plush stuffed model"
)
"""Words that do not narrow a thing: they deny, compare, join, or name another thing."""
_AFTER_A_NOUN = word_set(
    "visible available found used made known designed intended meant located built created kept "
    "seen worn eaten named called belonging living native capable able adapted similar related"
)
"""Words after a noun that narrow it, if an article precedes it."""
_STRICT = word_set(
    "only exclusively solely entirely fully always completely uniquely exactly strictly"
)
"""Words whose removal widens the meaning: "found only in Australia"."""
_PARTS_OF_PLACES = word_set(
    "bottom floor surface depths canopy edge edges banks middle heart shore shores coast coasts "
    "plains savannas savannahs forests jungles mountains rivers deserts grasslands waters"
)
_SHORTEST_HEAD = 3
_MOST_DROPPED = 3
_FACTS_OF_EVERYTHING = word_set(
    "is_a_thing is_real is_visible is_a_noun is_group is_family is_used_by_people"
)
_OF_EVERYTHING = frozenset((forms.Has("is_tangible"), *map(forms.Knows, _FACTS_OF_EVERYTHING)))
"""Forms that are true of nearly every word, so that they are hardly the question."""
_OF_IT = word_set("its the")
_SOMETHING = word_set("something anything somewhere")
_NARROW_KINDS = word_set(
    "animal plant person building vehicle musical_instrument heavenly_body landform body_of_water "
    "weather structure place fruit vegetable drink clothing furniture jewellery body_part "
    "sports_equipment toy game"
)
"""Kinds whose names are rarely used for other things, unlike "tool" or "food"."""
_WITH_A_PREPOSITION = word_set(
    "look taste smell sound feel seem need like want try use have run work go"
)
"""Verbs whose meaning depends on the next word: "look like", "run on"."""


def read_narrowed(tokens: Tokens, clause: ReadClause, lexicon: Lexicon) -> Form | None:
    """Return the form of a question without words that are not understood, None without one."""
    if tokens[:2] == ("is", "its") and len(tokens) > _SHORTEST_HEAD:
        tokens = ("does", "it", "have", *tokens[3:], tokens[2])
    if not is_asked(tokens) or tokens[1] in _OF_IT:
        return None
    for shorter in _shorter(tokens):
        if len(shorter) < _SHORTEST_HEAD or _is_property(shorter, lexicon):
            continue
        form = clause(shorter)
        end = len(shorter)
        of_noun = tokens[:end] == shorter and tokens[end : end + 1] == ("of",)
        if form and _may_be_narrowed(form, of_noun, lexicon.knowledge):
            return forms.Narrowed(form)
    return None


def _shorter(tokens: Tokens) -> Iterator[Tokens]:
    """Yield a question without modifiers, the longest first."""
    if _TURNING.intersection(tokens[1:]):
        return
    if loose := _STRICT.intersection(tokens):
        tokens = tuple(token for token in tokens if token not in loose)
        yield tokens
    if tokens[:2] == ("does", "it") and tokens[3:4] == ("its",):
        tokens = ("does", "it", "have", *tokens[4:])
        yield tokens
    if len(tokens) > _SHORTEST_HEAD + 2 and (part := _part_of_place(tokens)):
        yield part
    for end in (len(tokens), *reversed(list(_joints(tokens)))):
        head = tokens[:end]
        if end < len(tokens):
            yield head
        yield from _without_adjectives(head)


def _part_of_place(tokens: Tokens) -> Tokens | None:
    """Return the question for a place instead of a part of it ("the bottom of the ocean")."""
    parts = (at for at in range(_SHORTEST_HEAD, len(tokens) - 2) if tokens[at + 1] == "of")
    at = next((at for at in parts if tokens[at] in _PARTS_OF_PLACES), None)
    return None if at is None else (*tokens[:at], *tokens[at + 2 :])


def _joints(tokens: Tokens) -> Iterator[int]:
    """Yield the indices at which a modifier of the preceding words begins."""
    for at in range(_SHORTEST_HEAD, len(tokens) - 1):
        verb_alone = at == _SHORTEST_HEAD and tokens[2] in _WITH_A_PREPOSITION
        bare = tokens[at] in _SUBJECTS and (tokens[2] == "have" or tokens[2] in _ARTICLES)
        if (
            tokens[at] in _MARKS
            or (bare and tokens[at - 1] not in _TIMES | _PURPOSES)
            or (tokens[at] in _TIMES | _PURPOSES and not verb_alone)
            or (tokens[at] in _AFTER_A_NOUN and tokens[2] in _ARTICLES)
        ):
            yield at


def _without_adjectives(tokens: Tokens) -> Iterator[Tokens]:
    """Yield a question without the first words after its last article, or after "have"."""
    places = [at for at, word in enumerate(tokens) if word in _ARTICLES or word == "have"]
    for at in (at for at in places[-1:] if tokens[at - 1] != "of"):
        last = min(at + _MOST_DROPPED, len(tokens) - 2)
        for dropped in range(at + 1, last + 1):
            if _NO_ADJECTIVES.intersection(tokens[dropped : dropped + 2]):
                return
            yield (*tokens[: at + 1], *tokens[dropped + 1 :])


def _is_property(tokens: Tokens, lexicon: Lexicon) -> bool:
    """Whether the question is for a property, which a narrower thing may have without the wider."""
    said = tokens[3:] if tokens[2] in _SOMETHING else tokens[2:]
    return tokens[0] == "is" and (
        len(said) < 2 or (said[0] not in _ARTICLES and bool(lexicon.meaning("is", said)))
    )


def _may_be_narrowed(form: Form, of_noun: bool, knowledge: Knowledge) -> bool:
    """Whether more words narrow the form; "a relative of" it is another thing."""
    match form:
        case forms.And(parts) | forms.Either(parts):
            return all(_may_be_narrowed(each, of_noun, knowledge) for each in parts)
        case forms.IsKind(kind):
            return _is_below(kind, knowledge)
        case forms.Has() | forms.IsNoun() | forms.Knows():
            return not of_noun and form not in _OF_EVERYTHING
        case _:
            return False


def _is_below(kind: str, knowledge: Knowledge) -> bool:
    parents = knowledge.kinds[kind].parents
    return kind in _NARROW_KINDS or any(_is_below(each, knowledge) for each in parents)
