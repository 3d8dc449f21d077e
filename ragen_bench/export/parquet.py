"""Export of episodes as a Parquet data set for `datasets.load_dataset(DIRECTORY)`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ragen_bench.errors import missing_extra
from ragen_bench.export.card import ENVIRONMENT_TAG, render_card
from ragen_bench.export.episodes import NO_EPISODES, Source, build_conversation, new_export
from ragen_bench.json_types import JsonObject
from ragen_bench.markdown import escape_markdown, make_table
from ragen_bench.models.chat_messages import replace_surrogates
from ragen_bench.people import is_human
from ragen_envs.core.folders import write_text

try:
    import pyarrow
    import pyarrow.parquet
except ImportError as missing:
    raise missing_extra(missing, "datasets") from missing

_TEXT, _INT, _REAL, _BOOL = (pyarrow.string(), pyarrow.int64(), pyarrow.float64(), pyarrow.bool_())
_MESSAGE = pyarrow.struct([("role", _TEXT), ("content", _TEXT)])
_TURN = pyarrow.struct(
    [
        ("observation", _TEXT),
        ("answer", _TEXT),
        ("reasoning", _TEXT),
        ("actions", pyarrow.list_(_TEXT)),
        ("reward", _REAL),
        ("terminated", _BOOL),
        ("truncated", _BOOL),
        ("format_is_valid", _BOOL),
        ("action_is_valid", _BOOL),
        ("finish", _TEXT),
        ("prompt_tokens", _INT),
        ("completion_tokens", _INT),
    ]
)
SCHEMA = pyarrow.schema(
    [
        ("model", _TEXT),
        ("env", _TEXT),
        ("split", _TEXT),
        ("index", _INT),
        ("sample", _INT),
        ("instance", _TEXT),
        ("response_format", _TEXT),
        ("outcome", _TEXT),
        ("success", _BOOL),
        ("score", _REAL),
        ("return", _REAL),
        ("ceiling", _REAL),
        ("optimal_length", _INT),
        ("messages", pyarrow.list_(_MESSAGE)),
        ("turns", pyarrow.list_(_TURN)),
        ("final_observation", _TEXT),
    ]
)
"""Columns of the data set. `messages` is the conversation in the form of chat templates."""
_ESTIMATED = pyarrow.field("tokens_estimated", _BOOL)
"""Field of turns in a run in which a server left some token counts out."""
_PLAYER = pyarrow.field("player", _TEXT)
"""Column of a run that people played."""
_ROWS_AT_ONCE = 256
_ABOUT = """\
Episodes of {model} in ragen's environments, one a row, written by `ragen-bench export`.
`messages` is the whole conversation, and `turns` has the reward of each answer.

{table}
"""


def export(source: Source, directory: Path) -> int:
    """Write episodes to SPLIT.parquet in a new or empty DIRECTORY, and a card; return their number.

    Raises:
        UserError: If the directory is not empty, or the source has no episode.
    """
    episodes: Counter[str] = Counter()
    successes: Counter[str] = Counter()

    def rows() -> Iterator[JsonObject]:
        for episode in source.episodes:
            episodes[episode.env] += 1
            successes[episode.env] += bool(episode.success)
            row = episode.as_json() | {
                "model": source.model,
                "response_format": source.response_format,
                "messages": build_conversation(episode, source.response_format),
            }
            row.setdefault(_PLAYER.name, None)
            yield {name: replace_surrogates(row[name]) for name in (*SCHEMA.names, _PLAYER.name)}

    with new_export(directory) as draft:
        written = _write_rows(rows(), source, draft / f"{source.split}.parquet")
        table = make_table(
            ["environment", "episodes", "success"],
            [
                [replace_surrogates(env), f"{n:,}", f"{successes[env] / n:.3f}"]
                for env, n in episodes.items()
            ],
            rules=["---", "---:", "---:"],
        )
        text = render_card(
            replace_surrogates(f"Episodes of {source.model}"),
            _ABOUT.format(model=escape_markdown(replace_surrogates(source.model)), table=table),
            source.split,
            f"{source.split}.parquet",
            written,
            [ENVIRONMENT_TAG],
        )
        write_text(draft / "README.md", text)
    return written


def _write_rows(rows: Iterator[JsonObject], source: Source, path: Path) -> int:
    """Write rows to a file, some at once to bound the memory; return their number."""
    batch, written = list(islice(rows, _ROWS_AT_ONCE)), 0
    if not batch:
        raise NO_EPISODES
    schema = SCHEMA.append(_PLAYER) if is_human(source.model) else SCHEMA
    if has_estimates := source.has_estimates():
        turns = pyarrow.list_(pyarrow.struct([*_TURN, _ESTIMATED]))
        schema = schema.set(schema.get_field_index("turns"), pyarrow.field("turns", turns))
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as parquet:
        while batch:
            for turn in (turn for row in batch if has_estimates for turn in row["turns"]):
                turn.setdefault(_ESTIMATED.name, False)
            parquet.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
            written += len(batch)
            batch = list(islice(rows, _ROWS_AT_ONCE))
    return written
