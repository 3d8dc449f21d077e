"""The filter of system calls, run by an interpreter of its own for each machine, and live."""

import errno
import platform
import struct
from types import SimpleNamespace

import pytest

from ragen_bench.models.agents.system_calls import MACHINES, make_filter, read_table
from ragen_bench.models.base import Request
from tests.ragen_bench.models.own_agent import SAMPLING

from .agents import make_subprocess_model, on_linux

pytestmark = pytest.mark.slow

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# From the kernel's tables: asm/unistd_64.h, asm-generic/unistd.h.
REFUSAL = ERROR | errno.EPERM
CLONE, CLONE3 = {"x86_64": 56, "aarch64": 220}, 435
READ = {"x86_64": 0, "aarch64": 63}
SOCKET, SOCKETPAIR = {"x86_64": 41, "aarch64": 198}, {"x86_64": 53, "aarch64": 199}
REFUSED = {
    "fork": (57, None),
    "vfork": (58, None),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "fsopen": (430, 430),
    "open_by_handle_at": (304, 265),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "shmget": (29, 194),
    "semget": (64, 190),
    "msgget": (68, 186),
    "mq_open": (240, 180),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_setup": (206, 0),
    "io_uring_setup": (425, 425),
    "io_uring_register": (427, 427),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "setxattr": (188, 5),
    "vmsplice": (278, 75),
    "seccomp": (317, 277),
    "syslog": (103, 116),
    "execveat": (322, 281),
}
"""Numbers on `MACHINES`, from the kernel's tables."""
THREAD = 0x3D0F00  # what the C library asks for a thread
CHILD = 0x1200011  # and for fork
FAMILIES = {"unix": 1, "inet": 2, "inet6": 10}
OTHERS = {
    "netlink": 16,
    "packet": 17,
    "rds": 21,
    "bluetooth": 31,
    "alg": 38,
    "vsock": 40,
    "xdp": 44,
}


def verdict(program, arch, number, *arguments):
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("=IIQ6Q", number, arch, 0, *padded)
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
    for flags in (CHILD, 0, THREAD | 0x10000000, THREAD | 0x20000):
        assert verdict(program, arch, CLONE[machine], flags) == REFUSAL
    assert verdict(program, arch, CLONE3) == ERROR | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_system_calls_of_another_abi_end_the_process(machine):
    program = make_filter(machine)
    assert verdict(program, 0x40000003, READ[machine]) == KILL
    assert verdict(program, ARCH[machine], 0x40000000 | 57) == KILL


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("call", REFUSED)
def test_calls_beyond_the_list_are_refused(machine, call):
    number = REFUSED[call][[*MACHINES].index(machine)]
    if number is not None:
        assert verdict(make_filter(machine), ARCH[machine], number) == REFUSAL


@pytest.mark.parametrize("machine", MACHINES)
def test_every_number_of_the_table_is_allowed_and_no_other(machine):
    program, column = make_filter(machine), [*MACHINES].index(machine)
    allowed = {numbers[column] for numbers in read_table().values()} - {None}
    assert {n for n in range(1000) if verdict(program, ARCH[machine], n) == ALLOW} == allowed
    assert verdict(program, ARCH[machine], 451) == ERROR | errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_sockets_are_local_streams_and_datagrams(machine):
    program, arch = make_filter(machine), ARCH[machine]
    no_family = ERROR | errno.EAFNOSUPPORT
    for family in FAMILIES.values():
        for kind in (1, 2, 1 | 0x80800):
            assert verdict(program, arch, SOCKET[machine], family, kind) == ALLOW
        assert verdict(program, arch, SOCKET[machine], family, 5) == REFUSAL
    for protocol, result in {6: ALLOW, 132: REFUSAL, 262: REFUSAL}.items():
        assert verdict(program, arch, SOCKET[machine], 2, 1, protocol) == result
    for family in OTHERS.values():
        for call in (SOCKET, SOCKETPAIR):
            assert verdict(program, arch, call[machine], family, 1) == no_family
    assert verdict(program, arch, SOCKETPAIR[machine], 1, 1) == ALLOW
    assert verdict(program, arch, SOCKETPAIR[machine], 2, 1) == no_family


PROBES = """
import ctypes, os

CALLS = {CALLS}
libc = ctypes.CDLL(None, use_errno=True)


def answer(messages):
    import json, socket
    worked = [name for name, number in CALLS.items() if libc.syscall(number, 0, 0, 0, 0, 0) != -1]
    for family in {FAMILIES}:
        try:
            socket.socket(family, socket.SOCK_STREAM).close()
            worked.append(family)
        except OSError:
            pass
    try:
        os.fork()
    except OSError:
        pass
    else:
        worked.append("fork")
    return json.dumps(worked)
"""
WORKS = """
import asyncio, concurrent.futures, ctypes, json, mmap, os, random, signal, socket, sqlite3
import shutil, subprocess, tempfile, threading, time
import numpy, torch


async def wait():
    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    server.close()
    return await asyncio.to_thread(lambda: 1)


def answer(messages):
    layer = torch.nn.Linear(50, 50)
    layer(torch.ones(9, 50)).sum().backward()
    numpy.linalg.svd(numpy.eye(60))
    with tempfile.TemporaryDirectory() as folder:
        torch.save(layer.state_dict(), f"{folder}/a.pt")
        torch.load(f"{folder}/a.pt", mmap=True)
        numpy.save(f"{folder}/b.npy", numpy.eye(9))
        numpy.load(f"{folder}/b.npy", mmap_mode="r+")[0, 0] = 3
        sqlite3.connect(f"{folder}/c").execute("create table t(a)")
        shutil.copytree(folder, f"{folder}/d")
        os.symlink("b.npy", f"{folder}/e")
        os.rename(f"{folder}/a.pt", f"{folder}/f")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(time.sleep, [0.01] * 8))
    mmap.mmap(-1, 4096).close()
    signal.setitimer(signal.ITIMER_REAL, 9)
    signal.setitimer(signal.ITIMER_REAL, 0)
    os.cpu_count(), os.sched_getaffinity(0), os.urandom(3), os.times(), os.nice(0)
    return str(asyncio.run(wait()))
"""


def first_answer(model):
    engine = model.engine(SAMPLING)
    engine.submit(Request([], "x", SimpleNamespace(response_format="plain")))
    [(_, answer)] = engine.collect()
    return answer.text


@on_linux
def test_no_refused_call_works_in_a_sandbox(agent):
    column = [*MACHINES].index(platform.machine())
    calls = {name: numbers[column] for name, numbers in REFUSED.items() if numbers[column]}
    source = PROBES.replace("{CALLS}", repr(calls))
    agent(source.replace("{FAMILIES}", repr([*OTHERS.values()])))
    assert first_answer(make_subprocess_model(kind="sandbox")) == "[]"


@on_linux
def test_numerical_packages_files_threads_and_timers_work_in_a_sandbox(agent):
    agent(WORKS)
    assert first_answer(make_subprocess_model(kind="sandbox", memory=8)) == "1"
