"""What compilers say of a compiled kernel: registers, spills, stack and shared memory, read out of their own reports.

A figure that a compiler does not give is absent, never 0.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path

_USAGE = re.compile(r"Function (\S+?):\s*\n\s*(.*)")
_FIELD = re.compile(r"([A-Z]+):(\d+)")
_ENTRY = re.compile(r"Compiling entry function '(\S+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"Used \d+ registers.*?\b(\d+) bytes smem")
_REGISTERS = re.compile(r"Used (\d+) registers")
_AMD = re.compile(r"^\s*(?:- )?\.(\w+):\s+(\d+)\s*$", re.MULTILINE)
_TOOL_LIMIT_S = 60.0


def nvidia_tool(name: str) -> str | None:
    """A binary utility of the CUDA toolkit: Triton brings its own."""
    try:
        from triton.backends import nvidia
    except ImportError:
        return None
    path = Path(nvidia.__path__[0]) / "bin" / name
    return str(path) if os.access(path, os.X_OK) else None


def _dump(tool: str, arguments: list[str], binary: bytes) -> str | None:
    path = nvidia_tool(tool)
    if path is None:
        return None
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(binary)
        file.flush()
        environment = {**os.environ, "PATH": os.pathsep.join([os.path.dirname(path), os.environ.get("PATH", os.defpath)])}
        command = [path, *arguments, file.name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TOOL_LIMIT_S, env=environment, check=False)
    return done.stdout if done.returncode == 0 else None


def cubin(binary: bytes, assembler_log: str) -> dict[str, dict[str, int]]:
    """Figures by kernel. Registers, stack and local memory are the binary's own; spills are what the assembler printed with `-v`.

    Shared memory is what the source declares: the block that newer parts reserve for themselves is not counted.
    """
    log = ptxas_log(assembler_log)
    usage = _dump("cuobjdump", ["--dump-resource-usage"], binary) or ""
    found = {}
    for name, line in _USAGE.findall(usage):
        fields = {key: int(value) for key, value in _FIELD.findall(line)}
        said = log.pop(name, {})
        figures = {"registers": fields.get("REG"), "stack": fields.get("STACK"), "local": fields.get("LOCAL")}
        found[name] = {**{key: value for key, value in figures.items() if value is not None}, **said}
    # Without the tool, the assembler's own figures.
    return {**log, **found}


def ptxas_log(text: str) -> dict[str, dict[str, int]]:
    """What `ptxas -v` printed, by kernel."""
    found: dict[str, dict[str, int]] = {}
    parts = _ENTRY.split(text)
    for name, part in zip(parts[1::2], parts[2::2], strict=True):
        figures: dict[str, int] = {}
        if stack := _STACK.search(part):
            figures |= {"stack": int(stack[1]), "spill_stores": int(stack[2]), "spill_loads": int(stack[3])}
        if registers := _REGISTERS.search(part):
            figures["registers"] = int(registers[1])
            shared = _SHARED.search(part)
            figures["static_shared"] = int(shared[1]) if shared else 0
        found[name] = figures
    return found


def sass(binary: bytes) -> str | None:
    """The machine code of every kernel of a cubin."""
    return _dump("nvdisasm", ["--print-code"], binary)


def amdgcn(assembly: str) -> dict[str, int]:
    """Figures of the one kernel in the assembly, from the metadata that the driver reads as well.

    `vgpr_count` holds accumulation registers where both share one file.
    """
    _, _, metadata = assembly.rpartition("\t.amdgpu_metadata")
    fields = {key: int(value) for key, value in _AMD.findall(metadata)}
    names = {
        "registers": "vgpr_count",
        "accumulation_registers": "agpr_count",
        "scalar_registers": "sgpr_count",
        "spilled_registers": "vgpr_spill_count",
        "spilled_scalars": "sgpr_spill_count",
        "stack": "private_segment_fixed_size",
        "static_shared": "group_segment_fixed_size",
    }
    return {ours: fields[theirs] for ours, theirs in names.items() if theirs in fields}
