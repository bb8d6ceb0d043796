//! What the compile worker says, and what becomes of it: limits are compared here, and names of files are not believed.

use kernelwright_protocol::{
    ArchCompilation, Artifact, Bytes, CompilationStatus, CompileOutcome, Compiled, Diagnostics, KernelCompilation, KernelFigures,
    Nanoseconds, NotCompiled, Stopped,
};
use serde::Deserialize;

use crate::CompileTarget;
use crate::occupancy::{Launch, exceeded, occupancy};

/// The answer for one part.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    kernels: Vec<Claim>,
    fault: Option<FaultClaim>,
    #[serde(default)]
    not_compiled: Vec<NotCompiled>,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Claim {
    kernel: String,
    #[serde(default)]
    configuration: String,
    #[serde(default)]
    signature: String,
    #[serde(default)]
    grid: Option<[u32; 3]>,
    #[serde(default)]
    compile_ns: Option<u64>,
    #[serde(flatten)]
    end: End,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum End {
    Compiled {
        figures: FigureClaim,
        #[serde(default)]
        threads: Option<u32>,
        #[serde(default)]
        artifacts: Vec<String>,
    },
    Failed(DiagnosticsClaim),
    Crashed(DiagnosticsClaim),
    TimedOut {
        limit_s: f64,
    },
}

#[derive(Debug, Deserialize)]
struct FigureClaim {
    registers: Option<u32>,
    accumulation_registers: Option<u32>,
    scalar_registers: Option<u32>,
    spill_stores: Option<u64>,
    spill_loads: Option<u64>,
    spilled_registers: Option<u32>,
    spilled_scalars: Option<u32>,
    stack: Option<u64>,
    static_shared: Option<u64>,
    dynamic_shared: Option<u64>,
    tmem_size: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
struct DiagnosticsClaim {
    #[serde(default)]
    summary: String,
    #[serde(default)]
    diagnostics: String,
    #[serde(default)]
    log: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct FaultClaim {
    fault: String,
    #[serde(default)]
    kind: Option<String>,
    #[serde(flatten)]
    diagnostics: DiagnosticsClaim,
    #[serde(default)]
    hint: Option<String>,
    #[serde(default)]
    limit_s: Option<f64>,
}

/// A problem that does not give its inputs: not the candidate's doing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ProblemFault {
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) traceback: String,
}

/// Turns a worker's name for a file into a resource; none where the file cannot be had.
pub(crate) type Fetch<'a> = &'a mut dyn FnMut(&str) -> Option<Artifact>;

impl Answer {
    /// The report for one target.
    pub(crate) fn into_report(self, target: CompileTarget, fetch: Fetch<'_>) -> Result<ArchCompilation, ProblemFault> {
        let stopped = match self.fault {
            Some(fault) if fault.fault == "problem" => {
                let DiagnosticsClaim { summary, diagnostics, .. } = fault.diagnostics;
                let kind = fault.kind.unwrap_or_else(|| "problem_run".to_owned());
                return Err(ProblemFault { kind, message: summary, traceback: diagnostics });
            }
            fault => fault.map(|fault| fault.into_stopped(fetch)),
        };
        let mut notes = self.notes;
        if self.kernels.is_empty() && stopped.is_none() && self.not_compiled.is_empty() {
            let nothing = match target {
                CompileTarget::Gpu(_) => "the candidate launches no kernel of its own here",
                CompileTarget::Host => "the candidate has no C++ of its own, and nothing was compiled",
            };
            notes.push(nothing.to_owned());
        }
        let kernels = self.kernels.into_iter().map(|claim| claim.into_kernel(target, fetch)).collect();
        let mut report = ArchCompilation {
            arch: target.to_string(),
            status: CompilationStatus::Ok,
            part: target.part(),
            kernels,
            stopped,
            not_compiled: self.not_compiled,
            notes,
        };
        report.status = report.worst();
        Ok(report)
    }
}

impl Claim {
    fn into_kernel(self, target: CompileTarget, fetch: Fetch<'_>) -> KernelCompilation {
        let Self { kernel, configuration, signature, grid, compile_ns, end } = self;
        let outcome = match end {
            End::Compiled { figures, threads, artifacts } => {
                let figures = figures.into_figures();
                let launch = Launch { figures: &figures, threads, grid };
                let (exceeds, occupancy) = match &target {
                    CompileTarget::Gpu(gpu) => (exceeded(gpu, launch), occupancy(gpu, launch)),
                    CompileTarget::Host => (vec![], None),
                };
                let artifacts = artifacts.iter().filter_map(|name| fetch(name)).collect();
                let compiled = Compiled { figures, threads, occupancy, compile_ns: compile_ns.map(Nanoseconds), artifacts };
                if exceeds.is_empty() { CompileOutcome::Ok(compiled) } else { CompileOutcome::ExceedsLimits { exceeds, compiled } }
            }
            End::Failed(diagnostics) => CompileOutcome::Failed(diagnostics.into_diagnostics(fetch)),
            End::Crashed(diagnostics) => CompileOutcome::CompilerCrashed(diagnostics.into_diagnostics(fetch)),
            End::TimedOut { limit_s } => CompileOutcome::TimedOut { limit_ns: Nanoseconds::from_seconds(limit_s) },
        };
        KernelCompilation { kernel, configuration, signature, grid, outcome }
    }
}

impl FigureClaim {
    fn into_figures(self) -> KernelFigures {
        KernelFigures {
            registers: self.registers,
            accumulation_registers: self.accumulation_registers,
            scalar_registers: self.scalar_registers,
            spill_stores: self.spill_stores.map(Bytes),
            spill_loads: self.spill_loads.map(Bytes),
            spilled_registers: self.spilled_registers,
            spilled_scalars: self.spilled_scalars,
            stack: self.stack.map(Bytes),
            static_shared: self.static_shared.map(Bytes),
            dynamic_shared: self.dynamic_shared.map(Bytes),
            tensor_memory_columns: self.tmem_size.filter(|&columns| columns > 0),
        }
    }
}

impl DiagnosticsClaim {
    fn into_diagnostics(self, fetch: Fetch<'_>) -> Diagnostics {
        let log = self.log.and_then(|name| fetch(&name)).map(|artifact| artifact.uri);
        Diagnostics { summary: self.summary, diagnostics: self.diagnostics, log }
    }
}

impl FaultClaim {
    fn into_stopped(self, fetch: Fetch<'_>) -> Stopped {
        let mut diagnostics = self.diagnostics.into_diagnostics(fetch);
        if let Some(limit) = self.limit_s {
            diagnostics.summary = format!("the candidate did not come to its end within {limit} s");
        }
        Stopped { phase: self.fault, diagnostics, hint: self.hint }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(arch: &str, answer: serde_json::Value) -> Result<ArchCompilation, ProblemFault> {
        let answer: Answer = serde_json::from_value(answer).unwrap();
        answer.into_report(arch.parse().unwrap(), &mut |name| Some(Artifact { kind: "ptx".into(), uri: name.into() }))
    }

    #[test]
    fn the_worst_kernel_decides_and_an_unknown_figure_stays_absent() {
        let fits = json!({"kernel": "a", "status": "compiled", "figures": {"registers": 32, "dynamic_shared": 1024}, "threads": 128, "artifacts": ["x"]});
        let over = json!({"kernel": "b", "status": "compiled", "figures": {"registers": 32, "dynamic_shared": 98304}, "threads": 256});
        let good = report("gfx942", json!({"kernels": [fits], "fault": null})).unwrap();
        assert_eq!(good.status, CompilationStatus::Ok);
        let CompileOutcome::Ok(compiled) = &good.kernels[0].outcome else { panic!("{good:?}") };
        assert_eq!((compiled.figures.spill_stores, compiled.artifacts.len()), (None, 1));
        let bad = report("gfx942", json!({"kernels": [fits, over], "fault": null})).unwrap();
        assert_eq!(bad.status, CompilationStatus::ExceedsLimits);
        assert_eq!(report("sm_90", json!({"kernels": [over], "fault": null})).unwrap().status, CompilationStatus::Ok);
    }

    #[test]
    fn a_problem_that_fails_is_told_from_a_candidate_that_does() {
        let fault = |phase: &str| json!({"kernels": [], "fault": {"fault": phase, "kind": "problem_import", "summary": "no"}});
        assert_eq!(report("sm_90", fault("problem")).unwrap_err().kind, "problem_import");
        assert_eq!(report("sm_90", fault("run")).unwrap().status, CompilationStatus::Failed);
        let nothing = report("sm_90", json!({"kernels": [], "fault": null})).unwrap();
        assert_eq!((nothing.status, nothing.notes.len()), (CompilationStatus::Ok, 1));
    }
}
