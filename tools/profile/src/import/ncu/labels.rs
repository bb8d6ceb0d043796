//! What the rows of the details page mean: there metrics have words for people instead of their names.

/// Words of the details page and the metrics behind them. Where sections use the same words for different things, the section decides.
const LABELS: &[(&str, &str)] = &[
    ("# SMs", "launch__sm_count"),
    ("Achieved Occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"),
    ("Avg. Active Threads Per Warp", "smsp__thread_inst_executed_per_inst_executed.ratio"),
    ("Block Limit Registers", "launch__occupancy_limit_registers"),
    ("Block Limit SM", "launch__occupancy_limit_blocks"),
    ("Block Limit Shared Mem", "launch__occupancy_limit_shared_mem"),
    ("Block Limit Warps", "launch__occupancy_limit_warps"),
    ("Block Size", "launch__block_size"),
    ("Cluster Size", "launch__cluster_size"),
    ("Compute (SM) Throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("DRAM Frequency", "dram__cycles_elapsed.avg.per_second"),
    ("DRAM Throughput", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"),
    ("Duration", "gpu__time_duration.sum"),
    ("Dynamic Shared Memory Per Block", "launch__shared_mem_per_block_dynamic"),
    ("Elapsed Cycles", "gpc__cycles_elapsed.max"),
    ("Eligible Warps Per Scheduler", "smsp__warps_eligible.avg.per_cycle_active"),
    ("Executed Instructions", "smsp__inst_executed.sum"),
    ("Executed Ipc Active", "sm__inst_executed.avg.per_cycle_active"),
    ("Grid Size", "launch__grid_size"),
    ("Issued Warp Per Scheduler", "smsp__issue_active.avg.per_cycle_active"),
    ("L1/TEX Cache Throughput", "l1tex__throughput.avg.pct_of_peak_sustained_active"),
    ("L1/TEX Hit Rate", "l1tex__t_sector_hit_rate.pct"),
    ("L2 Cache Throughput", "lts__throughput.avg.pct_of_peak_sustained_elapsed"),
    ("L2 Hit Rate", "lts__t_sector_hit_rate.pct"),
    ("One or More Eligible", "smsp__issue_active.avg.pct_of_peak_sustained_active"),
    ("Registers Per Thread", "launch__registers_per_thread"),
    ("SM Active Cycles", "sm__cycles_active.avg"),
    ("SM Frequency", "smsp__cycles_elapsed.avg.per_second"),
    ("Static Shared Memory Per Block", "launch__shared_mem_per_block_static"),
    ("Theoretical Occupancy", "sm__maximum_warps_per_active_cycle_pct"),
    ("Waves Per SM", "launch__waves_per_multiprocessor"),
];

/// The metric behind a row of the details page; a row that is not known keeps its own words.
pub(super) fn metric(section: &str, label: &str) -> String {
    // `--print-metric-name name`, and sections without words of their own, print the names themselves.
    if label.contains("__") {
        return label.to_owned();
    }
    match (section, label) {
        ("GPU Speed Of Light Throughput", "Memory Throughput") => {
            "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed".to_owned()
        }
        ("Memory Workload Analysis", "Memory Throughput") => "dram__bytes.sum.per_second".to_owned(),
        _ => LABELS
            .iter()
            .find(|(known, _)| *known == label)
            .map_or_else(|| format!("{section}: {label}"), |(_, metric)| (*metric).to_owned()),
    }
}
