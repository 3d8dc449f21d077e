"""Data set cards, the README.md files of the Hugging Face Hub."""

from __future__ import annotations

from collections.abc import Sequence

from ragen_bench.markdown import escape_markdown

TAGS = ("reinforcement-learning", "gymnasium", "ragen-bench")
"""Tags of every data set."""
ENVIRONMENT_TAG = "rl-environment"
"""Tag of the Hub's filter for reinforcement learning environments and their episodes."""
_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B")


def render_card(
    title: str, body: str, split: str, file: str, rows: int, tags: Sequence[str] = ()
) -> str:
    """Return a card in Markdown without a license, which the data's publisher chooses."""
    listed = "".join(f"- {_quote_yaml(tag)}\n" for tag in (*TAGS, *tags))
    return f"""\
---
pretty_name: {_quote_yaml(title)}
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
    path: {_quote_yaml(file)}
---
# {escape_markdown(title)}

{body}"""


def size_category(rows: int) -> str:
    """Return the Hub's name for a number of rows, such as "1K<n<10K"."""
    above = [size for exponent, size in enumerate(_SIZES, 3) if rows >= 10**exponent]
    if len(above) == len(_SIZES):
        return f"n>{_SIZES[-1]}"
    following = _SIZES[len(above)]
    return f"{above[-1]}<n<{following}" if above else f"n<{following}"


def _quote_yaml(text: str) -> str:
    """Return a text as a double-quoted YAML string in ASCII."""
    spelled = (c if " " <= c <= "~" and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(spelled)}"'
