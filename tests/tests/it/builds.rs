//! Extensions that candidates have torch build: made ahead, kept by content, and the same verdicts as without.

use std::num::NonZeroU32;
use std::path::PathBuf;

use kernelwright_evaluate::{EvaluateRequest, Evaluator, Options};
use kernelwright_profile::{ProfileRequest, Profiles, Settings};
use kernelwright_protocol::{ProfilerKind, Target, Verdict};

const PROBLEM: &str = r"
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2 + 1
def get_inputs():
    return [torch.randn(64, 64)]
def get_init_inputs():
    return []
";

/// Two sources: bindings, and a kernel with this body.
fn candidate(body: &str, flags: &str) -> String {
    format!(
        r#"
import os, torch
from torch.utils.cpp_extension import load
HERE = os.path.dirname(os.path.abspath(__file__))
BINDINGS = """
#include <torch/extension.h>
torch::Tensor run(torch::Tensor x);
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def("run", &run, "twice and one"); }}
"""
KERNEL = """
#include <torch/extension.h>
#ifndef BIAS
#define BIAS 1
#endif
torch::Tensor run(torch::Tensor x) {{
    TORCH_CHECK(x.is_contiguous(), "strided");
    auto out = torch::empty_like(x);
    const float* from = x.data_ptr<float>();
    float* to = out.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {{ {body} }}
    return out;
}}
"""
for name, text in (("bindings.cpp", BINDINGS), ("kernel.cpp", KERNEL)):
    with open(os.path.join(HERE, name), "w") as file:
        file.write(text)
library = load("twice", [os.path.join(HERE, "bindings.cpp"), os.path.join(HERE, "kernel.cpp")], extra_cflags=[{flags}])
assert library.__name__ == "twice" and library.run.__doc__.endswith("twice and one\n")

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return library.run(x)
"#
    )
}

/// Where the candidate's own process has built its library, the objects lie beside it.
const MADE_ELSEWHERE: &str = r#"
beside = os.listdir(os.path.dirname(library.__file__))
assert not any(name.endswith(".o") for name in beside), beside
"#;

struct Desk {
    evaluator: Evaluator,
    cache: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let cache = tempfile::tempdir().unwrap();
        Self { evaluator: Evaluator::new(kernelwright_tests::settings(cache.path())), cache }
    }

    /// The verdict on a candidate, and what was said meanwhile.
    async fn evaluate(&self, candidate: String) -> (Verdict, Vec<String>) {
        let said = std::sync::Mutex::new(vec![]);
        let request = EvaluateRequest {
            problem_source: PROBLEM.to_owned(),
            problem_name: "problem.py".to_owned(),
            candidate_source: candidate,
            target: Target::CPU,
            options: Options { measure: false, trials: NonZeroU32::MIN, ..Options::default() },
        };
        let say = |message: &str| said.lock().unwrap().push(message.to_owned());
        let verdict = self.evaluator.evaluate(&request, &say).await.unwrap().verdict;
        (verdict, said.into_inner().unwrap())
    }

    /// Profiles a candidate as a server beside this evaluator does.
    async fn profile(&self, candidate: String) {
        let cache_dir = self.cache.path().to_path_buf();
        let settings = Settings { python: Some(kernelwright_tests::python()), cache_dir, ..Settings::new(kernelwright_tests::binary()) };
        let profiler = Some(ProfilerKind::Torch);
        let request = ProfileRequest { problem: PROBLEM.to_owned(), candidate: Some(candidate), target: Target::CPU, profiler, arch: None };
        let profile = Profiles::new(settings).profile(&request, &|_| {}).await.unwrap();
        assert!(!profile.kernels.is_empty(), "{profile:?}");
    }

    /// The files of a folder of the cache.
    fn kept(&self, folder: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.cache.path().join("builds").join(folder)).into_iter().flatten().flatten();
        let mut kept: Vec<_> = entries.map(|entry| entry.path()).collect();
        kept.sort();
        kept
    }
}

#[tokio::test]
async fn builds_are_kept_by_what_compilers_are_given() {
    let desk = Desk::new();
    let (verdict, said) = desk.evaluate(candidate("to[i] = from[i] * 2;", "")).await;
    assert!(matches!(verdict, Verdict::Incorrect { .. }), "{verdict:?}");
    assert!(said.iter().any(|message| message == "building: 1 of 2 translation units"), "{said:?}");
    let first = desk.kept("objects");
    assert_eq!(first.len(), 3, "two objects and a library: {first:?}");
    assert_eq!(desk.kept("headers").len(), 1, "one set of flags");
    assert_eq!(desk.kept("libraries").len(), 1, "one compiler");
    assert_eq!(std::fs::read_dir(&desk.kept("libraries")[0]).unwrap().count(), 6, "they stand in for torch's");

    let (verdict, _) = desk.evaluate(candidate("to[i] = from[i] * 2 + BIAS;", "")).await;
    assert!(matches!(verdict, Verdict::Correct(_)), "{verdict:?}");
    let second = desk.kept("objects");
    assert_eq!(second.len(), 5, "a kernel and a library more: {second:?}");
    assert!(first.iter().all(|file| second.contains(file)));

    let (verdict, said) = desk.evaluate(candidate("to[i] = from[i] * 2 + BIAS;", "")).await;
    assert!(matches!(verdict, Verdict::Correct(_)), "{verdict:?}");
    assert!(!said.iter().any(|message| message.starts_with("building: ")), "nothing is left to build: {said:?}");
    assert_eq!(desk.kept("objects"), second);
    desk.profile(candidate("to[i] = from[i] * 2 + BIAS;", "") + MADE_ELSEWHERE).await;
    assert_eq!(desk.kept("objects"), second);

    // Flags have keys of their own: what they make of a source is never another candidate's.
    let (verdict, _) = desk.evaluate(candidate("to[i] = from[i] * 2 + BIAS;", r#""-DBIAS=3""#)).await;
    assert!(matches!(verdict, Verdict::Incorrect { .. }), "{verdict:?}");
    assert_eq!(desk.kept("objects").len(), second.len() + 3);
    let (verdict, _) = desk.evaluate(candidate("to[i] = from[i] * 2 + BIAS;", "")).await;
    assert!(matches!(verdict, Verdict::Correct(_)), "{verdict:?}");

    // What a compiler refuses reads as torch says it, and leaves nothing behind.
    let before = desk.kept("objects");
    let (verdict, _) = desk.evaluate(candidate("to[i] = no_such_name;", "")).await;
    let Verdict::BuildFailed(fault) = verdict else { panic!("{verdict:?}") };
    assert_eq!(fault.phase, "import");
    assert!(fault.summary.starts_with("RuntimeError: kernel.cpp:"), "{}", fault.summary);
    assert!(fault.summary.contains("no_such_name") && fault.summary.ends_with("was not declared in this scope"), "{}", fault.summary);
    assert!(fault.diagnostics.contains("Error building extension 'twice'"), "{}", fault.diagnostics);
    assert_eq!(desk.kept("objects"), before);
}

#[tokio::test]
async fn a_source_that_needs_more_than_our_headers_is_built_as_it_was_written() {
    let desk = Desk::new();
    // `linspace` is not among the functions of our header.
    let body = "if (i == 0) torch::linspace(0, 1, 3); to[i] = from[i] * 2 + BIAS;";
    let (verdict, _) = desk.evaluate(candidate(body, "")).await;
    assert!(matches!(verdict, Verdict::Correct(_)), "{verdict:?}");
    assert_eq!(desk.kept("objects").len(), 3);
}
