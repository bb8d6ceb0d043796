//! What profilers say of real modules, through the real workers in their sandboxes.

use kernelwright_profile::{ProfileRequest, Profiler, Settings, Taken};
use kernelwright_protocol::{Metric, ProfilerKind, Target};
use tokio::sync::{Mutex, MutexGuard};

/// Large enough that no cache holds it: what it takes is memory's doing.
const SCALE: &str = "
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x * 2.5)
def get_inputs():
    return [torch.randn(32 << 20)]
";

/// A kernel in C on raw pointers, built with the options in the place of OPTIONS.
const KERNEL: &str = r#"
import ctypes, os, subprocess, tempfile
import torch

folder = tempfile.mkdtemp()
with open(f"{folder}/scale.c", "w") as file:
    file.write("void scale(float *restrict out, const float *restrict in, long n) {"
               " for (long i = 0; i < n; i++) { float y = in[i] * 2.5f; out[i] = y > 0 ? y : 0; } }")
subprocess.run(["gcc", "OPTIONS", "-mavx2", "-shared", "-fPIC", "-o", f"{folder}/scale.so", f"{folder}/scale.c"], check=True)
library = ctypes.CDLL(f"{folder}/scale.so")
library.scale.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
library.scale.restype = None

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        library.scale(out.data_ptr(), x.data_ptr(), x.numel())
        return out
"#;

/// Two profiles at once would show each other's load.
static ALONE: Mutex<()> = Mutex::const_new(());

struct Subject {
    profiler: Profiler,
    _alone: MutexGuard<'static, ()>,
    _cache: tempfile::TempDir,
}

impl Subject {
    async fn new() -> Self {
        let cache = tempfile::tempdir().unwrap();
        let settings = Settings {
            python: Some(kernelwright_tests::python()),
            cache_dir: cache.path().to_path_buf(),
            ..Settings::new(kernelwright_tests::binary())
        };
        Self { profiler: Profiler::new(settings), _alone: ALONE.lock().await, _cache: cache }
    }

    async fn capture(&self, problem: &str, candidate: Option<&str>, target: Target) -> Taken {
        let request = ProfileRequest { problem: problem.to_owned(), candidate: candidate.map(str::to_owned), target };
        self.profiler.capture(&request, &|_| {}).await.unwrap()
    }
}

#[tokio::test]
async fn scalar_and_vector_code_of_a_kernel_differ_in_their_share_and_its_problem_is_beside_it() {
    let subject = Subject::new().await;
    for (options, share) in [("-O1", 0.0), ("-O3", 1.0)] {
        let taken = subject.capture(SCALE, Some(&KERNEL.replace("OPTIONS", options)), Target::CPU).await;
        let Taken { capture, before, work, .. } = taken;
        assert_eq!(capture.profiler, ProfilerKind::Cpu);
        assert_eq!(capture.call.get(Metric::VectorShare), Some(share), "{options}: {:?}", capture.call);
        assert_eq!(capture.call.get(Metric::VectorBits), (share > 0.0).then_some(256.0));
        assert_eq!(capture.kernels[0].time.name, "ctypes: scale");
        let names: Vec<_> = before.iter().map(|kernel| kernel.name.as_str()).collect();
        assert!(names.contains(&"aten::mul") && names.contains(&"aten::relu") | names.contains(&"aten::clamp_min"), "{names:?}");
        assert_eq!(work.unwrap().bytes.0, 2 * 4 * (32 << 20));
        let busy = capture.call.get(Metric::ProcessorsBusy).unwrap();
        assert!((0.3..1.5).contains(&busy), "one thread works: {busy}");
    }
}

#[tokio::test]
async fn a_memory_bound_kernel_is_near_the_measured_bandwidth() {
    let problem = SCALE.replace("torch.relu(x * 2.5)", "x.clone()");
    let mut ratios = Vec::new();
    // Other tests may be at work beside either measurement: one undisturbed pair is enough.
    while ratios.len() < 4 && !ratios.iter().any(|ratio| (0.5..1.6).contains(ratio)) {
        let subject = Subject::new().await;
        let copy = subject.profiler.describe(Target::CPU, &|_| {}).await.unwrap().copy_bytes_per_second.unwrap();
        let taken = subject.capture(&problem, None, Target::CPU).await;
        assert!(taken.before.is_empty());
        assert!(taken.capture.call.get(Metric::UsefulOperationsPerS).is_none());
        ratios.push(taken.capture.call.get(Metric::UsefulBytesPerS).unwrap() / copy);
    }
    assert!(ratios.last().is_some_and(|ratio| (0.5..1.6).contains(ratio)), "{ratios:?}");
}

#[tokio::test]
async fn what_a_process_uses_is_counted_from_outside() {
    let subject = Subject::new().await;
    // Every call maps 64 MiB anew and gives it back.
    let candidate = "
import mmap, torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        fresh = mmap.mmap(-1, 64 << 20)
        for page in range(0, 64 << 20, 4096):
            fresh[page] = 1
        fresh.close()
        return torch.relu(x * 2.5)
";
    let small = SCALE.replace("32 << 20", "1024");
    let taken = subject.capture(&small, Some(candidate), Target::CPU).await;
    let faults = taken.capture.call.get(Metric::PageFaults).unwrap();
    assert!(faults >= 32.0, "{faults}");
    let quiet = subject.capture(&small, None, Target::CPU).await.capture.call;
    assert!(quiet.get(Metric::PageFaults).unwrap() < 2.0, "{quiet:?}");
    // Counted, or absent with the reason: never zero.
    let told = taken.capture.limits.iter().any(|limit| limit.starts_with("No cycles"));
    assert_eq!(taken.capture.call.get(Metric::Cycles).is_none(), told, "{:?}", taken.capture.limits);
}
