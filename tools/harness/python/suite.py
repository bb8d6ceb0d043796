"""Prints a generated suite of problems as JSON lines: `python suite.py aten`.

One line per problem, `{"name", "title", "source"}`, in a fixed order; then one per subject that was left out, `{"excluded", "reason"}`.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Generates the suite named on the command line."""
    if sys.argv[1:] != ["aten"]:
        sys.exit("usage: suite.py aten")
    if os.environ.get("PYTHONHASHSEED") != "0":
        # Some samples come in the order of a set of strings.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-B", *sys.argv])
    # Only lines of ours may reach the real stdout: libraries print.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        import warnings

        warnings.simplefilter("ignore")
        from kernelwright_suites import aten

        for line in aten.generate():
            print(json.dumps(line), file=out)


if __name__ == "__main__":
    main()
