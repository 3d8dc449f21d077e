"""The card of a data set: README.md, by which the Hugging Face Hub shows, finds and loads it."""

from __future__ import annotations

from collections.abc import Sequence

TAGS = ("reinforcement-learning", "gymnasium", "ragen-bench")
"""Of every data set."""
ENVIRONMENT_TAG = "rl-environment"
"""The Hub's filter for environments of reinforcement learning, and for what is played in them."""
_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B")


def card(title: str, body: str, split: str, file: str, rows: int, tags: Sequence[str] = ()) -> str:
    """Return a card: metadata in YAML, a heading, and what the data set is.

    It states no license, which is for whoever publishes the data to choose.

    Args:
        title: what the Hub shows as its name.
        body: Markdown.
        split: the name of its one split, which `datasets` otherwise guesses from the file's name.
        file: that holds it, beside the card.
        rows: how many there are.
        tags: beside `TAGS`.
    """
    listed = "".join(f"- {_quoted(tag)}\n" for tag in (*TAGS, *tags))
    return f"""\
---
pretty_name: {_quoted(title)}
language:
- en
size_categories:
- {size_category(rows)}
task_categories:
- reinforcement-learning
tags:
{listed}configs:
- config_name: default
  data_files:
  - split: {split}
    path: {_quoted(file)}
---
# {" ".join(title.split())}

{body}"""


def size_category(rows: int) -> str:
    """Return the Hub's name for a number of rows, such as "1K<n<10K"."""
    above = [size for exponent, size in enumerate(_SIZES, 3) if rows >= 10**exponent]
    if len(above) == len(_SIZES):
        return f"n>{_SIZES[-1]}"
    following = _SIZES[len(above)]
    return f"{above[-1]}<n<{following}" if above else f"n<{following}"


def _quoted(text: str) -> str:
    """Return a text as YAML, whatever characters it holds."""
    spelled = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(spelled)}"'
