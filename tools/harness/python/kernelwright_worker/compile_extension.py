"""C++ and CUDA sources of a candidate: what it hands to `load_inline`, `load` or `torch.cuda._compile_kernel` is compiled for the part instead of
being built and loaded."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import torch

from . import compile_cuda, compile_figures, failures
from .builder import Stub
from .compile_artifacts import Artifacts
from .compile_cuda import CudaError, install_nvcc
from .compile_device import Part
from .compile_process import Report, Task, run

_COMPILERS = re.compile(r"(?:.*/)?(?:g\+\+|gcc|c\+\+|cc|clang(?:\+\+)?|nvcc|hipcc)(?:-[\d.]+)?$")


@dataclass
class _Extension:
    name: str
    cpp: str
    cuda: str
    cflags: list[str]
    cuda_flags: list[str]
    includes: list[str]
    #: Of a source without host code, the kernel that is to be launched.
    kernel: str | None = None


class _Kernel:
    """Stands for a kernel that is not loaded. A launch writes nothing: only shapes are followed."""

    def __call__(self, *_arguments: Any, **_options: Any) -> None:
        """Launches nothing."""

    def set_shared_memory_config(self, _nbytes: int) -> None:
        """Sets nothing."""


class _Compiler(subprocess.Popen):
    """A program that the candidate has started itself; what it says is kept where the candidate reads it."""

    said: Any = ""

    def communicate(self, *arguments: Any, **options: Any) -> tuple[Any, Any]:
        output, errors = super().communicate(*arguments, **options)
        self.said = errors or output or ""
        return output, errors


class Extensions:
    """The extensions of one candidate, compiled for one part."""

    def __init__(self, part: Part, artifacts: Artifacts, report: Report, at_once: int, limit_s: float) -> None:
        self._part, self._artifacts, self._report = part, artifacts, report
        self._at_once, self._limit_s = at_once, limit_s
        self._waiting: list[_Extension] = []
        self._started: list[tuple[str, _Compiler]] = []

    def install(self, source: str) -> None:
        """Puts itself in the place of what torch builds with, where the candidate's source speaks of it; on the host, watches compilers."""
        if not self._part.is_gpu:
            self._watch()
        elif "_compile_kernel" in source and hasattr(torch.cuda, "_compile_kernel"):
            torch.cuda._compile_kernel = partial(self._compile_kernel, inspect.signature(torch.cuda._compile_kernel))
        if "cpp_extension" not in source:
            return
        from torch.utils import cpp_extension

        cpp_extension.load_inline = self._load_inline
        cpp_extension.load = self._load

    def _watch(self) -> None:
        """Notes every compiler that is started from here on, also through a shell."""
        started = self._started

        class Watched(_Compiler):
            def __init__(self, args: Any, *others: Any, **options: Any) -> None:
                super().__init__(args, *others, **options)
                words = [args] if isinstance(args, (str, bytes, os.PathLike)) else args
                program, *rest = " ".join(map(os.fsdecode, words)).split() or [""]
                if _COMPILERS.match(program):
                    started.append((" ".join([os.path.basename(program), *rest])[:120], self))

        def system(command: Any) -> int:
            code = subprocess.call(command, shell=True)
            return code << 8 if code >= 0 else -code

        subprocess.Popen, os.system = Watched, system

    def _load_inline(self, name: str, cpp_sources: Any = "", cuda_sources: Any = None, **options: Any) -> Any:
        return self._take(name, _joined(cpp_sources), _joined(cuda_sources), options)

    def _load(self, name: str, sources: Any, **options: Any) -> Any:
        paths = [Path(source) for source in ([sources] if isinstance(sources, str) else sources)]
        is_cuda = [path.suffix in (".cu", ".hip") for path in paths]
        cpp = "\n".join(path.read_text() for path, cuda in zip(paths, is_cuda, strict=True) if not cuda)
        return self._take(name, cpp, "\n".join(path.read_text() for path, cuda in zip(paths, is_cuda, strict=True) if cuda), options)

    def _take(self, name: str, cpp: str, cuda: str, options: dict[str, Any]) -> Any:
        def words(key: str) -> list[str]:
            return [str(word) for word in options.get(key) or []]

        self._waiting.append(_Extension(name, cpp, cuda, words("extra_cflags"), words("extra_cuda_cflags"), words("extra_include_paths")))
        return Stub(name)

    def _compile_kernel(self, form: inspect.Signature, *arguments: Any, **options: Any) -> _Kernel:
        given = form.bind(*arguments, **options).arguments
        # Some versions of torch take what comes before the kernel apart from it.
        source = "\n".join(filter(None, [given.get("header_code"), given["kernel_source"]]))
        flags = [str(option) for option in given.get("nvcc_options") or []]
        if capability := given.get("compute_capability"):
            flags.append(f"-arch=sm_{capability}")
        includes = [str(folder) for folder in given.get("cuda_include_dirs") or []]
        name = given["kernel_name"]
        self._waiting.append(_Extension(name, "", source, [], flags, includes, kernel=name))
        return _Kernel()

    def compile(self) -> None:
        """Compiles what was handed over since the last time."""
        waiting, self._waiting = self._waiting, []
        for extension in waiting:
            if self._part.backend == "cuda" and extension.cuda:
                self._compile_cuda(extension)
            elif self._part.backend == "hip" and extension.cuda:
                reason = "CUDA sources are compiled for NVIDIA parts only"
                self._missing(extension, reason, "write the kernel in Triton to have it compiled for AMD, or compile it with hipcc on a ROCm machine")
            elif not self._part.is_gpu and extension.cpp:
                self._compile_cpp(extension)
        told = [self._of(command, process) for command, process in self._started]
        self._started.clear()
        last = max((number for number, message in enumerate(told) if message["status"] == "compiled"), default=-1)
        for number, message in enumerate(told):
            if message["status"] == "failed" and number < last:
                self._report({"note": f"{message['kernel']} failed, and another compiler was started after it: {message['summary']}"})
            else:
                self._report(message)

    def _of(self, command: str, process: _Compiler) -> dict[str, Any]:
        """How a compiler ended that the candidate has started itself."""
        try:
            code = process.wait(self._limit_s)
        except subprocess.TimeoutExpired:
            return {"kernel": command, "status": "timed_out", "limit_s": self._limit_s}
        if code == 0:
            return {"kernel": command, "status": "compiled", "figures": {}}
        said = process.said if isinstance(process.said, str) else os.fsdecode(process.said)
        return self._refused(command, said or f"it ended with exit code {code}, and says why in what the candidate printed")

    def _compile_cuda(self, extension: _Extension) -> None:
        compiler, library, wanted = compile_cuda.nvcc(), compile_cuda.nvrtc(), extension.kernel
        if library is None and (compiler is None or wanted is not None):
            if wanted is not None:
                self._missing(extension, "NVRTC is not installed", "install a torch that is built for CUDA: NVRTC comes with it")
            else:
                self._missing(extension, "neither nvcc nor NVRTC is installed", install_nvcc())
            return

        def work(report: Report) -> None:
            start = perf_counter_ns()
            arch = self._part.arch
            unknown: list[str] = []
            launched = None
            try:
                if wanted is not None:
                    cubin, launched = compile_cuda.compile_kernel(library, extension.cuda, wanted, arch, extension.cuda_flags, extension.includes)
                elif compiler is not None:
                    source = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n" + extension.cuda
                    includes = [*extension.includes, *_torch_includes()]
                    cubin = compile_cuda.compile_whole(compiler, source, arch, extension.cuda_flags, includes, self._limit_s)
                else:
                    cubin, part = compile_cuda.compile_device(library, extension.cuda, arch, extension.cuda_flags)
                    unknown = part.unknown
            except CudaError as error:
                report(self._refused(extension.name, str(error), start))
                return
            artifacts = [self._artifacts.put("ptx", cubin.ptx), self._artifacts.put("cubin", cubin.binary)]
            if sass := compile_figures.sass(cubin.binary):
                artifacts.append(self._artifacts.put("sass", sass))
            artifacts.append(self._artifacts.put("log", cubin.log))
            for symbol, figures in compile_figures.cubin(cubin.binary, cubin.log).items():
                if launched not in (None, symbol):
                    continue
                took = {"compile_ns": perf_counter_ns() - start, "artifacts": artifacts}
                report({"kernel": _demangled(symbol), "status": "compiled", "figures": figures, **took})
            for name in unknown:
                report({"unknown": name})

        self._run(extension, work)
        if compiler is None and wanted is None:
            self._report({"note": f"the host code of {extension.name} was not compiled: there is no nvcc; {install_nvcc()}"})

    def _compile_cpp(self, extension: _Extension) -> None:
        compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
        if compiler is None:
            self._missing(extension, "there is no C++ compiler", "install g++ (Debian: apt install g++)")
            return

        def work(report: Report) -> None:
            start = perf_counter_ns()
            command = [compiler, "-fsyntax-only", "-fPIC", "-std=c++20", f"-DTORCH_EXTENSION_NAME={extension.name}", *extension.cflags]
            command += [f"-I{folder}" for folder in [*extension.includes, *_torch_includes(), sysconfig.get_path("include")]] + ["-x", "c++", "-"]
            source = "#include <torch/extension.h>\n" + extension.cpp
            done = subprocess.run(command, input=source, capture_output=True, text=True, timeout=self._limit_s, check=False)
            if done.returncode != 0:
                report(self._refused(extension.name, done.stderr, start))
            else:
                report({"kernel": extension.name, "status": "compiled", "figures": {}, "compile_ns": perf_counter_ns() - start})

        self._run(extension, work)

    def _run(self, extension: _Extension, work: Task) -> None:
        (ended,) = run([work], self._at_once, self._limit_s)
        for message in ended.messages:
            if "unknown" in message:
                reason = "its template arguments are known to the host code only, which NVRTC does not compile"
                self._missing(extension, reason, install_nvcc(), what=f"{message['unknown']} of {extension.name}")
            else:
                self._report(message)
        if ended.is_late:
            self._report({"kernel": extension.name, "status": "timed_out", "limit_s": self._limit_s})
        elif ended.death is not None:
            said = {"diagnostics": failures.condense(ended.output, failures.TRACEBACK_LIMIT), "log": self._artifacts.put("log", ended.output)}
            self._report({"kernel": extension.name, "status": "crashed", "summary": f"the compiler {ended.death}", **said})

    def _refused(self, name: str, text: str, start: int | None = None) -> dict[str, Any]:
        first = next((line for line in text.splitlines() if re.search(r"\berror\b", line)), text.strip().partition("\n")[0])
        return {
            "kernel": name,
            "status": "failed",
            "compile_ns": None if start is None else perf_counter_ns() - start,
            "summary": failures.condense(first, failures.MESSAGE_LIMIT),
            "diagnostics": failures.condense(text, failures.TRACEBACK_LIMIT),
            "log": self._artifacts.put("log", text),
        }

    def _missing(self, extension: _Extension, reason: str, hint: str, what: str | None = None) -> None:
        self._report({"not_compiled": {"what": what or f"the sources of {extension.name}", "reason": reason, "hint": hint}})


def software() -> list[str]:
    """Versions of what compiles here."""
    found = []
    try:
        import triton

        found.append(f"triton {triton.__version__}")
    except ImportError:
        pass
    for tool in ("ptxas", "ptxas-blackwell"):
        if path := compile_figures.nvidia_tool(tool):
            done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
            release = re.search(r"\bV([\d.]+)", done.stdout)
            found.append(f"{tool} {release[1]}" if release else tool)
    return found + compile_cuda.version()


def _joined(sources: Any) -> str:
    return sources if isinstance(sources, str) else "\n".join(sources or [])


def _torch_includes() -> list[str]:
    from torch.utils.cpp_extension import include_paths

    return [*include_paths(), sysconfig.get_path("include")]


def _demangled(symbol: str) -> str:
    """A kernel's name as it is written; the symbol where no tool undoes it."""
    tool = shutil.which("c++filt")
    if tool is None or not symbol.startswith("_Z"):
        return symbol
    done = subprocess.run([tool, symbol], capture_output=True, text=True, timeout=10, check=False)
    return done.stdout.strip() or symbol
