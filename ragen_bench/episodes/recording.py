"""The missing episodes of a run, played and recorded, with those that a server left unfinished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from ragen_bench.episodes.form_rate import FormRate
from ragen_bench.episodes.runner import Played, missing, play
from ragen_bench.errors import UserError
from ragen_bench.models import Model
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import EpisodeRecord, Key, TurnRecord
from ragen_bench.suites import states_form

if TYPE_CHECKING:
    from ragen_bench.episodes.evaluation import Evaluation


class Recorder:
    """Plays the missing episodes of a run and records them; `recorded` has the success of each.

    Given-up episodes that count as failures are recorded once the server has answered since, or is
    still there at the end: a server that goes away decides no score.
    """

    def __init__(
        self,
        run: RunDirectory,
        evaluation: Evaluation,
        recorded: dict[Key, bool | None],
        progress: Callable[[int, int, str, float | None], None],
        say: Callable[[str], None],
    ) -> None:
        self._run, self._evaluation, self._recorded = run, evaluation, recorded
        self._progress, self._say = progress, say
        self._successes = Counter(recorded.values())
        self._answers, self._env, self._reason = 0, "", ""
        self._given_up: list[EpisodeRecord] = []
        has_own = any(states_form(env) for env in evaluation.instances)
        self._rate = FormRate(evaluation, states_form=has_own)

    def complete(self, model: Model) -> None:
        """Play and record the missing episodes."""
        self._report()
        evaluation = self._evaluation
        for tasks in missing(evaluation.tasks(), model.group_size, self._recorded.keys()):
            for played in play(
                tasks,
                model,
                evaluation.sampling,
                evaluation.response_format,
                evaluation.history,
                on_answers=self._count_answers,
                on_turn=self._add_turn,
                make=evaluation.make,
            ):
                self._take(played)
        if self._given_up:
            if not (self._recorded or self._rate.answers):
                raise UserError(f"{self._reason}; no request was answered: nothing is scored", 1)
            model.probe()
            self._record(self._given_up)
            self._report()

    def _take(self, played: Played) -> None:
        self._env = played.task.env
        self._run.append_timing(self._env, played.seconds, played.elapsed)
        if played.record:
            self._record([*self._given_up, played.record])
            self._given_up.clear()
        else:
            self._run.append_fault(played.task.key, played.fault)
            self._reason = played.fault
            if played.given_up and self._evaluation.on_error == "fail":
                self._given_up.append(played.given_up)
        self._report()

    def _record(self, episodes: list[EpisodeRecord]) -> None:
        for episode in episodes:
            if episode.key not in self._recorded:  # as it is in a group that is played again
                self._run.append(episode)
                self._recorded[episode.key] = episode.success
                self._successes[episode.success] += 1

    def _report(self) -> None:
        known = self._successes[True] + self._successes[False]
        rate = self._successes[True] / known if known else None
        self._progress(len(self._recorded), self._answers, self._env, rate)

    def _count_answers(self, count: int) -> None:
        self._answers += count
        self._report()

    def _add_turn(self, turn: TurnRecord) -> None:
        self._rate.add(turn, turn.format_is_valid)
        if line := self._rate.report_once():
            self._say(f"Note: {line}.")
