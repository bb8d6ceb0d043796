//! Units: which one a metric has by its name, and what one is in plain seconds, bytes and cycles.
//!
//! Reports do not say units; NVIDIA's reader knows them by the metrics' names. These rules say what it says for every metric that was seen,
//! its slips included (`branches` for a stall at a branch, bytes for superfluous sectors), so that figures read the same everywhere.

/// Units of metrics without counters behind them, by the whole name.
const NAMED: &[(&str, &str)] = &[
    ("derived__memory_l2_theoretical_sectors_global_excessive", "byte"),
    ("derived__pct_occupancy_per_block_size", "%"),
    ("derived__pct_occupancy_per_register_count", "%/register"),
    ("derived__pct_occupancy_per_shared_mem_size", "%/byte"),
    ("launch__cluster_max_active", "cluster"),
    ("launch__local_mem_per_thread", "byte/thread"),
    ("launch__max_local_memory", "byte"),
    ("launch__shared_mem_config_size", "byte"),
    ("launch__sm_count", "SM"),
    ("launch__thread_count", "thread"),
    ("smsp__average_warp_latency_per_inst_issued.ratio", "cycle"),
    ("smsp__pcsamp_aggregated_passes", "pass"),
    ("smsp__pcsamp_buffer_size_bytes", "byte"),
    ("smsp__pcsamp_dropped_bytes", "byte"),
    ("smsp__pcsamp_interval_cycles", "cycle"),
    ("smsp__sass_inst_executed_memdesc_explicit_evict_type", ""),
];

/// Units by how a name begins, before counters are looked at.
const BEGINNINGS: &[(&str, &str)] = &[
    ("device__", ""),
    ("group:", ""),
    ("launch__block_dim_", "block"),
    ("launch__occupancy_limit_", "block"),
    ("launch__registers_per_thread", "register/thread"),
    ("launch__shared_mem_per_block", "byte/block"),
    ("launch__", ""),
    ("memory_l1_", "sectors"),
    ("memory_l2_", "sectors"),
    ("derived__avg_thread_executed", "thread"),
    ("derived__smsp__sass_thread_inst_executed", "thread"),
    ("profiler__replayer_bytes", "byte"),
    ("profiler__replayer_passes", "pass"),
    ("smsp__average_warps_active_per_inst", "cycle"),
    ("smsp__average_warps_issue_stalled_", "inst"),
    ("smsp__average_warp_latency_issue_stalled_", "inst/warp"),
    ("smsp__pcsamp_warps_issue_stalled_branch", "branches"),
    ("smsp__pcsamp_warps_issue_stalled_no_inst", "inst"),
    ("smsp__pcsamp_warps_issue_stalled_", "warp"),
    ("inst_executed", "inst"),
    ("thread_inst_executed", "inst"),
];

/// What a counter counts, by a word in its name; the first that fits.
const COUNTED: &[(&str, &str)] = &[
    ("_per_opcode", ""),
    ("thread_inst_executed_per_inst", ""),
    ("thread_inst_executed_pred_on_per_inst", ""),
    ("average_t_sectors_per_request", "sector"),
    ("time_duration", "ns"),
    ("_bytes", "byte"),
    ("_tag_requests", "tag"),
    ("branch_targets", "branches"),
    ("_sectors", "sector"),
    ("_cycles_", "cycle"),
    ("__cycles_", "cycle"),
    ("_writeback_active", "cycle"),
    ("maximum_warps_avg", "warp"),
    ("__warps_", "warp"),
    ("inst_executed", "inst"),
    ("inst_issued", "inst"),
    ("lts__t_requests", "request"),
    ("idc__requests", "request"),
];

/// The unit of a metric of a report; empty for plain numbers and where no rule knows it.
pub(super) fn of_metric(name: &str) -> String {
    let pick = |rules: &[(&'static str, &'static str)], fits: &dyn Fn(&str) -> bool| {
        rules.iter().find(|(rule, _)| fits(rule)).map(|(_, unit)| *unit)
    };
    if let Some(unit) = pick(NAMED, &|rule| name == rule) {
        return unit.to_owned();
    }
    if name.contains(".pct") || name.ends_with("_pct") {
        return "%".to_owned();
    }
    if let Some(unit) = pick(BEGINNINGS, &|rule| name.starts_with(rule)) {
        return unit.to_owned();
    }
    let counted = pick(COUNTED, &|rule| name.contains(rule)).unwrap_or("");
    match (counted, name) {
        ("", _) => String::new(),
        ("cycle", name) if name.ends_with(".per_second") => "hz".to_owned(),
        (unit, name) if name.ends_with(".per_second") => format!("{unit}/s"),
        (unit @ ("inst" | "byte" | "sector"), name) if name.contains(".per_cycle_") || name.contains(".peak_sustained") => {
            format!("{unit}/cycle")
        }
        (unit, _) => unit.to_owned(),
    }
}

/// What one of a unit is in nanoseconds, bytes, hertz or plain things: `Gbyte/s` is 1e9, `us` is 1e3. Prefixes of bytes are decimal, as the
/// profiler's are.
pub(super) fn scale(unit: &str) -> f64 {
    match unit.split_once('/') {
        // Rates are by the second, whatever times alone are in.
        Some((over, under)) => one(over) * nanoseconds(under).map_or_else(|| 1.0 / one(under), |under| 1e9 / under),
        None => nanoseconds(unit).unwrap_or_else(|| one(unit)),
    }
}

fn nanoseconds(unit: &str) -> Option<f64> {
    match unit {
        "ns" | "nsecond" => Some(1.0),
        "us" | "usecond" => Some(1e3),
        "ms" | "msecond" => Some(1e6),
        "s" | "second" => Some(1e9),
        _ => None,
    }
}

fn one(unit: &str) -> f64 {
    const STEMS: &[&str] = &["byte", "bytes", "hz", "Hz", "inst", "cycle", "B"];
    const PREFIXES: &[(&str, f64)] = &[("K", 1e3), ("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12), ("P", 1e15)];
    let prefix = PREFIXES.iter().find(|(prefix, _)| unit.strip_prefix(prefix).is_some_and(|stem| STEMS.contains(&stem)));
    prefix.map_or(1.0, |(_, factor)| *factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_metrics_follow_from_their_names() {
        let units = |names: &[&str]| names.iter().map(|name| of_metric(name)).collect::<Vec<_>>();
        let names = [
            "gpu__time_duration.sum",
            "dram__bytes.sum.per_second",
            "sm__cycles_elapsed.avg.per_second",
            "lts__t_sector_hit_rate.pct",
            "sm__inst_executed.avg.per_cycle_active",
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
            "smsp__warps_eligible.avg.per_cycle_active",
            "launch__shared_mem_per_block_dynamic",
            "smsp__issue_active.avg.per_cycle_active",
            "dram__bytes.sum.peak_sustained",
            "lts__t_sectors.avg.per_cycle_elapsed",
            "derived__pct_occupancy_per_register_count",
        ];
        let expected =
            ["ns", "byte/s", "hz", "%", "inst/cycle", "sector", "warp", "byte/block", "", "byte/cycle", "sector/cycle", "%/register"];
        assert_eq!(units(&names), expected);
    }

    #[test]
    fn prefixes_are_decimal_and_words_that_begin_like_one_are_none() {
        let scales =
            ["us", "usecond", "Gbyte/s", "Kbyte/block", "cycle/nsecond", "Mhz", "Tbyte/second", "%", "msecond", "Minst", "sector", "pass"]
                .map(|unit| scale(unit).log10().round() as i32);
        assert_eq!(scales, [3, 3, 9, 3, 9, 6, 12, 0, 6, 6, 0, 0]);
    }
}
