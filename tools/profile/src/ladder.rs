//! The profilers of a target, best first, and which of them work here: found by profiling something small with each.

use kernelwright_protocol::{Backend, ProfilerKind};

use crate::ProfileError;
use crate::capture::Rung;
use crate::counters::Counters;

/// A problem and a candidate that every device runs in microseconds.
pub(crate) const TRIAL_PROBLEM: &str = "
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs():
    return [torch.ones(1024)]
";
/// For the compilers: other profilers are tried with the problem alone.
pub(crate) const TRIAL_CANDIDATE: &str = "
import torch, triton, triton.language as tl
@triton.jit
def add_one(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + 1)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        add_one[(1,)](x, out, BLOCK=1024)
        return out
";

/// The profilers of a backend, best first.
pub(crate) fn order(backend: Backend) -> &'static [ProfilerKind] {
    match backend {
        Backend::Cpu => &[ProfilerKind::Cpu, ProfilerKind::Torch],
        Backend::Cuda => &[ProfilerKind::Ncu, ProfilerKind::Proton, ProfilerKind::Torch, ProfilerKind::Static],
    }
}

/// What a trial has shown of a profiler; errors that say nothing about it are passed on.
pub(crate) fn rung(profiler: ProfilerKind, trial: Result<(), ProfileError>) -> Result<Rung, ProfileError> {
    let (tells, cannot) = sentences(profiler);
    let mut rung = Rung { profiler, works: true, tells: tells.to_owned(), cannot: cannot.to_owned(), reason: None, fix: None };
    match trial {
        Ok(()) if profiler == ProfilerKind::Cpu => {
            if let Err(missing) = Counters::probe() {
                rung.reason = Some(format!("works without cycles, instructions, cache and branch misses: {missing}"));
                rung.fix = Some(missing.fix().to_owned());
            }
        }
        Ok(()) => {}
        Err(error) if error.is_obstacle() => {
            rung.works = false;
            rung.reason = Some(error.to_string());
            rung.fix = Some(error.hint());
        }
        Err(error) => return Err(error),
    }
    Ok(rung)
}

fn sentences(profiler: ProfilerKind) -> (&'static str, &'static str) {
    match profiler {
        ProfilerKind::Ncu => (
            "Hardware counters of every kernel: what limits it, what its warps wait for, memory traffic, occupancy, costly source lines.",
            "What happens between kernels: it runs them one at a time, several times over.",
        ),
        ProfilerKind::Proton => (
            "The device's time of every kernel, with little disturbance.",
            "What limits a kernel: memory, arithmetic and occupancy are not measured.",
        ),
        ProfilerKind::Torch => (
            "Times of kernels, and on cpu of torch's operators and of C functions called through ctypes.",
            "What limits a kernel: memory, arithmetic and occupancy are not measured.",
        ),
        ProfilerKind::Cpu => (
            "Times as by torch, and what the process used: processors, page faults, cycles and cache misses where the processor counts them; \
             whether its loops are vectorised.",
            "Which line of a C function costs most; counters are those of the whole call.",
        ),
        ProfilerKind::Static => (
            "What compilers say of a candidate's kernels, without a device: registers, spills, shared memory, theoretical occupancy.",
            "Any time, and anything that depends on data; kernels of libraries.",
        ),
    }
}
