"""What is recorded of the machine, and what is said where a run goes on elsewhere."""

import os
import platform
import subprocess
import sys

import pytest

from ragen_bench.runs.provenance import describe_differences, machine

pytestmark = pytest.mark.slow


def test_the_machine_is_named():
    found = machine()
    assert found["os"].startswith(f"{platform.system()} {platform.machine()}")
    assert found["cpu"]
    assert all(0 < len(value) <= 100 for value in found.values())


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux only")
def test_the_threads_are_those_that_the_process_has():
    code = "from ragen_bench.runs.provenance import machine; import os, sys\n"
    code += "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    code += "sys.stdout.write(machine()['threads'])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "1"


def test_the_threads_are_pytorchs_where_it_is_loaded():
    code = "import sys, torch; from ragen_bench.runs.provenance import machine\n"
    code += "torch.set_num_threads(3); sys.stdout.write(machine()['threads'])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "3"


def test_what_differs_is_named_and_what_was_not_recorded_is_not():
    here = {"versions": {"python": "3.11", "torch": "2"}, "machine": {"threads": "2", "cpu": "a"}}
    there = {"versions": {"python": "3.11"}, "machine": {"threads": "4\x1b[2J", "cpu": "a"}}
    assert describe_differences(here, here) == []
    assert describe_differences(there, here) == ['threads: "4\\u001b[2J" there, "2" here']
    assert describe_differences({"versions": {"torch": "1"}}, here) == [
        'torch: "1" there, "2" here'
    ]
