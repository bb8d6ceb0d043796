//! Launches of the same kernel in the same shape, as one kernel.

use std::collections::BTreeMap;

use kernelwright_protocol::{KernelTime, LaunchShape, Nanoseconds};

/// One launch: what tells it from others, and whatever else is known of it.
pub(super) struct Launch<T> {
    /// The kernel's name.
    pub name: String,
    /// Its shape, where it is known.
    pub shape: Option<LaunchShape>,
    /// Its time in nanoseconds, where it was taken.
    pub duration_ns: Option<f64>,
    /// What the figures are read from.
    pub detail: T,
}

/// Launches of one kernel in one shape.
pub(super) struct Group<T> {
    /// Name, number and time.
    pub time: KernelTime,
    /// Their shape.
    pub shape: Option<LaunchShape>,
    /// The detail of the launch with the median time: figures of a launch that really was, not an average that never was.
    pub median: T,
}

/// Groups launches, the most expensive kernel first; `calls` is how many calls of the module they belong to.
pub(super) fn group<T>(launches: Vec<Launch<T>>, calls: u32) -> Vec<Group<T>> {
    let calls = f64::from(calls.max(1));
    let mut order = BTreeMap::new();
    let mut groups: Vec<Vec<Launch<T>>> = Vec::new();
    for launch in launches {
        let key = (launch.name.clone(), launch.shape.map(|shape| [shape.grid, shape.block]));
        let at = *order.entry(key).or_insert(groups.len());
        if at == groups.len() {
            groups.push(Vec::new());
        }
        groups[at].push(launch);
    }
    let total: f64 = groups.iter().flatten().filter_map(|launch| launch.duration_ns).sum();
    let mut groups: Vec<(f64, Group<T>)> = groups.into_iter().filter_map(|launches| merged(launches, calls, total)).collect();
    // A stable sort: kernels that took the same time stay in the order in which they ran.
    groups.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    groups.into_iter().map(|(_, group)| group).collect()
}

fn merged<T>(mut launches: Vec<Launch<T>>, calls: f64, total: f64) -> Option<(f64, Group<T>)> {
    let count = launches.len();
    let time: f64 = launches.iter().filter_map(|launch| launch.duration_ns).sum();
    launches.sort_by(|left, right| left.duration_ns.unwrap_or(0.0).total_cmp(&right.duration_ns.unwrap_or(0.0)));
    // Of an even number the faster of the two in the middle.
    let median = launches.into_iter().nth(count.checked_sub(1)? / 2)?;
    let kernel = KernelTime {
        name: median.name,
        launches_per_call: count as f64 / calls,
        time_per_call_ns: Nanoseconds((time / calls).max(0.0).round() as u64),
        share: if total > 0.0 { time / total } else { 0.0 },
    };
    Some((time, Group { time: kernel, shape: median.shape, median: median.detail }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_come_from_the_launch_with_the_median_time() {
        let shape = |blocks| Some(LaunchShape { grid: [blocks, 1, 1], block: [128, 1, 1] });
        let launch = |name: &str, blocks, ns| Launch { name: name.to_owned(), shape: shape(blocks), duration_ns: Some(ns), detail: ns };
        let launches = vec![
            launch("add", 8, 10.0),
            launch("gemm", 8, 900.0),
            launch("gemm", 8, 100.0),
            launch("gemm", 8, 300.0),
            launch("add", 16, 30.0),
            launch("gemm", 8, 200.0),
        ];
        let groups = group(launches, 2);
        let told: Vec<_> = groups
            .iter()
            .map(|group| (group.time.name.as_str(), group.time.launches_per_call, group.time.time_per_call_ns.0, group.median))
            .collect();
        assert_eq!(told, [("gemm", 2.0, 750, 200.0), ("add", 0.5, 15, 30.0), ("add", 0.5, 5, 10.0)]);
        assert!((groups.iter().map(|group| group.time.share).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
