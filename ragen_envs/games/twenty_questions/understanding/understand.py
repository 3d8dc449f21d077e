"""The one function that understands questions."""

from __future__ import annotations

from functools import lru_cache

from ragen_envs.games.twenty_questions.forms import Form
from ragen_envs.games.twenty_questions.knowledge.schema import Knowledge
from ragen_envs.games.twenty_questions.understanding.reader import Reader

# By identity, since a knowledge has no hash; a reader keeps its knowledge, so that no other one
# can take its identity.
_READERS: dict[int, Reader] = {}
_CACHED_LENGTH = 200
"""Characters of the longest question whose form is kept: players ask the same ones again."""


def understand(text: str, knowledge: Knowledge) -> Form | None:
    """Return what a question in free English asks.

    Args:
        text: what the player says.
        knowledge: the kinds, features, scales and concepts that can be asked for.

    Returns:
        The form, or None if the question is not understood: it asks for what the knowledge does
        not hold, or for no Yes or No, or two questions stand in one turn that neither "and" nor
        "or" joins. `Guess` is the form of a single concept alone, so that only one word can win.
    """
    reader = _READERS.get(id(knowledge))
    if reader is None:
        reader = _READERS[id(knowledge)] = Reader(knowledge)
    return _kept(reader, text) if len(text) <= _CACHED_LENGTH else reader.read(text)


@lru_cache(maxsize=1 << 12)
def _kept(reader: Reader, text: str) -> Form | None:
    return reader.read(text)
