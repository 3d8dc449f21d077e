"""Imports vLLM once, which takes long, and forks for each program that is to run with it.

As a program, in vLLM's environment: `starter.py PROGRAMS`, a list in JSON of modules, arguments and
folders. What a program says goes to `log` in its folder, and its exit code to `code`. A SIGTERM is
passed on.
"""

import json
import os
import runpy
import signal
import sys
from pathlib import Path

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
    os.chdir(folder)
    words = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    for stream, file in enumerate((os.open(os.devnull, os.O_RDONLY), words, words)):
        os.dup2(file, stream)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit()


def main(programs):
    running = {fork(*program): Path(program[-1]) for program in json.loads(programs)}

    def pass_on(number, _):
        for process in running:
            os.kill(process, number)

    signal.signal(signal.SIGTERM, pass_on)
    while running:
        process, status = os.wait()
        ended = running.pop(process) / "code"
        ended.with_suffix(".part").write_text(str(os.waitstatus_to_exitcode(status)))
        ended.with_suffix(".part").replace(ended)


if __name__ == "__main__":
    main(*sys.argv[1:])
