"""A supervisor in miniature: starts real workers, sends requests, and reads a stopped worker's memory as the real one does."""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402

from kernelwright_worker.channel import Channel  # noqa: E402

DEVICES = ["cpu"] + (["cuda:0"] if torch.cuda.is_available() else [])
SEED = 7
_PR_SET_CHILD_SUBREAPER = 36
#: As workers on a CPU begin (`worker/launch.rs`): what malloc has set aside for the next request it hands out as it is.
SETS_NOTHING_ASIDE = "glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0"


class Failed(Exception):
    """A worker's error reply; `kind` and the rest are in `error`."""

    def __init__(self, error: dict[str, str]) -> None:
        super().__init__(f"{error['kind']} in {error['phase']}: {error['message']}\n{error['traceback']}")
        self.error = error


class Nursery:
    """The process that forks the tests' workers: importing torch and triton anew for each takes seconds."""

    def __init__(self) -> None:
        # A forked worker's parent ends at once: orphans come here.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, str(ROOT / "worker.py"), "nursery", "--channel", str(theirs.fileno())]
            environment = {**os.environ, "GLIBC_TUNABLES": SETS_NOTHING_ASIDE}
            self._process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        self._channel = Channel(ours)
        message = self._channel.receive()
        assert message is not None and message.body.get("ready"), message
        atexit.register(self.close)

    def fork(self, channel: int) -> int:
        """A process that waits on this channel to hear what it is; its id."""
        self._channel.send({"id": 0, "op": "fork"}, [channel])
        message = self._channel.receive()
        assert message is not None and "ok" in message.body, message
        return int(message.body["ok"]["pid"])

    def close(self) -> None:
        """Ends it; workers are not its children, and go on."""
        self._channel.close()
        self._process.wait()

    @staticmethod
    @functools.cache
    def shared() -> Nursery:
        """The one of this process."""
        return Nursery()


class Worker:
    """One worker process and its channel."""

    def __init__(self, role: str, folder: str, environment: dict[str, str] | None = None) -> None:
        ours, theirs = socket.socketpair()
        self.log = Path(folder) / f"{role}.log"
        # Programs of the environment, as the real supervisor has it: torch looks for ninja on the PATH.
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
        environment = {**os.environ, "PATH": path, "TMPDIR": folder, "TORCHINDUCTOR_CACHE_DIR": folder, **(environment or {})}
        with open(self.log, "wb") as log, theirs:
            self.pid = Nursery.shared().fork(theirs.fileno())
            self.channel = Channel(ours)
            plan = {"parent": os.getpid(), "confinement": None}
            self.channel.send({"role": role, "folder": os.getcwd(), "environment": environment, "plan": plan}, [log.fileno()])
        sandbox = self.channel.receive()
        assert sandbox is not None and "sandbox" in sandbox.body, sandbox
        message = self.channel.receive()
        assert message is not None and message.body.get("ready"), message
        self.ready = message.body
        self._id = 0
        self._ended: int | None = None

    def request(self, op: str, fds: list[int] | None = None, **body: Any) -> tuple[dict[str, Any], list[int]]:
        """Sends a request and waits; the content of `ok` and the descriptors. Raises `Failed` for an error."""
        self._id += 1
        self.channel.send({"id": self._id, "op": op, **body}, fds or [])
        message = self.channel.receive()
        if message is None:
            raise EOFError(f"the worker ended: {self.log.read_text()[-2000:]}")
        assert message.body["id"] == self._id
        if "error" in message.body:
            raise Failed(message.body["error"])
        return message.body["ok"], message.fds

    def ask(self, op: str, fds: list[int] | None = None, **body: Any) -> dict[str, Any]:
        """A request whose reply brings no descriptors."""
        return self.request(op, fds, **body)[0]

    def stop(self) -> None:
        """SIGSTOP to the process group."""
        os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT to the process group."""
        os.killpg(self.pid, signal.SIGCONT)

    def read(self, *lists: list[dict[str, Any]]) -> int:
        """Reads the host windows of located tensors into a new arena and rewrites the entries to point there."""
        fd = os.memfd_create("test-arena")
        end = 0
        for entry in (entry for entries in lists for entry in entries):
            host = entry["memory"].get("host")
            if host is None:
                continue
            del entry["memory"]
            entry["offset"] = -(-end // 64) * 64
            data = _read_memory(self.pid, host["address"], entry["nbytes"])
            os.pwrite(fd, data, entry["offset"])
            end = entry["offset"] + entry["nbytes"]
            os.ftruncate(fd, end)
        return fd

    def close(self) -> int:
        """Closes the channel and waits for the end, once; the exit code."""
        if self._ended is not None:
            return self._ended
        self.channel.close()
        deadline = time.monotonic() + 30
        while (ended := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > deadline:
                os.killpg(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
                raise TimeoutError("the worker did not end with its channel")
            time.sleep(0.01)
        self._ended = os.waitstatus_to_exitcode(ended[1])
        return self._ended


class _Window(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def _read_memory(pid: int, address: int, size: int) -> bytes:
    if size == 0:
        return b""
    buffer = ctypes.create_string_buffer(size)
    libc = ctypes.CDLL(None, use_errno=True)
    local, remote = _Window(ctypes.addressof(buffer), size), _Window(address, size)
    done = libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    if done != size:
        raise OSError(ctypes.get_errno(), f"read {done} of {size} bytes")
    return buffer.raw


class WorkerCase(unittest.TestCase):
    """Gives tests workers that end with them, and the steps of an evaluation."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory(prefix="kernelwright-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, role: str, **environment: str) -> Worker:
        worker = Worker(role, self.folder, environment)
        self.addCleanup(worker.close)
        return worker

    def load(self, trusted: Worker, source: str, device: str) -> tuple[dict[str, Any], list[int]]:
        """Loads a problem; description and arena."""
        return trusted.request("load", source=source, name="problem.py", device=device, seed=SEED, threads=1, policy={"tf32": False})

    def prepare(self, trusted: Worker, untrusted: Worker, problem: str, candidate: str, device: str) -> dict[str, Any]:
        """Loads the problem, builds and constructs the candidate; what `load` replied."""
        loaded, fds = self.load(trusted, problem, device)
        path = Path(self.folder) / "candidate.py"
        path.write_text(candidate)
        untrusted.ask("build", path=str(path), device=device, seed=SEED, threads=1, policy={"tf32": False})
        constructed = untrusted.ask("construct", fds, init=loaded["init"], tensors=loaded["tensors"], state=loaded["state"], form=loaded["form"])
        os.close(fds[0])
        return {**loaded, "constructed": constructed}

    def give(self, trusted: Worker, untrusted: Worker, entry: int, kind: str = "problem") -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Draws the inputs of an entry and hands them to the candidate; the draw and where its copies lie."""
        drawn, fds = trusted.request("draw", entry=entry, seed=1000 + entry, kind=kind)
        if drawn["skipped"]:
            return drawn, []
        located = untrusted.ask("inputs", fds, entry=entry, inputs=drawn["inputs"], tensors=drawn["tensors"])["located"]
        os.close(fds[0])
        return drawn, located

    def trial(self, trusted: Worker, untrusted: Worker, entry: int, kind: str = "problem") -> dict[str, Any]:
        """One correctness trial; the reply of `compare`, or of the step that skipped it."""
        drawn, located = self.give(trusted, untrusted, entry, kind)
        if drawn["skipped"]:
            return drawn
        expected = trusted.ask("expect", entry=entry)
        if expected["skipped"]:
            return expected
        ran = untrusted.ask("run", entry=entry, poison=True)
        untrusted.stop()
        try:
            fd = untrusted.read(ran["tensors"], located)
            return trusted.ask(
                "compare",
                [fd],
                entry=entry,
                outputs=ran["outputs"],
                tensors=ran["tensors"],
                after=drawn["inputs"],
                after_tensors=located,
            )
        finally:
            untrusted.resume()
            os.close(fd)
