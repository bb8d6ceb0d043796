//! How far a call is from what the device allows: its bytes at the measured copy rate, its products at the measured rates.

use kernelwright_protocol::{Headroom, Metric, Nanoseconds, Stop};

use crate::capture::{Capture, Work};
use crate::diagnosis::{MOST_OF_COPY_RATE, Surroundings, matrix_seconds};

/// The floor that bytes set.
const MEMORY: &str = "memory";
/// Up to here little is left: three quarters of the ceiling.
const NEAR_FLOOR: f64 = 1.35;

/// The headroom of a call, where its work and a ceiling are known and it was timed.
///
/// The products are counted in the problem as it is written. A call that takes less time than they would evidently computes something simpler;
/// then they set no floor, and the bytes alone do.
pub(crate) fn headroom(capture: &Capture, around: Surroundings) -> Option<Headroom> {
    let time = time(capture)?.seconds();
    let memory = memory(around);
    let arithmetic = arithmetic(around).filter(|floor| floor.seconds <= time);
    let floor = match (memory, arithmetic) {
        (Some(memory), Some(arithmetic)) if arithmetic.seconds > memory.seconds => arithmetic,
        (Some(memory), _) => memory,
        (None, arithmetic) => arithmetic?,
    };
    let ratio = time / floor.seconds;
    // Inputs that a cache held set no such floor, and what does is not known.
    if floor.bound_by == MEMORY && ratio * MOST_OF_COPY_RATE < 1.0 {
        return None;
    }
    let stop = match ratio {
        // Simpler arithmetic may give the same: that floor is not the last one.
        r if r <= Headroom::AT_FLOOR && floor.bound_by == MEMORY => Stop::AtFloor,
        r if r <= NEAR_FLOOR => Stop::NearFloor,
        _ => Stop::GoOn,
    };
    let Floor { seconds, bound_by, computed } = floor;
    Some(Headroom { floor_ns: Nanoseconds::from_seconds(seconds), bound_by: bound_by.to_owned(), computed, ratio, stop })
}

/// What a call takes: its wall time, or what its kernels take together.
fn time(capture: &Capture) -> Option<Nanoseconds> {
    let in_kernels = || capture.kernels.iter().map(|kernel| kernel.time.time_per_call_ns).sum();
    Some(capture.wall_per_call_ns.unwrap_or_else(in_kernels)).filter(|time| time.0 > 0)
}

/// A least time and where it comes from.
struct Floor {
    seconds: f64,
    bound_by: &'static str,
    computed: String,
}

fn memory(around: Surroundings) -> Option<Floor> {
    let bytes = around.work?.bytes;
    let rate = around.target?.copy_bytes_per_second.filter(|rate| *rate > 0.0)?;
    let computed = format!("{bytes} at {}", Metric::DramBytesPerS.show(rate));
    (bytes.0 > 0).then_some(Floor { seconds: bytes.0 as f64 / rate, bound_by: MEMORY, computed })
}

fn arithmetic(around: Surroundings) -> Option<Floor> {
    let seconds = matrix_seconds(around)?;
    let Work { operations, .. } = around.work?;
    let rates = &around.target?.matrix_operations_per_second;
    let part = |(dtype, count): (&String, &f64)| {
        let rate = rates.get(dtype).map(|rate| Metric::OperationsPerS.show(*rate));
        let count = Metric::OperationsPerS.show(*count);
        format!("{} {dtype} at {}", count.trim_end_matches("/s"), rate.unwrap_or_default())
    };
    let computed = operations.iter().map(part).collect::<Vec<_>>().join(" + ");
    Some(Floor { seconds, bound_by: "arithmetic", computed })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kernelwright_protocol::{Bytes, ProfilerKind};

    use super::*;
    use crate::testing::target;

    fn if_known(wall_ns: u64, gib: u64, half_products: f64) -> Option<Headroom> {
        let capture = Capture { wall_per_call_ns: Some(Nanoseconds(wall_ns)), ..Capture::new(ProfilerKind::Torch) };
        let target = target(4e12);
        let operations = if half_products > 0.0 { BTreeMap::from([("float16".to_owned(), half_products)]) } else { BTreeMap::new() };
        let work = Work { bytes: Bytes(gib << 30), operations };
        headroom(&capture, Surroundings { work: Some(&work), target: Some(&target) })
    }

    fn of(wall_ns: u64, gib: u64, half_products: f64) -> Headroom {
        if_known(wall_ns, gib, half_products).unwrap()
    }

    #[test]
    fn what_a_cache_held_is_no_floor() {
        assert_eq!(of(260_000, 1, 0.0).stop, Stop::AtFloor, "within the noise");
        assert_eq!(if_known(200_000, 1, 0.0), None);
    }

    #[test]
    fn bytes_at_the_copy_rate_are_a_floor() {
        let near = of(300_000, 1, 0.0);
        assert_eq!((near.bound_by.as_str(), near.computed.as_str(), near.stop), ("memory", "1.00 GiB at 4.00 TB/s", Stop::NearFloor));
        assert!((near.ratio - 1.1176).abs() < 1e-3, "{near:?}");
        assert_eq!(of(280_000, 1, 0.0).stop, Stop::AtFloor);
        assert_eq!(of(900_000, 1, 0.0).stop, Stop::GoOn);
    }

    #[test]
    fn products_are_one_where_they_take_longer() {
        let bound = of(3_000_000, 1, 1.2e12);
        assert_eq!((bound.bound_by.as_str(), bound.floor_ns, bound.stop), ("arithmetic", Nanoseconds(2_000_000), Stop::GoOn));
        assert_eq!(bound.computed, "1.20 Top float16 at 600 Top/s");
        assert_eq!(of(2_050_000, 1, 1.2e12).stop, Stop::NearFloor);
    }

    #[test]
    fn a_call_that_needs_no_such_product_is_measured_against_its_bytes() {
        let rewritten = of(500_000, 1, 1.2e12);
        assert_eq!((rewritten.bound_by.as_str(), rewritten.stop), ("memory", Stop::GoOn));
    }
}
