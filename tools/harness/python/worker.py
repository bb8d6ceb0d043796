"""Entry point of every Python worker: `worker.py ROLE --channel FD`.

A role is a module of `kernelwright_worker` with `main(channel)`. torch is imported and `ready` is sent before the role's module reads its
first request. The role `nursery` forks the others: `main` returns in each of them, with the role it has from then on.
"""

import argparse
import importlib
import os
import sys

# The package lies beside this file; isolated mode (`python -I`) does not put that folder on the path by itself.
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from kernelwright_worker.channel import Channel, WorkerError  # noqa: E402

# The tools of the interpreter's environment (ninja for C++ extensions) are found although nobody activated it.
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])

ROLES = {"trusted": "trusted", "untrusted": "untrusted", "profile": "profile_role", "compile": "compile_role", "builder": "builder", "check": "check_role"}


def main() -> int:
    """Runs one role until the supervisor closes the channel; the exit code."""
    parser = argparse.ArgumentParser(prog="worker.py")
    parser.add_argument("role", choices=["nursery", *sorted(ROLES)])
    parser.add_argument("--channel", type=int, required=True, help="file descriptor of the socket to the supervisor")
    arguments = parser.parse_args()
    role, channel = arguments.role, Channel.inherited(arguments.channel)
    try:
        if role == "nursery":
            from kernelwright_worker import nursery

            born = nursery.main(channel)
            if born is None:
                return 0
            role, channel = born.role, born.channel
        else:
            from kernelwright_worker.ready import describe_python

            channel.send(describe_python(import_triton=role in ("untrusted", "compile", "check")))
    except WorkerError as error:
        channel.send({"error": error.to_json()})
        return 1
    importlib.import_module(f"kernelwright_worker.{ROLES[role]}").main(channel)
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Skips the interpreter's teardown: compile pools, CUDA contexts and threads of a candidate may hang it.
    os._exit(code)
