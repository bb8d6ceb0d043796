"""Work in forked children, so that a compiler that crashes, hangs or fills the memory is a result here and not the end of the worker.

A child starts with everything imported. It reports JSON lines over a pipe as they come, so that what it had done before it died is kept;
what it and the compilers below it print goes to a file of its own.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

Report = Callable[[dict[str, Any]], None]
Task = Callable[[Report], None]

#: How much of what a child printed is looked at.
OUTPUT_LIMIT = 1 << 20
#: From killing a child to not waiting for the end of its pipe any more.
_GRACE_S = 1.0
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


@dataclass
class Ended:
    """What became of one child."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    #: How it died, e.g. `killed by SIGSEGV`; None where it came to its end.
    death: str | None = None
    #: Whether it was killed for taking too long.
    is_late: bool = False
    #: What it printed, compilers included.
    output: str = ""


class _Child:
    def __init__(self, task: Task, limit_s: float) -> None:
        self.ended = Ended()
        self._log, self._path = tempfile.mkstemp(prefix="compile-", suffix=".log")
        self.fd, write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            _be_child(task, write, self._log, parent)
        os.close(write)
        self._received = b""
        self.deadline = monotonic() + limit_s

    def read(self) -> bool:
        """Takes what has arrived; False at the end."""
        data = os.read(self.fd, 1 << 16)
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue  # a candidate wrote into its own pipe: its loss
            if isinstance(message, dict):
                self.ended.messages.append(message)
        return bool(data)

    def kill(self) -> None:
        self.ended.is_late = True
        os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> Ended:
        os.close(self.fd)
        _pid, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            self.ended.death = f"killed by {_signal_name(-code)}"
        elif code > 0:
            self.ended.death = f"ended with exit code {code}"
        self.ended.output = output_of(self._log)
        os.close(self._log)
        os.unlink(self._path)
        sys.stdout.write(self.ended.output)
        return self.ended


def _be_child(task: Task, write: int, log: int, parent: int) -> None:
    """Runs the task and ends the process, without the interpreter's teardown, which belongs to the parent."""
    code = 70
    try:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            return
        os.dup2(log, 1)
        os.dup2(log, 2)

        def report(message: dict[str, Any]) -> None:
            data = json.dumps(message).encode() + b"\n"
            while data:
                data = data[os.write(write, data) :]

        task(report)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def output_of(fd: int) -> str:
    """What was printed to a child's file so far; its end where that is much."""
    size = os.fstat(fd).st_size
    start = max(0, size - OUTPUT_LIMIT)
    return os.pread(fd, size - start, start).decode(errors="replace")


def run(tasks: Sequence[Task], at_once: int, limit_s: float) -> list[Ended]:
    """Runs every task in a child of its own, so many at a time, each for at most `limit_s`; what became of them, in the order of the tasks."""
    waiting = list(enumerate(tasks))[::-1]
    ended: dict[int, Ended] = {}
    running: dict[int, _Child] = {}
    with selectors.DefaultSelector() as selector:
        while waiting or running:
            while waiting and len(running) < max(1, at_once):
                index, task = waiting.pop()
                running[index] = child = _Child(task, limit_s)
                selector.register(child.fd, selectors.EVENT_READ, index)
            soonest = min(child.deadline for child in running.values())
            for key, _events in selector.select(max(0.0, soonest - monotonic())):
                child = running[key.data]
                if not child.read():
                    selector.unregister(child.fd)
                    ended[key.data] = running.pop(key.data).reap()
            for index, child in list(running.items()):
                if monotonic() < child.deadline:
                    continue
                if not child.ended.is_late:
                    child.kill()
                    child.deadline = monotonic() + _GRACE_S
                else:
                    # What it has left running holds the pipe open; all of it ends with the worker's process group.
                    selector.unregister(child.fd)
                    ended[index] = running.pop(index).reap()
    return [ended[index] for index in range(len(tasks))]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
