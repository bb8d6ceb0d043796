//! `kernelwright doctor`: what this machine has, what is missing, and what to do about it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use kernelwright_evaluate::sanitizer;
use kernelwright_harness::{Interpreter, Launch, Package, Role, Scratch, Worker, WorkerLog, sandbox};
use kernelwright_model::Client;
use kernelwright_prompts::Prompts;
use kernelwright_protocol::Backend;
use serde::Serialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use super::{Context, runtime};
use crate::args::Doctor;
use crate::built_in::executable;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Tone;
use crate::settings::{Flags, Settings, TOOL_SERVERS};

/// How long a worker may take to import torch from a cold disk.
const WORKER_LIMIT: Duration = Duration::from_secs(120);

/// How long a tool server may take to answer `initialize`.
const SERVER_LIMIT: Duration = Duration::from_secs(20);

/// One line of the examination.
#[derive(Clone, Debug, Serialize)]
struct Check {
    state: State,
    subject: &'static str,
    finding: String,
    /// What to do, where something is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warn,
    Fail,
}

fn ok(subject: &'static str, finding: impl Into<String>) -> Check {
    Check { state: State::Ok, subject, finding: finding.into(), fix: None }
}

fn warn(subject: &'static str, finding: impl Into<String>, fix: impl Into<String>) -> Check {
    Check { state: State::Warn, subject, finding: finding.into(), fix: Some(fix.into()) }
}

fn fail(subject: &'static str, finding: impl Into<String>, fix: impl Into<String>) -> Check {
    Check { state: State::Fail, subject, finding: finding.into(), fix: Some(fix.into()) }
}

pub fn run(context: &Context, args: &Doctor) -> Result<Exit, Failure> {
    let settings = context.settings(&Flags::new())?;
    let printer = context.printer;
    let mut worst = State::Ok;
    let mut checks = Vec::new();
    let mut note = |found: Vec<Check>| -> std::io::Result<()> {
        for check in found {
            if check.state == State::Fail || worst == State::Ok {
                worst = check.state;
            }
            if !args.json {
                let (tone, word) = match check.state {
                    State::Ok => (Tone::Good, "ok  "),
                    State::Warn => (Tone::Careful, "warn"),
                    State::Fail => (Tone::Bad, "fail"),
                };
                let fix = check.fix.as_ref().map(|fix| format!("\n                        {fix}")).unwrap_or_default();
                printer.result(format!("{}  {:<16} {}{fix}", printer.on_stdout(tone, word), check.subject, check.finding))?;
            }
            checks.push(check);
        }
        Ok(())
    };
    note(vec![ok("version", format!("kernelwright {}", env!("CARGO_PKG_VERSION")))])?;
    note(settings_files(&settings))?;
    let python = Interpreter::find(settings.evaluate.python.as_deref());
    note(vec![match &python {
        Ok(python) => {
            let triton = python.triton.as_ref().map_or_else(|| "no triton".to_owned(), |version| format!("triton {version}"));
            let path = python.path.display();
            ok("python", format!("{path} ({}): Python {}, torch {}, {triton}", python.origin, python.version, python.torch))
        }
        Err(error) => fail("python", error.to_string(), error.hint()),
    }])?;
    note(compilers(context))?;
    note(devices())?;
    let runtime = runtime()?;
    if let Ok(python) = &python {
        note(runtime.block_on(worker(&settings, python)))?;
    }
    note(vec![model(&settings)])?;
    note(vec![match Prompts::new(settings.prompts.as_deref()) {
        Ok(prompts) => {
            let own: Vec<&str> = prompts.overridden().collect();
            ok("prompts", if own.is_empty() { "built in".to_owned() } else { format!("replaced: {}", own.join(", ")) })
        }
        Err(error) => fail("prompts", error.to_string(), error.hint()),
    }])?;
    note(runtime.block_on(servers(&settings))?)?;
    runtime.shutdown_background();
    if args.json {
        printer.json(&json!({"ok": worst != State::Fail, "checks": checks}))?;
    }
    Ok(if worst == State::Fail { Exit::ToolServer } else { Exit::Success })
}

fn settings_files(settings: &Settings) -> Vec<Check> {
    let layers = settings.layers();
    let files: Vec<String> = layers.files.iter().map(|path| path.display().to_string()).collect();
    let mut checks = vec![ok("settings", if files.is_empty() { "no files; defaults".to_owned() } else { files.join(", ") })];
    checks.extend(layers.strays.iter().map(|name| {
        let fix = "`kernelwright config show --json` lists the settings; a variable is KERNELWRIGHT_SECTION_NAME";
        warn("settings", format!("the variable {name} sets nothing"), fix)
    }));
    checks
}

fn compilers(context: &Context) -> Vec<Check> {
    let version = |program: &str, line: fn(&str) -> Option<&str>| {
        let path = context.environment.on_path(program)?;
        let output = Command::new(path).arg("--version").stdin(Stdio::null()).output().ok()?;
        line(&String::from_utf8_lossy(&output.stdout)).map(|line| line.trim().to_owned())
    };
    let gpu = !gpus().is_empty();
    vec![
        match version("g++", |text| text.lines().next()) {
            Some(version) => ok("g++", version),
            None => fail("g++", "not found", "install g++ (Debian: apt install g++): C++ kernels and torch.compile need it"),
        },
        match version("nvcc", |text| text.lines().rfind(|line| line.contains("release"))) {
            Some(version) => ok("nvcc", version),
            None if gpu => warn("nvcc", "not found", "install the CUDA toolkit for inline CUDA; Triton works without it"),
            None => ok("nvcc", "not found, and no GPU that needs it"),
        },
        match sanitizer() {
            Some(program) => ok("deep check", program.display().to_string()),
            None if gpu => warn("deep check", "no compute-sanitizer", "install it with the CUDA toolkit for `--deep-check`"),
            None => ok("deep check", "no compute-sanitizer, and no GPU that needs it"),
        },
    ]
}

fn devices() -> Vec<Check> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field =
        |name: &str| cpuinfo.lines().find_map(|line| line.strip_prefix(name)?.split_once(':').map(|(_, value)| value.trim().to_owned()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut checks =
        vec![ok("cpu", format!("{}, {threads} threads", field("model name").unwrap_or_else(|| "unknown processor".to_owned())))];
    let gpus = gpus();
    if gpus.is_empty() {
        checks.push(ok("gpu", "none: target cpu"));
    }
    checks.extend(gpus.into_iter().map(|name| ok("gpu", name)));
    checks
}

/// The driver's names of the GPUs it sees.
fn gpus() -> Vec<String> {
    let Ok(entries) = std::fs::read_dir("/proc/driver/nvidia/gpus") else { return vec![] };
    let name = |path: &Path| {
        let text = std::fs::read_to_string(path.join("information")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("Model:").map(|name| name.trim().to_owned()))
    };
    entries.flatten().filter_map(|entry| name(&entry.path())).collect()
}

/// Starts a worker as a candidate would get it: torch is imported in the sandbox.
async fn worker(settings: &Settings, interpreter: &Interpreter) -> Vec<Check> {
    match start_worker(settings, interpreter).await {
        Ok(worker) => {
            let layers = worker.sandbox().clone();
            let torch = worker.ready().torch.clone();
            worker.end().await;
            let mut checks =
                vec![ok("worker", format!("imports torch {torch} inside the sandbox")), ok("sandbox", layers.active.join(", "))];
            checks.extend(layers.missing.iter().map(|layer| {
                warn("sandbox", format!("without {layer}"), "verdicts do not depend on it, but candidate code is confined less")
            }));
            checks
        }
        Err(failure) => vec![fail("worker", failure, "run `kernelwright doctor` with RUST_LOG=debug; repair torch or name another Python")],
    }
}

async fn start_worker(settings: &Settings, interpreter: &Interpreter) -> Result<Worker, String> {
    let say = |error: kernelwright_harness::HarnessError| format!("{error}; {}", error.hint());
    let package = Package::unpack(&settings.cache).map_err(say)?;
    let scratch = Scratch::new(&settings.cache).map_err(say)?;
    let log = WorkerLog::at(scratch.path().join("worker.log"));
    let helper = executable().map_err(|failure| failure.to_string())?;
    let launch = Launch {
        role: Role::Untrusted,
        interpreter,
        package: &package,
        helper,
        backend: Backend::Cpu,
        threads: 1,
        limits: sandbox::Limits::default(),
        variables: vec![],
        around: None,
        readable: vec![],
        scratch,
        log,
    };
    Worker::launch(launch, WORKER_LIMIT).await.map_err(|error| error.to_string())
}

/// Whether the model could be asked. It is not: that would cost something.
fn model(settings: &Settings) -> Check {
    let client = match settings.model() {
        Ok(client) => client,
        Err(error) => return warn("model", error.to_string(), error.hint()),
    };
    let name = settings.model_name().unwrap_or_default();
    match Client::open(&client) {
        Ok(_) => match settings.key_source() {
            Some(source) => ok("model", format!("{name}, key in {source}")),
            None => ok("model", name),
        },
        Err(error) => fail("model", format!("{name}: {error}"), error.hint()),
    }
}

/// Starts every tool server as a run would, and asks for `initialize`.
async fn servers(settings: &Settings) -> Result<Vec<Check>, Failure> {
    let mut checks = Vec::new();
    for spec in settings.servers(&executable()?)? {
        let kernelwright_engine::Launch::Spawn { program, args, env } = &spec.launch;
        let mut command = tokio::process::Command::new(program);
        command.args(args).envs(env.iter().map(|(name, value)| (name, value)));
        let own = TOOL_SERVERS.iter().any(|(name, ..)| *name == spec.name);
        let subject = if own { "tool server" } else { "your tool server" };
        checks.push(match tokio::time::timeout(SERVER_LIMIT, initialize(command)).await {
            Ok(Ok(who)) => ok(subject, format!("{} answers: {who}", spec.name)),
            Ok(Err(reason)) => {
                fail(subject, format!("{} does not answer: {reason}", spec.name), format!("start it by hand: {}", program.display()))
            }
            Err(_) => fail(subject, format!("{} said nothing for {} s", spec.name, SERVER_LIMIT.as_secs()), "start it by hand"),
        });
    }
    Ok(checks)
}

/// The name and version that a server gives in its answer.
async fn initialize(mut command: tokio::process::Command) -> Result<String, String> {
    let text = |error: std::io::Error| error.to_string();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(text)?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else { return Err("no pipes".to_owned()) };
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "kernelwright-doctor", "version": env!("CARGO_PKG_VERSION")}}});
    stdin.write_all(format!("{request}\n").as_bytes()).await.map_err(text)?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).await.map_err(text)?;
    let answer: serde_json::Value = serde_json::from_str(&line).map_err(|_| "its answer is no JSON".to_owned())?;
    let info = answer.pointer("/result/serverInfo").ok_or("its answer is no MCP")?;
    let part = |name: &str| info.get(name).and_then(serde_json::Value::as_str).unwrap_or("?").to_owned();
    Ok(format!("{} {}", part("name"), part("version")))
}
