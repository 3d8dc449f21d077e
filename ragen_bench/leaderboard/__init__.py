"""The leaderboard: packs runs as entries, and verifies entries without trusting them."""

from ragen_bench.leaderboard.pack import About, make_entry_name, pack
from ragen_bench.leaderboard.rerun import compare_rerun
from ragen_bench.leaderboard.rules import explain_refusal, nondefault_settings
from ragen_bench.leaderboard.strict_json import EntryError
from ragen_bench.leaderboard.verify import Check, Verdict, read_entry, verify

__all__ = [
    "About",
    "Check",
    "EntryError",
    "Verdict",
    "compare_rerun",
    "explain_refusal",
    "make_entry_name",
    "nondefault_settings",
    "pack",
    "read_entry",
    "verify",
]
