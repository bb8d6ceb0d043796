"""How a forked worker shuts itself in: what the sandbox helper does for one that is executed, in the same order.

Only the mechanism is here. What is limited, allowed and filtered is the supervisor's plan (`tools/harness/src/sandbox/plan.rs`), made by the
code that serves the helper as well. Layers are independent: one that cannot be had is reported with its reason, and the others still apply.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import struct
from collections.abc import Callable
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NAME = 1, 4, 15
_PR_CAPBSET_DROP, _PR_SET_SECUREBITS, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 24, 28, 38, 47
_SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_SPEC_ALLOW = 1, 4
_SYS_SECCOMP = 317 if os.uname().machine == "x86_64" else 277
_AMBIENT_CLEAR_ALL = 4
#: No privileges for user 0, no privileges from a change of user; both locked.
_SECUREBITS = 0x1 | 0x2 | 0x4 | 0x8
_CAPABILITY_VERSION = 0x20080522
_CAPABILITY_WORDS = 2
_CAP_SETPCAP = 8
#: One more than the number of any capability; what a kernel does not know is refused, and not held either.
_CAPABILITIES = 64
_CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = 0x08000000, 0x10000000, 0x40000000
# System calls of this age have the same number on every architecture.
_SYS_CLOSE_RANGE, _SYS_LANDLOCK_RESTRICT_SELF = 436, 446


class Layers:
    """Which layers became active and which are missing, in the form of the report."""

    def __init__(self, missing: list[str]) -> None:
        self.active: list[str] = []
        self.missing = list(missing)

    def record(self, layer: str, apply: Callable[[], None]) -> bool:
        """Applies one layer; whether it is active."""
        try:
            apply()
        except OSError as error:
            number = f" (os error {error.errno})" if error.errno else ""
            self.missing.append(f"{layer}: {error.strerror}{number}")
            return False
        self.active.append(layer)
        return True


def confine(plan: dict[str, Any], ruleset: int | None, leave: Callable[[list[int] | None], None]) -> dict[str, list[str]]:
    """Becomes what the plan says; the report. Raises `OSError` where this process would outlive its supervisor.

    `ruleset` is a Landlock ruleset of the supervisor's, `leave` is `leave_namespaces`, or raises what stands in its way.
    """
    confinement = plan["confinement"]
    layers = Layers(confinement["missing"] if confinement else [])
    if confinement:
        layers.record("resource limits", lambda: _limit(confinement["limits"]))
        layers.record("network namespace", lambda: leave(confinement["identity"]))
        layers.record("no new privileges", lambda: _prctl(_PR_SET_NO_NEW_PRIVS, 1))
        if ruleset is not None:
            restricted = layers.record("landlock", lambda: _call(_SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0))
            layers.active += confinement["landlock_brings"] if restricted else []
        layers.record("no capabilities", _drop_capabilities)
    # After the change of credentials, which may clear both.
    allow_inspection()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != plan["parent"]:
        raise ProcessLookupError(0, "the supervisor is gone, or orphans do not come to it")
    if confinement and confinement["filters"]:
        layers.record("seccomp", lambda: _filter(confinement["filters"]))
    return {"active": layers.active, "missing": layers.missing}


def name_process(name: str) -> None:
    """What lists of processes call this one; its command line stays the nursery's."""
    _check(_libc.prctl(ctypes.c_int(_PR_SET_NAME), name.encode()))


def forbid_inspection() -> None:
    """Closes this process's memory and environment to other processes of the same user."""
    _prctl(_PR_SET_DUMPABLE, 0)


def allow_inspection() -> None:
    """Opens them again: the supervisor reads a worker's memory."""
    _prctl(_PR_SET_DUMPABLE, 1)


def close_descriptors(first: int) -> None:
    """Closes every descriptor from `first` on."""
    _call(_SYS_CLOSE_RANGE, first, 0xFFFFFFFF, 0)


def leave_namespaces(identity: list[int] | None) -> None:
    """Leaves the network and the System V namespaces; `identity` is the user and the group to remain where that takes a user namespace."""
    _check(_libc.unshare(ctypes.c_int(_CLONE_NEWNET | _CLONE_NEWIPC | (_CLONE_NEWUSER if identity else 0))))
    if identity:
        user, group = identity
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")


def _limit(limits: list[list[int]]) -> None:
    for number, value in limits:
        _soft, hard = resource.getrlimit(number)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(number, (value, value))
        except ValueError as error:  # a permission that is missing
            raise OSError(0, f"limit {number}: {error}") from error
    try:
        # The first to go where memory runs out. Raising one's own score needs no privilege.
        _write("/proc/self/oom_score_adj", "1000")
    except OSError:
        pass


def _drop_capabilities() -> None:
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITY_VERSION, 0))
    sets = ctypes.create_string_buffer(3 * 4 * _CAPABILITY_WORDS)
    _check(_libc.capget(header, sets))
    words = struct.unpack("=6I", sets.raw)
    effective, permitted = words[0], words[1] | words[4]
    if not permitted and os.getuid() != 0:
        return
    if effective & (1 << _CAP_SETPCAP):
        for capability in range(_CAPABILITIES):
            _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
        _prctl(_PR_SET_SECUREBITS, _SECUREBITS)
    try:
        _prctl(_PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    except OSError:
        pass  # a kernel without ambient capabilities has none to clear
    _check(_libc.capset(header, ctypes.create_string_buffer(len(sets))))


def _filter(programs: list[list[int]]) -> None:
    """Installs seccomp filters; an instruction is one number, in the byte order of the machine. Why what processors guess ahead stays allowed is said
    in `syscalls.rs`."""
    for program in programs:
        instructions = struct.pack(f"={len(program)}Q", *program)
        code = ctypes.create_string_buffer(instructions, len(instructions))
        described = _Program(len(program), ctypes.addressof(code))
        try:
            _call(_SYS_SECCOMP, _SECCOMP_SET_MODE_FILTER, _SECCOMP_FILTER_FLAG_SPEC_ALLOW, ctypes.addressof(described))
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            _call(_SYS_SECCOMP, _SECCOMP_SET_MODE_FILTER, 0, ctypes.addressof(described))


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def _prctl(option: int, *arguments: int) -> None:
    padded = [*arguments, 0, 0, 0, 0][:4]
    _check(_libc.prctl(ctypes.c_int(option), *map(ctypes.c_ulong, padded)))


def _call(number: int, *arguments: int) -> None:
    _check(_libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)))


def _check(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
