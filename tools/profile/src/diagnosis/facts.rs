//! What rules look at: the measured figures of one place, and those that follow from them.

use kernelwright_protocol::{Figures, KernelProfile, KernelTime, Metric, ProfilerKind, StallReason, TargetDescription};

use kernelwright_protocol::StallReason::{Barrier, LgThrottle, LongScoreboard, Membar, MioThrottle, ShortScoreboard, TexThrottle, Wait};

use crate::capture::{Capture, Work};

/// Threads of a warp.
const WARP: f64 = 32.0;
/// What a processor moves on a miss.
const CACHE_LINE: f64 = 64.0;
/// The worker's name for the wall time of calls that no operator accounts for.
const OUTSIDE_OPERATORS: &str = "(outside torch operators)";
/// Bytes that move faster than a copy, by more than the noise of both measurements, do not move.
pub(crate) const MOST_OF_COPY_RATE: f64 = 1.1;
/// Beyond the noise of measured rates.
const SIMPLER: f64 = 1.2;
/// A kernel that takes so much of a call's time moves about what the call needs: what others hand to it costs them time as well.
const MOST_OF_CALL: f64 = 0.8;
/// Beyond what rules take for the use of tensor cores.
const ON_TENSOR_CORES: f64 = 0.05;
/// What mapping and clearing a 4 KiB page takes: half a microsecond, half of it the trap and half of it the clearing.
const PAGE_FAULT_NS: f64 = 500.0;

/// What is known besides the capture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Surroundings<'a> {
    /// What the call has to move and compute.
    pub(crate) work: Option<&'a Work>,
    /// The measured ceilings.
    pub(crate) target: Option<&'a TargetDescription>,
}

/// The figures of one kernel or of the call as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// The kernel's name; absent for the call.
    pub(crate) kernel: Option<String>,
    /// The part of the call's time that it takes.
    pub(crate) share_of_call: f64,
    /// Everything measured, and what follows from it.
    pub(crate) figures: Figures,
}

impl Facts {
    /// A figure, if it is known.
    pub(crate) fn get(&self, metric: Metric) -> Option<f64> {
        self.figures.get(metric)
    }

    /// The largest of these figures that are known.
    pub(crate) fn largest(&self, metrics: &[Metric]) -> Option<f64> {
        metrics.iter().filter_map(|metric| self.get(*metric)).reduce(f64::max)
    }

    /// The facts of one kernel of a capture.
    pub(crate) fn of_kernel(kernel: &KernelProfile, share_of_call: f64, capture: &Capture, around: Surroundings) -> Self {
        let mut figures = kernel.figures.clone();
        derive(&mut figures, kernel);
        against_target(&mut figures, around);
        // The products are the call's: where another kernel makes them, they are not this one's.
        let on_tensor_cores = |other: &KernelProfile| other.figures.get(Metric::TensorShare).is_some_and(|share| share > ON_TENSOR_CORES);
        if !capture.kernels.iter().any(on_tensor_cores) {
            figures.set_known(Metric::HalfOperationsShare, half_operations(around));
        }
        // Kernels that fetch again what the whole call needs once; launched several times, each launch may have its own part, and among several
        // kernels it may be what they hand on.
        if kernel.time.launches_per_call <= 1.0 && share_of_call >= MOST_OF_CALL {
            let moved = sum(&figures, &[Metric::DramReadBytes, Metric::DramWriteBytes]);
            figures.set_known(Metric::TrafficRatio, moved.zip(bytes(around)).map(|(moved, needed)| moved / needed));
        }
        Self { kernel: Some(kernel.time.name.clone()), share_of_call, figures }
    }

    /// The facts of the call as a whole.
    pub(crate) fn of_call(capture: &Capture, around: Surroundings) -> Self {
        let mut figures = capture.call.clone();
        let times = || capture.kernels.iter().map(|kernel| &kernel.time);
        let in_kernels: f64 = times().map(|time| time.time_per_call_ns.0 as f64).sum();
        let in_operators = in_kernels - in_python(capture);
        let launches: f64 = times().map(|time| time.launches_per_call).sum();
        let wall = capture.wall_per_call_ns.map(|wall| wall.0 as f64).filter(|wall| *wall > 0.0);
        if let Some(wall) = wall.filter(|_| in_kernels > 0.0) {
            // Under the profiler calls take longer, so that its own rest is a part of its own sum; of the wall time it is the same part.
            let busy = (in_operators / wall.max(in_kernels)).min(1.0);
            figures.set(Metric::KernelBusyShare, busy);
            if launches > 0.0 {
                figures.set(Metric::GapNs, (1.0 - busy) * wall / launches);
            }
        }
        if launches > 0.0 {
            // A graph's kernels are one launch.
            figures.set(Metric::LaunchesPerCall, capture.call.get(Metric::LaunchesPerCall).unwrap_or(launches));
            if in_operators > 0.0 {
                figures.set(Metric::KernelTimeNs, in_operators / launches);
            }
        }
        if let Some((busy, allowed)) = figures.get(Metric::ProcessorsBusy).zip(figures.get(Metric::ProcessorsAllowed)) {
            let awaited = figures.get(Metric::ProcessorsAwaited).unwrap_or(0.0);
            figures.set(Metric::ProcessorsBusyShare, ((busy + awaited) / allowed.max(1.0)).min(1.0));
        }
        if let Some((faults, wall)) = figures.get(Metric::PageFaults).zip(wall) {
            let at_once = figures.get(Metric::ProcessorsBusy).unwrap_or(1.0).max(1.0);
            figures.set(Metric::PageFaultShare, (faults * PAGE_FAULT_NS / at_once / wall).min(1.0));
        }
        if let Some((misses, needed)) = figures.get(Metric::CacheMisses).zip(bytes(around)) {
            figures.set(Metric::TrafficRatio, misses * CACHE_LINE / needed);
        }
        let time = wall.or(Some(in_kernels)).filter(|time| *time > 0.0);
        let copy = around.target.and_then(|target| target.copy_bytes_per_second);
        // A call that moves them faster found them in a cache.
        let share = bytes(around).zip(time).zip(copy.filter(|copy| *copy > 0.0)).map(|((bytes, time), copy)| bytes / (time / 1e9) / copy);
        figures.set_known(Metric::CopyRateShare, share.filter(|share| *share <= MOST_OF_COPY_RATE));
        // A call much faster than the problem's own products computes something simpler.
        let rate = matrix_seconds(around).zip(time).map(|(least, time)| least / (time / 1e9)).filter(|rate| *rate < SIMPLER);
        figures.set_known(Metric::MatrixRateShare, rate);
        Self { kernel: None, share_of_call: 1.0, figures }
    }
}

/// The time outside operators that can only be Python's: where machine code was looked for and the module has none of its own.
fn in_python(capture: &Capture) -> f64 {
    let code = [Metric::VectorBits, Metric::VectorShare, Metric::VectorLoops, Metric::ScalarLoops];
    let has_code = code.iter().any(|metric| capture.call.get(*metric).is_some());
    let times = capture.kernels.iter().map(|kernel| &kernel.time).filter(|time| time.name == OUTSIDE_OPERATORS);
    if has_code || capture.profiler != ProfilerKind::Cpu { 0.0 } else { times.map(|time| time.time_per_call_ns.0 as f64).sum() }
}

/// The share of the call's time that each kernel takes: of the wall time where that is known and longer than the kernels together.
pub(crate) fn shares_of_call(capture: &Capture) -> Vec<f64> {
    let time = |time: &KernelTime| time.time_per_call_ns.0 as f64;
    let in_kernels: f64 = capture.kernels.iter().map(|kernel| time(&kernel.time)).sum();
    let whole = capture.wall_per_call_ns.map_or(in_kernels, |wall| in_kernels.max(wall.0 as f64));
    // Compilers know no times. What they have are mostly configurations of one kernel, each of which may be the one that runs.
    capture.kernels.iter().map(|kernel| if whole > 0.0 { time(&kernel.time) / whole } else { 1.0 }).collect()
}

/// What the matrix products take at least at the measured rates, in seconds; unknown where a rate is missing.
pub(crate) fn matrix_seconds(around: Surroundings) -> Option<f64> {
    let (work, target) = (around.work?, around.target?);
    let seconds = |(dtype, operations): (&String, &f64)| {
        let rate = target.matrix_operations_per_second.get(dtype).filter(|rate| **rate > 0.0)?;
        Some(operations / rate)
    };
    let total: f64 = work.operations.iter().map(seconds).sum::<Option<f64>>()?;
    (total > 0.0).then_some(total)
}

fn bytes(around: Surroundings) -> Option<f64> {
    around.work.map(|work| work.bytes.0 as f64).filter(|bytes| *bytes > 0.0)
}

fn sum(figures: &Figures, metrics: &[Metric]) -> Option<f64> {
    let known: Vec<f64> = metrics.iter().filter_map(|metric| figures.get(*metric)).collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

fn derive(figures: &mut Figures, kernel: &KernelProfile) {
    let get = |figures: &Figures, metric| figures.get(metric);
    if let Some(shape) = kernel.launch {
        let product = |[x, y, z]: [u32; 3]| f64::from(x) * f64::from(y) * f64::from(z);
        if get(figures, Metric::Blocks).is_none() {
            figures.set(Metric::Blocks, product(shape.grid));
        }
        if get(figures, Metric::ThreadsPerBlock).is_none() {
            figures.set(Metric::ThreadsPerBlock, product(shape.block));
        }
    }
    let time = &kernel.time;
    if get(figures, Metric::DurationNs).is_none() && time.launches_per_call > 0.0 && time.time_per_call_ns.0 > 0 {
        figures.set(Metric::DurationNs, time.time_per_call_ns.0 as f64 / time.launches_per_call);
    }
    if let Some(waves) = get(figures, Metric::Waves) {
        // One round has no tail: what it leaves empty is for want of blocks.
        figures.set(Metric::TailIdleShare, if waves > 1.0 { 1.0 - waves / waves.ceil() } else { 0.0 });
    }
    if let Some(spilled) = sum(figures, &[Metric::SpillStoreBytes, Metric::SpillLoadBytes]) {
        figures.set(Metric::SpillBytes, spilled);
    }
    if let Some((local, global)) = get(figures, Metric::LocalRequests).zip(get(figures, Metric::GlobalRequests)) {
        let all = local + global + get(figures, Metric::SharedRequests).unwrap_or(0.0);
        figures.set(Metric::LocalRequestsShare, if all > 0.0 { local / all } else { 0.0 });
    }
    if let Some((local, all)) = get(figures, Metric::LocalRequests).zip(get(figures, Metric::Instructions)).filter(|(_, all)| *all > 0.0) {
        figures.set(Metric::LocalInstructionsShare, local / all);
    }
    let blocks = get(figures, Metric::Blocks);
    if let Some(((atomics, blocks), threads)) = get(figures, Metric::AtomicRequests).zip(blocks).zip(get(figures, Metric::ThreadsPerBlock))
    {
        figures.set(Metric::AtomicsPerWarp, atomics / (blocks * (threads / WARP).ceil()).max(1.0));
    }
    // A stall that is not listed among others did not occur; without a list nothing is known.
    if !kernel.stalls.is_empty() {
        let share = |reasons: &[StallReason]| {
            kernel.stalls.iter().filter(|stall| reasons.contains(&stall.reason)).fold(0.0, |all, stall| all + stall.share)
        };
        figures.set(Metric::MemoryStallShare, share(&[LongScoreboard, LgThrottle, TexThrottle]));
        figures.set(Metric::SharedStallShare, share(&[ShortScoreboard, MioThrottle]));
        figures.set(Metric::BarrierStallShare, share(&[Barrier, Membar]));
        figures.set(Metric::DependencyStallShare, share(&[Wait]));
    }
}

fn against_target(figures: &mut Figures, around: Surroundings) {
    if figures.get(Metric::Multiprocessors).is_none() {
        let fact = around.target.and_then(|target| target.facts.iter().find(|fact| fact.name == "multiprocessors"));
        figures.set_known(Metric::Multiprocessors, fact.and_then(|fact| fact.value.parse().ok()));
    }
    if let Some((blocks, processors)) = figures.get(Metric::Blocks).zip(figures.get(Metric::Multiprocessors)) {
        figures.set(Metric::BlocksPerMultiprocessor, blocks / processors.max(1.0));
    }
    let copy = around.target.and_then(|target| target.copy_bytes_per_second).filter(|copy| *copy > 0.0);
    figures.set_known(Metric::CopyRateShare, figures.get(Metric::DramBytesPerS).zip(copy).map(|(rate, copy)| rate / copy));
}

/// The part of a call's products that are on 16 bits or fewer.
fn half_operations(around: Surroundings) -> Option<f64> {
    let operations = &around.work?.operations;
    let half = |dtype: &str| !dtype.starts_with("complex") && (dtype.contains("16") || dtype.contains('8'));
    let total: f64 = operations.values().sum();
    let halves: f64 = operations.iter().filter(|(dtype, _)| half(dtype)).map(|(_, count)| count).sum();
    Some(if total > 0.0 { halves / total } else { 0.0 })
}
