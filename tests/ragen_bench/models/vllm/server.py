"""vLLM's own server, with the bundled model."""

import subprocess
import time
import urllib.request

from .place import PYTHON, environment

NAME = "smollm2"
_OPTIONS = {
    "served-model-name": NAME,
    "host": "127.0.0.1",
    "dtype": "float32",
    "max-model-len": 2048,
    "max-num-seqs": 8,
}
_PATIENCE = 480


def start(folder, port, log):
    """Start a server on a port of this machine."""
    command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--enforce-eager"]
    for name, value in {"model": folder, "port": port, **_OPTIONS}.items():
        command += [f"--{name}", str(value)]
    return subprocess.Popen(command, env=environment(), stdout=log, stderr=subprocess.STDOUT)


def wait_until_ready(url, process, log):
    deadline = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/models", timeout=60):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"no server at {url}: {log.read_text()[-2000:]}")


def stop(process):
    process.terminate()  # it ends the process of its engine, which a kill would leave alone
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
