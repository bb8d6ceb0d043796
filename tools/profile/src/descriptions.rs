//! Descriptions of targets kept on disk for a day: measuring a device takes seconds, and every run and every command would pay them.
//!
//! A description is named by all that is known to decide it without starting anything: the device and its driver, the machine, the Python and
//! what it has, the number of threads. What may change unseen, such as who else uses the machine, is why it is measured again the next day.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use kernelwright_harness::{Interpreter, visible_devices};
use kernelwright_protocol::{ContentHash, Target, TargetDescription};

/// How long one is taken for true.
const VALID: Duration = Duration::from_secs(24 * 3600);

/// The folder of descriptions.
#[derive(Debug)]
pub(crate) struct Descriptions {
    folder: PathBuf,
}

impl Descriptions {
    /// Those below a cache folder.
    pub(crate) fn below(cache: &Path) -> Self {
        Self { folder: cache.join("descriptions") }
    }

    /// What is known of a target.
    pub(crate) fn find(&self, key: &ContentHash) -> Option<TargetDescription> {
        let path = self.path(key);
        let age = fs::metadata(&path).ok()?.modified().ok().and_then(|then| SystemTime::now().duration_since(then).ok())?;
        if age > VALID {
            return None;
        }
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Keeps one; where that is not possible it is measured again.
    pub(crate) fn keep(&self, key: &ContentHash, description: &TargetDescription) {
        let kept = fs::create_dir_all(&self.folder).and_then(|()| {
            let unfinished = self.path(key).with_extension(std::process::id().to_string());
            fs::write(&unfinished, serde_json::to_vec_pretty(description)?)?;
            fs::rename(unfinished, self.path(key))
        });
        if let Err(error) = kept {
            tracing::debug!(%error, "the description is not kept");
        }
    }

    fn path(&self, key: &ContentHash) -> PathBuf {
        self.folder.join(format!("{}.json", key.as_str()))
    }
}

/// What a description depends on.
pub(crate) fn key(target: Target, threads: usize, interpreter: &Interpreter) -> ContentHash {
    let Interpreter { path, version, torch, triton, .. } = interpreter;
    let mut text = format!("{} {target} {threads} {} {version} {torch} {triton:?}\n", env!("CARGO_PKG_VERSION"), path.display());
    let _ = writeln!(text, "{:?}", visible_devices());
    for file in ["/proc/sys/kernel/osrelease", "/proc/driver/nvidia/version"] {
        text += &fs::read_to_string(file).unwrap_or_default();
    }
    // Frequencies in it change all the time.
    let processors = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.extend(processors.lines().filter(|line| line.starts_with("model name")));
    let mut devices: Vec<_> = fs::read_dir("/proc/driver/nvidia/gpus").into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    devices.sort();
    text.extend(devices.iter().filter_map(|device| fs::read_to_string(device.join("information")).ok()));
    ContentHash::of(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> TargetDescription {
        serde_json::from_value(serde_json::json!({
            "target": "cpu", "name": "a processor", "arch": "x86_64", "matrix_operations_per_second": {}, "facts": [], "software": [],
        }))
        .unwrap()
    }

    #[test]
    fn a_description_is_found_for_a_day() {
        let cache = tempfile::tempdir().unwrap();
        let descriptions = Descriptions::below(cache.path());
        let key = ContentHash::of("this machine");
        assert!(descriptions.find(&key).is_none());
        descriptions.keep(&key, &description());
        assert_eq!(descriptions.find(&key).unwrap().name, "a processor");
        assert!(descriptions.find(&ContentHash::of("another")).is_none());

        let file = fs::File::options().append(true).open(descriptions.path(&key)).unwrap();
        file.set_modified(SystemTime::now() - VALID - Duration::from_secs(1)).unwrap();
        assert!(descriptions.find(&key).is_none());
    }

    #[test]
    fn a_damaged_file_is_measured_again() {
        let cache = tempfile::tempdir().unwrap();
        let descriptions = Descriptions::below(cache.path());
        let key = ContentHash::of("this machine");
        descriptions.keep(&key, &description());
        fs::write(descriptions.path(&key), "{").unwrap();
        assert!(descriptions.find(&key).is_none());
    }
}
