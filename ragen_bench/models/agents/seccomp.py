"""A seccomp filter that forbids new processes and system calls that hide memory.

Threads may be started. The filter is a program of classic BPF with 8 bytes per instruction.
"""

from __future__ import annotations

import errno
import struct
from typing import NamedTuple

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_CLONE_THREAD = 0x10000
_X32_CALLS = 0x40000000
"""First system call number of the x32 ABI, which nothing here uses."""


class _Machine(NamedTuple):
    """AUDIT_ARCH of a machine and numbers of its system calls.

    clone3 is clone with flags that no filter can read. Forbidden are fork, vfork, unshare, mount,
    setns, ptrace, memfd_create, shmget, add_key, request_key, keyctl, bpf, perf_event_open,
    userfaultfd and io_uring_setup.
    """

    architecture: int
    clone: int
    clone3: int
    forbidden: tuple[int, ...]


MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        56,
        435,
        (57, 58, 272, 165, 308, 101, 319, 29, 248, 249, 250, 321, 298, 323, 425),
    ),
    "aarch64": _Machine(
        0xC00000B7, 220, 435, (97, 40, 268, 117, 279, 194, 217, 218, 219, 280, 241, 282, 425)
    ),
}
"""Supported machines, by `platform.machine()`."""


def make_filter(machine: str) -> bytes:
    """Return the filter for one of `MACHINES`."""
    calls = MACHINES[machine]
    forbid = _ERROR | errno.EPERM
    program = [
        *((_LOAD, 0, 0, _ARCHITECTURE), (_IF_EQUAL, 1, 0, calls.architecture)),
        *((_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)),
        *((_IF_AT_LEAST, 0, 1, _X32_CALLS), (_RETURN, 0, 0, _KILL)),
    ]
    for number in calls.forbidden:
        program += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, forbid)]
    # Without clone3 the C library falls back on clone, whose flags the filter can read.
    program += [(_IF_EQUAL, 0, 1, calls.clone3), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    program += [
        *((_IF_EQUAL, 0, 3, calls.clone), (_LOAD, 0, 0, _FIRST_ARGUMENT)),
        *((_IF_SET, 1, 0, _CLONE_THREAD), (_RETURN, 0, 0, forbid), (_RETURN, 0, 0, _ALLOW)),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
