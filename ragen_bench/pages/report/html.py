"""The report of a run: metrics and trajectories in one HTML file.

A page with ten thousand episodes must open fast and stay small. The browser reads an index first,
and decompresses a chunk of episodes when one of them is viewed.
"""

from __future__ import annotations

import gzip
import json
import math
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ragen_bench.environments import describe_replies, find_class, reference_note
from ragen_bench.json_types import JsonObject
from ragen_bench.models.prompt import FIRST, SKIPPED, opening, prompt_hash
from ragen_bench.pages.rendering import page_environment
from ragen_bench.runs.atomic import replacing
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import EpisodeRecord
from ragen_bench.scores.summary import find_close_to_blind
from ragen_bench.suites import states_form


class Home(NamedTuple):
    """Name and URL of the page that links to a report."""

    name: str
    address: str


def write_report(
    run: RunDirectory,
    summary: JsonObject,
    analysis: JsonObject | None = None,
    home: Home | None = None,
) -> Path:
    """Write report.html into the run directory, see `report_pieces`; return its path."""
    path = run.path / "report.html"
    with replacing(path) as page:
        # Names may contain lone surrogates, which UTF-8 does not have.
        pieces = report_pieces(run, summary, analysis, home)
        page.writelines(piece.encode(errors="backslashreplace") for piece in pieces)
    return path


def report_pieces(
    run: RunDirectory,
    summary: JsonObject,
    analysis: JsonObject | None = None,
    home: Home | None = None,
) -> Iterator[str]:
    """Render the report of a run piece by piece, with its analysis and a link to `home` if given.

    `summary` is the result of `summarise`; missing metrics are omitted. A UserError says that a
    line of the run's files is broken.
    """
    envs = [env.id for env in run.config.envs]
    analysis = analysis or {}
    # The page shows the parts of the prompt, unless another version of it was used.
    prompt, form, history = None, run.config.response_format, run.config.history
    if prompt_hash(form, history, run.config.opponent_format) == run.config.prompt_hash:
        prompt = {
            "opening": opening(form),
            "bare": [env for env in envs if states_form(env)],
            "first": FIRST,
            "skipped": SKIPPED,
            "history": history,
        }
    pack = Pack(run.episodes(), envs, analysis.get("labels", {}), prompt)
    templates = page_environment("ragen_bench.pages.report", reference_note)
    return templates.get_template("page.html").generate(
        config=run.config,
        summary=summary,
        close=find_close_to_blind(summary),
        analysis=analysis.get("envs", []),
        pack=pack,
        prompt=prompt,
        home=home,
        describe_replies=describe_replies,
    )


CHUNK_CHARACTERS = 1 << 18
"""Maximum JSON characters per chunk; a longer episode has its own chunk. Larger chunks compress
hardly better, since gzip's window is 32 KiB."""
_FIELDS = (
    "instance",
    "ceiling",
    "optimal_length",
    "outcome",
    "success",
    "score",
    "return",
    "turns",
    "final_observation",
)
_NO_LABEL = -1


class Pack:
    """Packs the episodes of a run, which are read once, one chunk at a time.

    `envs` are in the order of the page, and `labels` are the failure labels of some episodes by
    `ENV/INDEX/SAMPLE`. `prompt` has the parts of the model's prompt, if the page shows it.
    """

    def __init__(
        self,
        episodes: Iterable[EpisodeRecord],
        envs: Sequence[str],
        labels: Mapping[str, str],
        prompt: JsonObject | None = None,
    ) -> None:
        self._episodes = episodes
        self._envs = list(envs)
        self._labels = labels
        self._prompt = prompt
        self._rows: list[tuple[int, int, int, int, int, int, float, int, int]] = []
        self._outcomes: dict[str, int] = {}
        self._label_names: dict[str, int] = {}

    def chunks(self) -> Iterator[str]:
        """Yield the episodes as JSON lists, compressed by gzip, in base64."""
        chunk: list[str] = []
        size = closed = 0
        for episode in self._episodes:
            text = _json(_select_fields(episode))
            if chunk and size + len(text) > CHUNK_CHARACTERS:
                yield _compress(f"[{','.join(chunk)}]")
                chunk, size, closed = [], 0, closed + 1
            self._add_row(episode, closed, len(chunk))
            chunk.append(text)
            size += len(text)
        if chunk:
            yield _compress(f"[{','.join(chunk)}]")

    def index(self) -> str:
        """Return the packed index of the yielded chunks.

        It lists the names of environments, outcomes and labels, the prompt, and one row per
        episode: environment, index, sample, outcome, label (-1 for none), turns, return, chunk,
        position in the chunk. Rows are sorted by environment, index and sample. The instance index
        is a string, since JavaScript would round a large seed.
        """
        rows = sorted(self._rows, key=lambda row: row[:3])
        content = {
            "envs": self._envs,
            "outcomes": list(self._outcomes),
            "labels": list(self._label_names),
            "prompt": self._prompt,
            "rows": [[env, str(index), *rest] for env, index, *rest in rows],
        }
        return _compress(_json(content))

    def _add_row(self, episode: EpisodeRecord, chunk: int, position: int) -> None:
        env, index, sample = episode.env, episode.index, episode.sample
        outcome = self._outcomes.setdefault(episode.outcome, len(self._outcomes))
        label = self._labels.get(f"{env}/{index}/{sample}")
        number = _NO_LABEL
        if label is not None:
            number = self._label_names.setdefault(label, len(self._label_names))
        turns, total = len(episode.turns), episode.episode_return
        key = self._envs.index(env), index, sample
        self._rows.append((*key, outcome, number, turns, total, chunk, position))


def _select_fields(episode: EpisodeRecord) -> JsonObject:
    """Return the fields that the page shows, an opponent's replies and their counts in words."""
    fields = episode.as_json()
    optional = [name for name in ("error", "player") if name in fields]
    selected = {name: fields[name] for name in (*_FIELDS, *optional)}
    if "opponent" not in fields:
        return selected
    game = find_class(fields["env"])
    turns = [
        turn | {"opponent": turn["opponent"] | game.report_reply(turn["opponent"])._asdict()}
        if "opponent" in turn
        else turn
        for turn in fields["turns"]
    ]
    counts = describe_replies(fields["env"], fields["opponent"])
    overflowed = fields["opponent"]["overflowed"]
    return {**selected, "turns": turns, "opponent": {"counts": counts, "overflowed": overflowed}}


def _compress(text: str) -> str:
    # Without a time in the header, the same run gives the same page.
    return b64encode(gzip.compress(text.encode("ascii"), compresslevel=6, mtime=0)).decode("ascii")


def _json(value: object) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:  # Python accepts NaN in JSON, browsers do not
        return json.dumps(_name_nonfinite(value), separators=(",", ":"))


def _name_nonfinite(value: object) -> object:
    """Replace non-finite numbers by their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return [_name_nonfinite(item) for item in value]
    if isinstance(value, dict):
        return {name: _name_nonfinite(item) for name, item in value.items()}
    return value
