//! What stands below the options in `--help`.

use crate::exit::Exit;

pub fn after_help() -> String {
    format!("{EXAMPLES}\n\n{}", Exit::table())
}

pub const EXAMPLES: &str = "\
Examples:
  kernelwright optimize softmax.py --model anthropic:NAME
  kernelwright evaluate softmax.py best.py --target cpu
  kernelwright resume --last --steps 16
  kernelwright doctor";

pub const OPTIMIZE_EXAMPLES: &str = "\
Examples:
  kernelwright optimize softmax.py --model openai:NAME --steps 4 --dollars 2
  kernelwright optimize softmax.py --target cuda:1 --tf32 --output softmax_fast.py
  kernelwright optimize softmax.py --model openai:NAME --base-url http://gpu-host:8000/v1
  kernelwright optimize softmax.py --model mailbox:questions   # answers come as files; then: resume
  kernelwright optimize softmax.py --json | jq -c 'select(.type == \"candidate_evaluated\")'

The first Ctrl-C finishes the current evaluation and saves; the second ends at once. Both can be resumed.";

pub const RESUME_EXAMPLES: &str = "\
Examples:
  kernelwright resume --last
  kernelwright resume softmax-20260101-120000-1a2b --steps 16

Limits count from the run's start. Limits that are not given stay as they were. The model is the one that the run recorded, unless --model or its \
variable names another. Not recorded, and to be given again: --evaluator, --prompts, --threads, --python, --config and where the key is. The command \
that a run prints to go on repeats them.";

pub const EVALUATE_EXAMPLES: &str = "\
Examples:
  kernelwright evaluate softmax.py best.py
  kernelwright evaluate softmax.py best.py --target cuda:0 --json | jq .speedup

Exits with 0 when the candidate is correct and with 11 when it is not.";

pub const SUITE_EXAMPLES: &str = "\
Examples:
  kernelwright suite run aten --no-timing --jobs 2
  kernelwright suite run kernelbench:KernelBench --filter level1/ --baselines eager
  kernelwright suite run problems/*.py --candidates kernels --json | jq -c .name

The first Ctrl-C finishes the problems at hand, the second ends at once; the same command goes on where it stopped. Exits with 0 when every \
problem is correct and with 11 when one is not.";

pub const COMPILE_EXAMPLES: &str = "\
Examples:
  kernelwright compile softmax.py best.py --arch sm_90,gfx942
  kernelwright compile softmax.py best.py --arch h200,b200,mi300x --json | jq .status

Nothing runs, so this says nothing about correctness or time. Exits with 0 when everything compiles and fits, and with 12 otherwise.";

pub const PROFILE_EXAMPLES: &str = "\
Examples:
  kernelwright profile softmax.py
  kernelwright profile softmax.py best.py --target cuda:0 --json | jq .diagnoses
  kernelwright profile --import report.ncu-rep
  kernelwright profile --read 1a2b3c4d5e raw --kernel softmax
  kernelwright profile --list

Profiles are kept by their id, the newest few hundred of them. Figures of a candidate are its own process's claims; the verdict on its speed is \
that of evaluate.";

pub const KNOWLEDGE_SEARCH_EXAMPLES: &str = "\
Examples:
  kernelwright knowledge search \"row softmax one pass\" --language triton
  kernelwright knowledge search undefined symbol _ZGVdN8v_expf
  kernelwright knowledge search tile size --pack aurora --limit 10 --json | jq -c '.passages[] | [.path, .start_line]'";

pub const KNOWLEDGE_ADD_EXAMPLES: &str = "\
Examples:
  kernelwright knowledge add manuals --id aurora --vendor aurora --arch aurora-1
  kernelwright knowledge add aurora-pack.tar.gz
  kernelwright knowledge add https://github.com/OWNER/REPOSITORY.git

A folder with a pack.toml is installed as it was written. Any other becomes a pack of its documents: md, rst, txt, html, ipynb, pdf, py, rs and \
C, C++ or CUDA sources. Hidden files and folders (.git, .venv) and links are left out. The files are copied; the agent and the knowledge server \
find the pack from then on.";

pub const KNOWLEDGE_NEW_EXAMPLES: &str = "\
Examples:
  kernelwright knowledge new aurora --vendor aurora --arch aurora-1 --language cpp
  kernelwright knowledge check aurora
  kernelwright knowledge add aurora";

pub const KNOWLEDGE_CHECK_EXAMPLES: &str = "\
Examples:
  kernelwright knowledge check my-pack
  kernelwright knowledge check my-packs --json | jq -r .what

Exits with 0 when there is nothing to correct and with 13 when there is.";

pub const KNOWLEDGE_EVAL_EXAMPLES: &str = "\
Examples:
  kernelwright knowledge eval --questions questions.jsonl --pack aurora
  kernelwright knowledge eval --questions questions.jsonl --json | jq .ndcg_difference

Prints Hit@5, R@10, MRR@10 and nDCG@10 for each kind of question.";

pub const KNOWLEDGE_LESSONS_EXAMPLES: &str = "\
Examples:
  kernelwright knowledge lessons                                    # all of them, the newest first
  kernelwright knowledge lessons --never-helped --older-than 90d    # some of them
  kernelwright knowledge lessons --never-helped --prune             # which would be removed
  kernelwright knowledge lessons --never-helped --prune --yes       # removes them

The age of a lesson counts from when a run last measured it or wrote a kernel with it in view. A lesson that a run changes meanwhile stays.";

pub const SERVE_EXAMPLES: &str = "\
Examples:
  kernelwright serve evaluate            # what an MCP host is told to start
  kernelwright serve evaluate --http 127.0.0.1:8077
  KERNELWRIGHT_HTTP_TOKEN=... kernelwright serve evaluate --http 0.0.0.0:8077";
