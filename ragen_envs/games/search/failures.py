"""Search: wrong answers by what had been read before, and answers that never came."""

from __future__ import annotations

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode
from ragen_envs.games.search.calls import normalize
from ragen_envs.games.search.env import SearchEnv, Stand
from ragen_envs.games.search.generator import Task


class SearchFailures(FailureLabeler):
    """Labels episodes of Search; a wrong answer is decisive."""

    def read_state(self, env: SearchEnv) -> Stand:
        return env.stand

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        """Return the failure of the answer, by the first of its labels that fits."""
        if not episode.steps or episode.steps[-1].after.given is None:
            return None
        stand: Stand = episode.steps[-1].after
        task: Task = episode.instance.task
        answered = normalize(stand.given or "")
        if stand.results is None:
            label = "never_searched"
        elif answered in (normalize(task.world.name(thing)) for thing in task.chain[:-1]):
            label = "stopped_on_the_way"
        elif not _has_read_all(task, stand):
            label = "answered_early"
        else:
            label = "misread"
        return Failure(label, len(episode.steps))

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the turn that opened the last needed page, if there is one."""
        task: Task = episode.instance.task
        for step in episode.steps:
            if _has_read_all(task, step.after):
                return Failure("no_answer", step.number)
        return Failure("out_of_budget", len(episode.steps))


def _has_read_all(task: Task, stand: Stand) -> bool:
    return all(lookup.page in stand.opened for lookup in task.lookups)
