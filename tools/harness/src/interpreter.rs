//! Finding the user's Python and asking it what it has, without importing torch (which takes seconds).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::HarnessError;
use crate::surroundings;

/// Run by the candidate interpreter; prints one line of JSON.
const PROBE: &str = r#"
import importlib.metadata as m, json, platform, site, sys
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
print(json.dumps({"version": platform.python_version(), "torch": version("torch"), "triton": version("triton"),
    "prefixes": [sys.prefix, sys.base_prefix, sys.exec_prefix], "path": [p for p in sys.path if p],
    "user_base": site.getuserbase() if site.ENABLE_USER_SITE else None}))
"#;

/// A Python interpreter that has torch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The executable; absolute.
    pub path: PathBuf,
    /// Where the choice came from, e.g. `KERNELWRIGHT_PYTHON`.
    pub origin: &'static str,
    /// The version of Python, e.g. `3.11.7`.
    pub version: String,
    /// The version of torch.
    pub torch: String,
    /// The version of Triton; the problem may not need it.
    pub triton: Option<String>,
    /// Folders that must be readable for it to run: its installation, its environment and its import path.
    pub(crate) folders: Vec<PathBuf>,
    /// Where packages installed with `--user` lie: the workers' own HOME would hide them.
    pub(crate) user_base: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Probe {
    version: String,
    torch: Option<String>,
    triton: Option<String>,
    prefixes: Vec<PathBuf>,
    path: Vec<PathBuf>,
    user_base: Option<PathBuf>,
}

impl Interpreter {
    /// Chooses an interpreter and asks it for its versions: the named one, else `KERNELWRIGHT_PYTHON`, else the active virtual
    /// environment, else `./.venv`, else `python3` of the `PATH`. Blocks for the time Python takes to start.
    ///
    /// A choice somebody made on purpose (the first two) is final: what is wrong with it is an error, not a reason to take another.
    pub fn find(named: Option<&Path>) -> Result<Self, HarnessError> {
        if let Some(path) = named {
            return Self::probe(path, "--python");
        }
        for (path, origin) in surroundings::python_choices() {
            if origin == "KERNELWRIGHT_PYTHON" || path.is_file() {
                return Self::probe(&path, origin);
            }
        }
        match surroundings::on_path("python3") {
            Some(path) => Self::probe(&path, "PATH"),
            None => Err(HarnessError::InterpreterMissing { path: "python3".into(), origin: "PATH" }),
        }
    }

    /// Asks one interpreter for its versions.
    pub fn probe(path: &Path, origin: &'static str) -> Result<Self, HarnessError> {
        let missing = || HarnessError::InterpreterMissing { path: path.to_path_buf(), origin };
        let broken = |detail: String| HarnessError::InterpreterBroken { path: path.to_path_buf(), detail };
        // A bare name is looked up on the PATH; symbolic links stay, because a virtual environment is found through them.
        let found = if path.components().count() == 1 && !path.is_file() {
            path.to_str().and_then(surroundings::on_path).ok_or_else(missing)?
        } else {
            std::path::absolute(path).map_err(|_| missing())?
        };
        if !found.is_file() {
            return Err(missing());
        }
        let output = Command::new(&found)
            .args(["-B", "-c", PROBE])
            .env_clear()
            .envs(surroundings::passed())
            .env("HOME", std::env::home_dir().unwrap_or_default())
            .stdin(Stdio::null())
            .output()
            .map_err(|error| broken(error.to_string()))?;
        let stderr = String::from_utf8_lossy(&output.stderr);
        let last_line = || stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").to_owned();
        if !output.status.success() {
            return Err(broken(last_line()));
        }
        let probe: Probe = serde_json::from_slice(&output.stdout).map_err(|_| broken("it did not answer the probe".to_owned()))?;
        let Some(torch) = probe.torch else {
            return Err(HarnessError::NoTorch { path: found, version: probe.version });
        };
        let mut folders: Vec<PathBuf> = probe.prefixes.into_iter().chain(probe.path).chain(probe.user_base.clone()).collect();
        folders.extend(found.canonicalize().ok().and_then(|real| real.parent().map(Path::to_path_buf)));
        folders.sort();
        folders.dedup();
        Ok(Self { path: found, origin, version: probe.version, torch, triton: probe.triton, folders, user_base: probe.user_base })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn fake(folder: &Path, script: &str) -> PathBuf {
        let path = folder.join("python");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_missing_interpreter_says_where_the_name_came_from() {
        let error = Interpreter::find(Some(Path::new("/nowhere/python"))).unwrap_err();
        assert_eq!(error.to_string(), "no Python interpreter at /nowhere/python (from --python)");
    }

    #[test]
    fn an_interpreter_without_torch_is_told_from_a_broken_one() {
        let folder = tempfile::tempdir().unwrap();
        let answer = r#"echo '{"version": "3.12.1", "torch": null, "triton": null, "prefixes": [], "path": [], "user_base": null}'"#;
        let error = Interpreter::probe(&fake(folder.path(), answer), "test").unwrap_err();
        assert!(matches!(&error, HarnessError::NoTorch { version, .. } if version == "3.12.1"), "{error}");
        let error = Interpreter::probe(&fake(folder.path(), "echo no such library >&2; exit 3"), "test").unwrap_err();
        assert!(error.to_string().ends_with("does not run: no such library"), "{error}");
    }
}
