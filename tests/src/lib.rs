//! What the end-to-end tests share: where the real executable and the Python with torch are, the adversarial suite, the planted bottlenecks, the example kernels,
//! and what benchmarks measure and print.

pub mod adversarial;
pub mod bottlenecks;
pub mod examples;
pub mod figures;
pub mod softmax;

use std::path::{Path, PathBuf};

use kernelwright_evaluate::Settings;

/// The executable under test, from the same build as this test.
///
/// # Panics
/// If the workspace was not built first; `make test` does that.
#[must_use]
pub fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("the test knows its own path");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("tests run from target/PROFILE/deps");
    let binary = folder.join("kernelwright");
    assert!(binary.is_file(), "{} is missing: run `cargo build` first", binary.display());
    binary
}

/// Which executable a program of this crate tries: an argument of each of them.
#[derive(Debug, clap::Args)]
pub struct Executable {
    /// The executable under test [default: `kernelwright` beside this program]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

impl Executable {
    /// Where it lies.
    ///
    /// # Panics
    /// If none is named and the workspace was not built first.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        if let Some(path) = &self.binary {
            // It is started in other folders than this one.
            return std::path::absolute(path).expect("a path");
        }
        let program = std::env::current_exe().expect("a program knows its own path");
        let binary = program.with_file_name("kernelwright");
        assert!(binary.is_file(), "{} is missing: run `cargo build` first", binary.display());
        binary
    }
}

/// The interpreter that has torch: `KERNELWRIGHT_PYTHON`, else the repository's own environment.
///
/// # Panics
/// If neither is there; `make test` builds the environment.
#[must_use]
pub fn python() -> PathBuf {
    let chosen = std::env::var_os("KERNELWRIGHT_PYTHON").map(PathBuf::from);
    let python = chosen.unwrap_or_else(|| repository().join(".venv/bin/python"));
    assert!(python.is_file(), "{} is missing: run `make env` first", python.display());
    python
}

/// Sends what the libraries say of their own work to stderr, filtered by `RUST_LOG`; only errors without it.
pub fn log_to_stderr() {
    let filter = tracing_subscriber::EnvFilter::from_default_env();
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}

/// Settings of an evaluator for tests: the executable and the Python under test, and a cache of its own.
///
/// # Panics
/// As [`binary`] and [`python`].
#[must_use]
pub fn settings(cache: &Path) -> Settings {
    Settings { python: Some(python()), cache_dir: cache.to_path_buf(), ..Settings::new(binary()) }
}

/// The repository's top folder: where this was built, else where it is run, for programs that were carried to another machine.
///
/// # Panics
/// Never: the crate lies inside the repository.
#[must_use]
pub fn repository() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies inside the repository");
    if built.is_dir() { built.to_path_buf() } else { std::env::current_dir().unwrap_or_default() }
}
