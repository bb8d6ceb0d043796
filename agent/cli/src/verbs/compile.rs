//! `kernelwright compile`: what a candidate's kernels become on GPUs that need not be here.

use std::collections::HashSet;
use std::fmt::Write as _;

use kernelwright_evaluate::{CompileError, CompileRequest, KernelCompiler};
use kernelwright_protocol::{
    ArchCompilation, Compilation, CompilationStatus, CompileOutcome, Compiled, Diagnostics, KernelCompilation, KernelFigures, Part,
};

use super::{Context, read_source, runtime};
use crate::args::Compile;
use crate::built_in::{evaluate_settings, executable};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::printer::{Printer, Tone, Verbosity};

pub fn run(context: &Context, args: &Compile) -> Result<Exit, Failure> {
    let settings = context.settings(&args.flags())?;
    let request = CompileRequest {
        problem_source: read_source(&args.problem, "problem")?,
        candidate_source: read_source(&args.candidate, "candidate")?,
        targets: args.arch.clone(),
    };
    let printer = context.printer;
    let compiler = KernelCompiler::new(evaluate_settings(&settings, executable()?));
    let say = move |message: &str| {
        if printer.stderr_is_terminal || printer.verbosity > Verbosity::Normal {
            printer.say(printer.on_stderr(Tone::Faint, message));
        }
    };
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            report = compiler.compile(&request, &say) => report.map(Some).map_err(|error| failed(&args.problem, &error)),
            signalled = interrupt::signalled() => signalled.map(|()| None),
        }
    });
    runtime.shutdown_background();
    let Some(report) = ended? else { return Err(Failure::new(Exit::Interrupted, "interrupted: there is no report")) };
    if args.json {
        printer.json(&report)?;
    } else {
        printer.result(text(&report, printer))?;
        printer.say(printer.on_stderr(Tone::Faint, &format!("code and logs are in {}", compiler.artifact_folder().display())));
    }
    Ok(if report.status == CompilationStatus::Ok { Exit::Success } else { Exit::NotCompiled })
}

/// What is wrong with the problem is said with the problem's own path: inside the worker the file has another name.
fn failed(problem: &std::path::Path, error: &CompileError) -> Failure {
    let exit = match error.code() {
        "problem_invalid" => Exit::ProblemInvalid,
        "python_unusable" | "worker_failed" | "cache_unwritable" => Exit::ToolServer,
        "internal" => Exit::Unexpected,
        _ => Exit::Usage,
    };
    let failure = Failure::new(exit, error.to_string()).hint(error.hint());
    if exit != Exit::ProblemInvalid {
        return failure;
    }
    failure.at(match error.details() {
        Some(details) => format!("{}\n{details}", problem.display()),
        None => problem.display().to_string(),
    })
}

/// A table per architecture, and what went wrong below it.
fn text(report: &Compilation, printer: Printer) -> String {
    let mut text = String::new();
    // Writing into a `String` does not fail.
    for arch in &report.architectures {
        let tone = match arch.status {
            CompilationStatus::Ok => Tone::Good,
            CompilationStatus::NotCompiled => Tone::Careful,
            CompilationStatus::ExceedsLimits | CompilationStatus::Failed => Tone::Bad,
        };
        let name = arch.part.as_ref().map(|part| format!(" ({})", part.name)).unwrap_or_default();
        let _ = writeln!(text, "{}{name}: {}", printer.on_stdout(Tone::Strong, &arch.arch), printer.on_stdout(tone, status(arch.status)));
        table(&mut text, arch);
        below(&mut text, arch);
    }
    let _ = write!(text, "{} in {}", report.software.join(", "), report.wall_ns);
    text
}

fn status(status: CompilationStatus) -> &'static str {
    match status {
        CompilationStatus::Ok => "ok",
        CompilationStatus::NotCompiled => "not compiled",
        CompilationStatus::ExceedsLimits => "exceeds limits",
        CompilationStatus::Failed => "failed",
    }
}

/// How much of a kernel's name a table shows.
const NAME: usize = 60;

const HEADINGS: [&str; 7] = ["kernel", "configuration", "registers", "spills", "shared memory", "occupancy", "compiled in"];

fn table(text: &mut String, arch: &ArchCompilation) {
    let rows: Vec<[String; 7]> = arch.kernels.iter().map(|kernel| row(kernel, arch.part.as_ref())).collect();
    if rows.is_empty() {
        return;
    }
    let headings = HEADINGS.map(str::to_owned);
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        // A column that nobody fills is left out.
        (cells > 0).then_some((column, cells.max(HEADINGS[column].len())))
    };
    let columns: Vec<(usize, usize)> = (0..HEADINGS.len()).filter_map(width).collect();
    for row in std::iter::once(&headings).chain(&rows) {
        let cells: Vec<String> = columns.iter().map(|&(column, width)| format!("{:<width$}", row[column])).collect();
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
    }
}

/// The start of a name that is a whole signature or a command.
fn short(name: &str) -> String {
    if name.chars().count() <= NAME { name.to_owned() } else { name.chars().take(NAME - 1).chain(['…']).collect() }
}

fn row(kernel: &KernelCompilation, part: Option<&Part>) -> [String; 7] {
    let (name, configuration) = (short(&kernel.kernel), kernel.configuration.clone());
    let without_figures =
        |word: String| [name.clone(), configuration.clone(), word, String::new(), String::new(), String::new(), String::new()];
    match &kernel.outcome {
        CompileOutcome::Ok(compiled) | CompileOutcome::ExceedsLimits { compiled, .. } => {
            let Compiled { figures, occupancy, compile_ns, .. } = compiled;
            let shared = match part {
                Some(part) if figures.dynamic_shared.is_some() => format!("{} of {}", figures.shared(), part.shared_per_block),
                Some(part) => format!("{} + launch, of {}", figures.shared(), part.shared_per_block),
                None => String::new(),
            };
            let occupancy = occupancy.as_ref().map(|o| format!("{:.0} % ({})", o.share * 100.0, o.limiter.as_str()));
            let registers = figures.registers.map(|registers| registers.to_string());
            [
                name,
                configuration,
                registers.unwrap_or_default(),
                spills(figures),
                shared,
                occupancy.unwrap_or_default(),
                compile_ns.map(|time| time.to_string()).unwrap_or_default(),
            ]
        }
        CompileOutcome::Failed(_) => without_figures("failed".to_owned()),
        CompileOutcome::CompilerCrashed(_) => without_figures("crashed".to_owned()),
        CompileOutcome::TimedOut { limit_ns } => without_figures(format!("over {limit_ns}")),
    }
}

/// Bytes stored and loaded for want of registers, or spilled registers, as the compiler counts.
fn spills(figures: &KernelFigures) -> String {
    match (figures.spill_stores, figures.spill_loads, figures.spilled_registers) {
        (Some(stores), Some(loads), _) if stores.0 + loads.0 > 0 => format!("{stores} out, {loads} in"),
        (_, _, Some(registers)) if registers > 0 => format!("{registers} registers"),
        (Some(_), Some(_), _) | (_, _, Some(_)) => "none".to_owned(),
        _ => String::new(),
    }
}

/// What a table has no room for.
fn below(text: &mut String, arch: &ArchCompilation) {
    let mut seen = HashSet::new();
    let mut said = |text: &mut String, head: &str, Diagnostics { summary, diagnostics, log }: &Diagnostics| {
        let _ = writeln!(text, "  {head}: {summary}");
        // The same error in many configurations is shown once.
        if seen.insert(diagnostics.clone()) && !diagnostics.is_empty() && diagnostics != summary {
            let _ = writeln!(text, "    {}", diagnostics.trim_end().replace('\n', "\n    "));
        }
        if let Some(log) = log {
            let _ = writeln!(text, "    whole log: {log}");
        }
    };
    for kernel in &arch.kernels {
        let head = format!("{} {}", short(&kernel.kernel), kernel.configuration);
        match &kernel.outcome {
            CompileOutcome::Failed(diagnostics) | CompileOutcome::CompilerCrashed(diagnostics) => said(text, head.trim_end(), diagnostics),
            CompileOutcome::ExceedsLimits { exceeds, .. } => {
                let _ = writeln!(text, "  {} would not launch: {}", head.trim_end(), exceeds.join("; "));
            }
            CompileOutcome::Ok(_) | CompileOutcome::TimedOut { .. } => {}
        }
    }
    if let Some(stopped) = &arch.stopped {
        said(text, &format!("the candidate stopped ({})", stopped.phase), &stopped.diagnostics);
        if let Some(hint) = &stopped.hint {
            let _ = writeln!(text, "    hint: {hint}");
        }
    }
    for missing in &arch.not_compiled {
        let _ = writeln!(text, "  not compiled: {}: {}\n    hint: {}", missing.what, missing.reason, missing.hint);
    }
    for note in &arch.notes {
        let _ = writeln!(text, "  note: {note}");
    }
}
