"""CUDA sources to cubins without a device: by `nvcc` where there is one, otherwise the device part by NVRTC, which comes with torch."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .compile_source import DevicePart, device_part

_NVCC_FLAGS = [
    "-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__", "-D__CUDA_NO_BFLOAT16_CONVERSIONS__", "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr", "-std=c++20", "-Xcompiler=-fPIC",
]  # fmt: skip
#: What NVRTC lacks of the host's library, as far as kernels use it.
_PRELUDE = """\
#include <cuda/std/cstdint>
#include <cuda/std/limits>
#include <cuda/std/type_traits>
using cuda::std::int8_t; using cuda::std::int16_t; using cuda::std::int32_t; using cuda::std::int64_t; using cuda::std::size_t;
using cuda::std::uint8_t; using cuda::std::uint16_t; using cuda::std::uint32_t; using cuda::std::uint64_t; using cuda::std::uintptr_t;
namespace std { using namespace cuda::std; }
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38F
#endif
#line 1 "cuda_sources"
"""
_NVRTC_OPTION = re.compile(r"-?-(?:D|U|use_fast_math|fmad|maxrregcount|ftz|prec-div|prec-sqrt|std|extra-device-vectorization|lineinfo)")
_ARCH_OPTION = re.compile(r"-?-(?:gencode|generate-code|gpu-architecture|arch|gpu-code|code)\b")


def install_nvcc() -> str:
    """How to get an nvcc that fits torch's headers: another version of CUDA refuses them."""
    import torch

    release = torch.version.cuda or "13.2"
    return f'install nvcc: `pip install "nvidia-cuda-nvcc=={release}.*" "nvidia-cuda-cccl=={release}.*"` beside torch, or the CUDA toolkit and set CUDA_HOME'


@dataclass
class Cubin:
    """A compiled source."""

    binary: bytes
    ptx: str
    log: str


class CudaError(Exception):
    """The compiler refused the source; its output is the message."""


def nvcc() -> str | None:
    """The path of nvcc: of the environment, of torch's CUDA, or of a wheel."""
    choices = [shutil.which("nvcc")]
    choices += [os.path.join(home, "bin", "nvcc") for home in (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda") if home]
    choices += [str(folder / "bin" / "nvcc") for folder in _wheels()]
    return next((path for path in choices if path and os.access(path, os.X_OK)), None)


def nvrtc() -> ctypes.CDLL | None:
    """NVRTC, where it can be loaded."""
    names = [str(path) for folder in _wheels() for path in sorted((folder / "lib").glob("libnvrtc.so.*"))]
    names += [str(path) for path in Path("/usr/local/cuda/lib64").glob("libnvrtc.so.*")] + ["libnvrtc.so"]
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _wheels() -> list[Path]:
    """Folders of the CUDA wheels on the import path, the newest first."""
    return [folder for entry in sys.path if entry for folder in sorted(Path(entry, "nvidia").glob("c*"), reverse=True) if folder.is_dir()]


def version() -> list[str]:
    """What there is, for the report."""
    found = []
    if path := nvcc():
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
        release = re.search(r"release ([\d.]+)", done.stdout)
        found.append(f"nvcc {release[1]}" if release else "nvcc")
    if library := nvrtc():
        found.append(_nvrtc_version(library))
    return found


def compile_whole(compiler: str, source: str, arch: str, options: list[str], includes: list[str], limit_s: float) -> Cubin:
    """The source as it is, host code included."""
    with tempfile.TemporaryDirectory(prefix="nvcc-") as folder:
        path = Path(folder, "cuda_sources.cu")
        path.write_text(source)
        command = [compiler, "-cubin", f"-arch={_asked(arch, options)}", "-Xptxas=-v", "--keep", f"--keep-dir={folder}", *_NVCC_FLAGS, *_for_nvcc(options)]
        command += [f"-I{include}" for include in [*_toolkit_headers(compiler), *includes]] + [str(path), "-o", str(Path(folder, "out.cubin"))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
        log = (done.stdout + done.stderr).replace(f"{folder}/", "")
        if done.returncode != 0:
            raise CudaError(log)
        ptx = "".join(file.read_text() for file in sorted(Path(folder).glob("*.ptx")))
        return Cubin(Path(folder, "out.cubin").read_bytes(), ptx, log)


def compile_device(library: ctypes.CDLL, source: str, arch: str, options: list[str]) -> tuple[Cubin, DevicePart]:
    """The device part of the source."""
    part = device_part(source)
    flags = ["--std=c++20", "--device-as-default-execution-space", *(option for option in options if _NVRTC_OPTION.match(option))]
    cubin, _symbols = _by_nvrtc(library, _PRELUDE + part.text, part.instances, _asked(arch, options), flags)
    return cubin, part


def compile_kernel(library: ctypes.CDLL, source: str, kernel: str, arch: str, options: list[str], includes: list[str]) -> tuple[Cubin, str]:
    """The source as it is, with the flags that `torch.cuda._compile_kernel` adds, and the symbol of the kernel that it was compiled for."""
    from torch.utils.cpp_extension import COMMON_NVCC_FLAGS

    flags = [f"-I{include}" for include in includes] + _for_nvcc(options)
    flags += [flag for flag in COMMON_NVCC_FLAGS if flag != "--expt-relaxed-constexpr"]
    cubin, (symbol,) = _by_nvrtc(library, source, [kernel], _asked(arch, options), flags)
    return cubin, symbol


def _by_nvrtc(library: ctypes.CDLL, text: str, kernels: list[str], arch: str, flags: list[str]) -> tuple[Cubin, list[str]]:
    """A text compiled with these kernels in it, which may be instances of templates; and their symbols."""
    program = ctypes.c_void_p()
    _check(library, library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"cuda_sources", 0, None, None))
    for kernel in kernels:
        library.nvrtcAddNameExpression(program, kernel.encode())
    flags = [f"--gpu-architecture={arch}", "--ptxas-options=-v", *(f"-I{folder}" for folder in _headers()), *flags]
    array = (ctypes.c_char_p * len(flags))(*[flag.encode() for flag in flags])
    result = library.nvrtcCompileProgram(program, len(flags), array)
    log = _text(library, program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
    if result != 0:
        raise CudaError(log)
    ptx = _text(library, program, "PTX").rstrip(b"\0").decode(errors="replace")
    return Cubin(_text(library, program, "CUBIN"), ptx, log), [_symbol(library, program, kernel) for kernel in kernels]


def _symbol(library: ctypes.CDLL, program: ctypes.c_void_p, kernel: str) -> str:
    name = ctypes.c_char_p()
    _check(library, library.nvrtcGetLoweredName(program, kernel.encode(), ctypes.byref(name)))
    return (name.value or b"").decode()


def _toolkit_headers(compiler: str) -> list[str]:
    """The headers that belong to an nvcc: those of another version do not go with it."""
    own = Path(compiler).resolve().parent.parent / "include"
    return [str(path) for path in (own, own / "cccl") if path.is_dir()] if (own / "cuda_runtime.h").is_file() else _headers()


def _headers() -> list[str]:
    folders = [folder / "include" for folder in _wheels()] + [Path("/usr/local/cuda/include")]
    return [str(path) for folder in folders for path in (folder, folder / "cccl") if path.is_dir()]


def _asked(arch: str, options: list[str]) -> str:
    """The architecture, with the suffix that the candidate's own options have for it: without one, instructions that only this part has are none."""
    suffixes = [found[1] for option in options if (found := re.search(rf"(?:compute|sm)_{arch.removeprefix('sm_')}([af])\b", option))]
    return arch + suffixes[0] if suffixes else arch


def _for_nvcc(options: list[str]) -> list[str]:
    """The candidate's own options, without architectures: those are ours to choose."""
    kept = []
    is_value = False
    for option in options:
        if is_value:
            is_value = False
        elif _ARCH_OPTION.match(option):
            is_value = "=" not in option
        else:
            kept.append(option)
    return kept


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(library, getattr(library, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _check(library: ctypes.CDLL, result: int) -> None:
    if result != 0:
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise CudaError(f"NVRTC: {library.nvrtcGetErrorString(result).decode()}")


def _nvrtc_version(library: ctypes.CDLL) -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"nvrtc {major.value}.{minor.value}"
