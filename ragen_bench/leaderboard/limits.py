"""Limits of an entry and of each of its parts, far above every honest one."""

from __future__ import annotations

ENTRY_JSON_BYTES = 1 << 20
"""The file entry.json."""
PACKED_BYTES = 100_000_000
"""The compressed episodes; GitHub takes no larger file."""
UNPACKED_BYTES = 2_000_000_000
"""The episodes when unpacked. They are read as a stream, and never lie on the disk."""
RATIO = 500
"""Unpacked to packed bytes. Runs of random players reach 24, a model that repeats one word for ever
may reach 100, and 1 GB of zeros has 1030."""
LINE_BYTES = 4 << 20
"""One episode: ten turns whose answers and thoughts hold 200,000 bytes each."""
DEPTH = 16
"""Objects and lists inside each other."""
DIGITS = 18
"""Of a whole number."""
SAMPLES = 16
"""Episodes on each instance; figures are held in memory for all of them."""
PROMPT_TOKENS = 10_000_000
"""Of one turn."""
BYTES_A_TOKEN = 256
"""The longest tokens of the common vocabularies are 128 spaces."""
PROBLEMS = 20
"""Reasons after which the episodes of an entry that is refused are not read on."""
