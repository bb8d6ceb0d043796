"""Triton's compiled C: its link to the driver, and up to Triton 3.8 a launcher for each signature of kernels.

Both come out of a C compiler, which takes longer than compiling a small kernel does. In the nursery they are built once; every worker that is
forked afterwards has them. A worker only says which signatures it had to build launchers for: the C is written here, by Triton, from
types that were checked.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

_TYPE = re.compile(r"\*?k?[a-z][a-z0-9]{0,11}")
_MOST_ARGUMENTS = 64
#: How many signatures one process tells of.
_MOST_TOLD = 16

_built: dict[tuple[str, str], Any] = {}
_told: list[list[str]] = []


def prepare() -> None:
    """Builds the link to the driver, which opens no device, and remembers what is built from here on."""
    try:
        driver = importlib.import_module("triton.backends.nvidia.driver")
        utilities = driver.CudaUtils
        utilities()
    except Exception:
        return  # no Triton, driver or compiler: a worker that needs them says so itself
    # There is one object of it, which constructing it again would build again.
    utilities.__init__ = lambda self: None
    if hasattr(driver, "make_launcher") and hasattr(driver, "compile_module_from_src"):
        _remember_launchers(driver)


def _remember_launchers(driver: Any) -> None:
    make, build = driver.make_launcher, driver.compile_module_from_src

    def make_and_tell(constants: Any, signature: Any, *others: Any) -> str:
        source: str = make(constants, signature, *others)
        types = [str(kind) for kind in signature.values()]
        if ("__triton_launcher", source) not in _built and len(_told) < _MOST_TOLD and _is_plain(types):
            _told.append(types)
        return source

    def build_once(src: str, name: str, *others: Any, **options: Any) -> Any:
        if (name, src) not in _built:
            _built[name, src] = build(src, name, *others, **options)
        return _built[name, src]

    driver.make_launcher, driver.compile_module_from_src = make_and_tell, build_once


def told() -> list[list[str]]:
    """The types of the arguments of kernels for which this process had to build launchers."""
    return _told


def build(types: object) -> bool:
    """Builds the launcher of a signature; whether there is one now. What a candidate's process says is checked."""
    if not isinstance(types, list) or not _is_plain(types):
        return False
    try:
        driver = importlib.import_module("triton.backends.nvidia.driver")
        source = driver.make_launcher({}, dict(enumerate(types)), None)
        driver.compile_module_from_src(
            src=source,
            name="__triton_launcher",
            library_dirs=driver.library_dirs(),
            include_dirs=driver.include_dirs,
            libraries=driver.libraries,
        )
    except Exception:
        return False
    finally:
        _told.clear()
    return True


def _is_plain(types: list[Any]) -> bool:
    return len(types) <= _MOST_ARGUMENTS and all(isinstance(kind, str) and (kind == "constexpr" or _TYPE.fullmatch(kind)) for kind in types)
