"""Checks the episodes of an entry one by one: form, order, replay, token counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ragen_bench.episodes.replay import Replayer, UnplayableError
from ragen_bench.episodes.runner import tasks_of
from ragen_bench.leaderboard.limits import PROBLEMS, PROMPT_TOKENS
from ragen_bench.leaderboard.order import Roll
from ragen_bench.leaderboard.plausibility import Plausibility
from ragen_bench.leaderboard.scripted import ScriptedAnswers
from ragen_bench.leaderboard.strict_json import BadJsonError, parse
from ragen_bench.leaderboard.tokens import TokenCheck
from ragen_bench.runs.checked import BadRecordError, read_episode
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.runs.json_lines import line_of
from ragen_bench.runs.schema import EpisodeRecord, Object, RunConfig


class EpisodeCheck:
    """Checks the lines of one run's episodes.

    Args:
        config: the content of run.json, which `refusal` has let pass.

    Attributes:
        problems: why the episodes are refused; up to twenty reasons.
        stopped: whether lines were left unread after twenty reasons.
        episodes: lines looked at.
        turns: replayed.
        planned: how many episodes there must be.
        plausibility: what the episodes that were yielded look like.
    """

    def __init__(self, config: RunConfig) -> None:
        instances = {env.id: env.instances for env in config.envs}
        tasks = tasks_of(instances, config.split, config.samples)
        self._replayer = Replayer(config)
        self._roll = Roll(tasks)
        # Of an agent of one's own they are those of all calls for an answer, without a limit.
        own = config.model.startswith("python:")
        self._tokens = TokenCheck(PROMPT_TOKENS if own else config.max_tokens)
        self._scripted = ScriptedAnswers(config)
        self.plausibility = Plausibility(config)
        self.problems: list[str] = []
        self.stopped = False
        self.episodes = self.turns = 0
        self.planned = len(tasks)

    def sound(
        self, lines: Iterable[bytes], progress: Callable[[int], None] = lambda _: None
    ) -> Iterator[EpisodeRecord]:
        """Yield the recomputed episodes of the lines that hold what they must.

        No more than one line is held. After the last of them the attributes are final. Replaying
        takes long, so that a line behind the twentieth reason is not even read.

        Args:
            lines: of the record, without their ends.
            progress: called with the number of lines looked at.
        """
        for number, line in enumerate(lines, start=1):
            if number > self.planned:
                self._refuse(f"there are more lines than the {self.planned} episodes planned")
                return
            self.episodes = number
            record, problem = self._check(line, number)
            if problem:
                self._refuse(f"line {number} {problem}")
            if record is not None:
                self.turns += len(record.turns)
                self.plausibility.look(record)
                yield record
            progress(number)
            if len(self.problems) >= PROBLEMS:
                self.stopped = True
                return
        for left in (self._roll.missing(), self._tokens.mixed()):
            if left:
                self._refuse(left)

    def _check(self, line: bytes, number: int) -> tuple[EpisodeRecord | None, str | None]:
        """Return the episode as it is recomputed, or why there is none."""
        try:
            recorded = parse(line)
            episode = self._replayed(read_episode(recorded))
        except (BadJsonError, BadRecordError, UnplayableError) as error:
            return None, str(error)
        name = "/".join(map(str, episode.key))
        computed = episode.as_json()
        problem = (
            first_difference(recorded, computed)
            or _surplus(recorded, computed)
            or self._scripted.problem(episode)
            or self._roll.problem(episode, number)
            or self._tokens.problem(episode, name)
        )
        if not problem and line != line_of(computed):
            problem = "is not written as the harness writes it"
        return (None, f"({name}) {problem}") if problem else (episode, None)

    def _replayed(self, recorded: EpisodeRecord) -> EpisodeRecord:
        self._scripted.begin()
        for turn, episode in enumerate(self._replayer.walk(recorded)):
            if turn == 0:
                self.plausibility.begin(episode.env)
            self._scripted.watch(episode)
        return episode.record()

    def _refuse(self, problem: str) -> None:
        self.problems.append(problem)


def _surplus(recorded: Object, computed: Object) -> str | None:
    """Return the first field that the harness does not write, or None."""
    pairs = [(recorded, computed), *zip(recorded["turns"], computed["turns"], strict=True)]
    for there, known in pairs:
        for name in there:
            if name not in known:
                return f"has the unknown field {brief(name)}"
    return None
