//! Kernels in which nothing is busy: what their warps wait for, and why too few of them are there.

use kernelwright_protocol::{
    Cause,
    Metric::{
        AtomicThroughputShare, AtomicsPerWarp, BarrierStallShare, Blocks, BlocksByRegisters, BlocksBySharedMemory, BlocksPerMultiprocessor,
        ComputeThroughputShare, CopyRateShare, DependencyStallShare, DramThroughputShare, DurationNs, EligibleWarps, IssueShare,
        LocalInstructionsShare, LocalRequestsShare, MemoryStallShare, MemoryThroughputShare, SpillBytes, TailIdleShare,
        TheoreticalOccupancyShare, ThreadsPerInstruction, Waves,
    },
};

use super::cost;
use super::rule::{AtCeiling, Rule, Scope, Show, above, advice, below};

/// Nsight Compute's own bound: with every unit below 60 % of its peak a kernel waits instead of working.
const NOTHING_BUSY: f64 = 0.6;
/// Nsight Compute tells of a stall from 30 % of the warps' time on.
const LONG_STALL: f64 = 0.3;
/// In nanoseconds: a kernel's start and end take two to three microseconds, so that one that takes less than twice as long has next to nothing to share.
const WORTH_SHARING: f64 = 5_000.0;

pub(crate) const RULES: &[Rule] = &[
    Rule {
        cause: Cause::Serialisation,
        scope: Scope::Kernel,
        shows: &[
            Show { when: &[below(Blocks, 1.0), above(DurationNs, WORTH_SHARING)], says: "one block does all of it, on one multiprocessor" },
            Show { when: &[below(ThreadsPerInstruction, 2.0)], says: "{threads_per_instruction} of a warp's 32 threads work" },
        ],
        cleared: &[Show {
            when: &[above(BlocksPerMultiprocessor, 1.0), above(ThreadsPerInstruction, 16.0)],
            says: "{blocks} blocks, and {threads_per_instruction} of a warp's 32 threads at work",
        }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Silent,
        cost: cost::serial,
        remedies: &[
            advice("split the loop over blocks and combine their results in a second, small step", "patterns/two-stage-reduction"),
            advice("split the summed dimension over blocks", "patterns/split-k"),
        ],
    },
    // Below nine tenths: grids made for the multiprocessors of a part with a few less are no mistake.
    Rule {
        cause: Cause::TooFewBlocks,
        scope: Scope::Kernel,
        shows: &[Show {
            when: &[below(BlocksPerMultiprocessor, 0.9), above(DurationNs, WORTH_SHARING)],
            says: "{blocks} blocks leave most of the {multiprocessors} multiprocessors without work ({blocks_per_multiprocessor} for each)",
        }],
        cleared: &[Show {
            when: &[above(BlocksPerMultiprocessor, 2.0)],
            says: "{blocks_per_multiprocessor} blocks for each multiprocessor",
        }],
        symptom_of: &[Cause::Serialisation],
        at_ceiling: AtCeiling::Silent,
        cost: cost::missing_blocks,
        remedies: &[
            advice("cut the work into smaller tiles, at least one for each multiprocessor", "nvidia-hopper/persistent-tiles-and-split-k"),
            advice("split the summed dimension over blocks", "patterns/split-k"),
        ],
    },
    // A fifth of the room empty is Nsight Compute's bound as well; from four rounds on it cannot be reached.
    Rule {
        cause: Cause::TailEffect,
        scope: Scope::Kernel,
        shows: &[Show {
            when: &[above(TailIdleShare, 0.2)],
            says: "{waves} rounds of blocks: the last one leaves {tail_idle_share} of the device's room empty over all",
        }],
        cleared: &[
            Show { when: &[below(Waves, 1.0)], says: "the blocks are done in one round" },
            Show { when: &[below(TailIdleShare, 0.1)], says: "{waves} rounds of blocks" },
        ],
        symptom_of: &[],
        at_ceiling: AtCeiling::Silent,
        cost: cost::tail,
        remedies: &[
            advice(
                "choose the tile so that the rounds come out even, or let resident blocks take tiles in turn",
                "nvidia-hopper/persistent-tiles-and-split-k",
            ),
            advice("share the last tiles between blocks", "patterns/stream-k"),
        ],
    },
    // 64 bytes a thread: the few registers that a compiler spills outside loops cost nothing.
    Rule {
        cause: Cause::RegisterSpills,
        scope: Scope::Kernel,
        shows: &[
            Show {
                when: &[above(LocalRequestsShare, 0.1)],
                says: "{local_requests_share} of the memory requests go to local memory: registers that were spilled, or arrays with computed indices",
            },
            Show {
                when: &[above(LocalInstructionsShare, 0.02)],
                says: "{local_instructions_share} of the instructions are requests to local memory: registers that were spilled, or arrays with computed indices",
            },
            Show { when: &[above(SpillBytes, 64.0)], says: "each thread spills: {spill_bytes} of stores and loads in the code" },
        ],
        cleared: &[
            Show { when: &[below(SpillBytes, 0.0)], says: "the compiler spilled nothing" },
            Show {
                when: &[below(LocalInstructionsShare, 0.001)],
                says: "{local_instructions_share} of the instructions are requests to local memory",
            },
            Show { when: &[below(LocalRequestsShare, 0.01)], says: "{local_requests_share} of the memory requests go to local memory" },
        ],
        symptom_of: &[],
        at_ceiling: AtCeiling::Speaks(&[]),
        cost: cost::spills,
        remedies: &[
            advice("hold less per thread: smaller tiles, more warps, or a laxer launch bound", "nvidia-hopper/registers-and-local-memory"),
            advice("set registers and blocks with __launch_bounds__", "cuda-cpp/launch-bounds-registers"),
            advice("num_warps and num_stages against registers", "triton/warps-and-stages"),
        ],
    },
    // An atomic for every warp or more: reductions that combine in the block first need one for several warps.
    Rule {
        cause: Cause::AtomicContention,
        scope: Scope::Kernel,
        shows: &[
            Show {
                when: &[above(AtomicsPerWarp, 0.5), above(MemoryStallShare, LONG_STALL), below(DramThroughputShare, 0.5)],
                says: "{atomics_per_warp} atomics for each warp, while warps wait {memory_stall_share} of their time and device memory is at {dram_throughput_share}",
            },
            Show {
                when: &[above(AtomicsPerWarp, 0.5), below(DramThroughputShare, 0.3), below(ComputeThroughputShare, 0.5)],
                says: "{atomics_per_warp} atomics for each warp, while device memory is at {dram_throughput_share} of its peak",
            },
            Show {
                when: &[above(AtomicThroughputShare, 0.5)],
                says: "atomics take {atomic_throughput_share} of what the second-level cache can do",
            },
        ],
        cleared: &[Show { when: &[below(AtomicsPerWarp, 0.05)], says: "{atomics_per_warp} atomics for each warp" }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Silent,
        cost: cost::atomics,
        remedies: &[
            advice("combine in registers and shared memory first, with one atomic for each block", "cuda-cpp/atomics"),
            advice("reduce in two stages, without atomics", "patterns/two-stage-reduction"),
            advice("what atomics cost in Triton", "triton/atomics"),
        ],
    },
    // Half of the room: with enough independent work in each thread less is plenty, which is why nothing may be busy.
    Rule {
        cause: Cause::LowOccupancy,
        scope: Scope::Kernel,
        shows: &[
            Show {
                when: &[
                    below(TheoreticalOccupancyShare, 0.45),
                    above(MemoryStallShare, LONG_STALL),
                    below(ComputeThroughputShare, NOTHING_BUSY),
                    below(MemoryThroughputShare, NOTHING_BUSY),
                ],
                says: "room for {theoretical_occupancy_share} of the warps, which wait for memory {memory_stall_share} of their time",
            },
            Show {
                when: &[
                    below(TheoreticalOccupancyShare, 0.45),
                    below(IssueShare, 0.5),
                    below(ComputeThroughputShare, NOTHING_BUSY),
                    below(MemoryThroughputShare, NOTHING_BUSY),
                ],
                says: "room for {theoretical_occupancy_share} of the warps; schedulers issue in {issue_share} of the cycles",
            },
            // Large blocks: half of the warps may be there, but all of them read, wait and write at the same time.
            Show {
                when: &[
                    below(BlocksByRegisters, 1.0),
                    above(BarrierStallShare, 0.1),
                    below(ComputeThroughputShare, NOTHING_BUSY),
                    below(MemoryThroughputShare, NOTHING_BUSY),
                ],
                says: "one block fits a multiprocessor, on which nothing else runs while its warps wait for each other ({barrier_stall_share} of their time)",
            },
            Show {
                when: &[
                    below(BlocksBySharedMemory, 1.0),
                    above(BarrierStallShare, 0.1),
                    below(ComputeThroughputShare, NOTHING_BUSY),
                    below(MemoryThroughputShare, NOTHING_BUSY),
                ],
                says: "one block fits a multiprocessor, on which nothing else runs while its warps wait for each other ({barrier_stall_share} of their time)",
            },
        ],
        cleared: &[Show { when: &[above(TheoreticalOccupancyShare, 0.6)], says: "room for {theoretical_occupancy_share} of the warps" }],
        symptom_of: &[
            Cause::TooFewBlocks,
            Cause::Serialisation,
            Cause::RegisterSpills,
            Cause::AtomicContention,
            Cause::BankConflicts,
            Cause::UncoalescedAccess,
        ],
        at_ceiling: AtCeiling::Silent,
        cost: cost::occupancy,
        remedies: &[
            advice("use less of what limits it for each block", "nvidia-hopper/sm-limits-and-occupancy"),
            advice("the arithmetic of occupancy, and how much is enough", "cuda-cpp/occupancy-arithmetic"),
            advice("num_warps and num_stages against registers and shared memory", "triton/warps-and-stages"),
        ],
    },
    Rule {
        cause: Cause::Barriers,
        scope: Scope::Kernel,
        shows: &[Show {
            when: &[above(BarrierStallShare, LONG_STALL), below(ComputeThroughputShare, 0.7), below(MemoryThroughputShare, 0.7)],
            says: "warps wait at barriers {barrier_stall_share} of their time",
        }],
        cleared: &[Show { when: &[below(BarrierStallShare, 0.1)], says: "warps wait at barriers {barrier_stall_share} of their time" }],
        symptom_of: &[Cause::Serialisation, Cause::TooFewBlocks, Cause::BankConflicts, Cause::Divergence],
        at_ceiling: AtCeiling::Silent,
        cost: cost::barrier_waits,
        remedies: &[
            advice("synchronise within warps, by shuffles, and the block once", "nvidia-hopper/block-reductions"),
            advice("smaller blocks, so that another one works while this one waits", "nvidia-hopper/sm-limits-and-occupancy"),
            advice("which barriers are needed", "cuda-cpp/barriers-and-races"),
        ],
    },
    // 24 of 32, as Nsight Compute has it; masks at the edges stay above.
    Rule {
        cause: Cause::Divergence,
        scope: Scope::Kernel,
        shows: &[Show {
            when: &[below(ThreadsPerInstruction, 24.0)],
            says: "{threads_per_instruction} of a warp's 32 threads work in an instruction",
        }],
        cleared: &[Show { when: &[above(ThreadsPerInstruction, 28.0)], says: "{threads_per_instruction} of a warp's 32 threads work" }],
        symptom_of: &[Cause::Serialisation],
        at_ceiling: AtCeiling::Speaks(&[above(IssueShare, 0.6)]),
        cost: cost::lanes_off,
        remedies: &[advice(
            "sort or group the work so that a warp's threads take the same branch, or select instead of branching",
            "patterns/work-balance",
        )],
    },
    Rule {
        cause: Cause::MemoryLatency,
        scope: Scope::Kernel,
        shows: &[Show {
            when: &[above(MemoryStallShare, 0.4), below(ComputeThroughputShare, NOTHING_BUSY), below(MemoryThroughputShare, NOTHING_BUSY)],
            says: "warps wait for memory {memory_stall_share} of their time, while memory is at {memory_throughput_share} of its peak",
        }],
        cleared: &[Show { when: &[below(MemoryStallShare, 0.2)], says: "warps wait for memory {memory_stall_share} of their time" }],
        symptom_of: &[
            Cause::LowOccupancy,
            Cause::UncoalescedAccess,
            Cause::TooFewBlocks,
            Cause::TailEffect,
            Cause::Serialisation,
            Cause::AtomicContention,
            Cause::RegisterSpills,
            Cause::CacheThrash,
        ],
        at_ceiling: AtCeiling::Silent,
        cost: cost::memory_waits,
        remedies: &[
            advice("have several independent loads in flight in each thread: wider accesses, unrolled loops", "patterns/vectorised-access"),
            advice("fetch the next tile while this one is used", "nvidia-hopper/bulk-copy-and-mbarrier"),
            advice("num_stages of a loop in Triton", "triton/loop-options"),
        ],
    },
    // One eligible warp a cycle is what a scheduler needs.
    Rule {
        cause: Cause::DependentInstructions,
        scope: Scope::Kernel,
        shows: &[Show {
            when: &[above(DependencyStallShare, LONG_STALL), below(IssueShare, 0.6), below(EligibleWarps, 1.0)],
            says: "warps wait for the instruction before {dependency_stall_share} of their time; schedulers issue in {issue_share} of the cycles",
        }],
        cleared: &[Show { when: &[above(IssueShare, 0.75)], says: "schedulers issue in {issue_share} of the cycles" }],
        symptom_of: &[Cause::Serialisation, Cause::TooFewBlocks, Cause::TailEffect, Cause::Divergence],
        at_ceiling: AtCeiling::Silent,
        cost: cost::dependency_waits,
        remedies: &[
            advice("compute several independent results in each thread", "patterns/tiling-and-blocking"),
            advice("keep several partial sums and add them at the end", "nvidia-hopper/block-reductions"),
        ],
    },
    // Seen from below on profilers without counters: neither much data nor anything else is known, so only the rate is told.
    Rule {
        cause: Cause::MemoryBandwidth,
        scope: Scope::Call,
        shows: &[Show {
            when: &[above(CopyRateShare, 0.85)],
            says: "the bytes of a call move at {copy_rate_share} of the target's own copy rate",
        }],
        cleared: &[Show {
            when: &[below(CopyRateShare, 0.5)],
            says: "the bytes of a call move at {copy_rate_share} of the target's own copy rate",
        }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Ceiling,
        cost: cost::to_copy_rate,
        remedies: &[advice("move fewer bytes: smaller types, or work on more of the problem at once", "nvidia-hopper/memory-bound-recipe")],
    },
];
