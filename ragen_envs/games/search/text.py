"""The texts of Search."""

from __future__ import annotations

from collections.abc import Sequence

from ragen_envs.core.wording import pluralize
from ragen_envs.games.search.generator import Task
from ragen_envs.games.search.world import HITS


def rules(turns: int) -> str:
    """Return the rules."""
    return (
        "You answer a question with a small encyclopedia of an invented world. The facts that lead "
        "to the answer stand on several pages.\n"
        f"Calls: search query=WORDS finds the {HITS} pages that fit the words best; "
        "open result=NUMBER shows the page of a result of the latest search; answer text=ANSWER "
        "answers the question and ends the episode.\n"
        "The answer is the title of a page, or a year. Case, punctuation and articles do not "
        "matter. Reward: 1 if it is correct, else 0.\n"
        f"You have {pluralize(turns, 'turn')} with one call each."
    )


def render(task: Task, results: Sequence[int] | None, page: int | None, given: str | None) -> str:
    """Return the question, the latest results, the open page, and after the end the answer."""
    world = task.world
    lines = [f"Question: {task.question}"]
    if results is None:
        lines.append("Nothing has been searched for.")
    else:
        listed = (f"{place}. {world.titles[thing]}" for place, thing in enumerate(results, 1))
        lines.append(f"Results: {'; '.join(listed) or 'none'}")
    if page is not None:
        lines.append(f"Page: {world.pages[page]}")
    if given is not None:
        lines.append(f"Your answer: {given}. The answer is {task.answer}.")
    return "\n".join(lines)
