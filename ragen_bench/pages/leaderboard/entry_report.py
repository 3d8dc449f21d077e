"""The report of a verified entry, rendered like that of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ragen_bench.analysis import analyse
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.files import open_entry
from ragen_bench.leaderboard.packed import PackedEpisodes
from ragen_bench.leaderboard.schema import Entry
from ragen_bench.leaderboard.strict_json import parse
from ragen_bench.pages.report import Home, write_report
from ragen_bench.runs.checked import read_episode
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import EpisodeRecord


class EntryDirectory(RunDirectory):
    """A verified entry, read as a run.

    Args:
        directory: Directory of the entry.
        entry: Content of its entry.json.
        path: Directory of the report.
    """

    def __init__(self, directory: Path, entry: Entry, path: Path) -> None:
        super().__init__(path, entry.run)
        self._directory, self._entry = directory, entry

    def recorded(self) -> Iterator[tuple[JsonObject, EpisodeRecord]]:
        """Yield the verified episodes, one line at a time.

        Raises:
            EntryError: if they changed after the verification.
        """
        with open_entry(self._directory) as files:
            packed = PackedEpisodes(files.episodes, self._entry.episodes_bytes)
            for line in packed.lines():
                content = parse(line)
                yield content, read_episode(content)
        if packed.sha256 != self._entry.episodes_sha256:
            raise EntryError("changed while the site was built")


def write_entry_report(directory: Path, entry: Entry, out: Path) -> None:
    """Write report.html of a verified entry, with the analysis of its failures.

    Args:
        directory: Directory of the entry.
        entry: Content of its entry.json.
        out: Directory of the entry's page.
    """
    run, home = EntryDirectory(directory, entry, out), Home("Leaderboard entry", "index.html")
    write_report(run, entry.summary.as_json(), analyse(run), home)
