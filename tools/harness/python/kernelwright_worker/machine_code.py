"""Whether a module's own machine code computes on whole vectors: the inner loops of the libraries it has loaded, as objdump shows them.

Counted are instructions, not how often they run. A loop is a conditional jump back inside a function, and an inner one holds no other. What a
compiler adds to a vector loop for what the vectors leave over, or for arrays that overlap, is a scalar loop of the same operations: it is
left out.

Limits: x86-64 and floating-point arithmetic only; integer arithmetic cannot be told from that of addresses.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

LARGEST = 64 << 20
LIMIT_S = 30.0

_FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(?:(?:bnd|lock|notrack|rep\w*|\{\w+\})\s+)*([a-z]\w*)\s*(.*)$")
_TARGET = re.compile(r"^([0-9a-f]+) <")
_ARITHMETIC = re.compile(
    r"v?(fn?m(?:addsub|subadd|add|sub)(?=\d)|addsub|add|sub|mul|div|sqrt|min|max|round|rndscale|reduce|scalef|rcp|rsqrt|hadd|dp|dpbf16|tdpbf16|tdpfp16)"
    r"(?:\d+)?([ps])[sdh]$"
)
_WIDTHS = (("zmm", 512), ("tmm", 512), ("ymm", 256), ("xmm", 128))


@dataclass
class Loop:
    """An inner loop: its floating-point arithmetic."""

    first: int
    last: int
    packed: int = 0
    scalar: int = 0
    bits: int = 0
    operations: set[str] = field(default_factory=set)
    stores: bool = False

    @property
    def is_vector(self) -> bool:
        """Whether most of it works on whole vectors."""
        return self.packed > self.scalar

    def is_remainder_of(self, other: Loop) -> bool:
        """Whether it does one element at a time what the other does by vectors."""
        return other.is_vector and not self.is_vector and self.operations == other.operations and self.stores == other.stores


def mapped_libraries() -> set[str]:
    """The files that this process has mapped for execution; none where the sandbox hides that, as it does below another program."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return set()
    return {parts[5] for parts in (line.split(maxsplit=5) for line in lines) if len(parts) == 6 and "x" in parts[1] and parts[5].startswith("/")}


def describe(known: set[str]) -> dict[str, Any]:
    """Vector figures of the libraries that were loaded since `known` was noted and belong to no installation, and what could not be known."""
    reply: dict[str, Any] = {"limits": []}
    own = sorted(path for path in mapped_libraries() - known if not path.startswith(_installed()))
    if not own:
        return reply
    tool = shutil.which("objdump")
    if platform.machine() != "x86_64":
        reply["limits"].append("Whether the machine code is vectorised is read on x86-64 only.")
    elif tool is None:
        reply["limits"].append("Whether the machine code is vectorised is not known: objdump (of binutils) is missing.")
    else:
        loops = []
        for path in own:
            text = _disassembled(tool, path)
            if text is None:
                reply["limits"].append(f"The machine code of {os.path.basename(path)} cannot be read.")
            else:
                loops += inner_loops(text)
        reply |= figures(loops)
    return reply


def figures(loops: list[Loop]) -> dict[str, float]:
    """Figures of the loops that compute; nothing where none does."""
    if not loops:
        return {}
    packed, scalar = sum(loop.packed for loop in loops), sum(loop.scalar for loop in loops)
    vector = sum(loop.is_vector for loop in loops)
    found: dict[str, float] = {"vector_share": packed / (packed + scalar), "vector_loops": vector, "scalar_loops": len(loops) - vector}
    if bits := max(loop.bits for loop in loops):
        found["vector_bits"] = bits
    return found


def inner_loops(disassembly: str) -> list[Loop]:
    """The inner loops with floating-point arithmetic, without remainders of others."""
    found: list[Loop] = []
    instructions: list[tuple[int, str, str]] = []
    for line in disassembly.splitlines():
        if _FUNCTION.match(line):
            found += _of_function(instructions)
            instructions = []
        elif match := _INSTRUCTION.match(line):
            instructions.append((int(match[1], 16), match[2], match[3]))
    return found + _of_function(instructions)


def _of_function(instructions: list[tuple[int, str, str]]) -> list[Loop]:
    if not instructions:
        return []
    start = instructions[0][0]
    spans = []
    for address, name, operands in instructions:
        target = _TARGET.match(operands)
        if name.startswith("j") and name != "jmp" and target and start <= int(target[1], 16) < address:
            spans.append((int(target[1], 16), address))
    inner = [span for span in set(spans) if not any(other != span and span[0] <= other[0] and other[1] <= span[1] for other in spans)]
    loops = [_loop(instructions, first, last) for first, last in sorted(inner)]
    loops = [loop for loop in loops if loop.packed + loop.scalar]
    return [loop for loop in loops if not any(loop.is_remainder_of(other) for other in loops)]


def _loop(instructions: list[tuple[int, str, str]], first: int, last: int) -> Loop:
    loop = Loop(first, last)
    for address, name, operands in instructions:
        if not first <= address <= last:
            continue
        if match := _ARITHMETIC.match(name):
            loop.operations.add(match[1])
            if match[2] == "p":
                loop.packed += 1
                loop.bits = max([loop.bits] + [bits for register, bits in _WIDTHS if register in operands])
            else:
                loop.scalar += 1
        elif "mov" in name and "PTR" in operands.partition(",")[0]:
            loop.stores = True
    return loop


def _disassembled(tool: str, path: str) -> str | None:
    try:
        if os.path.getsize(path) > LARGEST:
            return None
        command = [tool, "--disassemble", "--no-show-raw-insn", "--disassembler-options=intel", path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def _installed() -> tuple[str, ...]:
    """Folders of what was installed and not made by the module."""
    site = os.path.dirname(os.path.dirname(torch.__file__))
    return tuple(f"{folder}/" for folder in ("/usr", "/lib", "/lib64", "/opt", site, sys.prefix, sys.base_prefix))
