"""The channel to the supervisor: length-prefixed JSON over a Unix socket, with file descriptors beside it.

Knows framing and the request loop, nothing of what the requests mean. Everything it needs is bound when it is imported, so that code which
patches the standard library later does not change what is sent.
"""

from __future__ import annotations

import array
import os
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from json import dumps, loads
from typing import Any

#: The largest message, in bytes: trees and descriptions are small, tensors never travel in them.
MAX_MESSAGE = 16 << 20
#: The most file descriptors one message carries.
MAX_FDS = 4

_HEADER = struct.Struct("<I")
_INT_SIZE = array.array("i").itemsize


class WorkerError(Exception):
    """A failure the supervisor is told of; `kind` is one of the closed lists in WORKERS.md."""

    def __init__(self, kind: str, phase: str, message: str, traceback: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.phase = phase
        self.message = message
        self.traceback = traceback

    def to_json(self) -> dict[str, str]:
        """The `error` member of a reply."""
        return {"kind": self.kind, "phase": self.phase, "message": _sendable(self.message), "traceback": _sendable(self.traceback)}


def _sendable(text: str) -> str:
    """`text` as UTF-8 can hold it: file names and what compilers print may have bytes that no character stands for."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass
class Message:
    """One message: a JSON object and the descriptors that came with it. Whoever handles it owns the descriptors."""

    body: dict[str, Any]
    fds: list[int] = field(default_factory=list)

    def close(self) -> None:
        """Closes the descriptors."""
        while self.fds:
            os.close(self.fds.pop())


@dataclass
class Reply:
    """The answer of a handler: what goes under `ok`, and descriptors to send. The descriptors are closed after sending."""

    ok: dict[str, Any]
    fds: Sequence[int] = ()


#: A handler takes the request's body and descriptors; it may raise `WorkerError`.
Handler = Callable[[dict[str, Any], list[int]], "Reply | dict[str, Any]"]


class Channel:
    """One end of the socket pair."""

    def __init__(self, connection: socket.socket) -> None:
        connection.set_inheritable(False)
        self._connection = connection
        # Bound methods, so that patching `socket.socket` later changes nothing here.
        self._sendmsg = connection.sendmsg
        self._sendall = connection.sendall
        self._recvmsg = connection.recvmsg

    @classmethod
    def inherited(cls, fd: int) -> Channel:
        """Takes over the descriptor `fd` that the supervisor left open."""
        return cls(socket.socket(fileno=fd))

    def close(self) -> None:
        """Ends the channel; the other end sees end of file."""
        self._connection.close()

    def release(self) -> int:
        """Gives up the descriptor without closing it; this channel is of no use any more."""
        return self._connection.detach()

    def send(self, body: dict[str, Any], fds: Sequence[int] = ()) -> None:
        """Sends one message. `fds` travel with its first byte; the caller still owns them."""
        if fds:
            body = {**body, "fds": len(fds)}
        data = dumps(body, allow_nan=False).encode()
        if len(data) > MAX_MESSAGE:
            raise WorkerError("unsupported", "reply", f"a message of {len(data)} bytes is over the limit of {MAX_MESSAGE}")
        data = _HEADER.pack(len(data)) + data
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        sent = self._sendmsg([data], ancillary)
        self._sendall(data[sent:])

    def receive(self) -> Message | None:
        """Waits for one message; None at end of file."""
        fds: list[int] = []
        header = self._read(_HEADER.size, fds)
        if header is None:
            return None
        (length,) = _HEADER.unpack(header)
        if length > MAX_MESSAGE:
            raise WorkerError("internal", "request", f"a message of {length} bytes is over the limit of {MAX_MESSAGE}")
        data = self._read(length, fds)
        if data is None:
            return None
        message = Message(loads(data), fds)
        announced = message.body.get("fds", len(fds))
        if announced != len(fds):
            message.close()
            raise WorkerError("internal", "request", f"a message announced {announced} descriptors and brought {len(fds)}")
        return message

    def _read(self, size: int, fds: list[int]) -> bytes | None:
        data = bytearray()
        while len(data) < size:
            space = socket.CMSG_SPACE(MAX_FDS * _INT_SIZE)
            part, ancillary, _flags, _address = self._recvmsg(min(size - len(data), 1 << 20), space, socket.MSG_CMSG_CLOEXEC)
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    whole = len(content) - len(content) % _INT_SIZE
                    fds.extend(array.array("i", content[:whole]))
            if not part:
                return None
            data += part
        return bytes(data)


def serve(channel: Channel, handlers: Mapping[str, Handler], unexpected: Callable[[BaseException, str], WorkerError]) -> None:
    """Answers requests one at a time until end of file. `unexpected` words what a handler raises besides `WorkerError`."""
    while (message := channel.receive()) is not None:
        identifier, op = message.body.get("id"), str(message.body.get("op"))
        try:
            handler = handlers.get(op)
            if handler is None:
                raise WorkerError("internal", op, f"this worker has no operation {op!r}")
            reply = handler(message.body, message.fds)
            reply = reply if isinstance(reply, Reply) else Reply(reply)
            try:
                channel.send({"id": identifier, "ok": reply.ok}, reply.fds)
            finally:
                for fd in reply.fds:
                    os.close(fd)
        except WorkerError as error:
            channel.send({"id": identifier, "error": error.to_json()})
        except (BrokenPipeError, ConnectionResetError):
            return  # the supervisor is gone: the same as end of file
        except BaseException as error:  # SystemExit and KeyboardInterrupt of foreign code are answers, not our end
            channel.send({"id": identifier, "error": unexpected(error, op).to_json()})
        finally:
            message.close()
