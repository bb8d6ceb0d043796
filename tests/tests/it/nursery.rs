//! Workers forked from a nursery: as well confined as executed ones, independent of it, and leaving nothing behind.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use kernelwright_harness::{Interpreter, Launch, Nursery, Package, Role, Scratch, Worker, WorkerLog, sandbox, supervise};
use kernelwright_protocol::Backend;
use serde_json::{Value, json};

use crate::support::eventually;

const LIMIT: Duration = Duration::from_secs(120);

/// What launches need, in a cache of its own.
struct Yard {
    cache: tempfile::TempDir,
    interpreter: Interpreter,
    package: Package,
}

impl Yard {
    fn new() -> Self {
        supervise();
        let cache = tempfile::tempdir().unwrap();
        let interpreter = Interpreter::probe(&kernelwright_tests::python(), "test").unwrap();
        let package = Package::unpack(cache.path()).unwrap();
        Self { cache, interpreter, package }
    }

    fn launch(&self, role: Role) -> Launch<'_> {
        let scratch = Scratch::new(self.cache.path()).unwrap();
        Launch {
            role,
            interpreter: &self.interpreter,
            package: &self.package,
            helper: kernelwright_tests::binary(),
            backend: Backend::Cpu,
            threads: 1,
            limits: sandbox::Limits::default(),
            variables: vec![],
            around: None,
            readable: vec![],
            log: WorkerLog::at(scratch.path().join("worker.log")),
            scratch,
        }
    }

    async fn nursery(&self) -> Nursery {
        Nursery::start(self.launch(Role::Nursery), LIMIT).await.unwrap()
    }

    async fn fork(&self, nursery: &mut Nursery) -> Worker {
        nursery.launch(self.launch(Role::Untrusted), LIMIT).await.unwrap()
    }
}

/// Imports a file in the worker; what it refused, where it did.
async fn import(worker: &mut Worker, device: &str, source: &str) -> Result<(), String> {
    let path = worker.scratch().join("candidate.py");
    std::fs::write(&path, format!("{source}\nclass ModelNew: pass\n")).unwrap();
    let fields = json!({"path": path, "device": device, "seed": 1, "threads": 1, "policy": {"tf32": false}});
    worker.ask("build", fields, &[], LIMIT).await.map(drop).map_err(|error| error.to_string())
}

/// What a worker is, as Python sees it: what differs between processes is taken out.
const PORTRAIT: &str = r#"
import json, os, resource, signal, sys, tempfile
status = dict(line.rstrip("\n").split(":", 1) for line in open("/proc/self/status"))
home = os.environ["HOME"]
variables = {name: value.replace(home, "HOME") for name, value in os.environ.items()}
# `worker.py` puts the folder of the interpreter in front, where the supervisor has put it as well.
variables["PATH"] = list(dict.fromkeys(variables["PATH"].split(os.pathsep)))
portrait = {
    "status": {name: status[name].strip() for name in ("NoNewPrivs", "Seccomp", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "Cpus_allowed", "Threads", "SigIgn", "SigBlk")},
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
    "network": sorted(line.split(":")[0].strip() for line in open("/proc/self/net/dev").readlines()[2:]),
    "score": open("/proc/self/oom_score_adj").read().strip(),
    "leads": [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()],
    "descriptors": sorted(os.readlink(f"/proc/self/fd/{number}").split(":")[0].replace(home, "HOME") for number in (0, 1, 2, 3)),
    "more_descriptors": [number for number in range(4, 1000) if os.path.exists(f"/proc/self/fd/{number}")],
    "variables": variables,
    "folders": [os.getcwd().replace(home, "HOME"), tempfile.gettempdir().replace(home, "HOME")],
    "handlers": [str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGCHLD)],
    "flags": str(sys.flags),
}
json.dump(portrait, open("portrait.json", "w"), indent=1)
"#;

async fn portrait(worker: &mut Worker) -> Value {
    import(worker, "cpu", PORTRAIT).await.unwrap();
    serde_json::from_slice(&std::fs::read(worker.scratch().join("portrait.json")).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forked_worker_is_what_an_executed_one_is() {
    let yard = Yard::new();
    let mut executed = Worker::launch(yard.launch(Role::Untrusted), LIMIT).await.unwrap();
    let mut forked = yard.fork(&mut yard.nursery().await).await;
    let sorted = |worker: &Worker| {
        let mut layers = worker.sandbox().clone();
        layers.active.sort();
        layers.missing.sort();
        layers
    };
    assert_eq!(sorted(&executed), sorted(&forked));
    assert_eq!(executed.ready().torch, forked.ready().torch);
    assert_eq!(executed.ready().triton, forked.ready().triton);
    pretty_eq(&portrait(&mut executed).await, &portrait(&mut forked).await);
}

/// Equality that names the members that differ.
fn pretty_eq(expected: &Value, found: &Value) {
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(value, &found[name], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_reaches_neither_the_nursery_nor_another_candidate() {
    let yard = Yard::new();
    let mut nursery = yard.nursery().await;
    let other = yard.fork(&mut nursery).await;
    let mut worker = yard.fork(&mut nursery).await;
    for (whose, pid) in [("nursery", nursery.pid()), ("other candidate", other.pid())] {
        let source = format!(
            r#"
import os, signal
def refused(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        return True
    return False
for name in ("environ", "mem", "maps", "stack", "fd", "cwd", "root", "exe"):
    path = f"/proc/{pid}/{{name}}"
    assert refused(os.listdir if name in ("fd", "cwd", "root") else open, path), path
assert refused(os.kill, {pid}, 0) and refused(os.kill, {pid}, signal.SIGKILL), "a signal"
import ctypes
libc = ctypes.CDLL(None)
assert libc.ptrace(16, {pid}, 0, 0) == -1, "ptrace"
assert libc.syscall(438, os.pidfd_open({pid}), 3, 0) == -1, "a descriptor"
assert refused(open, "{folder}/x", "w") and refused(os.listdir, "{folder}"), "its folder"
"#,
            folder = other.scratch().display()
        );
        assert_eq!(import(&mut worker, "cpu", &source).await, Ok(()), "{whose}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_outlives_its_nursery_and_dies_with_its_group() {
    let yard = Yard::new();
    let mut nursery = yard.nursery().await;
    let mut worker = yard.fork(&mut nursery).await;
    kill(nursery.pid());
    import(&mut worker, "cpu", "import subprocess\nsubprocess.Popen(['sleep', '600'])").await.unwrap();
    assert!(nursery.launch(yard.launch(Role::Untrusted), LIMIT).await.is_err(), "a dead nursery forks");
    let group = worker.pid();
    assert!(!group_members(group).is_empty());
    worker.end().await;
    assert_eq!(group_members(group), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_workers_leave_nothing_behind() {
    let yard = Yard::new();
    let mut nursery = yard.nursery().await;
    yard.fork(&mut nursery).await.end().await;
    let before = (descriptors("self").unwrap(), descriptors(&nursery.pid().to_string()));
    let mut times = [vec![], vec![]];
    for number in 0..50 {
        // Every third one is forked on demand.
        if number % 3 > 0 {
            nursery.prepare(LIMIT).await.unwrap();
        }
        let start = Instant::now();
        let worker = yard.fork(&mut nursery).await;
        times[usize::from(number % 3 > 0)].push(start.elapsed());
        let pid = worker.pid();
        // Every other one is dropped, as a cancelled evaluation drops it.
        if number % 2 == 0 {
            worker.end().await;
        } else {
            drop(worker);
        }
        eventually("the worker is gone", || !PathBuf::from(format!("/proc/{pid}")).exists()).await;
    }
    for (mut times, how) in times.into_iter().zip(["on demand", "ahead of time"]) {
        times.sort();
        println!("forked {how}, from request to greeting: median {:?}, at most {:?}", times[times.len() / 2], times[times.len() - 1]);
    }
    // Tests beside this one open a few in the same process; fifty workers that left one each would have left fifty.
    assert!(descriptors("self").unwrap() < before.0 + 25);
    // It closes the last worker's end of a channel after it has answered, when it has a processor again.
    eventually("the nursery has no more open than before", || descriptors(&nursery.pid().to_string()) == before.1).await;
    assert_eq!(children(nursery.pid()), Vec::<String>::new());
    // Its own and the nursery's folders are what is left.
    assert_eq!(std::fs::read_dir(yard.cache.path().join("scratch")).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a GPU: `make test-gpu` runs it where there is cargo"]
async fn a_forked_worker_uses_the_gpu() {
    let yard = Yard::new();
    let mut nursery = yard.nursery().await;
    for _ in 0..5 {
        nursery.prepare(LIMIT).await.unwrap();
        let start = Instant::now();
        let mut worker = nursery.launch(Launch { backend: Backend::Cuda, ..yard.launch(Role::Untrusted) }, LIMIT).await.unwrap();
        let greeted = start.elapsed();
        import(&mut worker, "cuda:0", "import torch\nassert torch.ones(1 << 20, device='cuda').sum().item() == 1 << 20").await.unwrap();
        println!("greeted after {greeted:?}, the first question answered after {:?}, {:?}", start.elapsed(), worker.sandbox().missing);
        worker.end().await;
    }
}

fn kill(pid: i32) {
    assert!(std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

/// How many descriptors a process has; only the superuser is told of a nursery's.
fn descriptors(process: &str) -> Option<usize> {
    Some(std::fs::read_dir(format!("/proc/{process}/fd")).ok()?.count())
}

/// `/proc/PID/stat` of every process whose field `index`, counted after the name, is `value`.
fn with_field(index: usize, value: i32) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = entries.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let field = |stat: &str| stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(index)?.parse::<i32>().ok());
    stats.filter(|stat| field(stat) == Some(value)).collect()
}

fn children(pid: i32) -> Vec<String> {
    with_field(1, pid)
}

fn group_members(group: i32) -> Vec<String> {
    with_field(2, group)
}
