//! A tool server as its clients see it: a process that answers lines with lines.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::kernelwright;

/// A running tool server; it is killed when it is dropped.
pub struct Server {
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

/// What a process takes, in megabytes.
pub struct Memory {
    /// All of its pages that are in memory.
    pub resident: f64,
    /// Those that no file is behind.
    pub own: f64,
}

impl Server {
    /// Starts the server; the time is from before its start to its answer to `initialize`.
    pub fn start(name: &str, home: &Path) -> (Self, Duration) {
        let mut command = kernelwright(home);
        command.args(["serve", name, "--stdio"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = Instant::now();
        let mut process = command.spawn().unwrap();
        let (stdin, stdout) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut server = Self { process, stdin, stdout };
        let client = json!({"name": "bench", "version": "1"});
        let answer = server.ask("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}));
        let time = started.elapsed();
        assert!(answer["serverInfo"]["name"].as_str().unwrap().ends_with(name), "{answer}");
        (server, time)
    }

    /// Does what every client does next.
    pub fn list_tools(&mut self) {
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let answer = self.ask("tools/list", &json!({}));
        assert!(!answer["tools"].as_array().unwrap().is_empty(), "{answer}");
    }

    /// What the process takes at this moment.
    pub fn memory(&self) -> Memory {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let megabytes = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
            line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1024.0 / 1e6
        };
        Memory { resident: megabytes("VmRSS:"), own: megabytes("RssAnon:") }
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        answer["result"].take()
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
