"""The seccomp filter of an isolated agent: the system calls that it may make.

An allow-list: a call of a newer kernel is refused until it stands here. What Python, NumPy and
PyTorch use for files, memory, threads, time and sockets is allowed. Left out are new processes,
namespaces, tracing, and calls whose memory no limit counts: System V and POSIX queues, memfd, keys,
io_uring, bpf. The filter is a program of classic BPF with 8 bytes per instruction.
"""

from __future__ import annotations

import errno
import socket
import struct
from collections.abc import Sequence
from typing import NamedTuple

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_ARGUMENTS = (16, 24, 32)
"""Offsets of the first three arguments' lower halves."""
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_CLONE_THREAD, _CLONE_NEW = 0x10000, 0x7E020000
"""Flags of clone: a thread; any new namespace."""
_OTHER_TYPES = 0xC
"""Bits that are set in types of sockets other than streams, datagrams and raw ones."""
_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET and AF_INET6, which the sandbox's own network namespace contains."""
_PROTOCOLS = (0, socket.IPPROTO_TCP, socket.IPPROTO_UDP)
_X32_CALLS = 0x40000000
"""First system call number of the x32 ABI, which nothing here uses."""
_NEWEST = 450
"""The newest system call that was considered; the C library does without newer ones."""

_Instruction = tuple[int, int, int, int]


class _Machine(NamedTuple):
    """AUDIT_ARCH of a machine, and its numbers of the calls whose arguments are checked.

    clone3 is clone with flags that no filter can read.
    """

    architecture: int
    clone: int
    socket: int
    socketpair: int
    clone3: int = 435


MACHINES = {
    "x86_64": _Machine(0xC000003E, 56, 41, 53),
    "aarch64": _Machine(0xC00000B7, 220, 198, 199),
}
"""Supported machines, by `platform.machine()`."""

# Name and numbers on x86_64 and aarch64, from asm/unistd_64.h and asm-generic/unistd.h.
_TABLE = """
# files
read:0:63 write:1:64 open:2:- close:3:57 stat:4:- fstat:5:80 lstat:6:- newfstatat:262:79
statx:332:291 lseek:8:62 pread64:17:67 pwrite64:18:68 readv:19:65 writev:20:66 preadv:295:69
pwritev:296:70 preadv2:327:286 pwritev2:328:287 access:21:- faccessat:269:48 faccessat2:439:439
openat:257:56 openat2:437:437 creat:85:- dup:32:23 dup2:33:- dup3:292:24 pipe:22:- pipe2:293:59
fcntl:72:25 flock:73:32 ioctl:16:29 fsync:74:82 fdatasync:75:83 sync_file_range:277:84
truncate:76:45 ftruncate:77:46 fallocate:285:47 fadvise64:221:223 readahead:187:213 sendfile:40:71
copy_file_range:326:285 splice:275:76 tee:276:77 close_range:436:436 getdents:78:-
getdents64:217:61 getcwd:79:17 chdir:80:49 fchdir:81:50 rename:82:- renameat:264:38
renameat2:316:276 mkdir:83:- mkdirat:258:34 mknod:133:- mknodat:259:33 rmdir:84:- link:86:-
linkat:265:37 unlink:87:- unlinkat:263:35 symlink:88:- symlinkat:266:36 readlink:89:-
readlinkat:267:78 chmod:90:- fchmod:91:52 fchmodat:268:53 chown:92:- fchown:93:55 lchown:94:-
fchownat:260:54 umask:95:166 utime:132:- utimes:235:- futimesat:261:- utimensat:280:88
statfs:137:43 fstatfs:138:44 getxattr:191:8 lgetxattr:192:9 fgetxattr:193:10 listxattr:194:11
llistxattr:195:12 flistxattr:196:13
# waiting
poll:7:- ppoll:271:73 select:23:- pselect6:270:72 epoll_create:213:- epoll_create1:291:20
epoll_ctl:233:21 epoll_wait:232:- epoll_pwait:281:22 epoll_pwait2:441:441 eventfd:284:-
eventfd2:290:19 signalfd:282:- signalfd4:289:74
# memory
mmap:9:222 mprotect:10:226 munmap:11:215 brk:12:214 mremap:25:216 msync:26:227 mincore:27:232
madvise:28:233 mlock:149:228 mlock2:325:284 munlock:150:229 mlockall:151:230 munlockall:152:231
pkey_mprotect:329:288 pkey_alloc:330:289 pkey_free:331:290 membarrier:324:283 mbind:237:235
get_mempolicy:239:236 set_mempolicy:238:237
# processes and threads
execve:59:221 exit:60:93 exit_group:231:94 wait4:61:260 waitid:247:95 kill:62:129 tkill:200:130
tgkill:234:131 rt_sigaction:13:134 rt_sigprocmask:14:135 rt_sigreturn:15:139 rt_sigpending:127:136
rt_sigtimedwait:128:137 rt_sigsuspend:130:133 sigaltstack:131:132 pause:34:-
restart_syscall:219:128 futex:202:98 futex_waitv:449:449 set_robust_list:273:99
get_robust_list:274:100 set_tid_address:218:96 rseq:334:293 prctl:157:167 arch_prctl:158:-
getpid:39:172 getppid:110:173 gettid:186:178 getpgrp:111:- getpgid:121:155 getsid:124:156
setpgid:109:154 setsid:112:157 getuid:102:174 geteuid:107:175 getgid:104:176 getegid:108:177
getresuid:118:148 getresgid:120:150 getgroups:115:158 capget:125:90 getpriority:140:141
setpriority:141:140 sched_yield:24:124 sched_getaffinity:204:123 sched_setaffinity:203:122
sched_getparam:143:121 sched_getscheduler:145:120 sched_getattr:315:275 sched_setparam:142:118
sched_setscheduler:144:119 ioprio_get:252:31 ioprio_set:251:30 sched_get_priority_max:146:125
sched_get_priority_min:147:126 sched_rr_get_interval:148:127 getcpu:309:168 getrlimit:97:163
setrlimit:160:164 prlimit64:302:261 getrusage:98:165 times:100:153 uname:63:160 sysinfo:99:179
getrandom:318:278
# time
time:201:- gettimeofday:96:169 clock_gettime:228:113 clock_getres:229:114 clock_nanosleep:230:115
nanosleep:35:101 getitimer:36:102 setitimer:38:103 alarm:37:- timer_create:222:107
timer_settime:223:110 timer_gettime:224:108 timer_getoverrun:225:109 timer_delete:226:111
timerfd_create:283:85 timerfd_settime:286:86 timerfd_gettime:287:87
# sockets
connect:42:203 accept:43:202 accept4:288:242 bind:49:200 listen:50:201 getsockname:51:204
getpeername:52:205 sendto:44:206 recvfrom:45:207 sendmsg:46:211 recvmsg:47:212 sendmmsg:307:269
recvmmsg:299:243 shutdown:48:210 setsockopt:54:208 getsockopt:55:209
"""


def read_table() -> dict[str, tuple[int | None, int | None]]:
    """Return the allowed calls' numbers on `MACHINES`, in order; None if a machine has none."""
    rows = (line.split() for line in _TABLE.splitlines() if not line.startswith("#"))
    triples = (word.split(":") for row in rows for word in row)
    return {name: (_number(x86), _number(arm)) for name, x86, arm in triples}


def make_filter(machine: str) -> bytes:
    """Return the filter for one of `MACHINES`."""
    calls = MACHINES[machine]
    column = [*MACHINES].index(machine)
    forbid, no_family = _ERROR | errno.EPERM, _ERROR | errno.EAFNOSUPPORT
    missing = (_RETURN, 0, 0, _ERROR | errno.ENOSYS)
    program: list[_Instruction] = [
        *((_LOAD, 0, 0, _ARCHITECTURE), (_IF_EQUAL, 1, 0, calls.architecture)),
        *((_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, _NUMBER)),
        *((_IF_AT_LEAST, 0, 1, _X32_CALLS), (_RETURN, 0, 0, _KILL)),
        *((_IF_AT_LEAST, 0, 1, _NEWEST + 1), missing),
        # Without clone3 the C library falls back on clone, whose flags the filter can read.
        *_when(calls.clone3, missing),
        *_when(
            calls.clone,
            *((_LOAD, 0, 0, _ARGUMENTS[0]), (_IF_SET, 0, 2, _CLONE_THREAD)),
            *((_IF_SET, 1, 0, _CLONE_NEW), (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, forbid)),
        ),
    ]
    for call, families in ((calls.socket, _FAMILIES), (calls.socketpair, _FAMILIES[:1])):
        program += _when(
            call,
            *_unless_one_of(_ARGUMENTS[0], families, no_family),
            *((_LOAD, 0, 0, _ARGUMENTS[1]), (_IF_SET, 0, 1, _OTHER_TYPES)),
            (_RETURN, 0, 0, forbid),
            *_unless_one_of(_ARGUMENTS[2], _PROTOCOLS, forbid),
            (_RETURN, 0, 0, _ALLOW),
        )
    for numbers in read_table().values():
        if (number := numbers[column]) is not None:
            program += _when(number, (_RETURN, 0, 0, _ALLOW))
    program.append((_RETURN, 0, 0, forbid))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _when(call: int, *steps: _Instruction) -> list[_Instruction]:
    """Return the steps for one call. They end with a return."""
    return [(_IF_EQUAL, 0, len(steps), call), *steps]


def _unless_one_of(argument: int, values: Sequence[int], verdict: int) -> list[_Instruction]:
    """Return the steps that end with a verdict if an argument has none of the values."""
    left = range(len(values), 0, -1)
    tests = [(_IF_EQUAL, k, 0, value) for k, value in zip(left, values, strict=True)]
    return [(_LOAD, 0, 0, argument), *tests, (_RETURN, 0, 0, verdict)]


def _number(word: str) -> int | None:
    return None if word == "-" else int(word)
