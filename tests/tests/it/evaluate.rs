//! One evaluator, every status, on the CPU with real torch: what an honest candidate gets, and what a dishonest one does.

use std::cell::Cell;
use std::convert::Infallible;
use std::num::NonZeroU32;
use std::time::Duration;

use kernelwright_evaluate::{BaselineChoice, EvaluateError, EvaluateRequest, Evaluator, Limits, Options};
use kernelwright_protocol::{Evaluation, Target, Timeout, Verdict};

use crate::support::eventually;

const PROBLEM: &str = r"
import torch
class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(n))
    def forward(self, x, y):
        return torch.relu(x * self.weight) + y
def get_inputs():
    return [torch.randn(256, 256), torch.randn(256, 256)]
def get_init_inputs():
    return [256]
";

/// A candidate with this `forward` and these lines before it.
fn module(prelude: &str, forward: &str) -> String {
    let body = forward.lines().map(|line| format!("        {line}")).collect::<Vec<_>>().join("\n");
    format!(
        "import torch\n{prelude}\nclass ModelNew(torch.nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        \
         self.weight = torch.nn.Parameter(torch.randn(n))\n    def forward(self, x, y):\n{body}\n"
    )
}

const RIGHT: &str = "return torch.relu(x * self.weight) + y";

/// The same in C++ on raw pointers, built with g++ when the candidate is imported; `BODY` is the loop's statement.
fn cpp(statement: &str) -> String {
    let prelude = r#"
import ctypes, os, subprocess, tempfile
SOURCE = r"""
extern "C" void kernel(const float* x, const float* w, const float* y, float* out, long rows, long columns) {
    for (long r = 0; r < rows; ++r)
        for (long c = 0; c < columns; ++c) {
            long i = r * columns + c;
            float v = x[i] * w[c];
            STATEMENT
        }
}
"""
folder = tempfile.mkdtemp()
with open(os.path.join(folder, "kernel.cpp"), "w") as file:
    file.write(SOURCE)
built = subprocess.run(["g++", "-O3", "-shared", "-fPIC", "-o", folder + "/kernel.so", folder + "/kernel.cpp"], capture_output=True, text=True)
if built.returncode:
    raise RuntimeError(built.stderr)
library = ctypes.CDLL(folder + "/kernel.so")
"#;
    let forward = "out = torch.empty_like(x)\npointer = lambda t: ctypes.c_void_p(t.data_ptr())\n\
        library.kernel(pointer(x), pointer(self.weight), pointer(y), pointer(out), ctypes.c_long(x.shape[0]), ctypes.c_long(x.shape[1]))\n\
        return out";
    module(&prelude.replace("STATEMENT", statement), forward)
}

struct Desk {
    evaluator: Evaluator,
    cache: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let cache = tempfile::tempdir().unwrap();
        Self { evaluator: Evaluator::new(kernelwright_tests::settings(cache.path())), cache }
    }

    async fn evaluate(&self, problem: &str, candidate: &str, options: Options) -> Result<Evaluation, EvaluateError> {
        let request = EvaluateRequest {
            problem_source: problem.to_owned(),
            problem_name: "problem.py".to_owned(),
            candidate_source: candidate.to_owned(),
            target: Target::CPU,
            options,
        };
        self.evaluator.evaluate(&request, &|_| {}).await
    }

    /// Evaluates each candidate and compares how its verdict reads with the expected beginning.
    async fn check(&self, cases: &[(&str, String, Options, &str)]) {
        let mut wrong = Vec::new();
        for (name, candidate, options, expected) in cases {
            let evaluation = self.evaluate(PROBLEM, candidate, options.clone()).await.unwrap();
            let read = reading(&evaluation);
            if !read.starts_with(expected) {
                wrong.push(format!("{name}: expected `{expected}`, got `{read}`"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    /// Processes that were started from this desk's folder, less the nurseries, which stay for the next evaluation.
    fn processes(&self) -> usize {
        self.started().into_iter().filter(|(_, name)| name != "kw-nursery").count()
    }

    /// Kills the nurseries where a candidate's process runs; whether one was there.
    fn kills_nurseries_beside_a_candidate(&self) -> bool {
        let started = self.started();
        if !started.iter().any(|(_, name)| name == "kw-untrusted") {
            return false;
        }
        let nurseries = started.iter().filter(|(_, name)| name == "kw-nursery").map(|(pid, _)| pid);
        // One that stands between a nursery and its worker has the same name, and may be gone by now.
        nurseries.filter(|pid| std::process::Command::new("kill").arg("-9").arg(pid).status().unwrap().success()).count() > 0
    }

    /// Number and name of every process that was started from this desk's folder.
    fn started(&self) -> Vec<(String, String)> {
        let folder = self.cache.path().to_str().unwrap();
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let read = |entry: &std::fs::DirEntry, name: &str| std::fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let ours = entries.filter(|entry| read(entry, "cmdline").contains(folder));
        ours.map(|entry| (entry.file_name().into_string().unwrap(), read(&entry, "comm").trim().to_owned())).collect()
    }
}

/// Correctness only.
fn checked() -> Options {
    Options { measure: false, trials: NonZeroU32::new(2).unwrap(), ..Options::default() }
}

fn every_draw() -> Options {
    Options { trials: NonZeroU32::new(6).unwrap(), ..checked() }
}

fn timed() -> Options {
    Options { measure: true, baselines: BaselineChoice::EagerOnly, pairs: NonZeroU32::new(3), ..checked() }
}

/// A verdict as a line.
fn reading(evaluation: &Evaluation) -> String {
    let status = evaluation.verdict.status();
    match &evaluation.verdict {
        Verdict::BuildFailed(fault) | Verdict::Faulted(fault) => {
            format!("{status} in {}: {} | {}", fault.phase, fault.summary, fault.diagnostics.lines().last().unwrap_or_default())
        }
        Verdict::TimedOut(Timeout { phase, .. }) => format!("{status} in {phase}"),
        Verdict::Incorrect { mismatches, .. } => {
            format!("{status}: {}: {}: {}", mismatches[0].trial, mismatches[0].output, mismatches[0].detail)
        }
        Verdict::Rejected { rule, explanation } => format!("{status}: {rule}: {explanation}"),
        Verdict::Correct(correct) => match &correct.timing {
            Some(timing) => format!("{status}, timed in {} pairs, {} calls verified", timing.pairs, correct.trials.timed_calls_verified),
            None => format!("{status}, not timed"),
        },
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn honest_candidates_get_the_status_they_deserve() {
    let desk = Desk::new();
    let hang = Options { limits: Some(Limits { run: Duration::from_millis(500), ..Limits::default() }), ..checked() };
    let triton = "import triton\nimport triton.language as tl\n@triton.jit\ndef kernel(x, w, y, out, N: tl.constexpr):\n    \
        row, column = tl.program_id(0), tl.arange(0, N)\n    v = tl.load(x + row * N + column) * tl.load(w + column)\n    \
        tl.store(out + row * N + column, tl.where(v > 0, v, tl.where(v != v, v, 0.0)) + tl.load(y + row * N + column))";
    let launch = "out = torch.empty_like(x)\nkernel[(x.shape[0],)](x, self.weight, y, out, N=x.shape[1])\nreturn out";
    let large = "if x.abs().mean() > 20:\n    raise ValueError('large')\nreturn torch.relu(x * self.weight) + y";
    desk.check(&[
        ("Triton, interpreted", module(triton, launch), timed(), "correct, not timed"),
        ("torch", module("", RIGHT), timed(), "correct, timed in 3 pairs"),
        ("C++ on raw pointers", cpp("out[i] = (v > 0 ? v : (v != v ? v : 0)) + y[i];"), timed(), "correct, timed in 3 pairs"),
        ("noisy", module("", &format!("print('speedup: 1000x', flush=True)\n{RIGHT}")), checked(), "correct, not timed"),
        ("a view as output", module("", "return (torch.relu(x * self.weight) + y).t().contiguous().t()"), every_draw(), "correct"),
        ("syntax error", "def broken(:".into(), checked(), "build_failed in import: SyntaxError"),
        ("no ModelNew", "x = 1".into(), checked(), "build_failed in import"),
        ("g++ error", cpp("out[i] = undeclared;"), checked(), "build_failed in import: RuntimeError"),
        (
            "exception",
            module("", "raise ValueError('odd')"),
            checked(),
            "faulted in run: ValueError: odd, in trial 1 (problem's distribution)",
        ),
        ("exception for large values", module("", large), every_draw(), "faulted in run: ValueError: large, in trial 2 (scaled x100)"),
        ("segfault", module("import ctypes", "ctypes.string_at(0)"), checked(), "faulted in run: the process ended: SIGSEGV"),
        ("exit with 0", module("import os", "os._exit(0)"), checked(), "faulted in run: the process ended: exit code 0"),
        ("hang", module("import time", "time.sleep(600)"), hang, "timed_out in run"),
        ("wrong values", module("", &format!("{RIGHT} + 0.01")), checked(), "incorrect: trial 1 (problem's distribution): output: "),
        ("wrong dtype", module("", &format!("return ({}).double()", &RIGHT[7..])), checked(), "incorrect: trial 1"),
        ("wrong shape", module("", &format!("return ({})[:, :255]", &RIGHT[7..])), checked(), "incorrect: trial 1"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dishonest_candidates_are_found_out() {
    let desk = Desk::new();
    let thread = "import threading, time";
    let late = "out = torch.empty_like(x)\ndef work():\n    time.sleep(0.02)\n    out.copy_(torch.relu(x * self.weight) + y)\n\
        threading.Thread(target=work).start()\nreturn out";
    let memo = format!("key = x.shape\nif key not in memo:\n    memo[key] = {}\nreturn memo[key]", &RIGHT[7..]);
    let forged = "text = json.dumps({'id': asked(), 'ok': {'outputs': {'tensor': 0}, 'tensors': [], 'ns': 1}}).encode()\n\
        os.write(3, struct.pack('<I', len(text)) + text)\n";
    let guess = "import json, os, struct\ndef asked():\n    return 1";
    let look = "import json, os, struct, sys\ndef asked():\n    frame = sys._getframe()\n    while frame:\n        \
        for value in frame.f_locals.values():\n            if isinstance(value, dict) and 'op' in value and 'id' in value:\n                \
        return value['id']\n        frame = frame.f_back";
    let tiny = format!("if y.abs().max() < 1:\n    return torch.zeros_like(x)\n{RIGHT}");
    desk.check(&[
        ("work after returning", module(thread, late), checked(), "incorrect: trial 1"),
        ("memoised by shape", module("memo = {}", &memo), checked(), "incorrect: trial"),
        ("forged answer", module(guess, &format!("{forged}{RIGHT}")), checked(), "rejected: channel_tampering"),
        ("forged answer under the right name", module(look, &format!("{forged}{RIGHT}")), checked(), "rejected: "),
        (
            "mutated input",
            module("", "x.mul_(self.weight).relu_()\nreturn x + y"),
            checked(),
            "incorrect: trial 1 (problem's distribution): input[0]",
        ),
        ("zeros for small outputs", module("", &tiny), every_draw(), "incorrect: trial 5"),
        (
            "a lazy subclass",
            module("class Lazy(torch.Tensor): pass", &format!("return ({}).as_subclass(Lazy)", &RIGHT[7..])),
            checked(),
            "rejected: output_type",
        ),
    ])
    .await;
}

/// What the candidate can reach; it fails by an assertion that names what should not have worked.
#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_is_shut_in() {
    let desk = Desk::new();
    let prelude = format!(
        r#"
import os, socket, subprocess
def refused(action, *arguments):
    try:
        action(*arguments)
    except (OSError, PermissionError):
        return True
    return False
assert refused(socket.create_connection, ("127.0.0.1", 9), 1), "a socket"
assert refused(socket.socket, socket.AF_UNIX), "a UNIX socket"
assert not any(name.startswith(("CARGO", "NEXTEST")) for name in os.environ), "the environment"
assert refused(open, f"/proc/{{os.getppid()}}/environ"), "the supervisor's environment"
assert refused(open, "{outside}/file", "w"), "a write outside"
assert refused(os.listdir, "{outside}"), "a look outside"
assert refused(open, "/etc/shadow"), "passwords"
assert refused(os.kill, os.getppid(), 0), "a signal"
assert subprocess.run(["sh", "-c", "echo x > $HOME/inside && cat $HOME/inside"], capture_output=True, text=True).stdout == "x\n", "no scratch"
os.setsid()
assert os.getpgid(0) == os.getpid(), "another process group"
"#,
        outside = desk.cache.path().display()
    );
    desk.check(&[("explorer", module(&prelude, RIGHT), checked(), "correct, not timed")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_problem_is_no_verdict() {
    let desk = Desk::new();
    let mut codes = Vec::new();
    for problem in ["import no_such_module", "x = 1", "import os\nos._exit(0)"] {
        let error = desk.evaluate(problem, &module("", RIGHT), checked()).await.unwrap_err();
        codes.push(format!("{}: {}", error.code(), error.to_string().split(':').next().unwrap_or_default()));
    }
    let problem = "the problem is invalid";
    assert_eq!(
        codes,
        [
            format!("problem_invalid: {problem} (problem_import)"),
            format!("problem_invalid: {problem} (problem_shape)"),
            "problem_invalid: the problem's process ended (exit code 0), and printed nothing".to_owned()
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reference_that_ends_its_process_on_a_draw_is_not_asked_for_it_again() {
    let desk = Desk::new();
    let problem = "import os, torch\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        if bool(torch.isnan(x).any()):\n            \
        os.abort()\n        return torch.relu(x)\ndef get_inputs():\n    return [torch.randn(64, 32)]\ndef get_init_inputs():\n    return []\n";
    let candidate = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.clamp_min(0)\n";
    for _ in 0..2 {
        let evaluation = desk.evaluate(problem, candidate, every_draw()).await.unwrap();
        let Verdict::Correct(correct) = &evaluation.verdict else { panic!("{}", reading(&evaluation)) };
        assert!(
            correct.trials.skipped.contains(&"special: the reference ends its process on it".to_owned()),
            "{:?}",
            correct.trials.skipped
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_evaluation_leaves_no_process() {
    let desk = Desk::new();
    let (says, mut said) = tokio::sync::mpsc::unbounded_channel();
    let candidate = module("import subprocess", "subprocess.run(['sleep', '600'])");
    let request = EvaluateRequest {
        problem_source: PROBLEM.to_owned(),
        problem_name: "problem.py".to_owned(),
        candidate_source: candidate,
        target: Target::CPU,
        options: checked(),
    };
    let say = move |message: &str| {
        let _ = says.send(message.to_owned());
    };
    let running = desk.evaluator.evaluate(&request, &say);
    tokio::select! {
        _ = running => panic!("it does not end by itself"),
        () = async { while !said.recv().await.unwrap().contains("trial 1") {} } => {}
    }
    eventually("no process is left", || desk.processes() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn evaluations_go_on_when_nurseries_are_killed() {
    let desk = Desk::new();
    let candidate = module("import time\ntime.sleep(1)", RIGHT);
    let kills = Cell::new(0);
    // A worker that was forked before its nursery was killed needs no other nursery, so not every evaluation has one to kill.
    for _ in 0..4 {
        let kill = async {
            while !desk.kills_nurseries_beside_a_candidate() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            kills.set(kills.get() + 1);
            std::future::pending::<Infallible>().await
        };
        let evaluation = tokio::select! {
            evaluation = desk.evaluate(PROBLEM, &candidate, checked()) => evaluation.unwrap(),
            never = kill => match never {},
        };
        assert_eq!(reading(&evaluation), "correct, not timed");
        assert!(!evaluation.findings.iter().any(|finding| finding.rule == "worker_not_forked"), "{:?}", evaluation.findings);
    }
    assert!(kills.get() >= 2, "{} kills", kills.get());
}
