#!/usr/bin/env bash
# The demo: two problems on this machine's processor. The model's answers are recorded; everything else happens now.
set -euo pipefail
kernelwright=$(realpath "$1")
cd "$(dirname "$0")"
runs=$(realpath ..)/kernelwright-runs
# What the demo's runs prove stays with them, and every demo begins from nothing.
export KERNELWRIGHT_PATHS_PACKS=$runs/packs

cat <<'TEXT'
This demo runs the whole agent on two problems, without a GPU and without an API key.

  recorded   what the language model said, taken from real conversations (examples/recordings)
  live       everything else: the search, the tool servers over MCP, the compilers, torch and
             torch.compile, every correctness check and every time you see

Both problems are textbook cases, and the built-in knowledge packs have entries that fit them: the demo shows
how the parts work together, not how far a search gets by itself.

TEXT

# How `optimize` ends where its kernel is correct and the times leave open whether it is faster.
not_faster_for_sure=10

# One step each: what is left after it is memory bandwidth.
demonstrate() {
    local problem=$1 ended=0
    printf '== %s\n\n' "$problem"
    "$kernelwright" optimize "problems/$problem.py" --target cpu --model "replay:recordings/$problem" \
        --drafts 1 --steps 1 --no-warm-start --runs-dir "$runs" --output "$runs/$problem.py" || ended=$?
    # A machine that is busy with something else is no reason to break off: the kernel is there, and nothing is claimed of its speed.
    if ((ended == not_faster_for_sure)); then
        printf '\nThe times do not settle whether it is faster, so it is not called an improvement; on a machine with less other work, "make demo" again may.\n'
    elif ((ended != 0)); then
        return "$ended"
    fi
    printf '\nThe emitted file once more, in processes of its own (against eager alone, which saves the time of compiling):\n\n'
    "$kernelwright" evaluate "problems/$problem.py" "$runs/$problem.py" --target cpu --baselines eager
    echo
}

demonstrate diag_matmul_add
demonstrate bias_gelu_layernorm

echo "The kernels and both runs are in kernelwright-runs/. Next: point kernelwright at a model of yours (see README.md)."
