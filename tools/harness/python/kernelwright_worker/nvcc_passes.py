"""nvcc's passes for the host and for the device, side by side.

nvcc runs one after the other what depends on each other only in the end: the source is preprocessed and read for the host (cudafe++), and again for the
device (cicc, ptxas, fatbinary); the host's compiler then takes both. What it would run, with all flags, it says itself (`--dryrun`). Only the plain
sequence for one architecture is split; for anything else the caller runs nvcc as it is.

The one thing that passes from one side to the other is a name for what is local to the source (the module id), which the first pass makes up
and the second one reads. Here it is made up before both.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

_VARIABLE = re.compile(r"([A-Za-z_]\w*)=(.*)")
_MODULE_ID = re.compile(r'--module_id_file_name\s+"?([^"\s]+)"?')
_GENERATE = "--gen_module_id_file"
#: The folder of what lies between the passes.
KEPT = "passes"
_HOST = ("cpp4", "cudafe++")
_DEVICE = ("cpp1", "cicc", "ptxas", "fatbinary")
_LAST = "compile"


@dataclass
class Done:
    """What a command or a sequence of them came to."""

    status: int
    output: str


@dataclass
class Passes:
    """Commands by what they are."""

    commands: dict[str, str]
    environment: dict[str, str]
    #: The file that holds the module id, in the folder of the command.
    module_id: str

    def output(self, kind: str) -> str:
        """The file that a command writes, in the folder of the command."""
        words = shlex.split(self.commands[kind])
        return words[words.index("-o") + 1]


def dry_run(argv: list[str], folder: Path) -> str | None:
    """What an nvcc command would run in a folder, as it says itself; None where it refuses the command."""
    asked = [argv[0], "--dryrun", "--keep", "--keep-dir", KEPT, *_without_dependencies(argv[1:])]
    (folder / KEPT).mkdir(exist_ok=True)
    said = subprocess.run(asked, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    return said.stderr if said.returncode == 0 else None


def split(said: str | None) -> Passes | None:
    """The passes of which nvcc speaks, if it does; None where they are not the ones that are known here."""
    if said is None:
        return None
    environment, commands = dict(os.environ), dict[str, str]()
    for line in said.splitlines():
        command = line.removeprefix("#$ ")
        if command == line:
            continue
        if variable := _VARIABLE.fullmatch(command):
            environment[variable[1]] = variable[2].strip()
        elif (kind := _kind(command)) is None or kind in commands:
            return None
        else:
            commands[kind] = command
    ids = {found for command in commands.values() for found in _MODULE_ID.findall(command)}
    if set(commands) != {*_HOST, *_DEVICE, _LAST} or len(ids) != 1:
        return None
    commands = {kind: command.replace(f" {_GENERATE} ", " ") for kind, command in commands.items()}
    return Passes(commands, environment, *ids)


def run(passes: Passes, folder: Path, source: Path) -> Done:
    """Runs all of them; the first failure where there is one, the host's side before the device's as nvcc has it."""
    # Unique to the source, as nvcc's own are.
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    stem = re.sub(r"\W", "_", source.name)[:20]
    (folder / passes.module_id).write_text(f"_{digest[:8]}_{len(stem)}_{stem}_{digest[8:16]}")
    sides: dict[tuple[str, ...], Done] = {}

    def follow(side: tuple[str, ...]) -> None:
        sides[side] = run_in_order([passes.commands[kind] for kind in side], passes.environment, folder)

    device = threading.Thread(target=follow, args=(_DEVICE,))
    device.start()
    follow(_HOST)
    device.join()
    host, device_done = sides[_HOST], sides[_DEVICE]
    if host.status != 0 or device_done.status != 0:
        # Both read the same source, and say the same of it.
        return host if host.status != 0 else device_done
    last = run_in_order([passes.commands[_LAST]], passes.environment, folder)
    return Done(last.status, host.output + device_done.output + last.output)


def run_in_order(commands: list[str], environment: dict[str, str], folder: Path) -> Done:
    """Runs commands until one fails."""
    output = ""
    for command in commands:
        # nvcc's own words, which a shell is meant to read.
        done = subprocess.run(
            ["/bin/sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        output += done.stdout.decode(errors="replace")
        if done.returncode != 0:
            # The shell's way to say that a signal ended the command; ours is Python's.
            return Done(done.returncode if done.returncode <= 128 else 128 - done.returncode, output)
    return Done(0, output)


def _without_dependencies(words: list[str]) -> list[str]:
    """Without the list of files that were read, for which nvcc preprocesses once more, and which nobody looks at."""
    kept, rest = list[str](), iter(words)
    for word in rest:
        if word == "-MF":
            next(rest, None)
        elif word not in ("-MD", "-MMD"):
            kept.append(word)
    return kept


def _kind(command: str) -> str | None:
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    tool = os.path.basename(words[0]) if words else ""
    if tool in (*_HOST, *_DEVICE):
        return tool
    if "-E" in words and "-o" in words:
        output = words[words.index("-o") + 1]
        return next((kind for kind in ("cpp4", "cpp1") if f".{kind}.ii" in output), None)
    return _LAST if "-c" in words else None
