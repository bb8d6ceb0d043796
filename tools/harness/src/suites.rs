//! Suites of problems that the embedded package generates: run once per version of the package and of torch, then kept.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::surroundings;
use crate::{HarnessError, Interpreter, Package};

/// The generated problems of `suite` as JSON lines (see `python/suite.py`), kept below `cache`. Blocks for about a minute the first time, after
/// `starting`.
pub fn generate(
    suite: &'static str,
    interpreter: &Interpreter,
    package: &Package,
    cache: &Path,
    starting: impl FnOnce(),
) -> Result<String, HarnessError> {
    let version = package.folder().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let folder = cache.join("suites");
    let kept = folder.join(format!("{suite}-{version}-torch-{}.jsonl", interpreter.torch));
    if let Ok(text) = fs::read_to_string(&kept) {
        return Ok(text);
    }
    starting();
    let failed = |detail: String| HarnessError::Suite { suite, detail };
    let output = Command::new(&interpreter.path)
        .arg("-B")
        .arg(package.folder().join("suite.py"))
        .arg(suite)
        .env_clear()
        .envs(surroundings::passed())
        .env("HOME", std::env::home_dir().unwrap_or_default())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(failed(stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").to_owned()));
    }
    let text = String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()))?;
    // Under its name only once it is whole: another process may look for it.
    let partial = folder.join(format!("{suite}-{}.partial", std::process::id()));
    let write = fs::create_dir_all(&folder).and_then(|()| fs::write(&partial, &text)).and_then(|()| fs::rename(&partial, &kept));
    write.map_err(|source| HarnessError::Write { path: kept, source })?;
    Ok(text)
}
