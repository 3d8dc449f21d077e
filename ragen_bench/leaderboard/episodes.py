"""Checks the episodes of an entry one by one: form, order, replay and token counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ragen_bench.episodes.episode import Episode, Task
from ragen_bench.episodes.replay import Replayer, UnplayableError
from ragen_bench.episodes.runner import tasks_of
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.limits import BYTES_PER_TOKEN, PROBLEMS, PROMPT_TOKENS
from ragen_bench.leaderboard.plausibility import SCRIPTED, Plausibility
from ragen_bench.leaderboard.strict_json import BadJsonError, parse
from ragen_bench.models.base import RequestFailure, Sampling
from ragen_bench.runs.checked import BadRecordError, read_episode
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.runs.json_lines import to_line
from ragen_bench.runs.schema import EpisodeRecord, RunConfig
from ragen_envs.core.protocol import STOP

_COUNTS = ("prompt_tokens", "completion_tokens")


class EpisodeCheck:
    """Checks the lines of one run's episodes.

    Args:
        config: Content of run.json, accepted by `explain_refusal`.

    Attributes:
        problems: Reasons to refuse the episodes, at most 20.
        stopped: Whether the check stopped at 20 problems before the last line.
        episodes: Number of checked lines.
        turns: Number of replayed turns.
        planned: Number of planned episodes.
        plausibility: Statistics of the episodes that passed.
    """

    def __init__(self, config: RunConfig) -> None:
        instances = {env.id: env.instances for env in config.envs}
        tasks = tasks_of(instances, config.split, config.samples)
        self._replayer = Replayer(config)
        self._order = _Order(tasks)
        # An agent's tokens are the sum over all of its calls, which no setting limits.
        is_agent = config.model.startswith("python:")
        self._tokens = _TokenCheck(PROMPT_TOKENS if is_agent else config.max_tokens)
        self._scripted = _ScriptedResponses(config)
        self.plausibility = Plausibility(config)
        self.problems: list[str] = []
        self.stopped = False
        self.episodes = self.turns = 0
        self.planned = len(tasks)

    def check_lines(
        self, lines: Iterable[bytes], progress: Callable[[int], None] = lambda _: None
    ) -> Iterator[EpisodeRecord]:
        """Yield the recomputed episode of each line that passes.

        Only one line is held in memory. The attributes are final after the last line. Replay is
        slow, so the check stops at the twentieth problem.

        Args:
            lines: Lines of the record, without line ends.
            progress: Called with the number of checked lines.
        """
        for number, line in enumerate(lines, start=1):
            if number > self.planned:
                self.problems.append(
                    f"there are more lines than the {self.planned} episodes planned"
                )
                return
            self.episodes = number
            record, problem = self._check(line, number)
            if problem:
                self.problems.append(f"line {number} {problem}")
            if record is not None:
                self.turns += len(record.turns)
                self.plausibility.add(record)
                yield record
            progress(number)
            if len(self.problems) >= PROBLEMS:
                self.stopped = True
                return
        self.problems += filter(None, (self._order.find_missing(), self._tokens.find_mixed()))

    def _check(self, line: bytes, number: int) -> tuple[EpisodeRecord | None, str | None]:
        """Return the recomputed episode, or the problem."""
        try:
            recorded = parse(line)
            episode = self._replay(read_episode(recorded))
        except (BadJsonError, BadRecordError, UnplayableError) as error:
            return None, str(error)
        name = "/".join(map(str, episode.key))
        computed = episode.as_json()
        problem = (
            first_difference(recorded, computed)
            or _find_unknown_field(recorded, computed)
            or self._scripted.find_problem(episode)
            or self._order.find_problem(episode, number)
            or self._tokens.find_problem(episode, name)
        )
        if not problem and line != to_line(computed):
            problem = "is not written as the harness writes it"
        return (None, f"({name}) {problem}") if problem else (episode, None)

    def _replay(self, recorded: EpisodeRecord) -> EpisodeRecord:
        self._scripted.begin()
        for turn, episode in enumerate(self._replayer.walk(recorded)):
            if turn == 0:
                self.plausibility.begin(episode.env)
            self._scripted.respond(episode)
        return episode.record()


def _find_unknown_field(recorded: JsonObject, computed: JsonObject) -> str | None:
    pairs = [(recorded, computed), *zip(recorded["turns"], computed["turns"], strict=True)]
    for there, known in pairs:
        for name in there:
            if name not in known:
                return f"has the unknown field {brief(name)}"
    return None


class _Order:
    """Checks that every planned episode is there, once and in order."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._places = {task.key: place for place, task in enumerate(tasks)}
        self._lines = [0] * len(tasks)
        self._last = -1

    def find_problem(self, record: EpisodeRecord, line: int) -> str | None:
        """Return why an episode, whose key is planned, must not be in a line, or None."""
        place = self._places[record.key]
        if self._lines[place]:
            return f"is there twice, in line {self._lines[place]} first"
        self._lines[place] = line
        if place < self._last:
            return "is out of order: it belongs before the episode of the line above"
        self._last = place
        return None

    def find_missing(self) -> str | None:
        absent = [
            task.name for task, line in zip(self._tasks, self._lines, strict=True) if not line
        ]
        if not absent:
            return None
        return f"{len(absent)} of {len(self._tasks)} episodes are missing, first {absent[0]}"


class _TokenCheck:
    """Checks bounds of token counts; the exact counts are known only to the model.

    A model counts tokens in every turn or, like a Python function, in none.
    """

    def __init__(self, max_tokens: int) -> None:
        self._limits = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": max_tokens}
        self._counted = dict.fromkeys(_COUNTS, "")
        self._uncounted = dict.fromkeys(_COUNTS, "")

    def find_problem(self, record: EpisodeRecord, name: str) -> str | None:
        """Return why the counts of a replayed episode are impossible, or None."""
        for number, turn in enumerate(record.turns):
            # A prompt is never empty. Models may count a token in an empty response or not.
            for count, tokens, size in (
                ("prompt_tokens", turn.prompt_tokens, 1),
                ("completion_tokens", turn.completion_tokens, _size(turn.answer + turn.reasoning)),
            ):
                path = f"turns[{number}].{count}"
                if tokens > self._limits[count]:
                    return f"{path}: {tokens} is more than the maximum of {self._limits[count]}"
                if tokens and size > tokens * BYTES_PER_TOKEN:
                    return f"{path}: {tokens} is too few for {size} bytes of response"
                if tokens or size:
                    first = self._counted if tokens else self._uncounted
                    first[count] = first[count] or f"{name} {path}"
        return None

    def find_mixed(self) -> str | None:
        """Return a count of zero where other turns have counts, or None."""
        for count in _COUNTS:
            if self._counted[count] and self._uncounted[count]:
                return f"{self._uncounted[count]} is 0, though {self._counted[count]} is not"
        return None


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))


class _ScriptedResponses:
    """Recomputes the responses of the random player and the oracle, and compares them."""

    def __init__(self, config: RunConfig) -> None:
        self._model = config.model
        player = SCRIPTED.get(self._model)
        settings = config.temperature, config.max_tokens, STOP, config.seed
        self._engine = player().engine(Sampling(*settings)) if player else None
        self._responses: list[str] = []

    def begin(self) -> None:
        """Start a new episode."""
        self._responses = []

    def respond(self, episode: Episode) -> None:
        """Respond to the replayed episode's next request."""
        if self._engine is None or episode.over:
            return
        self._engine.submit(episode.request())
        ((_, response),) = self._engine.collect()
        if not isinstance(response, RequestFailure):
            self._responses.append(response.text)

    def find_problem(self, record: EpisodeRecord) -> str | None:
        """Return the first response of a replayed episode that differs, or None."""
        if self._engine is None:
            return None
        recorded = [turn.answer for turn in record.turns]
        difference = first_difference(recorded, self._responses, "answers")
        return difference and f"{difference} by the model {self._model}"
