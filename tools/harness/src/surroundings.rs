//! What of this process's environment decides anything, and what of it workers get.
//!
//! Workers start from an empty environment. What is let through is named here, one name at a time, so that no key or token of the
//! parent can ever be inherited by accident.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names that pass to every worker: where compilers and libraries are, which devices are visible, the language of messages.
const PASSED: [&str; 16] = [
    "PATH",
    "LANG",
    "LANGUAGE",
    "TZ",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "TORCH_CUDA_ARCH_LIST",
    "CC",
    "CXX",
    "CUDAHOSTCXX",
];

/// The allow-listed part of this process's environment, with a usable `PATH` in any case.
pub(crate) fn passed() -> Vec<(OsString, OsString)> {
    let mut passed: Vec<_> = std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(|name| PASSED.contains(&name) || name.starts_with("LC_")))
        .collect();
    if !passed.iter().any(|(name, _)| name == "PATH") {
        passed.push(("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()));
    }
    passed
}

/// Which GPUs CUDA is told to see, and so what their numbers mean.
#[must_use]
pub fn visible_devices() -> Option<OsString> {
    std::env::var_os("CUDA_VISIBLE_DEVICES")
}

/// The `PATH` of workers: the folder of their interpreter, then this process's.
pub(crate) fn search_path(first: Option<&std::path::Path>) -> OsString {
    let passed = passed().into_iter().find(|(name, _)| name == "PATH").map(|(_, path)| path).unwrap_or_default();
    let folders = first.map(std::path::Path::to_path_buf).into_iter().chain(std::env::split_paths(&passed));
    std::env::join_paths(folders).unwrap_or_else(|_| passed.clone())
}

/// Folders of toolkits and libraries that the passed variables point to: the sandbox must let them be read.
pub(crate) fn toolkit_folders() -> Vec<PathBuf> {
    passed()
        .into_iter()
        .filter(|(name, _)| {
            matches!(name.to_str(), Some("PATH" | "CPATH" | "LD_LIBRARY_PATH" | "LIBRARY_PATH" | "CUDA_HOME" | "CUDA_PATH"))
        })
        .flat_map(|(_, value)| std::env::split_paths(&value).collect::<Vec<_>>())
        .flat_map(|folder| installation(&folder).into_iter().chain([folder]))
        .filter(|folder| folder.is_absolute() && !is_too_wide(folder))
        .collect()
}

/// The installation that a folder of programs belongs to: a compiler in `/opt/gcc/bin` needs what lies in `/opt/gcc/lib`. A user's own
/// collection of programs (`~/.local`, `~/.cargo`) is none: secrets lie beside it.
fn installation(programs: &Path) -> Option<PathBuf> {
    let prefix = programs.parent().filter(|_| programs.ends_with("bin"))?;
    let installed = ["lib", "lib64", "libexec"].iter().any(|name| prefix.join(name).is_dir());
    (installed && !prefix.ends_with(".local")).then(|| prefix.to_path_buf())
}

/// A folder whose reading would give away more than tools: the root, or somebody's home.
fn is_too_wide(folder: &Path) -> bool {
    folder.components().count() <= 2 && !folder.starts_with("/usr") && !folder.starts_with("/bin") && !folder.starts_with("/sbin")
        || std::env::home_dir().is_some_and(|home| home.starts_with(folder))
}

/// Where to look for a Python when none was named, in order, each with what to call its origin.
pub(crate) fn python_choices() -> Vec<(PathBuf, &'static str)> {
    let mut choices = Vec::new();
    if let Some(path) = std::env::var_os("KERNELWRIGHT_PYTHON").filter(|v| !v.is_empty()) {
        choices.push((PathBuf::from(path), "KERNELWRIGHT_PYTHON"));
    }
    if let Some(folder) = std::env::var_os("VIRTUAL_ENV").filter(|v| !v.is_empty()) {
        choices.push((PathBuf::from(folder).join("bin/python"), "VIRTUAL_ENV"));
    }
    choices.push((PathBuf::from(".venv/bin/python"), "./.venv"));
    choices
}

/// The first executable of this name on `PATH`.
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
}

/// A program of this name on `PATH`, or in one of these folders.
#[must_use]
pub fn find_program(name: &str, folders: &[&str]) -> Option<PathBuf> {
    on_path(name).or_else(|| folders.iter().map(|folder| Path::new(folder).join(name)).find(|program| program.is_file()))
}

/// The user's cache folder for this program: `$XDG_CACHE_HOME/kernelwright`, else `~/.cache/kernelwright`, else under `/tmp`.
pub(crate) fn cache_folder() -> PathBuf {
    std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
        .unwrap_or_else(std::env::temp_dir)
        .join("kernelwright")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_brings_its_installation_and_a_home_does_not() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["gcc/bin", "gcc/lib", ".local/bin", ".local/lib", ".cargo/bin"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        assert_eq!(installation(&root.path().join("gcc/bin")), Some(root.path().join("gcc")));
        for folder in ["gcc/lib", ".local/bin", ".cargo/bin"] {
            assert_eq!(installation(&root.path().join(folder)), None, "{folder}");
        }
        assert!(is_too_wide(Path::new("/")) && is_too_wide(Path::new("/opt")) && !is_too_wide(Path::new("/opt/gcc")));
    }
}
