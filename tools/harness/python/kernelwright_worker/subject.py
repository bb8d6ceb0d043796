"""What is profiled: the problem's own module, or a candidate's with the problem's inputs, ready to be called.

A candidate's code runs in this very process, together with the problem's, so the process is confined by whoever started it and nothing it
reports decides anything.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from .candidate import Candidate
from .channel import WorkerError
from .device import Device
from .problem import Problem
from .work import work_of


@dataclass
class Subject:
    """A module with the inputs of one call."""

    #: Runs the module once; raises `WorkerError` with the kinds of the trusted worker for the problem, of the untrusted one for a candidate.
    call: Callable[[], object]
    inputs: list[Any]
    is_numpy: bool
    #: How many sets of inputs the problem has; these are of the first.
    input_sets: int

    def work(self) -> dict[str, Any] | None:
        """What the call has to move and to compute; asked of a problem, whose operators are the definition of it."""
        return work_of(self.call, self.inputs, sees_inputs=not self.is_numpy)


def load_subject(problem_source: str, candidate_source: str | None, device: Device, seed: int) -> Subject:
    """Builds `Model`, or `ModelNew` with the state of `Model`, and one call's inputs, as an evaluation does. Raises as the call does."""
    problem = Problem(problem_source, "problem.py")
    init = problem.init_inputs(seed)
    model = problem.build(init, seed, device)
    # As in an evaluation, the problem may turn TF32 on, and changes nothing else for good.
    device.takes_over_tf32()
    inputs = problem.inputs(seed, device)
    if candidate_source is None:
        return Subject(partial(problem.run, model, inputs), inputs, problem.form.numpy, len(problem.sets()))

    folder = Path(tempfile.mkdtemp(prefix="candidate-"))
    path = folder / "candidate.py"
    path.write_text(candidate_source)
    candidate = Candidate(str(path), device, seed)
    with _worded(folder):
        candidate.import_file()
        candidate.construct(init, list(model.state_dict().items()), problem.form)
    module = candidate.module()
    # Not needed any more, and a GPU's memory is finite.
    del model

    def call() -> object:
        with torch.no_grad():
            return module(*inputs)

    def guarded() -> object:
        with _worded(folder):
            return candidate.guarded("run", "run", call)

    return Subject(guarded, inputs, problem.form.numpy, len(problem.sets()))


@contextmanager
def _worded(folder: Path) -> Iterator[None]:
    """Words errors for a reader who knows the candidate as text, not as a file of ours, and cannot know what runs on which target."""
    try:
        yield
    except WorkerError as error:
        error.traceback = error.traceback.replace(f"{folder}/", "")
        if "active drivers" in error.message:
            error.message += " Triton finds no GPU: on cpu only its interpreter runs, which checks correctness and gives no times."
        raise
