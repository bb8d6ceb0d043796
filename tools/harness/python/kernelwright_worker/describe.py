"""Describes a target: what it is, what it can do, and what builds and runs kernels on it.

Every fact says whether it was `read` or `measured`. What cannot be had is left out.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shutil
import subprocess

import torch

from .device import Device


def describe(device: Device) -> dict:
    """A target description, lacking only the target itself: name, arch, memory, copy bandwidth, facts and software."""
    if not device.is_cuda:
        from .describe_cpu import describe_cpu

        return describe_cpu(software())
    from .describe_cuda import describe_cuda

    return describe_cuda(device.torch.index, software())


def software() -> list[str]:
    """Name and version of everything that every target uses; a tool that is not there has no line."""
    lines = [f"python {platform.python_version()}", f"torch {torch.__version__}"]
    lines += [f"{name} {version}" for name in ("triton", "pytorch-triton", "numpy") if (version := distribution_version(name))]
    lines += [f"{name} {version}" for name in ("gcc", "clang") if (version := tool_version(name))]
    lines.append(f"{platform.system()} {platform.release()}")
    return lines


def distribution_version(name: str) -> str | None:
    """The version of an installed Python package, without importing it."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def tool_version(program: str, pattern: str = r"\b(\d+\.\d+(?:\.\d+)?)") -> str | None:
    """The version a command-line tool prints: the last match of `pattern` on the first line that has one."""
    text = output_of([program, "--version"])
    for line in (text or "").splitlines():
        if found := re.findall(pattern, line):
            return found[-1]
    return None


def output_of(command: list[str]) -> str | None:
    """What a tool prints on stdout; nothing if it is missing, fails or takes longer than ten seconds."""
    path = shutil.which(command[0])
    if path is None:
        return None
    try:
        done = subprocess.run([path, *command[1:]], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout
