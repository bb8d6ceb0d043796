//! Calls as a whole: the time between kernels on a GPU, and everything on a processor.

use kernelwright_protocol::{
    Cause,
    Metric::{
        BranchMissShare, CacheMissShare, CopyRateShare, GapNs, KernelBusyShare, KernelTimeNs, LaunchesPerCall, MatrixRateShare,
        PageFaultShare, ProcessorsAllowed, ProcessorsAwaited, ProcessorsBusyShare, ScalarLoops, TrafficRatio, VectorLoops, VectorShare,
    },
};

use super::cost;
use super::rule::{AtCeiling, Rule, Scope, Show, above, advice, below};

pub(crate) const RULES: &[Rule] = &[
    // A launch costs the host 3 to 8 microseconds; kernels shorter than that cannot keep the device busy, however many there are.
    Rule {
        cause: Cause::LaunchOverhead,
        scope: Scope::Call,
        shows: &[
            Show {
                when: &[below(KernelBusyShare, 0.7), above(LaunchesPerCall, 4.0), below(KernelTimeNs, 8_000.0)],
                says: "{launches_per_call} launches of {kernel_time_ns} each: kernels run in {kernel_busy_share} of a call's time, with {gap_ns} between them",
            },
            Show {
                when: &[above(LaunchesPerCall, 16.0), below(KernelTimeNs, 5_000.0)],
                says: "{launches_per_call} launches of {kernel_time_ns} each",
            },
        ],
        cleared: &[
            Show { when: &[above(KernelTimeNs, 20_000.0)], says: "a kernel runs {kernel_time_ns} on average" },
            Show { when: &[below(LaunchesPerCall, 2.0)], says: "launches in a call: {launches_per_call}" },
        ],
        symptom_of: &[],
        at_ceiling: AtCeiling::Silent,
        cost: cost::outside_kernels,
        remedies: &[
            advice("do the work in fewer kernels", "patterns/fewer-launches"),
            advice("fuse the chain of elementwise operations and reductions", "patterns/fusion"),
            advice("replay the launches as a graph", "nvidia-hopper/launch-latency-and-graphs"),
        ],
    },
    Rule {
        cause: Cause::HostBound,
        scope: Scope::Call,
        shows: &[Show {
            when: &[below(KernelBusyShare, 0.7), above(GapNs, 4_000.0)],
            says: "kernels run in {kernel_busy_share} of a call's time; the host leaves {gap_ns} between launches",
        }],
        cleared: &[Show { when: &[above(KernelBusyShare, 0.9)], says: "kernels run in {kernel_busy_share} of a call's time" }],
        symptom_of: &[Cause::LaunchOverhead],
        at_ceiling: AtCeiling::Silent,
        cost: cost::outside_kernels,
        remedies: &[
            advice("take allocations, copies to the host and synchronisation out of forward", "patterns/in-place-and-outputs"),
            advice("replay the launches as a graph", "nvidia-hopper/launch-latency-and-graphs"),
            advice("do the work in fewer kernels", "patterns/fewer-launches"),
        ],
    },
    Rule {
        cause: Cause::MemoryBandwidth,
        scope: Scope::Cpu,
        shows: &[Show {
            when: &[above(CopyRateShare, 0.8)],
            says: "the bytes of a call move at {copy_rate_share} of the machine's own copy rate",
        }],
        cleared: &[Show {
            when: &[below(CopyRateShare, 0.5)],
            says: "the bytes of a call move at {copy_rate_share} of the machine's own copy rate",
        }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Ceiling,
        cost: cost::to_copy_rate,
        remedies: &[
            advice("write outputs past the caches where they are not read again", "x86-cpu/streaming-stores"),
            advice("what memory and caches move", "x86-cpu/caches-and-bandwidth"),
        ],
    },
    Rule {
        cause: Cause::Compute,
        scope: Scope::Cpu,
        shows: &[Show { when: &[above(MatrixRateShare, 0.8)], says: "products run at {matrix_rate_share} of torch's own rate" }],
        cleared: &[Show { when: &[below(MatrixRateShare, 0.4)], says: "products run at {matrix_rate_share} of torch's own rate" }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Ceiling,
        cost: cost::to_arithmetic_rate,
        remedies: &[advice("do less arithmetic: rewrite the algebra first", "x86-cpu/algebra-before-code")],
    },
    // Half of the bytes beyond the need, counted in misses of the last-level cache; prefetched lines are not counted, so this errs to silence.
    Rule {
        cause: Cause::CacheThrash,
        scope: Scope::Cpu,
        shows: &[Show {
            when: &[above(TrafficRatio, 1.5), above(CacheMissShare, 0.3)],
            says: "the last-level cache misses {traffic_ratio} times the bytes that a call needs once",
        }],
        cleared: &[Show { when: &[below(CacheMissShare, 0.05)], says: "{cache_miss_share} of the last-level cache's accesses miss" }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Silent,
        cost: cost::refetched,
        remedies: &[
            advice("work on blocks that stay in the cache", "x86-cpu/gemm-blocking-cpu"),
            advice("finish each row while it is in the cache", "x86-cpu/row-operations-in-cache"),
        ],
    },
    Rule {
        cause: Cause::NotVectorised,
        scope: Scope::Cpu,
        shows: &[
            Show { when: &[below(VectorShare, 0.3)], says: "{vector_share} of the arithmetic in its loops is vector code" },
            Show { when: &[below(VectorLoops, 0.0), above(ScalarLoops, 1.0)], says: "the compiler left all {scalar_loops} loops scalar" },
        ],
        cleared: &[Show { when: &[above(VectorShare, 0.7)], says: "{vector_share} of the arithmetic in its loops is vector code" }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Silent,
        cost: cost::scalar_loops,
        remedies: &[
            advice("find why the loop stays scalar", "x86-cpu/loop-not-vectorised"),
            advice("say that iterations are independent", "cpp-openmp/omp-simd-pragmas"),
            advice("build for this machine", "cpp-openmp/compile-flags"),
        ],
    },
    // Two processors of four are a half; below six tenths at least one of two is idle most of the time.
    Rule {
        cause: Cause::TooFewThreads,
        scope: Scope::Cpu,
        shows: &[Show {
            when: &[below(ProcessorsBusyShare, 0.6), above(ProcessorsAllowed, 2.0)],
            says: "{processors_busy} of {processors_allowed} processors work",
        }],
        cleared: &[
            Show {
                when: &[above(ProcessorsBusyShare, 0.85), above(ProcessorsAwaited, 0.1)],
                says: "{processors_busy} of {processors_allowed} processors work, and threads wait for {processors_awaited} that other work has",
            },
            Show { when: &[above(ProcessorsBusyShare, 0.85)], says: "{processors_busy} of {processors_allowed} processors work" },
        ],
        symptom_of: &[Cause::Interpreter],
        at_ceiling: AtCeiling::Silent,
        cost: cost::idle_processors,
        remedies: &[
            advice("share the outer loop between threads", "cpp-openmp/collapse"),
            advice("which schedule and how many threads", "cpp-openmp/thread-counts"),
        ],
    },
    Rule {
        cause: Cause::PageFaults,
        scope: Scope::Cpu,
        shows: &[Show {
            when: &[above(PageFaultShare, 0.1)],
            says: "{page_faults} pages are mapped in a call, about {page_fault_share} of its time",
        }],
        cleared: &[Show { when: &[below(PageFaultShare, 0.03)], says: "{page_faults} pages are mapped in a call" }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Speaks(&[]),
        cost: cost::page_faults,
        remedies: &[
            advice("do not map fresh memory in every call", "x86-cpu/fresh-output-page-faults"),
            advice("larger pages", "x86-cpu/page-size-and-prefetch"),
        ],
    },
    // One in twenty: at about twenty cycles each, as long as everything else between two branches.
    Rule {
        cause: Cause::BranchMisses,
        scope: Scope::Cpu,
        shows: &[Show { when: &[above(BranchMissShare, 0.05)], says: "{branch_miss_share} of the branches are mispredicted" }],
        cleared: &[Show { when: &[below(BranchMissShare, 0.01)], says: "{branch_miss_share} of the branches are mispredicted" }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Silent,
        cost: cost::branch_misses,
        remedies: &[
            advice("select with masks instead of branching", "x86-cpu/avx512-masks"),
            advice("let the compiler turn the branch into vector code", "x86-cpu/loop-not-vectorised"),
        ],
    },
    Rule {
        cause: Cause::Interpreter,
        scope: Scope::Cpu,
        shows: &[
            Show { when: &[below(KernelBusyShare, 0.0)], says: "no operator runs; Python takes all of a call's time" },
            Show {
                when: &[below(KernelBusyShare, 0.6)],
                says: "operators run in {kernel_busy_share} of a call's time; Python takes the rest, {gap_ns} for each",
            },
        ],
        cleared: &[Show { when: &[above(KernelBusyShare, 0.85)], says: "operators run in {kernel_busy_share} of a call's time" }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Silent,
        cost: cost::outside_kernels,
        remedies: &[
            advice("one call into C++ for the whole of forward", "x86-cpu/raw-pointer-extension"),
            advice("for work this small, overheads decide", "x86-cpu/small-work-parallel-overhead"),
        ],
    },
];
