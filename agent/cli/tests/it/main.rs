//! The executable as its users meet it: help, settings and mistakes. Nothing in here needs torch, a network or a model.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod help;
mod knowledge;
mod mistakes;
mod output;
mod run_folders;
mod signals;
mod suite;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder to work in, with a home of its own.
struct Desk {
    folder: tempfile::TempDir,
}

/// What a finished command said.
#[derive(Debug)]
struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// The executable in this folder, with nothing of the developer's environment but the `PATH`.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kernelwright"));
        command.args(args).current_dir(self.path()).env_clear().env("HOME", self.path()).stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
    }

    fn run(&self, args: &[&str]) -> Said {
        self.said(&mut self.command(args))
    }

    /// Runs to the end; the folder's name is left out of what is said.
    fn said(&self, command: &mut Command) -> Said {
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(&self.path().display().to_string(), "DESK");
        Said { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}
