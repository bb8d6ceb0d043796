//! Kernels that are as fast as a unit of the device allows, and the units that set their pace.
//!
//! Well-tuned kernels wait a lot: their queues are full. So where one of [`CEILINGS`] is reached, rules on waiting are silent, and the ceiling
//! is told instead, with the distance to it.

use kernelwright_protocol::{
    Cause,
    Metric::{
        ComputeThroughputShare, CopyRateShare, DramThroughputShare, EligibleWarps, ExcessSectorsShare, FmaShare, Fp64Share,
        HalfOperationsShare, IssueShare, L1ThroughputShare, L2ThroughputShare, MemoryThroughputShare, SectorsPerLoad, SectorsPerStore,
        SharedConflictShare, SmActiveShare, TensorShare, TrafficRatio, XuShare,
    },
};

use super::cost;
use super::rule::{AtCeiling, Bound, Rule, Scope, Show, above, advice, below};

/// A kernel with one of these signs is at its ceiling.
///
/// Device memory: large copies reach 85 to 92 % of the pins' rate, so 75 % of that is 85 % of what any kernel gets; measured against the
/// target's own copy it is 85 %. Tensor cores: the best library products reach 70 to 85 % of the peak at the clock that power allows. Other
/// arithmetic: Nsight Compute itself calls a unit above 80 % busy.
pub(crate) const CEILINGS: &[Bound] =
    &[above(CopyRateShare, 0.85), above(DramThroughputShare, 0.75), above(ComputeThroughputShare, 0.85), above(L2ThroughputShare, 0.85)];

/// The same of units whose share counts only the time in which their multiprocessor has work.
pub(crate) const CEILINGS_WHILE_ACTIVE: &[Bound] = &[above(TensorShare, 0.7), above(FmaShare, 0.8), above(Fp64Share, 0.8)];

/// Where so much of the device has nothing to do, what the rest reaches is no ceiling: a fifth, from which on a tail is told.
pub(crate) const PARTLY_IDLE: Bound = below(SmActiveShare, 0.8);

pub(crate) const RULES: &[Rule] = &[
    Rule {
        cause: Cause::MemoryBandwidth,
        scope: Scope::Kernel,
        shows: &[
            Show { when: &[above(CopyRateShare, 0.85)], says: "device memory runs at {copy_rate_share} of the target's own copy rate" },
            Show { when: &[above(DramThroughputShare, 0.75)], says: "device memory runs at {dram_throughput_share} of its peak" },
        ],
        cleared: &[
            Show { when: &[below(CopyRateShare, 0.6)], says: "device memory runs at {copy_rate_share} of the target's own copy rate" },
            Show { when: &[below(DramThroughputShare, 0.55)], says: "device memory runs at {dram_throughput_share} of its peak" },
        ],
        symptom_of: &[Cause::UncoalescedAccess, Cause::RegisterSpills, Cause::CacheThrash],
        at_ceiling: AtCeiling::Ceiling,
        cost: cost::to_copy_rate,
        remedies: &[
            advice("move fewer bytes: fuse with the kernels before and after", "patterns/fusion"),
            advice("keep data in smaller types where the tolerance allows", "patterns/precision-choices"),
        ],
    },
    Rule {
        cause: Cause::Compute,
        scope: Scope::Kernel,
        shows: &[
            Show { when: &[above(TensorShare, 0.7)], says: "tensor cores run at {tensor_share} of their peak" },
            Show { when: &[above(FmaShare, 0.8)], says: "the multiply-add units run at {fma_share} of their peak" },
            Show { when: &[above(Fp64Share, 0.8)], says: "the double-precision units run at {fp64_share} of their peak" },
            Show {
                when: &[above(ComputeThroughputShare, 0.85)],
                says: "the busiest arithmetic unit runs at {compute_throughput_share} of its peak",
            },
        ],
        cleared: &[Show {
            when: &[below(ComputeThroughputShare, 0.6)],
            says: "the busiest arithmetic unit runs at {compute_throughput_share} of its peak",
        }],
        symptom_of: &[
            Cause::NoTensorCores,
            Cause::Divergence,
            Cause::TailEffect,
            Cause::TooFewBlocks,
            Cause::Serialisation,
            Cause::InstructionIssue,
        ],
        at_ceiling: AtCeiling::Ceiling,
        cost: cost::to_arithmetic_rate,
        remedies: &[
            advice("do less arithmetic: rewrite the algebra, share partial results", "patterns/algebraic-rewriting"),
            advice("use a faster arithmetic where the tolerance allows", "patterns/precision-choices"),
        ],
    },
    // On fp32 without TF32 the general units are right, so the problem's own products have to be on 16 bits or fewer. 30 % of the units' peak is
    // more than addresses and loops take. Kernels without any such product have shown up to 2.4 % of the tensor cores at work on an H200.
    Rule {
        cause: Cause::NoTensorCores,
        scope: Scope::Kernel,
        shows: &[Show {
            when: &[below(TensorShare, 0.05), above(FmaShare, 0.3), above(HalfOperationsShare, 0.5)],
            says: "products on 16-bit operands run on the general units ({fma_share} of their peak); tensor cores are at {tensor_share}",
        }],
        cleared: &[Show { when: &[above(TensorShare, 0.2)], says: "tensor cores run at {tensor_share} of their peak" }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Speaks(&[]),
        cost: cost::general_units,
        remedies: &[
            advice("compute the products with tensor cores: tl.dot in Triton, wgmma or mma in CUDA", "nvidia-hopper/wgmma"),
            advice("shapes and types that tl.dot takes to the tensor cores", "triton/dot-shapes-and-precision"),
        ],
    },
    // Where neither bank conflicts nor scattered accesses explain it, the data itself is too much: Nsight Compute's bound for a busy unit.
    Rule {
        cause: Cause::SharedMemoryBandwidth,
        scope: Scope::Kernel,
        shows: &[Show {
            when: &[above(L1ThroughputShare, 0.8)],
            says: "shared memory and the first-level cache run at {l1_throughput_share} of their peak",
        }],
        cleared: &[Show {
            when: &[below(L1ThroughputShare, 0.5)],
            says: "shared memory and the first-level cache run at {l1_throughput_share} of their peak",
        }],
        symptom_of: &[Cause::BankConflicts, Cause::UncoalescedAccess, Cause::RegisterSpills, Cause::NoTensorCores, Cause::AtomicContention],
        at_ceiling: AtCeiling::Silent,
        cost: cost::shared_traffic,
        remedies: &[
            advice("hold more results of a tile in registers, so that each value read is used more often", "patterns/tiling-and-blocking"),
            advice("read several values with one instruction", "patterns/vectorised-access"),
        ],
    },
    // Kernels with good arithmetic or good traffic issue in half of the cycles at most; those that reach more have their arithmetic to show for it:
    // on Hopper a multiply-add unit takes an instruction in every cycle, so that its share is that of its instructions. The throughput of
    // arithmetic that Nsight Compute gives counts the issue slots as well. Other units below six tenths: with one of them busy, it is what counts.
    Rule {
        cause: Cause::InstructionIssue,
        scope: Scope::Kernel,
        shows: &[Show {
            when: &[
                above(IssueShare, 0.7),
                below(FmaShare, 0.4),
                below(MemoryThroughputShare, 0.6),
                above(EligibleWarps, 1.5),
                below(TensorShare, 0.3),
                below(XuShare, 0.6),
                below(Fp64Share, 0.3),
            ],
            says: "schedulers issue in {issue_share} of the cycles, with {eligible_warps} warps ready in each, but the multiply-add units are at {fma_share} and memory at {memory_throughput_share} of their peak: other instructions take the slots, as for indices, bounds and conversions",
        }],
        cleared: &[Show { when: &[below(IssueShare, 0.5)], says: "schedulers issue in {issue_share} of the cycles" }],
        symptom_of: &[Cause::NoTensorCores, Cause::Divergence, Cause::RegisterSpills],
        at_ceiling: AtCeiling::Speaks(&[]),
        cost: cost::other_instructions,
        remedies: &[
            advice(
                "compute several neighbouring results in each thread: they share indices, bounds and what was read",
                "patterns/tiling-and-blocking",
            ),
            advice("take divisions, remainders and 64-bit products out of the loop; make sizes constants", "cuda-cpp/64-bit-offsets"),
            advice("read and write several values with one instruction", "patterns/vectorised-access"),
        ],
    },
    // Half of the bytes beyond the need: intermediate results that a kernel keeps in memory stay below it. A product at its ceiling of arithmetic
    // moves three or four times the bytes of its operands, and what device memory does beside it costs nothing: 30 to 35 % of an H100's peak.
    Rule {
        cause: Cause::CacheThrash,
        scope: Scope::Kernel,
        shows: &[Show {
            when: &[above(TrafficRatio, 1.5), above(DramThroughputShare, 0.3)],
            says: "device memory moves {traffic_ratio} times the bytes that the call needs once",
        }],
        cleared: &[Show {
            when: &[below(TrafficRatio, 1.15)],
            says: "device memory moves {traffic_ratio} times the bytes that the call needs once",
        }],
        symptom_of: &[Cause::UncoalescedAccess, Cause::RegisterSpills],
        at_ceiling: AtCeiling::Speaks(&[above(DramThroughputShare, 0.6)]),
        cost: cost::refetched,
        remedies: &[
            advice(
                "order the tiles so that neighbours share what is in the second-level cache",
                "nvidia-hopper/persistent-tiles-and-split-k",
            ),
            advice("what the second-level cache holds, and for how long", "nvidia-hopper/l2-cache"),
        ],
    },
    // Eight wavefronts where seven would do are the noise of odd widths; a fifth in vain is a pattern. Nsight Compute warns from a tenth.
    Rule {
        cause: Cause::BankConflicts,
        scope: Scope::Kernel,
        shows: &[Show {
            when: &[above(SharedConflictShare, 0.2)],
            says: "{shared_conflict_share} of the shared-memory wavefronts are bank conflicts",
        }],
        cleared: &[Show {
            when: &[below(SharedConflictShare, 0.05)],
            says: "{shared_conflict_share} of the shared-memory wavefronts are bank conflicts",
        }],
        symptom_of: &[],
        at_ceiling: AtCeiling::Silent,
        cost: cost::conflicts,
        remedies: &[
            advice("pad the rows of the shared tile by one element, or swizzle its columns", "nvidia-hopper/shared-memory-banks"),
            advice("give the tile another layout before it is read across", "patterns/layout-change"),
        ],
    },
    // A quarter: misaligned rows and halos stay below it. At full bandwidth it is half, because caches absorb the rest. Without the profiler's
    // ideal, more than 16 sectors a request can only be scattered: 16 is what 16-byte accesses of a whole warp need.
    Rule {
        cause: Cause::UncoalescedAccess,
        scope: Scope::Kernel,
        shows: &[
            Show {
                when: &[above(ExcessSectorsShare, 0.25), above(SectorsPerLoad, 17.0)],
                says: "{excess_sectors_share} of the sectors that global accesses touch are not needed; a load touches {sectors_per_load}",
            },
            Show {
                when: &[above(ExcessSectorsShare, 0.25), above(SectorsPerStore, 17.0)],
                says: "{excess_sectors_share} of the sectors that global accesses touch are not needed; a store touches {sectors_per_store}",
            },
            Show {
                when: &[above(ExcessSectorsShare, 0.25)],
                says: "{excess_sectors_share} of the sectors that global accesses touch are not needed",
            },
            Show {
                when: &[above(SectorsPerLoad, 17.0)],
                says: "a load of a warp touches {sectors_per_load} sectors, where 16 are the most that adjacent threads need",
            },
            Show {
                when: &[above(SectorsPerStore, 17.0)],
                says: "a store of a warp touches {sectors_per_store} sectors, where 16 are the most that adjacent threads need",
            },
        ],
        cleared: &[
            Show {
                when: &[below(ExcessSectorsShare, 0.1)],
                says: "{excess_sectors_share} of the sectors that global accesses touch are not needed",
            },
            Show {
                when: &[below(SectorsPerLoad, 4.5), below(SectorsPerStore, 4.5)],
                says: "a load touches {sectors_per_load} sectors, a store {sectors_per_store}",
            },
        ],
        symptom_of: &[],
        at_ceiling: AtCeiling::Speaks(&[above(ExcessSectorsShare, 0.5)]),
        cost: cost::sectors,
        remedies: &[
            advice(
                "let adjacent threads touch adjacent addresses; go through shared memory where the layout forbids it",
                "nvidia-hopper/coalescing",
            ),
            advice("change the layout of what is read across", "patterns/layout-change"),
        ],
    },
];
