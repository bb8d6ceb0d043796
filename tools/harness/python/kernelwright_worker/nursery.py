"""The nursery: a process that has imported what every worker needs, and forks a worker in milliseconds where starting one takes seconds.

All it ever does is import, build Triton's launchers and fork. It runs no problem, no candidate and no parallel operation, touches no device
and holds no secret: what it has in memory, every worker can read in its own copy. A worker is a grandchild: its parent in between ends at once, so the
supervisor, to whom orphans come, is its parent, reaps it, and can stop and kill it as it can an executed one. It confines itself before
anything of a request reaches it.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
import tempfile
from dataclasses import dataclass

from . import confine, triton_driver
from .channel import Channel, Message, WorkerError
from .ready import describe_python

#: What workers import in any case.
_MODULES = ("kernelwright_worker.trusted", "kernelwright_worker.untrusted", "kernelwright_worker.builder")
#: What candidates that build extensions import; with a GPU it asks for the device, which its import can do without.
_EXTENSIONS = "torch.utils.cpp_extension"
_NAME = "kw-"
#: How long a forked process may take to show that it works, in seconds.
_TRIAL_S = 20
_TRITON_MODULES = ("triton.compiler.code_generator", "triton.backends.nvidia.compiler")
_DEVICES = ("/dev/nvidia", "/dev/dri", "/dev/kfd")


@dataclass
class Born:
    """What a forked worker goes on as."""

    role: str
    channel: Channel


class _Nursery:
    def __init__(self) -> None:
        self._ready = describe_python(import_triton=True)
        for name in _MODULES:
            importlib.import_module(name)
        if "numpy" in sys.modules:
            # Otherwise each worker would when it first seeds it.
            importlib.import_module("numpy.random")
        _ready_triton()
        _ready_extensions()
        confine.name_process(_NAME + "nursery")
        confine.forbid_inspection()
        # A fork ends the threads that numpy's linear algebra has started, and tells what a user namespace takes.
        self._leave_namespaces = confine.leave_namespaces if _can_leave_namespaces() else _refuse_namespaces
        _check_forkable()
        # A collection in a worker need not look at what is here, and does not write to its pages.
        gc.collect()
        gc.freeze()

    def run(self, channel: Channel) -> Born | None:
        """Forks a worker for each request that asks for one; None at end of file, and in a worker what it is."""
        channel.send(self._ready)
        while (message := channel.receive()) is not None:
            identifier = message.body.get("id")
            try:
                if message.body.get("op") == "launcher":
                    channel.send({"id": identifier, "ok": {"built": triton_driver.build(message.body.get("types"))}})
                    continue
                pid = self._fork(channel, message)
                if isinstance(pid, Born):
                    return pid
                channel.send({"id": identifier, "ok": {"pid": pid}})
            except WorkerError as error:
                channel.send({"id": identifier, "error": error.to_json()})
            finally:
                message.close()
        return None

    def _fork(self, channel: Channel, message: Message) -> int | Born:
        if message.body.get("op") != "fork" or len(message.fds) != 1:
            raise WorkerError("internal", "fork", "a nursery forks for one channel at a time")
        read, write = os.pipe()
        between = _fork_process()
        if between == 0:
            try:
                worker = _fork_process()
            except WorkerError:
                os._exit(1)
            if worker:
                os._exit(0)
            return self._grow_up(channel, message, write)
        os.close(write)
        try:
            # It says who it is once it leads a group of its own.
            announced = os.read(read, 32)
        finally:
            os.close(read)
            # When this returns, the worker's parent is the supervisor.
            os.waitpid(between, 0)
        if not announced:
            raise WorkerError("internal", "fork", "the forked process ended before it had announced itself")
        return int(announced)

    def _grow_up(self, channel: Channel, message: Message, announcement: int) -> Born:
        """A forked process becomes the worker that the first message on its own channel describes."""
        try:
            os.setsid()
            confine.allow_inspection()
            os.write(announcement, str(os.getpid()).encode())
            number = channel.release()
            os.dup2(message.fds.pop(), number, inheritable=False)
            confine.close_descriptors(number + 1)
            own = Channel.inherited(number)
        except BaseException:
            os._exit(1)
        try:
            described = own.receive()
            if described is None:
                os._exit(0)
            sandbox = self._become(described)
        except BaseException as error:
            own.send({"launch_error": f"{type(error).__name__}: {error}"})
            os._exit(1)
        own.send({"sandbox": sandbox})
        own.send({**self._ready, "pid": os.getpid()})
        return Born(described.body["role"], own)

    def _become(self, described: Message) -> dict[str, list[str]]:
        body = described.body
        log, *ruleset = described.fds
        for stream in (1, 2):
            os.dup2(log, stream)
        os.environ.clear()
        os.environ.update(body["environment"])
        os.chdir(body["folder"])
        sys.argv[1:] = [body["role"]]
        confine.name_process(_NAME + body["role"])
        # It may have been asked for during an import; it depends on the environment.
        tempfile.tempdir = None
        sandbox = confine.confine(body["plan"], ruleset[0] if ruleset else None, self._leave_namespaces)
        described.close()
        return sandbox


def _fork_process() -> int:
    try:
        return os.fork()
    except OSError as error:
        raise WorkerError("internal", "fork", f"no process can be forked: {error}") from error


def _can_leave_namespaces() -> bool:
    """Whether a user namespace could be had, tried in a child. The superuser needs none."""
    child = _fork_process()
    if child == 0:
        code = 0
        try:
            if os.getuid() != 0:
                confine.allow_inspection()
                confine.leave_namespaces([os.getuid(), os.getgid()])
        except BaseException:
            code = 1
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _refuse_namespaces(_identity: list[int] | None) -> None:
    raise OSError(0, "user namespaces are not allowed here")


def _check_forkable() -> None:
    """A fork copies one thread, and no state of a device. Threads that libraries have started stay behind: a trial shows whether they are missed."""
    threads = [_thread_name(thread) for thread in os.listdir("/proc/self/task")]
    if len(threads) > 1 and not _survives_fork():
        raise WorkerError("not_forkable", "start", f"a fork misses one of the threads that importing torch and triton starts: {', '.join(threads)}")
    if opened := _opened_devices():
        raise WorkerError("not_forkable", "start", f"importing torch and triton opens {', '.join(sorted(opened))}")


def _ready_triton() -> None:
    """What the first kernel of a process costs beside its compilation: imports, and a digest of Triton's own files for its cache."""
    try:
        for name in _TRITON_MODULES:
            importlib.import_module(name)
        importlib.import_module("triton.runtime.cache").triton_key()
        triton_driver.prepare()
    except (ImportError, AttributeError):
        pass  # no Triton, or one that arranges this differently: its first kernel pays


def _ready_extensions() -> None:
    """Imports torch's extension builder where that opens no device, tried in a child."""
    child = _fork_process()
    if child == 0:
        try:
            _import_extensions()
            os._exit(1 if _opened_devices() else 0)
        except BaseException:
            os._exit(1)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        _import_extensions()


def _import_extensions() -> None:
    """Its import asks for a device only to warn of a toolkit without one."""
    cuda = importlib.import_module("torch").cuda
    asked, cuda.is_available = cuda.is_available, lambda: True
    try:
        importlib.import_module(_EXTENSIONS)
    finally:
        cuda.is_available = asked


def _opened_devices() -> set[str]:
    return {target for target in map(_target, os.listdir("/proc/self/fd")) if target.startswith(_DEVICES)}


def _survives_fork() -> bool:
    """Whether a forked process computes, in parallel and not, and frees what it has made."""
    child = _fork_process()
    if child == 0:
        try:
            # Beyond it, a child that waits for a thread it does not have.
            signal.alarm(_TRIAL_S)
            torch = importlib.import_module("torch")
            matrix = torch.ones(256, 256)
            right = bool((matrix @ matrix == 256).all()) and float(torch.rand(1 << 20).mul_(2).sum()) > 0
            os._exit(0 if right else 1)
        except BaseException:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _thread_name(thread: str) -> str:
    try:
        with open(f"/proc/self/task/{thread}/comm") as file:
            return file.read().strip()
    except OSError:
        return thread


def _target(descriptor: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


def main(channel: Channel) -> Born | None:
    """Serves until the supervisor closes the channel; returns early, and with what it is, in each worker."""
    return _Nursery().run(channel)
