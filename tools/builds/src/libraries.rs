//! Empty libraries that stand in for torch's while an extension is linked.
//!
//! A shared library may leave names open: who has them is found when it is loaded, and by then torch's libraries are there. Linking takes
//! nothing of them but the names under which they are loaded, and reads hundreds of megabytes for that.

use std::io;
use std::path::{Path, PathBuf};

use kernelwright_harness::copy_beneath;
use serde_json::json;
use tokio::sync::Mutex;

use super::cache::{FILE, appear, touch};
use super::maker::Maker;
use super::spec::key;
use super::{Limits, Yard};

/// Torch's libraries, as linkers are told of them; each is loaded as `libNAME.so`.
const TORCH: [&str; 6] = ["c10", "c10_cuda", "torch", "torch_cpu", "torch_cuda", "torch_python"];

/// The folders of such libraries, one for each compiler, readable for every compiler.
#[derive(Debug)]
pub(super) struct Libraries {
    folder: PathBuf,
    /// Held while they are made, which would be done twice otherwise.
    making: Mutex<()>,
}

impl Libraries {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder, making: Mutex::new(()) }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The flags with which a command links against these first, made where they are not there. It fails where another flag forbids open names.
    pub(super) async fn flags(&self, yard: &impl Yard, argv: &[String], installed: &str, limits: &Limits) -> Option<[String; 2]> {
        let (program, rest) = argv.split_first()?;
        if !rest.iter().any(|word| word == "-ltorch") {
            return None;
        }
        let folder = self.folder.join(key(&(installed, program, TORCH)));
        if !folder.is_dir() {
            let _turn = self.making.lock().await;
            if !folder.is_dir()
                && let Err(reason) = make(yard, program, &folder, limits).await
            {
                tracing::debug!(reason, "no libraries stand in for torch's");
            }
        }
        touch(&folder).ok()?;
        // Nobody needs a name of theirs, and they must not be left out for that.
        Some(["-Wl,--no-as-needed".to_owned(), format!("-L{}", folder.display())])
    }
}

/// Makes them in a folder, which appears when that is done. It is empty where the compiler refuses: torch's own are found then.
async fn make(yard: &impl Yard, program: &str, folder: &Path, limits: &Limits) -> Result<(), String> {
    let partial = folder.with_extension(format!("partial-{}", std::process::id()));
    tokio::fs::create_dir_all(&partial).await.map_err(|error| error.to_string())?;
    let mut made = Ok(());
    for name in TORCH {
        made = one(yard, program, &partial, name, limits).await;
        if made.is_err() {
            break;
        }
    }
    if made.is_err() {
        let emptied = async {
            tokio::fs::remove_dir_all(&partial).await?;
            tokio::fs::create_dir(&partial).await
        };
        emptied.await.map_err(|error| error.to_string())?;
    }
    appear(&partial, folder).map_err(|error| error.to_string())?;
    made
}

async fn one(yard: &impl Yard, program: &str, folder: &Path, name: &str, limits: &Limits) -> Result<(), String> {
    let (source, library) = ("empty.cpp", format!("lib{name}.so"));
    let argv = [program, "-shared", "-fPIC", "-nostdlib", &format!("-Wl,-soname,{library}"), source, "-o", &library].map(str::to_owned);
    let mut maker = Maker::start(yard, limits).await.map_err(|unmade| format!("{unmade:?}"))?;
    let made = maker.make(&argv, json!({ source: "" })).await;
    let scratch = maker.worker.finish().await;
    made.map_err(|unmade| format!("{unmade:?}"))?;
    let (from, to) = (format!("{}/{library}", Maker::FOLDER), folder.join(&library));
    let copy = move || -> io::Result<()> { copy_beneath(scratch.path(), &from, FILE, &to).map(drop) };
    tokio::task::spawn_blocking(copy).await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
}
