//! What compilers say of a candidate's kernels, without a device: the same figures as `compile_kernel` gives, as a profile.

use kernelwright_compile::{CompileRequest, CompileTarget, KernelCompiler};
use kernelwright_harness::Refusal;
use kernelwright_protocol::{
    ArchCompilation, CompileOutcome, Compiled, Figures, KernelCompilation, KernelProfile, KernelTime, LaunchShape, Limiter, Metric,
    Nanoseconds, Part, ProfilerKind,
};

use crate::capture::Capture;
use crate::{ProfileError, ProfileRequest};

/// Compiles the candidate for a part.
pub(crate) async fn capture(
    compiler: &KernelCompiler,
    request: &ProfileRequest,
    part: CompileTarget,
    say: &(dyn Fn(&str) + Sync),
) -> Result<Capture, ProfileError> {
    let candidate = request.candidate.clone().ok_or_else(|| {
        unavailable(
            "a problem's kernels are those of libraries, which are compiled already",
            "name a candidate, whose own kernels can be compiled",
        )
    })?;
    let question = CompileRequest { problem_source: request.problem.clone(), candidate_source: candidate, targets: vec![part] };
    let compilation = compiler.compile(&question, say).await?;
    let report = compilation.architectures.into_iter().next().ok_or_else(|| unavailable("nothing was compiled", "ask again"))?;
    into_capture(report)
}

fn into_capture(report: ArchCompilation) -> Result<Capture, ProfileError> {
    let ArchCompilation { arch, part, kernels, stopped, not_compiled, notes, .. } = report;
    let mut limits = vec![format!("Nothing ran: no times, and nothing that depends on data. Compiled for {arch}.")];
    let mut found = Vec::new();
    for kernel in kernels {
        let name = kernel.kernel.clone();
        match profile(kernel, part.as_ref()) {
            Ok((kernel, exceeds)) => {
                limits.extend(exceeds.into_iter().map(|limit| format!("`{name}` would not launch: {limit}.")));
                found.push(kernel);
            }
            Err(reason) => limits.push(format!("`{name}` does not compile: {reason}.")),
        }
    }
    if found.is_empty() {
        return Err(match (stopped, not_compiled.into_iter().next()) {
            (Some(stopped), _) => ProfileError::Candidate(Refusal {
                kind: stopped.phase.clone(),
                phase: stopped.phase,
                message: stopped.diagnostics.summary,
                traceback: stopped.diagnostics.diagnostics,
            }),
            (None, Some(missing)) => unavailable(&format!("{}: {}", missing.what, missing.reason), &missing.hint),
            (None, None) => unavailable(&limits.into_iter().skip(1).chain(notes).collect::<Vec<_>>().join(" "), "profile on a device"),
        });
    }
    limits.extend(stopped.map(|stopped| format!("Kernels after this are not seen: {}.", stopped.diagnostics.summary)));
    limits.extend(not_compiled.into_iter().map(|missing| format!("Not compiled: {}: {}.", missing.what, missing.reason)));
    limits.extend(notes);
    Ok(Capture {
        profiler: ProfilerKind::Static,
        device: part.map(|part| part.name),
        calls: 1,
        wall_per_call_ns: None,
        kernels: found,
        call: Figures::default(),
        limits,
        raw: Vec::new(),
    })
}

/// One kernel in one configuration and which limits it exceeds, or why it does not compile.
fn profile(kernel: KernelCompilation, part: Option<&Part>) -> Result<(KernelProfile, Vec<String>), String> {
    let KernelCompilation { kernel, configuration, grid, outcome, .. } = kernel;
    let (compiled, exceeds) = match outcome {
        CompileOutcome::Ok(compiled) => (compiled, Vec::new()),
        CompileOutcome::ExceedsLimits { exceeds, compiled } => (compiled, exceeds),
        CompileOutcome::Failed(said) | CompileOutcome::CompilerCrashed(said) => return Err(said.summary),
        CompileOutcome::TimedOut { limit_ns } => return Err(format!("not within {limit_ns}")),
    };
    let name = if configuration.is_empty() { kernel } else { format!("{kernel} ({configuration})") };
    let time = KernelTime { name, launches_per_call: 0.0, time_per_call_ns: Nanoseconds(0), share: 0.0 };
    let launch = grid.zip(compiled.threads).map(|(grid, threads)| LaunchShape { grid, block: [threads, 1, 1] });
    Ok((KernelProfile { launch, figures: figures(&compiled, grid, part), ..KernelProfile::from(time) }, exceeds))
}

fn figures(compiled: &Compiled, grid: Option<[u32; 3]>, part: Option<&Part>) -> Figures {
    let said = &compiled.figures;
    let blocks = grid.map(|sides| sides.into_iter().map(f64::from).product::<f64>());
    let multiprocessors = part.map(|part| f64::from(part.multiprocessors));
    let mut figures = Figures::default();
    for (metric, value) in [
        (Metric::Blocks, blocks),
        (Metric::ThreadsPerBlock, compiled.threads.map(f64::from)),
        (Metric::RegistersPerThread, said.registers.map(f64::from)),
        (Metric::StaticSharedBytes, said.static_shared.map(|bytes| bytes.0 as f64)),
        (Metric::DynamicSharedBytes, said.dynamic_shared.map(|bytes| bytes.0 as f64)),
        (Metric::SpillStoreBytes, said.spill_stores.map(|bytes| bytes.0 as f64)),
        (Metric::SpillLoadBytes, said.spill_loads.map(|bytes| bytes.0 as f64)),
        (Metric::StackBytes, said.stack.map(|bytes| bytes.0 as f64)),
        (Metric::Multiprocessors, multiprocessors),
    ] {
        figures.set_known(metric, value);
    }
    if let Some(occupancy) = &compiled.occupancy {
        let limiter = match occupancy.limiter {
            Limiter::Registers => Metric::BlocksByRegisters,
            Limiter::SharedMemory => Metric::BlocksBySharedMemory,
            Limiter::Warps => Metric::BlocksByWarps,
            Limiter::Blocks => Metric::BlocksBySlots,
        };
        figures.set(Metric::TheoreticalOccupancyShare, occupancy.share);
        // The others allow at least as many.
        figures.set(limiter, f64::from(occupancy.blocks));
        let waves = |blocks: f64, multiprocessors: f64| blocks / (multiprocessors * f64::from(occupancy.blocks));
        figures.set_known(Metric::Waves, blocks.zip(multiprocessors).map(|(blocks, multiprocessors)| waves(blocks, multiprocessors)));
    }
    figures
}

fn unavailable(reason: &str, fix: &str) -> ProfileError {
    ProfileError::Unavailable { profiler: ProfilerKind::Static, reason: reason.to_owned(), fix: fix.to_owned() }
}
