"""The leaderboard: runs are packed as entries, and entries verified without trust."""

from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.pack import About, entry_name, pack
from ragen_bench.leaderboard.reproduce import reproduction
from ragen_bench.leaderboard.rules import apart, refusal
from ragen_bench.leaderboard.verdict import Check, Verdict
from ragen_bench.leaderboard.verify import read_entry, verify

__all__ = [
    "About",
    "Check",
    "EntryError",
    "Verdict",
    "apart",
    "entry_name",
    "pack",
    "read_entry",
    "refusal",
    "reproduction",
    "verify",
]
