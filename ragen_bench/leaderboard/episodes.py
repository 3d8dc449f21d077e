"""Checks the episodes of an entry one by one: form, order, replay and token counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ragen_bench.episodes.replay import Replayer, UnplayableError
from ragen_bench.episodes.runner import tasks_of
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.plausibility import SCRIPTED, Plausibility
from ragen_bench.leaderboard.strict_json import (
    BYTES_PER_TOKEN,
    PROBLEMS,
    PROMPT_TOKENS,
    BadJsonError,
    parse,
)
from ragen_bench.models.base import RequestFailure, Sampling
from ragen_bench.runs.checked import BadRecordError, read_episode
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.runs.json_lines import to_line
from ragen_bench.runs.schema import EpisodeRecord, Key, RunConfig
from ragen_envs.core.protocol import STOP

_COUNTS = ("prompt_tokens", "completion_tokens")


class EpisodeCheck:
    """Checks the lines of one run's episodes, for a run.json that `explain_refusal` accepts.

    The attributes are the problems, at most 20, and whether the check stopped at them; the numbers
    of checked lines, replayed turns and planned episodes; and statistics of the episodes that
    passed.
    """

    def __init__(self, config: RunConfig) -> None:
        instances = {env.id: env.instances for env in config.envs}
        tasks = tasks_of(instances, config.split, config.samples)
        self._replayer = Replayer(config)
        self._tasks = tasks
        self._places = {task.key: place for place, task in enumerate(tasks)}
        self._lines: dict[Key, int] = {}
        self._last = -1
        # An agent's tokens are the sum over all of its calls, which no setting limits.
        is_agent = config.model.startswith("python:")
        self._tokens = _TokenCheck(PROMPT_TOKENS if is_agent else config.max_tokens)
        # The responses of the random player and the oracle are recomputed.
        self._model, player = config.model, SCRIPTED.get(config.model)
        settings = config.temperature, config.max_tokens, STOP, config.seed
        self._engine = player().engine(Sampling(*settings)) if player else None
        self.plausibility = Plausibility(config)
        self.problems: list[str] = []
        self.stopped = False
        self.episodes = self.turns = 0
        self.planned = len(tasks)

    def check_lines(
        self, lines: Iterable[bytes], progress: Callable[[int], None] = lambda _: None
    ) -> Iterator[EpisodeRecord]:
        """Yield the recomputed episode of each line, without line end, that passes.

        Only one line is held in memory. The attributes are final after the last line. Replay is
        slow, so the check stops at the twentieth problem. `progress` is called with the number of
        checked lines.
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
        absent = [task.name for task in self._tasks if task.key not in self._lines]
        if absent:
            self.problems.append(
                f"{len(absent)} of {self.planned} episodes are missing, first {absent[0]}"
            )
        if mixed := self._tokens.find_mixed():
            self.problems.append(mixed)

    def _check(self, line: bytes, number: int) -> tuple[EpisodeRecord | None, str | None]:
        """Return the recomputed episode, or the problem."""
        try:
            recorded = parse(line)
            episode, responses = self._replay(read_episode(recorded))
        except (BadJsonError, BadRecordError, UnplayableError) as error:
            return None, str(error)
        name = "/".join(map(str, episode.key))
        computed = episode.as_json()
        problem = (
            first_difference(recorded, computed)
            or self._find_unknown_field(recorded, computed)
            or (self._engine and self._find_other_response(episode, responses))
            or self._find_disorder(episode.key, number)
            or self._tokens.find_problem(episode, name)
        )
        if not problem and line != to_line(computed):
            problem = "is not written as the harness writes it"
        return (None, f"({name}) {problem}") if problem else (episode, None)

    @staticmethod
    def _find_unknown_field(recorded: JsonObject, computed: JsonObject) -> str | None:
        pairs = [(recorded, computed), *zip(recorded["turns"], computed["turns"], strict=True)]
        unknown = (name for there, known in pairs for name in there if name not in known)
        return next((f"has the unknown field {brief(name)}" for name in unknown), None)

    def _find_disorder(self, key: Key, line: int) -> str | None:
        """Return why a planned episode must not be in a line, or None."""
        if (first := self._lines.setdefault(key, line)) != line:
            return f"is there twice, in line {first} first"
        if self._places[key] < self._last:
            return "is out of order: it belongs before the episode of the line above"
        self._last = self._places[key]
        return None

    def _find_other_response(self, episode: EpisodeRecord, computed: list[str]) -> str | None:
        recorded = [turn.answer for turn in episode.turns]
        difference = first_difference(recorded, computed, "answers")
        return difference and f"{difference} by the model {self._model}"

    def _replay(self, recorded: EpisodeRecord) -> tuple[EpisodeRecord, list[str]]:
        """Return the recomputed episode, and the responses of a scripted player to it."""
        responses = []
        for turn, episode in enumerate(self._replayer.walk(recorded)):
            if turn == 0:
                self.plausibility.begin(episode.env)
            if self._engine and not episode.over:
                self._engine.submit(episode.request())
                ((_, response),) = self._engine.collect()
                if not isinstance(response, RequestFailure):
                    responses.append(response.text)
        return episode.record(), responses


class _TokenCheck:
    """Checks bounds of token counts, which a model reports in every turn or in none."""

    def __init__(self, max_tokens: int) -> None:
        self._limits = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": max_tokens}
        self._counted = dict.fromkeys(_COUNTS, "")
        self._uncounted = dict.fromkeys(_COUNTS, "")

    def find_problem(self, record: EpisodeRecord, name: str) -> str | None:
        """Return why the counts of a replayed episode are impossible, or None."""
        for number, turn in enumerate(record.turns):
            response = (turn.answer + turn.reasoning).encode(errors="replace")
            # A prompt is never empty. Models may count a token in an empty response or not.
            for count, tokens, size in (
                ("prompt_tokens", turn.prompt_tokens, 1),
                ("completion_tokens", turn.completion_tokens, len(response)),
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
