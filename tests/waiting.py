"""Waiting for a condition, with a deadline."""

import time

PAUSE = 0.01
"""Seconds between two looks."""


def wait_until(condition, seconds=120):
    """Return what a condition gives once that is true; fail if it never is within the seconds."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s in vain"
        time.sleep(PAUSE)
    return value


def wait_for_lines(file, count, process):
    """Return once a process has written so many lines; fail if it ends before."""

    def written():
        if file.is_file() and file.read_bytes().count(b"\n") >= count:
            return True
        assert process.poll() is None, process.communicate()
        return False

    wait_until(written)
