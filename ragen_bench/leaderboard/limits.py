"""Limits of an entry and its parts, far above those of every honest entry."""

from __future__ import annotations

ENTRY_JSON_BYTES = 1 << 20
"""Maximum size of entry.json."""
PACKED_BYTES = 100_000_000
"""Maximum size of the compressed episodes, which is GitHub's limit for a file."""
UNPACKED_BYTES = 2_000_000_000
"""Maximum size of the unpacked episodes. They are read as a stream and never written to disk."""
RATIO = 500
"""Maximum compression ratio. Runs of random players reach 24, a model that repeats one word forever
may reach 100, and 1 GB of zeros has 1030."""
LINE_BYTES = 4 << 20
"""Maximum size of one episode: ten turns with responses and reasoning of 200,000 bytes each."""
DEPTH = 16
"""Maximum nesting depth of JSON objects and lists."""
DIGITS = 18
"""Maximum number of digits of an integer."""
SAMPLES = 16
"""Maximum number of episodes per instance; statistics hold them all in memory."""
PROMPT_TOKENS = 10_000_000
"""Maximum number of prompt tokens in one turn."""
BYTES_PER_TOKEN = 256
"""Maximum bytes per token; the longest tokens of common vocabularies are 128 spaces."""
PROBLEMS = 20
"""Number of problems after which the check of episodes stops."""
