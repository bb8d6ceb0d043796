//! What there is: what the server holds, what the machine holds, and what a server leaves behind.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Command;

use kernelwright_protocol::{Backend, Target};

use crate::Failure;

/// Memory that a server may have gained between two counts, for results that it keeps for a while, in MiB.
const MEMORY_SLACK: u64 = 16;

/// A server keeps its workers' logs up to about this many.
const LOGS: usize = 260;

/// Device memory by which two counts may differ, in MiB.
const DEVICE_SLACK: u64 = 64;

/// What a running server holds.
#[derive(Clone, Debug)]
pub struct Census {
    /// Its descendants, those that have ended and were not waited for included.
    pub processes: usize,
    /// Its open descriptors.
    pub descriptors: usize,
    pub threads: usize,
    /// Its resident memory in MiB.
    pub memory: u64,
    /// Folders of workers.
    pub folders: usize,
    /// Logs of workers.
    pub logs: usize,
    /// Files below its home, less logs and what is in those folders.
    pub files: usize,
}

impl Census {
    pub fn of(server: u32, home: &Path) -> Result<Self, Failure> {
        let status = fs::read_to_string(format!("/proc/{server}/status"))?;
        let figure =
            |key: &str| -> Option<u64> { status.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok() };
        let (scratch, logs) = (home.join("cache/scratch"), home.join("cache/logs"));
        Ok(Self {
            processes: descendants(server).len(),
            descriptors: fs::read_dir(format!("/proc/{server}/fd"))?.count(),
            threads: figure("Threads:").and_then(|threads| threads.try_into().ok()).ok_or("the system does not count threads")?,
            memory: figure("VmRSS:").ok_or("the system does not count memory")? >> 10,
            folders: entries(&scratch).count(),
            logs: entries(&logs).count(),
            files: files(home, &[&scratch, &logs]),
        })
    }

    /// Whether it holds no more than another time, but for memory that it may have gained.
    pub fn is_no_more_than(&self, other: &Self) -> bool {
        self.rows(other).iter().all(|row| row.now <= row.most)
    }

    /// Each figure beside the most it may be when `other` was what it is without a leak. Threads of a pool come and go.
    pub fn rows(&self, other: &Self) -> [Row; 7] {
        let row = |what, now: usize, most: usize| Row { what, now: now as u64, most: most as u64 };
        [
            row("processes", self.processes, other.processes),
            row("open descriptors", self.descriptors, other.descriptors),
            row("threads", self.threads, other.threads + 4),
            Row { what: "resident memory, MiB", now: self.memory, most: other.memory + MEMORY_SLACK },
            row("scratch folders", self.folders, other.folders),
            row("logs", self.logs, other.logs.max(LOGS)),
            row("other files", self.files, other.files),
        ]
    }
}

impl fmt::Display for Census {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { processes, descriptors, threads, memory, folders, logs, files } = self;
        write!(
            f,
            "{processes} processes, {descriptors} descriptors, {threads} threads, {memory} MiB, {folders} folders, {logs} logs, {files} files"
        )
    }
}

/// A figure, and the most it may be.
pub struct Row {
    pub what: &'static str,
    pub now: u64,
    pub most: u64,
}

/// What belongs to the machine.
#[derive(Clone, Debug)]
pub struct System {
    /// Entries of /dev/shm.
    pub shared_files: usize,
    /// Shared memory, semaphores and queues of System V.
    pub sysv_objects: usize,
    /// Device memory in use, in MiB; absent on the CPU.
    pub device: Option<u64>,
}

impl System {
    pub fn count(target: Target) -> Result<Self, Failure> {
        let objects =
            |table: &str| fs::read_to_string(format!("/proc/sysvipc/{table}")).map_or(0, |text| text.lines().count().saturating_sub(1));
        Ok(Self {
            shared_files: entries(Path::new("/dev/shm")).count(),
            sysv_objects: ["shm", "sem", "msg"].map(objects).iter().sum(),
            device: match target.backend {
                Backend::Cpu => None,
                Backend::Cuda => Some(device_memory(target.device.unwrap_or(0))?),
            },
        })
    }

    pub fn is_no_more_than(&self, other: &Self) -> bool {
        self.rows(other).iter().all(|row| row.now <= row.most)
    }

    /// As [`Census::rows`].
    pub fn rows(&self, other: &Self) -> Vec<Row> {
        let row = |what, now: usize, most: usize| Row { what, now: now as u64, most: most as u64 };
        let device = |now| Row { what: "device memory, MiB", now, most: other.device.unwrap_or(0) + DEVICE_SLACK };
        let rows = [row("/dev/shm", self.shared_files, other.shared_files), row("System V", self.sysv_objects, other.sysv_objects)];
        rows.into_iter().chain(self.device.map(device)).collect()
    }
}

/// What a server has left that has ended.
#[derive(Clone, Debug)]
pub struct Left {
    /// Processes that came to this one as orphans and still run.
    pub processes: usize,
    pub folders: usize,
}

pub fn left_behind(home: &Path) -> Left {
    let running = descendants(std::process::id()).into_iter().filter(|process| process.state != 'Z').count();
    Left { processes: running, folders: entries(&home.join("cache/scratch")).count() }
}

struct Process {
    pid: u32,
    parent: u32,
    state: char,
}

/// The children of a process, their children and so on.
fn descendants(of: u32) -> Vec<Process> {
    let mut others: Vec<_> = entries(Path::new("/proc")).filter_map(|entry| process(&entry.path())).collect();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![of];
    while let Some(parent) = parents.pop() {
        let (children, rest) = others.into_iter().partition::<Vec<_>, _>(|process| process.parent == parent);
        parents.extend(children.iter().map(|child| child.pid));
        found.extend(children);
        others = rest;
    }
    found
}

/// A process by its folder; its name may hold spaces and brackets.
fn process(folder: &Path) -> Option<Process> {
    let pid = folder.file_name()?.to_str()?.parse().ok()?;
    let stat = fs::read_to_string(folder.join("stat")).ok()?;
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ');
    Some(Process { pid, state: fields.next()?.chars().next()?, parent: fields.next()?.parse().ok()? })
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

fn files(folder: &Path, except: &[&Path]) -> usize {
    if except.contains(&folder) {
        return 0;
    }
    let count = |entry: fs::DirEntry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path(), except),
        _ => 1,
    };
    entries(folder).map(count).sum()
}

/// What is in use on a device, as a process of its own sees it, in MiB.
fn device_memory(device: u16) -> Result<u64, Failure> {
    let script = format!("import torch; free, total = torch.cuda.mem_get_info({device}); print((total - free) >> 20)");
    let asked = Command::new(kernelwright_tests::python()).args(["-c", &script]).output()?;
    let said = String::from_utf8_lossy(&asked.stdout);
    said.trim().parse().map_err(|_| format!("device memory cannot be counted: {}", String::from_utf8_lossy(&asked.stderr)).into())
}
