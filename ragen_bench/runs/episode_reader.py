"""An incremental reader of episodes.jsonl."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ragen_bench.json_types import JsonObject
from ragen_bench.runs.checked import BadRecordError, read_episode
from ragen_bench.runs.json_lines import bad_line, parse_lines
from ragen_bench.runs.schema import EpisodeRecord, Key, RunConfig


class EpisodeReader:
    """Reads each episode of a run once, also those that are written meanwhile.

    Args:
        file: The episodes.jsonl, which may be missing; lines are only appended to it.
        config: The content of its run.json.
    """

    def __init__(self, file: Path, config: RunConfig) -> None:
        self._file = file
        self._config = config
        self._instances = {env.id: env.played for env in config.envs}
        self._lines: dict[Key, int] = {}
        self._end = 0

    def added(self) -> Iterator[tuple[JsonObject, EpisodeRecord]]:
        """Yield the unread episodes, each as a JSON object and as a record.

        A last line without a line end is skipped, since it may be incomplete.

        Raises:
            UserError: If a line is not an episode of this run, or repeats one; the message has its
                number.
        """
        begin = self._end, len(self._lines) + 1
        for number, (line, content) in enumerate(parse_lines(self._file, begin=begin), begin[1]):
            try:
                episode = read_episode(content)
            except BadRecordError as error:
                raise bad_line(self._file, number, str(error)) from None
            problem = self._misplaced(episode)
            first = self._lines.setdefault(episode.key, number)
            if first != number:
                problem = f"repeats the episode of line {first}"
            if problem:
                raise bad_line(self._file, number, problem)
            self._end += len(line)
            yield content, episode

    def _misplaced(self, episode: EpisodeRecord) -> str | None:
        config, instances = self._config, self._instances
        if episode.split != config.split or episode.env not in instances:
            return f"is of {episode.env} {episode.split}, which run.json does not name"
        inside = episode.index in instances[episode.env]
        if not inside or not 0 <= episode.sample < config.samples:
            return f"is of instance {episode.index}, sample {episode.sample}, beyond run.json's"
        return None
