//! What profilers say of real modules, through the real workers in their sandboxes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use kernelwright_evaluate::{CompileRequest, KernelCompiler};
use kernelwright_profile::{ProfileError, ProfileRequest, Profiler, Settings, Taken};
use kernelwright_protocol::{Backend, CompileOutcome, Metric, ProfilerKind, Target};
use tokio::sync::{Mutex, MutexGuard};

use crate::support::eventually;

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
    cache: tempfile::TempDir,
}

fn settings(cache: &Path) -> Settings {
    Settings { python: Some(kernelwright_tests::python()), cache_dir: cache.to_path_buf(), ..Settings::new(kernelwright_tests::binary()) }
}

fn request(problem: &str, candidate: Option<&str>, target: Target) -> ProfileRequest {
    let (problem, candidate) = (problem.to_owned(), candidate.map(str::to_owned));
    ProfileRequest { problem, candidate, target, profiler: None, arch: None }
}

impl Subject {
    async fn new() -> Self {
        let cache = tempfile::tempdir().unwrap();
        Self { profiler: Profiler::new(settings(cache.path())), _alone: ALONE.lock().await, cache }
    }

    async fn capture(&self, problem: &str, candidate: Option<&str>, target: Target) -> Taken {
        self.profiler.capture(&request(problem, candidate, target), &|_| {}).await.unwrap()
    }

    /// One that finds this program in the place of Nsight Compute.
    async fn with_ncu(script: &str) -> Self {
        let mut subject = Self::new().await;
        let path = subject.cache.path().join("ncu");
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        subject.profiler = Profiler::new(Settings { ncu: Some(path), ..settings(subject.cache.path()) });
        subject
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
        assert!((0.02..1.5).contains(&busy), "one thread works: {busy}");
    }
}

#[tokio::test]
async fn the_rate_of_useful_bytes_is_the_problems_bytes_over_the_calls_time() {
    let subject = Subject::new().await;
    let copy = subject.profiler.describe(Target::CPU, &|_| {}).await.unwrap().copy_bytes_per_second.unwrap();
    let taken = subject.capture(&SCALE.replace("torch.relu(x * 2.5)", "x.clone()"), None, Target::CPU).await;
    let (bytes, wall) = (taken.work.unwrap().bytes.0 as f64, taken.capture.wall_per_call_ns.unwrap().seconds());
    let rate = taken.capture.call.get(Metric::UsefulBytesPerS).unwrap();
    assert!((rate * wall / bytes - 1.0).abs() < 1e-6, "{rate} {wall} {bytes}");
    // A copy that is not in a cache, however much else the machine does: of the same kind as the described rate.
    assert!((0.01..100.0).contains(&(rate / copy)), "{rate} {copy}");
    assert!(taken.before.is_empty());
    assert!(taken.capture.call.get(Metric::UsefulOperationsPerS).is_none());
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

/// Far beyond what any machine has: the rungs that need a device are denied everywhere.
const NO_GPU: Target = Target { backend: Backend::Cuda, device: Some(99) };

const TRITON: &str = "
import torch, triton, triton.language as tl
@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.load(x + at, at < n) * 2.5
    tl.store(out + at, tl.where(y > 0, y, 0), at < n)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        scale[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=1024, num_warps=8)
        return out
";

const CUDA: &str = r#"
import torch
from torch.utils.cpp_extension import load_inline
source = """
#include <torch/extension.h>
__global__ void __launch_bounds__(256) scale(const float *x, float *out, long n) {
    __shared__ float tile[256];
    long at = blockIdx.x * 256L + threadIdx.x;
    tile[threadIdx.x] = at < n ? x[at] * 2.5f : 0;
    __syncthreads();
    if (at < n) out[at] = fmaxf(tile[threadIdx.x], 0);
}
torch::Tensor run(torch::Tensor x) {
    auto out = torch::empty_like(x);
    scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
"""
library = load_inline("scale", cpp_sources="torch::Tensor run(torch::Tensor x);", cuda_sources=source, functions=["run"])
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return library.run(x)
"#;

#[tokio::test]
async fn without_a_device_the_compilers_still_tell_what_compile_kernel_tells() {
    let subject = Subject::new().await;
    let by_hand = KernelCompiler::new(kernelwright_evaluate::Settings {
        python: Some(kernelwright_tests::python()),
        cache_dir: subject.cache.path().to_path_buf(),
        ..kernelwright_evaluate::Settings::new(kernelwright_tests::binary())
    });
    for source in [TRITON, CUDA] {
        let question = CompileRequest {
            problem_source: SCALE.to_owned(),
            candidate_source: source.to_owned(),
            targets: vec!["h100".parse().unwrap()],
        };
        let compilation = by_hand.compile(&question, &|_| {}).await.unwrap();
        let arch = &compilation.architectures[0];
        let answer = subject.profiler.capture(&request(SCALE, Some(source), NO_GPU), &|_| {}).await;
        if arch.kernels.is_empty() {
            // A machine without nvcc: the same hint as there.
            let error = answer.unwrap_err();
            assert!(matches!(error, ProfileError::NoDevice { .. }), "{error}");
            continue;
        }
        let Taken { capture, passed_over, .. } = answer.unwrap();
        assert_eq!((capture.profiler, passed_over.len()), (ProfilerKind::Static, 3), "{passed_over:?}");
        assert!(passed_over[1].starts_with("proton: ") && passed_over[1].contains("cuda:99"), "{passed_over:?}");
        let CompileOutcome::Ok(compiled) = &arch.kernels[0].outcome else { panic!("{arch:#?}") };
        let figures = &capture.kernels[0].figures;
        for (metric, expected) in [
            (Metric::RegistersPerThread, compiled.figures.registers.map(f64::from)),
            (Metric::SpillStoreBytes, compiled.figures.spill_stores.map(|bytes| bytes.0 as f64)),
            (Metric::StackBytes, compiled.figures.stack.map(|bytes| bytes.0 as f64)),
            (Metric::StaticSharedBytes, compiled.figures.static_shared.map(|bytes| bytes.0 as f64)),
            (Metric::DynamicSharedBytes, compiled.figures.dynamic_shared.map(|bytes| bytes.0 as f64)),
            (Metric::ThreadsPerBlock, compiled.threads.map(f64::from)),
            (Metric::TheoreticalOccupancyShare, compiled.occupancy.as_ref().map(|occupancy| occupancy.share)),
        ] {
            assert_eq!(figures.get(metric), expected, "{metric}");
        }
        assert!(capture.limits.iter().any(|limit| limit.contains("no times")), "{:?}", capture.limits);
    }
}

#[tokio::test]
async fn each_rung_that_is_denied_says_why_and_what_makes_it_work() {
    // It stands for the refusal of a driver that keeps its counters to administrators.
    let denied = "#!/bin/sh\necho '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters'; exit 1\n";
    let subject = Subject::with_ncu(denied).await;
    let rungs = subject.profiler.rungs(NO_GPU).await.unwrap();
    let works: Vec<_> = rungs.iter().map(|rung| (rung.profiler, rung.works)).collect();
    let expected = [(ProfilerKind::Ncu, false), (ProfilerKind::Proton, false), (ProfilerKind::Torch, false), (ProfilerKind::Static, true)];
    assert_eq!(works, expected, "{rungs:#?}");
    assert!(rungs[0].reason.as_ref().unwrap().contains("ERR_NVGPUCTRPERM"), "{rungs:#?}");
    assert!(rungs[0].fix.as_ref().unwrap().contains("NVreg_RestrictProfilingToAdminUsers=0"), "{rungs:#?}");
    assert!(rungs[1..3].iter().all(|rung| rung.reason.as_ref().unwrap().contains("cuda:99") && rung.fix.is_some()), "{rungs:#?}");
    // For a candidate the next rung that works answers; for a library's kernels none does.
    let taken = subject.capture(SCALE, Some(TRITON), NO_GPU).await;
    assert_eq!(taken.capture.profiler, ProfilerKind::Static);
    assert!(taken.passed_over[0].contains("NVreg_RestrictProfilingToAdminUsers=0"), "{:?}", taken.passed_over);
    let error = subject.profiler.capture(&request(SCALE, None, NO_GPU), &|_| {}).await.unwrap_err();
    assert_eq!(error.code(), "no_device");
    // A profiler that was asked for is not replaced.
    let chosen = ProfileRequest { profiler: Some(ProfilerKind::Ncu), ..request(SCALE, Some(TRITON), NO_GPU) };
    assert_eq!(subject.profiler.capture(&chosen, &|_| {}).await.unwrap_err().code(), "profiler_unavailable");
}

#[tokio::test]
async fn the_worker_that_waits_inside_nsight_compute_is_started_once_and_for_the_next_candidate() {
    let started = tempfile::NamedTempFile::new().unwrap();
    let starts = || std::fs::read_to_string(started.path()).unwrap().len();
    // It stands for Nsight Compute as far as its command line goes: it runs what follows its own options.
    let script = format!(
        "#!/bin/sh\nprintf x >> {}\nwhile [ \"$1\" != -o ]; do shift; done; shift 2\nwhile [ \"$1\" = --section ]; do shift 2; done\nexec \"$@\"\n",
        started.path().display()
    );
    let subject = Subject::with_ncu(&script).await;
    subject.profiler.prepare(Target::CPU);
    subject.profiler.prepare(NO_GPU);
    subject.profiler.prepare(NO_GPU);
    eventually("a worker waits inside it", || starts() > 0).await;
    let error = async |candidate| {
        let asked = ProfileRequest { profiler: Some(ProfilerKind::Ncu), ..request(SCALE, candidate, NO_GPU) };
        subject.profiler.capture(&asked, &|_| {}).await.unwrap_err().code()
    };
    // The problem's own module is not profiled where a candidate is to come.
    assert_eq!(error(None).await, "no_device");
    assert_eq!(starts(), 2);
    assert_eq!(error(Some(TRITON)).await, "no_device");
    assert_eq!(starts(), 2, "it took the one that waited");
}

#[tokio::test]
async fn on_the_processor_both_rungs_work_and_say_what_they_lack() {
    let subject = Subject::new().await;
    let rungs = subject.profiler.rungs(Target::CPU).await.unwrap();
    assert!(rungs.iter().all(|rung| rung.works), "{rungs:#?}");
    assert_eq!(rungs[0].reason.is_some(), rungs[0].fix.is_some());
    let chosen = ProfileRequest { profiler: Some(ProfilerKind::Torch), ..request(&SCALE.replace("32 << 20", "1024"), None, Target::CPU) };
    let taken = subject.profiler.capture(&chosen, &|_| {}).await.unwrap();
    assert_eq!(taken.capture.profiler, ProfilerKind::Torch);
    assert!(taken.capture.call.get(Metric::PageFaults).is_none());
    let chosen = ProfileRequest { profiler: Some(ProfilerKind::Ncu), ..chosen };
    assert_eq!(subject.profiler.capture(&chosen, &|_| {}).await.unwrap_err().code(), "invalid_arguments");
}
