//! Which of Nsight Compute's metrics give which figure: a table, to which names of other architectures and versions are added.

use std::collections::BTreeMap;
use std::ops::Bound;

use kernelwright_protocol::{Figures, Metric};

use super::units;
use crate::RawFigure;

/// One way to a figure. Of several the first counts for which everything was measured.
enum Source {
    /// A metric as it is.
    Of(&'static str),
    /// Several metrics added up.
    Sum(&'static [&'static str]),
    /// One metric over another that is not zero.
    Ratio(&'static str, &'static str),
    /// The greatest of the metrics that begin with one word and end with another.
    Busiest(&'static str, &'static str),
}

use Source::{Busiest, Of, Ratio, Sum};

const ACTIVE: &str = ".avg.pct_of_peak_sustained_active";
const ELAPSED: &str = ".avg.pct_of_peak_sustained_elapsed";

const TABLE: &[(Metric, &[Source])] = &[
    (Metric::DurationNs, &[Of("gpu__time_duration.sum")]),
    (Metric::ElapsedCycles, &[Of("gpc__cycles_elapsed.max"), Of("sm__cycles_elapsed.max"), Of("gpu__cycles_elapsed.max")]),
    (
        Metric::SmClockHz,
        &[Of("smsp__cycles_elapsed.avg.per_second"), Of("sm__cycles_elapsed.avg.per_second"), Of("gpc__cycles_elapsed.avg.per_second")],
    ),
    (Metric::DramClockHz, &[Of("dram__cycles_elapsed.avg.per_second"), Of("fbpa__cycles_elapsed.avg.per_second")]),
    (Metric::Blocks, &[Of("launch__grid_size")]),
    (Metric::ThreadsPerBlock, &[Of("launch__block_size")]),
    (Metric::BlocksPerCluster, &[Of("launch__cluster_size")]),
    (Metric::RegistersPerThread, &[Of("launch__registers_per_thread")]),
    (Metric::StaticSharedBytes, &[Of("launch__shared_mem_per_block_static")]),
    (Metric::DynamicSharedBytes, &[Of("launch__shared_mem_per_block_dynamic")]),
    (Metric::Waves, &[Of("launch__waves_per_multiprocessor")]),
    (Metric::Multiprocessors, &[Of("launch__sm_count"), Of("device__attribute_multiprocessor_count")]),
    (
        Metric::LocalRequests,
        &[
            Sum(&["smsp__inst_executed_op_local_ld.sum", "smsp__inst_executed_op_local_st.sum"]),
            Sum(&["smsp__sass_inst_executed_op_local_ld.sum", "smsp__sass_inst_executed_op_local_st.sum"]),
            Sum(&["sass__inst_executed_local_loads", "sass__inst_executed_local_stores"]),
        ],
    ),
    (
        Metric::GlobalRequests,
        &[
            Sum(&["smsp__inst_executed_op_global_ld.sum", "smsp__inst_executed_op_global_st.sum"]),
            Sum(&["smsp__sass_inst_executed_op_global_ld.sum", "smsp__sass_inst_executed_op_global_st.sum"]),
            Sum(&["sass__inst_executed_global_loads", "sass__inst_executed_global_stores"]),
        ],
    ),
    (Metric::TheoreticalOccupancyShare, &[Of("sm__maximum_warps_per_active_cycle_pct")]),
    (
        Metric::AchievedOccupancyShare,
        &[Of("sm__warps_active.avg.pct_of_peak_sustained_active"), Of("smsp__warps_active.avg.pct_of_peak_sustained_active")],
    ),
    (Metric::BlocksByRegisters, &[Of("launch__occupancy_limit_registers")]),
    (Metric::BlocksBySharedMemory, &[Of("launch__occupancy_limit_shared_mem")]),
    (Metric::BlocksByWarps, &[Of("launch__occupancy_limit_warps")]),
    (Metric::BlocksBySlots, &[Of("launch__occupancy_limit_blocks")]),
    (Metric::EligibleWarps, &[Of("smsp__warps_eligible.avg.per_cycle_active")]),
    (Metric::IssueShare, &[Of("smsp__issue_active.avg.per_cycle_active"), Of("smsp__issue_active.avg.pct_of_peak_sustained_active")]),
    (Metric::ThreadsPerInstruction, &[Of("smsp__thread_inst_executed_per_inst_executed.ratio")]),
    (
        Metric::SmActiveShare,
        &[
            Of("sm__cycles_active.avg.pct_of_peak_sustained_elapsed"),
            Ratio("sm__cycles_active.avg", "sm__cycles_elapsed.avg"),
            Ratio("sm__cycles_active.avg", "sm__cycles_elapsed.max"),
            Ratio("sm__cycles_active.avg", "gpc__cycles_elapsed.max"),
        ],
    ),
    (Metric::ComputeThroughputShare, &[Of("sm__throughput.avg.pct_of_peak_sustained_elapsed")]),
    (Metric::MemoryThroughputShare, &[Of("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed")]),
    (
        Metric::DramThroughputShare,
        &[
            Of("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
            Of("dram__throughput.avg.pct_of_peak_sustained_elapsed"),
            Of("dram__bytes.sum.pct_of_peak_sustained_elapsed"),
            Of("fbpa__throughput.avg.pct_of_peak_sustained_elapsed"),
        ],
    ),
    (
        Metric::L2ThroughputShare,
        &[Of("lts__throughput.avg.pct_of_peak_sustained_elapsed"), Of("lts__t_sectors.avg.pct_of_peak_sustained_elapsed")],
    ),
    (
        Metric::L1ThroughputShare,
        &[Of("l1tex__throughput.avg.pct_of_peak_sustained_active"), Of("l1tex__throughput.avg.pct_of_peak_sustained_elapsed")],
    ),
    (
        Metric::TensorShare,
        &[
            // Cycles before instructions: a warp group's instruction on Hopper keeps the unit busy for a hundred cycles and more.
            Busiest("sm__pipe_tensor", ACTIVE),
            Busiest("sm__inst_executed_pipe_tensor", ACTIVE),
            Busiest("sm__pipe_tc", ACTIVE),
            Busiest("sm__pipe_tensor", ELAPSED),
            Busiest("sm__inst_executed_pipe_tensor", ELAPSED),
            Busiest("sm__pipe_tc", ELAPSED),
        ],
    ),
    (
        Metric::FmaShare,
        &[
            Busiest("sm__inst_executed_pipe_fma", ACTIVE),
            Busiest("sm__pipe_fma", ACTIVE),
            Busiest("sm__inst_executed_pipe_fma", ELAPSED),
            Busiest("sm__pipe_fma", ELAPSED),
        ],
    ),
    (
        Metric::Fp64Share,
        &[
            Busiest("sm__inst_executed_pipe_fp64", ACTIVE),
            Busiest("sm__pipe_fp64", ACTIVE),
            Busiest("sm__inst_executed_pipe_fp64", ELAPSED),
            Busiest("sm__pipe_fp64", ELAPSED),
        ],
    ),
    (
        Metric::AluShare,
        &[
            Busiest("sm__inst_executed_pipe_alu", ACTIVE),
            Busiest("sm__pipe_alu", ACTIVE),
            Busiest("sm__inst_executed_pipe_alu", ELAPSED),
            Busiest("sm__pipe_alu", ELAPSED),
        ],
    ),
    (
        Metric::XuShare,
        &[
            Busiest("sm__inst_executed_pipe_xu", ACTIVE),
            Busiest("sm__pipe_xu", ACTIVE),
            Busiest("sm__inst_executed_pipe_xu", ELAPSED),
            Busiest("sm__pipe_xu", ELAPSED),
        ],
    ),
    (Metric::InstructionsPerCycle, &[Of("sm__inst_executed.avg.per_cycle_active")]),
    (Metric::DramReadBytes, &[Of("dram__bytes_read.sum"), Of("dram__bytes_op_read.sum"), Of("fbpa__dram_read_bytes.sum")]),
    (Metric::DramWriteBytes, &[Of("dram__bytes_write.sum"), Of("dram__bytes_op_write.sum"), Of("fbpa__dram_write_bytes.sum")]),
    (
        Metric::DramBytesPerS,
        &[
            Of("dram__bytes.sum.per_second"),
            Sum(&["dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second"]),
            Sum(&["dram__bytes_op_read.sum.per_second", "dram__bytes_op_write.sum.per_second"]),
        ],
    ),
    (Metric::L1HitShare, &[Of("l1tex__t_sector_hit_rate.pct")]),
    (Metric::L2HitShare, &[Of("lts__t_sector_hit_rate.pct"), Of("lts__average_t_sector_hit_rate.pct")]),
    (
        Metric::SectorsPerLoad,
        &[
            Of("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"),
            Ratio("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
        ],
    ),
    (
        Metric::SectorsPerStore,
        &[
            Of("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"),
            Ratio("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
        ],
    ),
    (
        Metric::ExcessSectorsShare,
        &[Ratio("derived__memory_l2_theoretical_sectors_global_excessive", "memory_l2_theoretical_sectors_global")],
    ),
    (
        Metric::SharedConflictShare,
        &[
            Ratio("derived__memory_l1_wavefronts_shared_excessive", "memory_l1_wavefronts_shared"),
            Ratio("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),
        ],
    ),
    (
        Metric::SharedRequests,
        &[
            Sum(&["smsp__inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_shared_st.sum"]),
            Sum(&["smsp__sass_inst_executed_op_shared_ld.sum", "smsp__sass_inst_executed_op_shared_st.sum"]),
            Sum(&["sass__inst_executed_shared_loads", "sass__inst_executed_shared_stores"]),
        ],
    ),
    (
        Metric::AtomicRequests,
        &[
            Sum(&["smsp__inst_executed_op_global_atom.sum", "smsp__inst_executed_op_global_red.sum"]),
            Sum(&["smsp__sass_inst_executed_op_global_atom.sum", "smsp__sass_inst_executed_op_global_red.sum"]),
            Sum(&["l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"]),
        ],
    ),
    (
        Metric::AtomicThroughputShare,
        &[
            Sum(&["lts__t_sectors_op_atom.avg.pct_of_peak_sustained_elapsed", "lts__t_sectors_op_red.avg.pct_of_peak_sustained_elapsed"]),
            Of("lts__d_atomic_input_cycles_active.avg.pct_of_peak_sustained_elapsed"),
        ],
    ),
    (Metric::Instructions, &[Of("smsp__inst_executed.sum"), Of("sm__inst_executed.sum")]),
];

/// What the profiler measured of one launch, by its own names, in nanoseconds, bytes, hertz and shares.
pub(in crate::import) struct Measured<'a>(BTreeMap<&'a str, f64>);

impl<'a> Measured<'a> {
    pub(in crate::import) fn of(raw: &'a [RawFigure]) -> Self {
        Self(raw.iter().map(|figure| (figure.name.as_str(), plain(figure))).collect())
    }

    pub(in crate::import) fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// All that begins with one word and ends with another, with what stands between.
    pub(in crate::import) fn between<'b>(&'b self, begin: &'b str, end: &'b str) -> impl Iterator<Item = (&'a str, f64)> + 'b {
        self.0
            .range::<str, _>((Bound::Included(begin), Bound::Unbounded))
            .take_while(move |(name, _)| name.starts_with(begin))
            .filter_map(move |(name, value)| Some((name.strip_prefix(begin)?.strip_suffix(end)?, *value)))
    }

    fn find(&self, source: &Source) -> Option<f64> {
        match *source {
            Of(name) => self.get(name),
            Sum(names) => names.iter().map(|name| self.get(name)).sum(),
            Ratio(over, under) => self.get(under).filter(|under| *under != 0.0).and_then(|under| Some(self.get(over)? / under)),
            Busiest(begin, end) => self.between(begin, end).map(|(_, value)| value).max_by(f64::total_cmp),
        }
    }

    /// The figures that follow, each in its metric's unit.
    pub(in crate::import) fn figures(&self) -> Figures {
        let known = TABLE.iter().filter_map(|(metric, sources)| Some((*metric, sources.iter().find_map(|source| self.find(source))?)));
        let mut figures: Figures = known.collect();
        figures.set_known(Metric::OperationsPerS, self.operations_per_second());
        figures
    }

    /// The rates of the tensor cores' operations by type. Nsight Compute also gives the same operations by instruction, and a type's split up.
    fn tensor_operations(&self) -> Vec<f64> {
        let of = |view: &str| -> Vec<f64> {
            let all: Vec<(&str, f64)> = self.between(view, ".sum.per_second").collect();
            let is_part = |name: &str| all.iter().any(|(whole, _)| name.strip_prefix(whole).is_some_and(|rest| rest.starts_with('_')));
            all.iter().filter(|(name, _)| !is_part(name)).map(|(_, rate)| *rate).collect()
        };
        let by_type = of("sm__ops_path_tensor_src_");
        if by_type.is_empty() { of("sm__ops_path_tensor_op_") } else { by_type }
    }

    /// The arithmetic rate of the executed instructions. Of a kernel that uses the tensor cores it is known only where their operations were
    /// counted too: the rest would be a small part passed off as the whole.
    fn operations_per_second(&self) -> Option<f64> {
        let seconds = self.get("gpu__time_duration.sum").filter(|duration| *duration > 0.0)? / 1e9;
        let cycles = ["smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second", "gpc__cycles_elapsed.avg.per_second"]
            .iter()
            .find_map(|clock| self.get(clock));
        let rate = |name: &str| {
            let per_launch = self.get(&format!("{name}.sum")).map(|count| count / seconds);
            per_launch.or_else(|| Some(self.get(&format!("{name}.sum.per_cycle_elapsed"))? * cycles?))
        };
        let scalar = |unit: &str, kind: &str| {
            let name = |level: &str| format!("{level}__sass_thread_inst_executed_op_{kind}{unit}_pred_on");
            match unit {
                "add" | "mul" => rate(&name("smsp")).or_else(|| rate(&name("sm"))),
                _ => rate(&name("smsp")).or_else(|| rate(&name("sm"))).map(|rate| 2.0 * rate),
            }
        };
        let scalar: Vec<f64> =
            ["f", "d", "h"].iter().filter_map(|kind| ["add", "mul", "fma"].iter().map(|unit| scalar(unit, kind)).sum()).collect();
        let tensor = self.tensor_operations();
        let idle =
            TABLE.iter().find(|(metric, _)| *metric == Metric::TensorShare)?.1.iter().find_map(|source| self.find(source)) == Some(0.0);
        let known = !scalar.is_empty() && (idle || !tensor.is_empty());
        known.then(|| scalar.iter().chain(&tensor).sum())
    }
}

fn plain(figure: &RawFigure) -> f64 {
    match figure.unit.as_str() {
        "%" => figure.value / 100.0,
        unit => figure.value * units::scale(unit),
    }
}
