"""vLLM's CPU build lies in a virtual environment of its own, which `make test` fills."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[4]
PYTHON = ROOT / ".venv-vllm" / "bin" / "python"


def environment():
    """Return the variables that a process of that environment gets."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        # One thread, since several wait for each other by spinning, for long on busy cores; and
        # not tied to a core, since processes beside it would be tied to the same one.
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        # The engine of a server has its imports from the process that forks.
        "VLLM_WORKER_MULTIPROC_METHOD": "fork",
    }
