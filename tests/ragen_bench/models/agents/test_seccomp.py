"""The filter of system calls, run by an interpreter of its own for each machine."""

import errno
import struct

import pytest

from ragen_bench.models.agents.seccomp import MACHINES, make_filter

pytestmark = pytest.mark.slow

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# From the kernel's tables: asm/unistd_64.h, asm-generic/unistd.h.
CLONE, CLONE3 = {"x86_64": 56, "aarch64": 220}, 435
READ = {"x86_64": 0, "aarch64": 63}
FORKS = {"x86_64": (57, 58), "aarch64": ()}
PTRACE, UNSHARE = {"x86_64": 101, "aarch64": 117}, {"x86_64": 272, "aarch64": 97}
THREAD = 0x3D0F00  # what the C library asks for a thread
CHILD = 0x1200011  # and for fork


def verdict(program, arch, number, first=0):
    data = struct.pack("=IIQ6Q", number, arch, 0, first, *[0] * 5)
    steps = list(struct.iter_unpack("=HBBI", program))
    at = value = 0
    while True:
        code, yes, no, k = steps[at]
        at += 1
        if code == 0x06:
            return k
        if code == 0x20:
            [value] = struct.unpack_from("=I", data, k)
        else:
            holds = {0x15: value == k, 0x35: value >= k, 0x45: bool(value & k)}[code]
            at += yes if holds else no


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_may_be_started_and_processes_not(machine):
    program, arch = make_filter(machine), ARCH[machine]
    assert verdict(program, arch, READ[machine]) == ALLOW
    assert verdict(program, arch, CLONE[machine], THREAD) == ALLOW
    refused = ERROR | errno.EPERM
    assert verdict(program, arch, CLONE[machine], CHILD) == refused
    for number in (*FORKS[machine], PTRACE[machine], UNSHARE[machine]):
        assert verdict(program, arch, number) == refused
    assert verdict(program, arch, CLONE3) == ERROR | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_system_calls_of_another_abi_end_the_process(machine):
    program = make_filter(machine)
    assert verdict(program, 0x40000003, READ[machine]) == KILL
    assert verdict(program, ARCH[machine], 0x40000000 | 57) == KILL
