"""The builder: says what a candidate has torch build, or makes one part of it. Confined, without a device, and believed in nothing.

A process of this role does one thing in its short life. `collect` imports the candidate far enough to see its builds; `make` runs one command, of which
the supervisor takes the file it gives; `begin` and `finish` run one of nvcc's that gives two files (`nvcc_sides.py`); `exchange` makes a library of one
that differs in nothing but the device's code (`device_section.py`). Candidate code decides the text and the flags of them, so nothing outlives a process:
what is kept is kept by the supervisor, under a key of everything the command was given.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

from . import device_section, extension_build, failures, forms, nvcc_passes, nvcc_sides
from .channel import Channel, WorkerError, serve
from .extension_build import Run, Unfollowable

#: Builds are worth less than the times that are taken beside them.
_NICENESS = 10
#: What compilers read of the environment.
_VARIABLES = ("PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "CUDAHOSTCXX", "NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS")
#: What is kept of a compiler's output.
_OUTPUT_LIMIT = 200_000


def main(channel: Channel) -> None:
    """Answers requests until the supervisor closes the channel."""
    os.nice(_NICENESS)
    apart = _Apart()
    handlers = {"collect": _collect, "make": _make, "begin": apart.begin, "finish": apart.finish, "exchange": _exchange, "installed": _installed}
    serve(channel, handlers, lambda error, op: WorkerError("internal", op, f"{type(error).__name__}: {failures.text_of(error)}"))


def _collect(body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    builds: list[str] = []
    if part := body.get("part"):
        from .compile_device import Part, patch_torch

        # The candidate asks for a device before it builds for it; without one it might do without its extension.
        patch_torch(Part(part))
        os.environ["TORCH_CUDA_ARCH_LIST"] = body["cuda_arch"]

    def recorded(_original: Run) -> Run:
        def run(build_directory: str, verbose: bool, error_prefix: str) -> None:
            text = extension_build.text_of(build_directory)
            if text is not None and text not in builds:
                builds.append(text)

        return run

    if extension_build.replace_run(recorded):
        from torch.utils import cpp_extension

        cpp_extension._import_module_from_library = lambda name, _path, is_python_module: Stub(name) if is_python_module else None
        offered = types.ModuleType(body["problem"])
        if body["problem"].isidentifier():
            sys.modules.setdefault(body["problem"], offered)
        try:
            forms.import_candidate(body["path"])
        except BaseException as error:  # whatever it is, the candidate's own process meets it again, and says so
            print(f"the import ended early: {type(error).__name__}: {failures.text_of(error)}")
    return {"builds": builds}


class Stub(types.ModuleType):
    """Stands for an extension that is not loaded; its functions cannot be called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*_arguments: Any, **_options: Any) -> Any:
            raise Unfollowable(f"forward was followed up to {self.__name__}.{name}: what it launches after that is not seen")

        return call


def _installed(body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    """What decides, beside text and arguments, what the programs make of a source."""
    import torch

    facts = [sys.version, torch.__version__, torch.__file__, str(torch.version.cuda)]
    facts += [f"{name}={os.environ.get(name)}" for name in _VARIABLES]
    # nvcc calls the host's compiler by its own choice.
    for program in sorted({*body["programs"], "c++", "gcc"}):
        path = os.path.realpath(shutil.which(program) or program)
        try:
            meta = os.stat(path)
            said = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False, timeout=30)
            facts += [program, path, str(meta.st_size), str(meta.st_mtime_ns), said.stdout]
        except (OSError, subprocess.SubprocessError) as error:
            facts += [program, path, type(error).__name__]
    return {"installed": "\n".join(facts)}


def _make(body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    """Runs one command in a folder with the given sources; whether it succeeded, and what it said."""
    folder, argv, sources = _placed(body)
    is_nvcc = os.path.basename(argv[0]) == "nvcc" and len(sources) == 1
    if is_nvcc and (passes := nvcc_passes.split(nvcc_passes.dry_run(argv, folder))):
        ended = nvcc_passes.run(passes, folder, sources[0])
        return {"status": ended.status, "output": _tidied(ended.output, folder)}
    try:
        done = subprocess.run(argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        raise WorkerError("internal", "make", f"{argv[0]} does not start: {error.strerror}") from error
    return {"status": done.returncode, "output": _tidied(done.stdout.decode(errors="replace"), folder)}


def _exchange(body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
    """Puts the device's code of an object into a library beside it; whether it could be."""
    folder = Path(body["folder"])
    return {"exchanged": device_section.exchange(folder / body["library"], folder / body["object"])}


class _Apart:
    """An nvcc command whose two sides are made apart."""

    def __init__(self) -> None:
        self._sides: nvcc_sides.Sides | None = None
        self._folder = Path()

    def begin(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Begins; a digest of what the host's side is made from besides, or null where both have to be made together. What nvcc has said that it
        would run needs not be asked again for the same command."""
        self._folder, argv, sources = _placed(body)
        if not nvcc_sides.can_be_apart(argv):
            return {"text": None, "said": None}
        known, here = body.get("said"), str(self._folder)
        said = nvcc_passes.dry_run(argv, self._folder) if known is None else known.replace(extension_build.BUILD, here)
        passes = nvcc_passes.split(said)
        if said is None or passes is None:
            return {"text": None, "said": None}
        self._sides = nvcc_sides.Sides(passes, self._folder, sources[0], nvcc_sides.names_of(body["argv"], body["device_object"]))
        return {"text": self._sides.begin(), "said": said.replace(here, extension_build.BUILD)}

    def finish(self, body: dict[str, Any], _fds: list[int]) -> dict[str, Any]:
        """Ends what has begun; how the device's side went, and a digest of the stub, or null where the host's side was to be made and is not."""
        if self._sides is None:
            raise WorkerError("internal", "finish", "nothing has begun")
        device, stub = self._sides.finish(body["make_host"])
        return {"status": device.status, "output": _tidied(device.output, self._folder), "stub": stub}


def _placed(body: dict[str, Any]) -> tuple[Path, list[str], list[Path]]:
    """The folder of a command, the command in it, and its sources, which are there now."""
    folder = Path(body["folder"])
    folder.mkdir(exist_ok=True)
    for name, text in body.get("sources", {}).items():
        (folder / name).write_text(text)
    argv = [word.replace(extension_build.BUILD, str(folder)) for word in body["argv"]]
    return folder, argv, [folder / name for name in body.get("sources", {})]


def _tidied(output: str, folder: Path) -> str:
    return output.replace(f"{folder}/", "")[:_OUTPUT_LIMIT]
