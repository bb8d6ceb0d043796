"""One CUDA source in two objects: the host's, which is the same as long as only bodies of device functions change, and the device's.

nvcc puts the device's code into the host's object, so that it compiles all of the host's side again for every change of a kernel. Here the host's side is
compiled from a text without those bodies (`device_bodies.py`), refers to the device's code by a name, and that code is an object of its own.

What the host's object is made of: that text, the stub that the device's front end writes (which kernels there are, and how they are launched), the
command. Whoever keeps it keeps it under these three.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import threading
from dataclasses import dataclass
from pathlib import Path

from . import device_bodies
from .nvcc_passes import KEPT, Done, Passes, run_in_order

#: The folder in which the host's side is made: both sides write files of the same names.
_HOST = "host"
#: Options under which the sides have more to do with each other, or lines of the source matter.
_BEYOND = re.compile(r"^-(?:g|G|lineinfo|-generate-line-info|-device-debug|-debug|-{0,2}(?:expt-)?extended-lambda|rdc.*|dc|-relocatable-device-code.*|-device-c)$")
_FATBIN = """#include "fatbinary_section.h"
extern "C" __attribute__((visibility("hidden"))) const unsigned long long {name}[];
static const __fatBinC_Wrapper_t __fatDeviceText __attribute__((aligned(8))) __attribute__((section(".nvFatBinSegment"))) = {{0x466243b1, 1, {name}, 0}};
"""
_DEVICE_OBJECT = """.section .nv_fatbin, "a"
.align 8
.globl {name}
.hidden {name}
{name}:
.incbin "{fatbin}"
.skip {rest}
.section .note.GNU-stack, "", @progbits
"""
#: The device's code has room for half as much again, and at least so much: what another body comes to is then mostly equally long (`device_section.py`).
_LEAST_ROOM = 1 << 16


@dataclass(frozen=True)
class Names:
    """What the device's object is called, and by what the host's refers to it: the same for one command, whatever its source says."""

    device: str
    symbol: str


class Sides:
    """The two sides of one nvcc command, whose passes are known."""

    def __init__(self, passes: Passes, folder: Path, source: Path, names: Names) -> None:
        self._passes, self._folder, self._source, self._names = passes, folder, source, names
        self._stem = Path(passes.output("cpp4")).name.removesuffix(".cpp4.ii")
        self._has_stub = threading.Event()
        # As long as nothing else is known: what a signal would be.
        self._device_done = Done(-1, "")
        self._device = threading.Thread(target=self._make_device)
        for between in (KEPT, _HOST):
            (folder / between).mkdir(exist_ok=True)
        (folder / passes.module_id).write_text(names.symbol)
        (folder / _hosts(passes.module_id)).write_text(names.symbol)
        (folder / _HOST / f"{self._stem}.fatbin.c").write_text(_FATBIN.format(name=names.symbol))

    def begin(self) -> str | None:
        """Lets the device's side go on by itself; a digest of the text that the host's is made from, or None where it cannot be preprocessed."""
        self._device.start()
        preprocessed = run_in_order([_hosts(self._passes.commands["cpp4"])], self._passes.environment, self._folder)
        if preprocessed.status != 0:
            self._device.join()
            return None
        path = self._folder / _hosts(self._passes.output("cpp4"))
        # Where this folder is says nothing.
        text = device_bodies.without(path.read_text(errors="surrogateescape").replace(f"{self._folder}/", ""), self._source.name)
        path.write_text(text, errors="surrogateescape")
        return _digest(text)

    def finish(self, make_host: bool) -> tuple[Done, str | None]:
        """Waits for the device's side, and makes the host's where that is wanted: what the device's came to, and a digest of the stub; None where the
        host's does not compile."""
        commands, environment, host = self._passes.commands, self._passes.environment, Done(0, "")
        if make_host:
            host = run_in_order([_hosts(commands["cudafe++"])], environment, self._folder)
        self._has_stub.wait()
        path = self._folder / KEPT / f"{self._stem}.cudafe1.stub.c"
        stub = device_bodies.without_lines(path.read_text(errors="surrogateescape")) if path.exists() else ""
        if make_host and host.status == 0:
            (self._folder / _HOST / path.name).write_text(stub, errors="surrogateescape")
            host = run_in_order([_hosts(commands["compile"])], environment, self._folder)
        self._device.join()
        return self._device_done, _digest(stub) if stub and host.status == 0 else None

    def _make_device(self) -> None:
        commands, environment = self._passes.commands, self._passes.environment
        try:
            done = run_in_order([commands["cpp1"], commands["cicc"]], environment, self._folder)
        finally:
            self._has_stub.set()
        if done.status == 0:
            rest = run_in_order([commands["ptxas"], commands["fatbinary"]], environment, self._folder)
            done = Done(rest.status, done.output + rest.output)
        if done.status == 0:
            rest = self._assemble()
            done = Done(rest.status, done.output + rest.output)
        self._device_done = done

    def _assemble(self) -> Done:
        """Makes an object of the device's code."""
        fatbin = f"{KEPT}/{self._stem}.fatbin"
        size = (self._folder / fatbin).stat().st_size
        text = _DEVICE_OBJECT.format(name=self._names.symbol, fatbin=fatbin, rest=_room(size) - size)
        (self._folder / "device.s").write_text(text)
        compiler = shlex.split(self._passes.commands["compile"])[0]
        return run_in_order([shlex.join([compiler, "-c", "device.s", "-o", self._names.device])], self._passes.environment, self._folder)


def names_of(argv: list[str], device: str) -> Names:
    """The names for a command, as it was given."""
    digest = hashlib.sha256("\0".join(argv).encode()).hexdigest()
    return Names(device, f"_{digest[:8]}_kernelwright_{digest[8:24]}")


def _room(size: int) -> int:
    """How long the section of so many bytes becomes: a power of two."""
    return max(_LEAST_ROOM, 1 << (size + size // 2 - 1).bit_length())


def can_be_apart(argv: list[str]) -> bool:
    """Whether a command's sides have nothing to do with each other but what is known here."""
    return not any(_BEYOND.match(word) for word in argv)


def _hosts(command: str) -> str:
    """A command, or a path, with the host's folder in the place of the one that nvcc names."""
    return re.sub(rf'(?<![\w/]){KEPT}/', f"{_HOST}/", command)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
