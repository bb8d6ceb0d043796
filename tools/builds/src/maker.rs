//! Confined processes that make one object or library each.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use kernelwright_harness::{AskError, Worker, WorkerLog};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::cache::Cache;
use super::{Limits, Yard};

/// Why there is no object or library.
#[derive(Debug)]
pub(super) enum Unmade {
    /// The compiler refuses the source as it was written; its words.
    Refused(String),
    /// Compiling took longer than building may.
    Late(WorkerLog),
    /// Something else, which the candidate's own process does not have, or has as well.
    Failed(String),
}

/// A confined process that makes one file.
pub(super) struct Maker {
    pub(super) worker: Worker,
    limit: Duration,
    started: Instant,
}

impl Maker {
    /// The folder of its commands, below its scratch folder.
    pub(super) const FOLDER: &'static str = "build";

    pub(super) async fn start(yard: &impl Yard, limits: &Limits) -> Result<Self, Unmade> {
        let worker = yard.builder(limits.process).await.map_err(|error| Unmade::Failed(error.to_string()))?;
        Ok(Self { worker, limit: limits.build, started: Instant::now() })
    }

    /// Puts files of the cache where its command will look for them.
    pub(super) async fn place(&self, files: &[(String, PathBuf)]) -> Result<(), Unmade> {
        let folder = self.worker.scratch().join(Self::FOLDER);
        let failed = |error: std::io::Error| Unmade::Failed(error.to_string());
        tokio::fs::create_dir_all(&folder).await.map_err(failed)?;
        for (name, file) in files {
            tokio::fs::copy(file, folder.join(name)).await.map_err(failed)?;
        }
        Ok(())
    }

    pub(super) async fn make(&mut self, argv: &[String], sources: Value) -> Result<(), Unmade> {
        #[derive(Deserialize)]
        struct Done {
            status: i32,
            output: String,
        }
        match self.ask("make", json!({"argv": argv, "sources": sources})).await? {
            Done { status: 0, .. } => Ok(()),
            // A compiler that was killed may have been so for the memory that others took.
            Done { status: 1.., output } => Err(Unmade::Refused(output)),
            Done { status, .. } => Err(Unmade::Failed(format!("the compiler ended with {status}"))),
        }
    }

    /// Asks it something about its folder.
    pub(super) async fn ask<T: DeserializeOwned>(&mut self, op: &str, mut fields: Value) -> Result<T, Unmade> {
        let limit = self.limit.saturating_sub(self.started.elapsed());
        fields["folder"] = self.worker.scratch().join(Self::FOLDER).to_string_lossy().into();
        let answer = match self.worker.ask(op, fields, &[], limit).await {
            Ok(reply) => reply.ok,
            Err(AskError::Deadline { .. }) => return Err(Unmade::Late(self.worker.log().clone())),
            Err(error) => return Err(Unmade::Failed(error.to_string())),
        };
        serde_json::from_value(answer).map_err(|error| Unmade::Failed(error.to_string()))
    }

    /// Ends the process, then takes what it has made into the cache.
    pub(super) async fn keep(self, made: Result<(), Unmade>, name: &str, cache: &Cache, key: &str) -> Result<PathBuf, Unmade> {
        if let Err(unmade) = made {
            self.worker.end().await;
            return Err(unmade);
        }
        let kept = self.keep_all(&[(key, name)], cache).await?.pop();
        kept.ok_or_else(|| Unmade::Failed("nothing was kept".to_owned()))
    }

    /// The same for files by their keys.
    pub(super) async fn keep_all(self, files: &[(&str, &str)], cache: &Cache) -> Result<Vec<PathBuf>, Unmade> {
        let files = files.iter().map(|(key, name)| ((*key).to_owned(), format!("{}/{name}", Self::FOLDER))).collect();
        let scratch = self.worker.finish().await;
        cache.put(scratch, files).await.map_err(|error| Unmade::Failed(error.to_string()))
    }
}
