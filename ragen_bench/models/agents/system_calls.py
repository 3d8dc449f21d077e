"""A filter of system calls for seccomp: no new processes, and nothing that hides memory.

Threads may be started. The filter is a program of the classic BPF, eight bytes an instruction.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_CLONE_THREAD = 0x10000
_OTHER_ABI = 0x40000000
"""From this number on they are those of x32, which nothing here uses."""


@dataclass(frozen=True)
class _Machine:
    """Numbers of system calls.

    Attributes:
        name: as the kernel's AUDIT_ARCH.
        clone: starts threads and processes.
        clone3: does so too, with flags that no filter can read.
        refused: fork, vfork, unshare, mount, setns, ptrace, memfd_create, shmget, add_key,
            request_key, keyctl, bpf, perf_event_open, userfaultfd, io_uring_setup.
    """

    name: int
    clone: int
    clone3: int
    refused: tuple[int, ...]


_MACHINES = {
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
KNOWN = tuple(_MACHINES)
"""The machines, by `platform.machine()`."""


def no_processes(machine: str) -> bytes:
    """Return the filter of a machine.

    Args:
        machine: one of `KNOWN`.
    """
    calls = _MACHINES[machine]
    refused = _ERROR | errno.EPERM
    program = [
        *((_LOAD, 0, 0, _MACHINE), (_IF_EQUAL, 1, 0, calls.name), (_RETURN, 0, 0, _KILL)),
        *((_LOAD, 0, 0, _NUMBER), (_IF_AT_LEAST, 0, 1, _OTHER_ABI), (_RETURN, 0, 0, _KILL)),
    ]
    for number in calls.refused:
        program += [(_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, refused)]
    # Where clone3 is not there, the C library asks clone, whose flags can be read.
    program += [(_IF_EQUAL, 0, 1, calls.clone3), (_RETURN, 0, 0, _ERROR | errno.ENOSYS)]
    program += [
        *((_IF_EQUAL, 0, 3, calls.clone), (_LOAD, 0, 0, _FIRST_ARGUMENT)),
        *((_IF_SET, 1, 0, _CLONE_THREAD), (_RETURN, 0, 0, refused), (_RETURN, 0, 0, _ALLOW)),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
