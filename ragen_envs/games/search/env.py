"""Search as a text environment."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ragen_envs.core.budget import Budget
from ragen_envs.core.protocol import ActionReader
from ragen_envs.core.text_env import TextEnv, by_name
from ragen_envs.games.search import text
from ragen_envs.games.search.calls import (
    EXAMPLE,
    FUNCTIONS,
    Call,
    SearchReader,
    call_of,
    normalize,
)
from ragen_envs.games.search.generator import GAME, Generator, Question, Task

WON_POINTS = 100
"""Reward of success, in hundredths."""


@dataclass(frozen=True)
class SearchVariant:
    """One environment of the family; the name, its id without namespace, labels its streams.

    Raises:
        ValueError: A turn has several calls, or the oracle needs more turns than there are.
    """

    name: str
    generator: Generator = Generator()
    budget: Budget = Budget(max_turns=12, max_actions_per_turn=1, max_actions=12)

    def __post_init__(self) -> None:
        if self.budget.max_actions_per_turn != 1:
            raise ValueError(f"{self.name}: set max_actions_per_turn=1; a turn has one call")
        needed = 2 * self.generator.max_hops + 1
        if needed > min(self.budget.max_turns, self.budget.max_actions):
            raise ValueError(
                f"{self.name}: a question of {self.generator.max_hops} hops takes up to {needed} "
                "turns; give the variant more turns and actions, or fewer hops"
            )


VARIANTS = by_name(SearchVariant("Search-v0"))


class Stand(NamedTuple):
    """The pages and actions of a player so far.

    Attributes:
        results: Latest results; None before the first search.
        page: The open page.
        opened: All pages opened so far.
        given: The answer that was given.
    """

    results: tuple[int, ...] | None = None
    page: int | None = None
    opened: frozenset[int] = frozenset()
    given: str | None = None


class SearchEnv(TextEnv[SearchVariant, Question]):
    """Answer a question by searching an encyclopedia of an invented world, page by page.

    | | |
    | --- | --- |
    | actions | one call per turn, as text, `search query=Corvilo Eskdrin`, or as a native call with typed arguments (`response_format="tools"`). search finds up to five pages, open shows the page of a result of the latest search, answer ends the episode. Case and blanks do not matter; what is not printable ASCII becomes a blank; a query or an answer has no "=", and a call up to 200 characters. |
    | rewards | +1 for the answer, else 0; -0.1 once for a turn with a broken format or without a well-formed call. Opening a result that is not there costs only its turn. |
    | ends | terminated by an answer; truncated after 12 turns; the oracle takes up to 9 |
    | success | the answer is the right one, in lower case and without punctuation, "a", "an" and "the" |
    | instances | a world of 66 things (people, towns, regions, rivers, works, buildings, books) and 177 facts, one page for each thing, and a question of 2 to 4 hops from a named thing: "Who is the founder of the employer of Corvilo Eskdrin?" |
    | randomness | none: `noise_seed` changes nothing |
    | info | `ceiling` 1.0; `hops`: number of hops of the question; `needed`: number of pages that state its facts; `found`: of these, pages opened so far; `searches`: number of searches so far |
    | oracle | searches for the last name that it knows, opens the page with the next fact, and answers |

    A hop leads from a thing to what its page says of it, such as the teacher of a person, or to the
    only thing whose page says this of it, such as the pupil of a person. So a question has exactly
    one answer. No needed page but the last one names it, and a search for the name that is known
    shows each needed page among its results.

    The search ranks pages by BM25, as WebShop's does, with titles counted twice. Names share
    families, and works, buildings and books share names with families and towns, so the first
    result is not always the page that was meant.

    A random number decides the world, its only question and the split. So no fact of val, test or
    sealed occurs in training. The names of their worlds do not either: they have stems of their own.

    `info["action_is_effective"]`: other results, another page, or an answer.
    `info["legal_actions"]` lists the search for the named thing and for the names on the open page,
    the results, and the answers that the open page names. Any other well-formed call is valid too.
    The random player uses only the listed ones.

    ```python
    import gymnasium, ragen_envs

    env = gymnasium.make("ragen/Search-v0", split="test", response_format="plain")
    observation, info = env.reset(seed=0)
    observation, reward, terminated, truncated, info = env.step(info["legal_actions"][0])
    assert info["searches"] == 1 and "open result=1" in info["legal_actions"]
    ```
    """  # noqa: E501 (a Markdown table has one row a line)

    __slots__ = ("_question", "_searches", "_stand")
    variants = VARIANTS
    game = GAME
    held_out_files = "questions/{name}-{split}.txt"
    stochastic = False
    example = EXAMPLE
    functions = FUNCTIONS

    @property
    def task(self) -> Task:
        """The task of the episode, for players with full knowledge."""
        return self._question.task

    @property
    def stand(self) -> Stand:
        return self._stand

    def write_instance(self, instance: Question) -> tuple[str, dict[str, object]]:
        """Return the question with its answer, and the number that they follow from."""
        generator = self.variant.generator
        hops = {"min_hops": generator.min_hops, "max_hops": generator.max_hops}
        return instance.task.text, {"number": instance.number, **hops}

    @staticmethod
    def read_instance(body: str, fields: dict[str, str]) -> Question:
        hops = int(fields["min_hops"]), int(fields["max_hops"])
        return Question(int(fields["number"]), *hops, shipped=body)

    def start_instance(self, instance: Question) -> ActionReader:
        self._question = instance
        self._stand = Stand()
        self._searches = 0
        return self._list_calls()

    def _list_calls(self) -> SearchReader:
        task, (results, page, _, _) = self.task, self._stand
        facts = () if page is None else task.world.facts_on[page]
        named = dict.fromkeys(fact.object for fact in facts)
        asked = (thing for thing in named if thing < len(task.world.titles))
        calls = chain(
            (Call("search", task.world.name(thing).lower()) for thing in (task.chain[0], *asked)),
            (Call("open", str(place)) for place in range(1, len(results or ()) + 1)),
            (Call("answer", task.world.name(thing).lower()) for thing in named),
        )
        return SearchReader(tuple(dict.fromkeys(call.text for call in calls)))

    def apply_action(self, action: int) -> tuple[int, bool]:
        call = call_of(self.action_reader.actions[action])
        if call is None:
            raise ValueError(f"{self.action_reader.actions[action]!r} is not a call")
        before = self._stand
        if call.function == "search":
            self._searches += 1
            results = tuple(self.task.world.search(call.argument))
            self._stand = before._replace(results=results, page=None)
        elif call.function == "open":
            results, place = before.results or (), int(call.argument) - 1
            if place < len(results):
                page = results[place]
                self._stand = before._replace(page=page, opened=before.opened | {page})
        else:
            self._stand = before._replace(given=call.argument)
            self.terminated = True
            self.success = normalize(call.argument) == normalize(self.task.answer)
            return WON_POINTS * self.success, True
        return 0, self._stand != before

    def end_turn(self) -> None:
        self.change_actions(self._list_calls())

    def compute_extra_info(self) -> dict[str, float]:
        found = sum(lookup.page in self._stand.opened for lookup in self.task.lookups)
        return {"found": float(found), "searches": float(self._searches)}

    def describe_rules(self) -> str:
        return text.rules(self.budget.max_turns)

    def render_state(self) -> str:
        results, page, _, given = self._stand
        return text.render(self.task, results, page, given)

    def compute_oracle_info(self, instance: Question) -> dict[str, float]:
        task = instance.task
        return {
            "ceiling": 1.0,
            "hops": float(len(task.hops)),
            "needed": float(len(task.lookups)),
        }

    def find_best_actions(self) -> tuple[str, ...]:
        """Search for the last known name, open the next needed page, or answer at the end."""
        task, (results, _, opened, _) = self.task, self._stand
        missing = next((lookup for lookup in task.lookups if lookup.page not in opened), None)
        if missing is None or self.turns_left == 1:
            call = Call("answer", task.answer.lower())
        elif missing.page in (results or ()):
            call = Call("open", str((results or ()).index(missing.page) + 1))
        else:
            call = Call("search", task.world.name(missing.by).lower())
        return (call.text,)
