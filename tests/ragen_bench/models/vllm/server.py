"""vLLM's own server, with the bundled model."""

import urllib.request

NAME = "smollm2"
_OPTIONS = {
    "served-model-name": NAME,
    "host": "127.0.0.1",
    "dtype": "float32",
    "max-model-len": 2048,
    "max-num-seqs": 8,
    "distributed-executor-backend": "uni",  # else a third process waits by spinning
}
PATIENCE = 480
"""Seconds until it has loaded the model."""


def program(folder, port):
    """Return the module of a server on a port of this machine, and its arguments."""
    options = {"model": folder, "port": port, **_OPTIONS}
    named = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return ("vllm.entrypoints.openai.api_server", "--enforce-eager", *named)


def is_ready(url):
    try:
        with urllib.request.urlopen(f"{url}/models", timeout=60):
            return True
    except OSError:
        return False
