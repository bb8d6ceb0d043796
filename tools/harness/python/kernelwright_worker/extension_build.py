"""What torch's extension builder has built, as text, and what has been built of it already.

`load_inline` and `load` end in one function of `torch.utils.cpp_extension`, which runs ninja in a folder that holds the sources and `build.ninja`.
Only that function is replaced: names, versions, docstrings, checks and messages stay torch's own, whatever its version. Where torch is arranged
differently, nothing is replaced and everything goes the way it always went.

The text of a build is the same in every process that is handed the same sources and flags: folders that differ between workers are left out,
and a build that would depend on one (a header beside a source, an absolute path into the scratch folder) has no text.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

#: Stands for the folder of the build.
BUILD = "@BUILD@"
#: What is left out of a build's text must be told by whoever builds it: more than this is no inline source.
_TEXT_LIMIT = 4 << 20
#: What a shell would look at; commands are run without one.
_SHELL = re.compile(r"[`$;&|<>*?~\n]")
_RULES = ("compile", "cuda_compile", "link")
_LOCAL_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

#: `run(build_directory, verbose, error_prefix)`, called with names or without.
Run = Callable[..., None]


class Unfollowable(BaseException):
    """The candidate calls what is not built here. No `Exception`: a fallback of the candidate's must not catch it."""


def text_of(folder: str) -> str | None:
    """The text of the build that `folder` was prepared for; None for a build that others cannot repeat."""
    try:
        build = _build_of(os.path.realpath(folder), folder)
    except (OSError, ValueError, KeyError, subprocess.SubprocessError):
        return None
    text = json.dumps(build, sort_keys=True, separators=(",", ":"), ensure_ascii=True) if build else None
    return text if text is not None and len(text) <= _TEXT_LIMIT else None


def digest_of(text: str) -> str:
    """The name under which the supervisor hands over what was built."""
    return hashlib.sha256(text.encode()).hexdigest()


def _build_of(real: str, named: str) -> dict[str, Any] | None:
    units: list[dict[str, Any]] = []
    link: dict[str, Any] | None = None
    for step in _steps(named):
        file, output = os.path.join(named, step["file"]), step["output"]
        if _SHELL.search(step["command"]) or os.path.basename(output) != output:
            return None
        own = f"{BUILD}/{os.path.basename(file)}"
        argv = [word.replace(file, own).replace(real, BUILD).replace(named, BUILD) for word in shlex.split(step["command"])]
        if output.endswith(".so"):
            link = {"argv": argv, "library": output}
            continue
        with open(file) as source:
            unit = {"argv": argv, "file": os.path.basename(file), "source": source.read(), "object": output}
        if _reads_beside(unit["source"], os.path.dirname(file)) or _mentions([*argv, unit["source"]], named):
            return None
        units.append(unit)
    names = {unit["file"] for unit in units}
    if link is None or not units or len(names) < len(units) or _mentions(link["argv"], named):
        return None
    return {"units": units, "link": link}


def _steps(folder: str) -> list[dict[str, str]]:
    """What ninja would run. It wants only rules that there are: a build without CUDA has fewer."""
    with open(os.path.join(folder, "build.ninja")) as file:
        known = file.read()
    rules = [rule for rule in _RULES if f"rule {rule}\n" in known]
    listed = subprocess.run(["ninja", "-t", "compdb", *rules], cwd=folder, capture_output=True, text=True, check=True, timeout=30)
    steps: list[dict[str, str]] = json.loads(listed.stdout)
    return steps


def _reads_beside(source: str, folder: str) -> bool:
    """Whether a source includes files that lie beside it."""
    return any(os.path.exists(os.path.join(folder, name)) for name in _LOCAL_INCLUDE.findall(source))


def _mentions(words: list[str], folder: str) -> bool:
    """Whether something points into folders that only this process has."""
    own = os.path.dirname(folder)
    private = {os.environ.get("HOME"), os.environ.get("TMPDIR"), own, os.path.realpath(own)} - {None, "", "/"}
    return any(place in word for word in words for place in private if place)


def replace_run(run: Callable[[Run], Run]) -> bool:
    """Puts `run(original)` in the place of torch's call of ninja; whether torch has such a place."""
    from torch.utils import cpp_extension

    original = getattr(cpp_extension, "_run_ninja_build", None)
    if original is None or not hasattr(cpp_extension, "_import_module_from_library"):
        return False
    cpp_extension._run_ninja_build = run(original)
    return True


def use_built(folder: str) -> None:
    """Lets builds of this process take what lies in `folder`: for the digest of a build's text either `DIGEST.so`, or `DIGEST.log` with what
    the compiler said where it refused. Whatever is not there is built by torch.
    """

    def with_built(original: Run) -> Run:
        def run(build_directory: str, verbose: bool, error_prefix: str) -> None:
            text = text_of(build_directory)
            found = os.path.join(folder, digest_of(text)) if text is not None else ""
            if text is not None and os.path.isfile(f"{found}.so"):
                shutil.copyfile(f"{found}.so", os.path.join(build_directory, json.loads(text)["link"]["library"]))
            elif text is not None and os.path.isfile(f"{found}.log"):
                with open(f"{found}.log") as log:
                    raise RuntimeError(f"{error_prefix}: {log.read()}")
            else:
                original(build_directory, verbose, error_prefix)

        return run

    replace_run(with_built)
