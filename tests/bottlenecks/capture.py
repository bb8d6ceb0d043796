"""Captures what profilers say of the cases beside this file, with python3 (torch and Triton), nvcc and `ncu` alone: no build of the product.

    python3 tests/bottlenecks/capture.py OUT [--steps build,measure,ncu,proton] [--missing] [--limit SECONDS] [CASE ...]

CASE is a part of a name, e.g. `planted/tail`; without one all cases are captured, with `--missing` those that OUT lacks. Below OUT it leaves

- `target.json`: the device and its measured rates;
- `planted.tail_effect.json` and so on: the wall time of a call without any profiler and under Nsight Compute, what a call has to
  move and compute, how many calls Proton saw, and how far the candidate's result is from the problem's;
- `planted.tail_effect.hatchet`: what Proton says of some calls;
- `planted.tail_effect.ncu-rep`, and its raw page `planted.tail_effect.csv.gz`: what Nsight Compute counts in one call.

A case that fails is said and passed over; the program then ends with 1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKER = HERE.parent.parent / "tools" / "harness" / "python"
STEPS = ("build", "measure", "ncu", "proton")
#: What a step leaves of a case.
ENDINGS = {"measure": "json", "ncu": "csv.gz", "proton": "hatchet"}
#: As in the profile server, without the sources, which would be most of a report.
NCU = ("--clock-control", "none", "--profile-from-start", "off", "--target-processes", "all", "--set", "full", "--force-overwrite")
#: Where installers put it, beside the PATH.
NCU_FOLDERS = ("/usr/local/cuda/bin", "/opt/nvidia/nsight-compute")
SEED = 1
#: Builds at once.
BUILDERS = 8


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", metavar="CASE")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--missing", action="store_true", help="pass over what is there already")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a case under ncu")
    parser.add_argument("--step-of", choices=("import", *STEPS[1:]), help=argparse.SUPPRESS)
    arguments = parser.parse_intermixed_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    found = [case for case in cases() if not arguments.names or any(name in case for name in arguments.names)]
    if arguments.step_of:
        return inside(arguments.step_of, found, out)

    failures = []
    lacks = {step: [case for case in found if not (arguments.missing and file_of(case, out, ending).is_file())] for step, ending in ENDINGS.items()}
    lacks["build"] = sorted(set().union(*lacks.values()))
    for step in arguments.steps.split(","):
        start = time.monotonic()
        failures += {"build": build, "measure": together, "proton": together, "ncu": count}[step](step, lacks[step], out, arguments.limit)
        print(f"{step}: {time.monotonic() - start:.0f} s", flush=True)
    print(f"{len(found)} cases; failed: {', '.join(failures) or 'none'}")
    return 1 if failures else 0


def cases() -> list[str]:
    """The cases' names: folder and file."""
    return sorted(f"{path.parent.name}/{path.stem}" for folder in ("planted", "well_tuned") for path in (HERE / folder).glob("*.py"))


def sources(case: str) -> tuple[str, str]:
    """The problem's source and the candidate's."""
    candidate = (HERE / f"{case}.py").read_text()
    name = next(line.split(": ", 1)[1] for line in candidate.splitlines() if line.startswith("# problem: "))
    return (HERE / "problems" / f"{name}.py").read_text(), candidate


def file_of(case: str, out: Path, ending: str) -> Path:
    return out / f"{case.replace('/', '.')}.{ending}"


def again(step: str, names: list[str], out: Path) -> list[str]:
    """The command line that makes a step in a process of its own."""
    return [sys.executable, str(Path(__file__).resolve()), str(out), "--step-of", step, *names]


def build(_step: str, names: list[str], out: Path, _limit: float) -> list[str]:
    """Imports the candidates that have extensions, several at once, so that later steps find them built."""
    waiting = [name for name in names if "load_inline" in sources(name)[1]]
    running: dict[str, subprocess.Popen] = {}
    failed = []
    while waiting or running:
        while waiting and len(running) < BUILDERS:
            name = waiting.pop()
            running[name] = subprocess.Popen(again("import", [name], out), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        name, process = next(iter(running.items()))
        said, _ = process.communicate()
        del running[name]
        if process.returncode != 0:
            print(f"{name}: {said[-2000:]}", flush=True)
            failed.append(name)
    return failed


def together(step: str, names: list[str], out: Path, _limit: float) -> list[str]:
    """Makes a step of all cases in one process."""
    if not names:
        return []
    left = [file_of(name, out, ENDINGS[step]) for name in names]
    for path in left:
        path.unlink(missing_ok=True)
    subprocess.run(again(step, names, out), check=False)
    return [f"{name} ({step})" for name, path in zip(names, left) if not path.is_file()]


def count(_step: str, names: list[str], out: Path, limit: float) -> list[str]:
    """Has Nsight Compute count each case in a process of its own."""
    ncu = shutil.which("ncu") or next((path for folder in NCU_FOLDERS if (path := shutil.which("ncu", path=folder))), None)
    if ncu is None:
        print("ncu is not on the PATH")
        return [f"{name} (ncu)" for name in names]
    failed = []
    for name in names:
        start = time.monotonic()
        report = file_of(name, out, "ncu-rep")
        report.unlink(missing_ok=True)
        ended, said = limited([ncu, *NCU, "-o", str(report.with_suffix("")), *again("ncu", [name], out)], limit)
        # What it has written when it is stopped reads like a report of fewer launches.
        if ended and report.is_file():
            page = subprocess.run([ncu, "--import", str(report), "--page", "raw", "--csv"], capture_output=True, check=False).stdout
            file_of(name, out, "csv.gz").write_bytes(gzip.compress(page, 9, mtime=0))
            print(f"{name}: {time.monotonic() - start:.1f} s, {report.stat().st_size >> 10} KiB", flush=True)
        else:
            report.unlink(missing_ok=True)
            print(f"{name}: no whole report after {time.monotonic() - start:.1f} s\n{said[-1500:]}", flush=True)
            failed.append(f"{name} (ncu)")
    return failed


def limited(command: list[str], limit: float) -> tuple[bool, str]:
    """Runs a command that is stopped with all its children after so many seconds; whether it ended before, and what it said."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        ended = True
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            ended = False
            os.killpg(process.pid, 9)
            process.wait()
        log.seek(0)
        return ended, log.read()


def inside(step: str, names: list[str], out: Path) -> int:
    """A step in this process, with torch."""
    sys.path.insert(0, str(WORKER))
    from kernelwright_worker.channel import WorkerError

    if step == "measure":
        describe(out)
    failed = 0
    for name in names:
        try:
            {"import": load, "measure": measure, "proton": proton, "ncu": one_call}[step](name, out)
        except WorkerError as error:
            print(f"{name}: {error.message}\n{error.traceback}", flush=True)
            failed += 1
    return failed


def device():
    from kernelwright_worker.device import Device

    found = Device("cuda")
    found.configure(None, None)
    return found


def load(case: str, _out: Path, which: str = "candidate"):
    """The candidate, or the problem, with its inputs on the device."""
    from kernelwright_worker.subject import load_subject

    problem, candidate = sources(case)
    return load_subject(problem, candidate if which == "candidate" else None, device(), SEED)


def describe(out: Path) -> None:
    from kernelwright_worker.describe import describe as described

    (out / "target.json").write_text(json.dumps({"target": "cuda", **described(device())}, indent=1) + "\n")


def note(case: str, out: Path, **figures: object) -> None:
    """Adds figures to those of a case."""
    path = file_of(case, out, "json")
    known = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**known, **figures}) + "\n")


def measure(case: str, out: Path) -> None:
    """Times calls, counts the problem's work, and compares the results."""
    import torch
    from kernelwright_worker.repeated import Repeated

    start = time.monotonic()
    reference = load(case, out, "problem")
    work = reference.work()
    expected = reference.call().double()
    subject = load(case, out)
    error = (subject.call().double() - expected).norm() / expected.norm()
    repeated = Repeated(subject.call, torch.device("cuda"))
    repeated.time()
    note(case, out, wall_per_call_ns=repeated.wall_ns, work=work, error=float(error))
    print(f"{case}: {repeated.wall_ns / 1e3:.1f} us, error {float(error):.1e}; {time.monotonic() - start:.1f} s", flush=True)
    if not error < 1e-2:
        print(f"{case}: WRONG RESULT", flush=True)


def proton(case: str, out: Path) -> None:
    import torch
    from kernelwright_worker.proton_profile import record
    from kernelwright_worker.repeated import Repeated

    repeated = Repeated(load(case, out).call, torch.device("cuda"))
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            calls = record(repeated)["calls"]
            shutil.copy("profile.hatchet", file_of(case, out, "hatchet"))
        finally:
            os.chdir(before)
    note(case, out, proton_calls=calls)


def one_call(case: str, out: Path) -> None:
    """One call between the marks that Nsight Compute counts between, after those that compile and tune."""
    import torch
    from kernelwright_worker.repeated import Repeated

    repeated = Repeated(load(case, out).call, torch.device("cuda"))
    repeated.time()
    torch.cuda.profiler.start()
    repeated.call()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()
    note(case, out, wall_under_ncu_ns=repeated.wall_ns)


if __name__ == "__main__":
    sys.exit(main())
