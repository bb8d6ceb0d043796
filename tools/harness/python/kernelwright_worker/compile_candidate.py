"""One candidate followed to its launches on a part that is not there: imported, constructed and called once with the problem's shapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from . import failures, forms
from .channel import WorkerError
from .compile_artifacts import Artifacts
from .compile_device import Part, move, place, pretend
from .compile_extension import Extensions
from .compile_process import Report
from .compile_triton import Launches
from .device import seed_all
from .extension_build import Unfollowable
from .problem import Problem
from .trees import map_tensors

_SEED = 1


def follow(part: Part, problem_source: str, path: Path, artifacts: Artifacts, at_once: int, limit_s: float, report: Report) -> None:
    """Reports every kernel that the candidate would launch on the part, then what kept it from its end, where something did.

    Messages: kernels as `Launches` and `Extensions` report them, `{"fault": ...}` at most once, `{"note": ...}`.
    """
    try:
        problem = Problem(problem_source, "problem.py")
    except WorkerError as error:
        report(_of_problem(error))
        return
    folder = f"{path.parent}/"

    def own(name: str) -> bool:
        return name.startswith(folder)

    extensions = Extensions(part, artifacts, report, at_once, limit_s)
    extensions.install(path.read_text())
    launches = Launches(part, artifacts, report, at_once, limit_s)
    if not part.is_gpu:
        _on_host(problem, path, extensions, report, own)
        return
    mode = pretend(part, launches.counts)
    launches.install()
    with mode, torch.no_grad():
        try:
            init = _drawn(mode, lambda: problem.init_inputs(_SEED))
            inputs = map_tensors(_drawn(mode, lambda: _inputs(problem)), place)
        except WorkerError as error:
            report(_of_problem(error))
            return
        module = _guarded(report, own, "import", lambda: _import(path))
        # The sources are there once the file is imported; the rest may need what only a device can give.
        extensions.compile()
        if module is None:
            return
        made = _guarded(report, own, "construct", lambda: _construct(module, init))
        if made is not None:
            _launch(problem, mode, made, inputs, report, own)
            if problem.trains:
                report({"note": "a training problem: kernels that only the backward pass launches were not compiled, it needs the device"})
        extensions.compile()


def _on_host(problem: Problem, path: Path, extensions: Extensions, report: Report, own: Callable[[str], bool]) -> None:
    """Nothing is launched there: what counts is whether the C++ builds, which importing and constructing do."""
    module = _guarded(report, own, "import", lambda: _import(path))
    if module is not None:
        try:
            init = problem.init_inputs(_SEED)
        except WorkerError as error:
            report(_of_problem(error))
            return
        _guarded(report, own, "construct", lambda: _build(module, init))
    extensions.compile()


def _launch(problem: Problem, mode: Any, made: Callable[..., Any], first: list[Any], report: Report, own: Callable[[str], bool]) -> None:
    """One call on every set of inputs, whose shapes may ask for other kernels; up to the first that fails."""
    for number, name in enumerate(problem.sets()):
        inputs = first
        if number:
            try:
                problem.select(number)
                inputs = map_tensors(_drawn(mode, lambda: _inputs(problem)), place)
            except WorkerError as error:
                report(_of_problem(error))
                return

        def call(inputs: list[Any] = inputs) -> bool:
            made(*inputs)
            return True

        if not _guarded(report, own, "run", call):
            if name:
                report({"note": f"it was followed up to its call on the set {name} of inputs"})
            return


def _inputs(problem: Problem) -> list[Any]:
    from .device import Device

    return problem.inputs(_SEED, Device("cpu"))


def _drawn(mode: Any, work: Callable[[], list[Any]]) -> list[Any]:
    """The problem's values without memory; drawn for real where making them needs their data."""
    try:
        return work()
    except WorkerError:
        from torch._subclasses.fake_tensor import unset_fake_temporarily

        with unset_fake_temporarily():
            values = work()
        return map_tensors(values, mode.from_tensor)


def _of_problem(error: WorkerError) -> dict[str, Any]:
    told = error.to_json()
    return {"fault": "problem", "kind": told["kind"], "summary": told["message"], "diagnostics": told["traceback"]}


def _import(path: Path) -> Any:
    module = forms.import_candidate(str(path))
    forms.entry_points(module)
    return module


def _construct(module: Any, init: list[Any]) -> Any:
    made_by, made = _build(module, init)
    return made if made_by is None else move(made)


def _build(module: Any, init: list[Any]) -> tuple[Any, Any]:
    """The class, where there is one, and its instance or the function in its place."""
    seed_all(_SEED)
    made_by, kernel = forms.entry_points(module)
    return made_by, kernel if made_by is None else made_by(*init)


def _guarded(report: Report, own: Callable[[str], bool], phase: str, work: Callable[[], Any]) -> Any:
    """What the candidate's code gives; None where it ends early, which is reported."""
    try:
        return work()
    except Unfollowable as end:
        report({"note": str(end)})
    except WorkerError as error:
        report({"fault": phase, "summary": error.message, "diagnostics": error.traceback})
    except BaseException as error:
        worded = failures.describe(error, phase, phase, own)
        report({"fault": phase, "summary": worded.message, "diagnostics": worded.traceback, **_explained(error)})
    return None


def _explained(error: BaseException) -> dict[str, str]:
    """What to do about an error that only a machine without the device has."""
    if type(error).__name__ in ("DataDependentOutputException", "DynamicOutputShapeException", "UnsupportedOperatorException"):
        return {"hint": "this line needs the values of a tensor, and here tensors have shapes only: launch from shapes, not from data"}
    return {}


