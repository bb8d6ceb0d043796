"""Triton launches that only compile: every kernel that `forward` reaches and every autotune configuration, each in a process of its own.

The candidate's own calls are followed to Triton's compiler, so signatures, specialisations, heuristics, hooks and pruning are those of a
real launch; only the launch itself is left out. What a call gave is reported once per kernel, signature, constants and options.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any

from . import compile_figures, failures
from .compile_artifacts import Artifacts
from .compile_device import Part
from .compile_process import Ended, Report, Task, output_of, run

#: Options that a reader of a configuration wants to see, and the value that goes without saying.
_OPTIONS: dict[str, object] = {
    "num_warps": None, "num_stages": None, "num_ctas": 1, "maxnreg": None, "waves_per_eu": 0, "matrix_instr_nonkdim": 0, "kpack": 1,
    "ir_override": None,
}  # fmt: skip
_ARTIFACTS = {"ttgir": "ttgir", "llir": "llir", "ptx": "ptx", "amdgcn": "amdgcn"}


def warm(part: Part) -> None:
    """Has Triton hash itself and its compilers, once for all the processes that are forked from this one."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    with contextlib.suppress(ImportError, RuntimeError, ValueError, AttributeError, OSError, subprocess.SubprocessError):
        backend = make_backend(GPUTarget(part.backend, part.triton_arch, part.warp))
        backend.hash()
        backend.parse_options({}).hash()
        from triton.runtime.cache import triton_key

        triton_key()


class NotCompiled(Exception):
    """A kernel that did not compile; already reported."""


@dataclass
class Launches:
    """The compilations of one candidate on one part."""

    part: Part
    artifacts: Artifacts
    report: Report
    at_once: int
    limit_s: float
    #: Registers and spills by kernel, for candidates that read them off a compiled kernel.
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    _known: dict[str, bool] = field(default_factory=dict)
    # Inside a process that compiles: the compiler is called, not another process started.
    _is_inside: bool = False
    _grid: list[int] | None = None

    def install(self) -> None:
        """Puts itself between Triton's launches and Triton's compiler, for good."""
        import triton.compiler
        from triton.runtime import autotuner, jit

        original_compile = triton.compiler.compile
        original_run = jit.JITFunction.run
        original_prune = autotuner.Autotuner.prune_configs

        def compile(src: Any, target: Any = None, options: Any = None, **rest: Any) -> Any:
            return self._compile(lambda: original_compile(src, target=target, options=options, **rest), src, options)

        def run(function: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            self._grid = None if warmup else _grid(function, grid, args, kwargs)
            try:
                return original_run(function, *args, grid=grid, warmup=True, **kwargs)
            except NotCompiled:
                return None
            except Exception as error:
                # Refused before the compiler saw it, e.g. an option that this part does not have.
                self._refused(function, kwargs, error)
                return None

        def prune_configs(tuner: Any, kwargs: dict[str, Any]) -> list[Any]:
            configs = original_prune(tuner, kwargs)
            if len(configs) > 1:
                self._compile_all(tuner, configs, kwargs)
            return configs

        def bench(tuner: Any, *_args: Any, config: Any, **_meta: Any) -> list[float]:
            works = self._known.get(_config_key(tuner, config), False)
            return [0.0 if works else float("inf")] * 3

        triton.compiler.compile = compile
        jit.JITFunction.run = run
        autotuner.Autotuner.prune_configs = prune_configs
        autotuner.Autotuner._bench = bench

    def _compile_all(self, tuner: Any, configs: list[Any], kwargs: dict[str, Any]) -> None:
        """Compiles every configuration of a tuner, several at a time."""
        arguments = dict(tuner.nargs)

        def task(config: Any) -> Task:
            def work(report: Report) -> None:
                with self._inside(report):
                    current = {**kwargs, **config.all_kwargs()}
                    named = {**arguments, **current}
                    if config.pre_hook is not None:
                        config.pre_hook(named)
                    tuner.pre_hook(named)
                    tuner.fn.run(*arguments.values(), **current)

            return work

        for config, ended in zip(configs, run([task(config) for config in configs], self.at_once, self.limit_s), strict=True):
            self._take(ended, tuner.base_fn.__name__, _shown({**config.kwargs, **config.all_kwargs()}))
            works = ended.death is None and bool(ended.messages) and all(message["status"] == "compiled" for message in ended.messages)
            self._known[_config_key(tuner, config)] = works

    def _compile(self, original: Callable[[], Any], src: Any, options: Any) -> Any:
        described = _describe(src, options)
        if self._is_inside:
            return self._compile_here(original, described)
        key = described["key"]
        if key not in self._known:

            def work(report: Report) -> None:
                with self._inside(report), contextlib.suppress(NotCompiled):
                    self._compile_here(original, described)

            grid = self._grid
            (ended,) = run([work], 1, self.limit_s)
            self._take(ended, described["kernel"], described["configuration"], grid)
            self._known.setdefault(key, False)
        if not self._known[key]:
            raise NotCompiled
        # From Triton's cache on disk, where the process that compiled has put it.
        return original()

    def _compile_here(self, original: Callable[[], Any], described: dict[str, Any]) -> Any:
        start = perf_counter_ns()
        message = {**described, "grid": self._grid}
        try:
            with _loud_assembler():
                kernel = original()
        except Exception as error:
            self.report({**message, "status": "failed", "compile_ns": perf_counter_ns() - start, **self._worded(error)})
            raise NotCompiled from None
        message["compile_ns"] = perf_counter_ns() - start
        self.report({**message, "status": "compiled", **self._figures(kernel)})
        return kernel

    def _figures(self, kernel: Any) -> dict[str, Any]:
        metadata, assembly = kernel.metadata, kernel.asm
        threads = metadata.num_warps * self.part.warp
        figures: dict[str, int] = {}
        artifacts = [self.artifacts.put(kind, assembly[stage]) for stage, kind in _ARTIFACTS.items() if stage in assembly]
        if "cubin" in assembly:
            printed = _printed()
            figures = compile_figures.cubin(assembly["cubin"], printed).get(metadata.name, {})
            if code := compile_figures.sass(assembly["cubin"]):
                artifacts.append(self.artifacts.put("sass", code))
            artifacts.append(self.artifacts.put("cubin", assembly["cubin"]))
        elif "amdgcn" in assembly:
            figures = compile_figures.amdgcn(assembly["amdgcn"])
            artifacts.append(self.artifacts.put("hsaco", assembly["hsaco"]))
        figures["dynamic_shared"] = metadata.shared
        for name in ("tmem_size", "global_scratch_size"):
            if value := getattr(metadata, name, None):
                figures[name] = value
        return {"symbol": metadata.name, "figures": figures, "threads": threads, "artifacts": artifacts}

    def _worded(self, error: Exception) -> dict[str, Any]:
        """What a compiler said, without the frames of the library that called it."""
        text, printed = str(error), _printed()
        # An assembler's message repeats the command and the whole program, which helps nobody.
        text = text.partition("Repro command:")[0].strip()
        lines = [line for line in text.splitlines() if line.strip()] or [type(error).__name__]
        # Triton shows the place first and the reason last; assemblers and passes say the reason first.
        summary = f"{type(error).__name__}: {lines[-1] if text.startswith('at ') else lines[0]}"
        if cause := error.__cause__:
            text += f"\n{type(cause).__name__}: {cause}"
        if "ptxas" not in text:
            text += f"\n{printed}"
        log = self.artifacts.put("log", f"{error}\n{printed}")
        return {
            "summary": failures.condense(summary, failures.MESSAGE_LIMIT),
            "diagnostics": failures.condense(text, failures.TRACEBACK_LIMIT),
            "log": log,
        }

    def _refused(self, function: Any, kwargs: dict[str, Any], error: Exception) -> None:
        configuration = _shown({name: value for name, value in kwargs.items() if isinstance(value, (int, float, str))})
        kernel = function.fn.__name__
        key = f"refused {kernel} {configuration}"
        self._once({
            "key": key, "kernel": kernel, "configuration": configuration, "signature": "", "grid": self._grid, "status": "failed",
            **self._worded(error),
        })  # fmt: skip

    def _take(self, ended: Ended, kernel: str, configuration: str, grid: list[int] | None = None) -> None:
        """Passes on what a process reported, and says so where it did not come to its end."""
        for message in ended.messages:
            self._once(message)
            if message["status"] == "compiled":
                figures = message["figures"]
                spills = (figures.get("spill_stores", 0) + figures.get("spill_loads", 0)) // 4
                self.counts[message["symbol"]] = (figures.get("registers", 0), spills)
        if ended.death is None:
            return
        message = {"key": f"died {kernel} {configuration}", "kernel": kernel, "configuration": configuration, "signature": "", "grid": grid}
        if ended.is_late:
            self._once({**message, "status": "timed_out", "limit_s": self.limit_s})
        else:
            log = self.artifacts.put("log", ended.output)
            diagnostics = failures.condense(ended.output, failures.TRACEBACK_LIMIT)
            self._once({**message, "status": "crashed", "summary": f"the compiler {ended.death}", "diagnostics": diagnostics, "log": log})

    def _once(self, message: dict[str, Any]) -> None:
        key = message["key"]
        if key not in self._known:
            self._known[key] = message["status"] == "compiled"
            self.report(message)

    @contextlib.contextmanager
    def _inside(self, report: Report) -> Iterator[None]:
        """Inside a process of its own: reports go to its parent, and the compiler is called in place."""
        self._is_inside, self.report = True, report
        # A fork shares what its parent has not yet written; its name for temporary files must not be shared.
        tempfile._name_sequence = None
        yield


def _describe(src: Any, options: Any) -> dict[str, Any]:
    """What is compiled, as a reader tells it from others: the constants and options the source gives, and the types of the rest."""
    function = getattr(src, "fn", None)
    given = dict(options or {})
    if function is None:
        name = str(getattr(src, "name", "kernel"))
        return {"key": name, "kernel": name, "configuration": "", "signature": ""}
    constants = {_name(function, path): value for path, value in src.constants.items()}
    declared = [parameter.name for parameter in function.params if parameter.is_constexpr]
    options_last = {name: constants[name] for name in declared if name in constants} | {name: given.get(name) for name in _OPTIONS}
    attributes = {path[0] for path, values in src.attrs.items() if ["tt.divisibility", 16] in [list(value) for value in values]}
    types = []
    for index, (name, kind) in enumerate(src.signature.items()):
        if name in constants:
            if name not in declared:
                types.append(f"{name}={_short(constants[name])}")
        else:
            types.append(f"{name}: {kind}{' %16' if index in attributes else ''}")
    kernel = function.fn.__name__
    key = hashlib.sha256(f"{src.hash()} {sorted(given.items(), key=str)}".encode()).hexdigest()
    return {"key": key, "kernel": kernel, "configuration": _shown(options_last), "signature": ", ".join(types)}


def _shown(values: dict[str, Any]) -> str:
    """Constants and options in a line; options as usual are left out."""
    return " ".join(f"{name}={_short(value)}" for name, value in values.items() if name not in _OPTIONS or value not in (None, _OPTIONS[name]))


def _name(function: Any, path: Any) -> str:
    index = path[0] if isinstance(path, tuple) else path
    return function.arg_names[index] if isinstance(index, int) else str(index)


def _short(value: Any) -> str:
    value = getattr(value, "value", value)
    text = getattr(value, "__name__", None) or str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _grid(function: Any, grid: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int] | None:
    """The launch grid, where it can be computed."""
    try:
        if callable(grid):
            bound = inspect.signature(function.fn).bind_partial(*args, **{k: v for k, v in kwargs.items() if k in function.arg_names})
            bound.apply_defaults()
            grid = grid({**kwargs, **bound.arguments})
        sizes = [int(size) for size in ([grid] if isinstance(grid, int) else grid)]
    except Exception:
        return None
    return [*sizes, 1, 1, 1][:3]


def _config_key(tuner: Any, config: Any) -> str:
    return f"config {id(tuner)} {id(config)}"


@contextlib.contextmanager
def _loud_assembler() -> Iterator[None]:
    """Has Triton print what `ptxas -v` says: nowhere else are spills told."""
    from triton import knobs

    nvidia = getattr(knobs, "nvidia", None)
    if hasattr(nvidia, "dump_ptxas_log"):
        nvidia.dump_ptxas_log = True
    yield


def _printed() -> str:
    """What this process has printed so far: it prints to a file of its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    return output_of(sys.stdout.fileno()) if os.fstat(1).st_size else ""
