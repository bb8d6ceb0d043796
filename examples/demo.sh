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

# One step each: what is left after it is memory bandwidth.
demonstrate() {
    local problem=$1
    printf '== %s\n\n' "$problem"
    "$kernelwright" optimize "problems/$problem.py" --target cpu --model "replay:recordings/$problem" \
        --drafts 1 --steps 1 --no-warm-start --runs-dir "$runs" --output "$runs/$problem.py"
    printf '\nThe emitted file once more, in processes of its own (against eager alone, which saves the time of compiling):\n\n'
    "$kernelwright" evaluate "problems/$problem.py" "$runs/$problem.py" --target cpu --baselines eager
    echo
}

demonstrate diag_matmul_add
demonstrate bias_gelu_layernorm

echo "The kernels and both runs are in kernelwright-runs/. Next: point kernelwright at a model of yours (see README.md)."
