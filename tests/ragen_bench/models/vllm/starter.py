"""Imports vLLM once, which takes long, and forks for each program that is to run with it.

As a program, in vLLM's environment: `starter.py`, which reads a line for each program, a list in
JSON of its module, arguments and folder. What a program says goes to `log` in its folder, and its
exit code to `code`. A SIGTERM is passed on. It ends when its input and the programs have ended.
"""

import json
import os
import runpy
import signal
import sys
import time
from pathlib import Path

from ragen_bench.models.hf.quick_import import pause_garbage_collection

with pause_garbage_collection():
    import vllm
    import vllm.entrypoints.launchers.api_server.entry
    import vllm.model_executor.models.llama
    import vllm.v1.worker.cpu_worker

    vllm.LLM, vllm.SamplingParams  # noqa: B018 (imported when they are first named)


def fork(module, arguments, folder):
    """Start a program, and return the id of its process."""
    process = os.fork()
    if process:
        return process
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(folder)
    words = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream, file in enumerate((os.open(os.devnull, os.O_RDONLY), words, words)):
        os.dup2(file, stream)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit()


def main():
    running = {}

    def note_ends(*_):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # one call at a time
        for process in [*running]:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                code = running.pop(process) / "code"
                code.with_suffix(".part").write_text(str(os.waitstatus_to_exitcode(status)))
                code.with_suffix(".part").replace(code)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})

    def pass_on(number, _):
        for process in running:
            os.kill(process, number)

    signal.signal(signal.SIGCHLD, note_ends)
    signal.signal(signal.SIGTERM, pass_on)
    for line in sys.stdin:
        module, arguments, folder = json.loads(line)
        running[fork(module, arguments, folder)] = Path(folder)
        note_ends()  # it may have ended before it was in `running`
    while running:
        time.sleep(0.05)


if __name__ == "__main__":
    main()
