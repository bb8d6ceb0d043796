//! Profiles as they are asked for: taken or imported, digested, kept, read and compared.

use std::path::Path;

use kernelwright_protocol::{ContentHash, Profile, ProfileComparison, ProfilePage, Target, TargetDescription};

use crate::archive::{Archive, Extract};
use crate::capture::{Rung, Taken};
use crate::compare::compare;
use crate::digest::digest;
use crate::report::{Report, Subject};
use crate::sections::{Reading, page};
use crate::{ProfileError, ProfileRequest, Profiler, Settings, import};

/// Processors of a machine on which something may start while something else is measured on a GPU: fewer have to leave measuring alone.
const ROOMY: usize = 8;

/// Whether what the next profile needs may start while one is taken, or a GPU is described.
pub(crate) fn is_roomy() -> bool {
    std::thread::available_parallelism().is_ok_and(|processors| processors.get() >= ROOMY)
}

/// Takes profiles and keeps them: what the server's tools and the command line both do.
#[derive(Debug)]
pub struct Profiles {
    profiler: Profiler,
    archive: Archive,
}

impl Profiles {
    /// Nothing is started or read before the first question.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { archive: Archive::below(&settings.cache_dir), profiler: Profiler::new(settings) }
    }

    /// Describes a target; the second time for the same target costs nothing. `say` is told what is being done.
    pub async fn describe(&self, target: Target, say: &(dyn Fn(&str) + Sync)) -> Result<TargetDescription, ProfileError> {
        self.profiler.describe(target, say).await
    }

    /// Describes a target of which profiles will be asked for: what they need to start is started beside.
    pub async fn introduce(&self, target: Target, say: &(dyn Fn(&str) + Sync)) -> Result<TargetDescription, ProfileError> {
        if is_roomy() {
            self.profiler.prepare(target);
        }
        let description = self.profiler.describe(target, say).await;
        match &description {
            Ok(_) => self.profiler.prepare(target),
            Err(_) => self.profiler.rest(),
        }
        description
    }

    /// Says for each profiler whether it works on a target, and what makes it work.
    pub async fn rungs(&self, target: Target) -> Result<Vec<Rung>, ProfileError> {
        self.profiler.rungs(target).await
    }

    /// Profiles a problem or a candidate, and keeps the report. `say` is told what is being done.
    pub async fn profile(&self, request: &ProfileRequest, say: &(dyn Fn(&str) + Sync)) -> Result<Profile, ProfileError> {
        let (taken, target) = self.take(request, say).await?;
        self.conclude(request, taken, target.as_ref()).await
    }

    /// Takes what [`Self::conclude`] needs: the figures, and the target's description where it could be had.
    pub async fn take(
        &self,
        request: &ProfileRequest,
        say: &(dyn Fn(&str) + Sync),
    ) -> Result<(Taken, Option<TargetDescription>), ProfileError> {
        // Without ceilings there is no headroom, which is no reason to have no profile: what compilers know needs no device.
        let target = self.profiler.describe(request.target, say).await.inspect_err(|error| tracing::debug!(%error, "no ceilings")).ok();
        Ok((self.profiler.capture(request, say).await?, target))
    }

    /// Says what follows from figures, wherever and whenever they were taken, and keeps the report.
    pub async fn conclude(
        &self,
        request: &ProfileRequest,
        taken: Taken,
        target: Option<&TargetDescription>,
    ) -> Result<Profile, ProfileError> {
        let subject = Subject { candidate: request.candidate.as_ref().map(ContentHash::of), target: Some(request.target) };
        self.keep(Report::of(subject, taken, target)).await
    }

    /// Reads a profiler's file, and keeps it as a report.
    pub async fn import(&self, path: &Path) -> Result<Profile, ProfileError> {
        let file = path.to_owned();
        let capture = off_thread(move || Ok(import(&file)?)).await?;
        let taken = Taken { capture, before: Vec::new(), work: None, files: vec![path.to_owned()], passed_over: Vec::new() };
        self.keep(Report::of(Subject::default(), taken, None)).await
    }

    /// Reads a page of a kept report. The first digits of its name are enough.
    pub async fn read(&self, id: &str, reading: Reading) -> Result<ProfilePage, ProfileError> {
        let (archive, id) = (self.archive.clone(), id.to_owned());
        off_thread(move || {
            let (id, report) = archive.find(&id)?;
            page(&id, &report, &reading)
        })
        .await
    }

    /// Says what moved from one kept report to another.
    pub async fn compare(&self, before: &str, after: &str) -> Result<ProfileComparison, ProfileError> {
        let (archive, before, after) = (self.archive.clone(), before.to_owned(), after.to_owned());
        off_thread(move || {
            let (before, after) = (archive.find(&before)?, archive.find(&after)?);
            Ok(compare((&before.0, &before.1), (&after.0, &after.1)))
        })
        .await
    }

    /// The lines that a resource's name asks for.
    pub(crate) async fn resource(&self, uri: &str) -> Result<Extract, ProfileError> {
        let (archive, uri) = (self.archive.clone(), uri.to_owned());
        off_thread(move || archive.read(&uri)).await
    }

    async fn keep(&self, report: Report) -> Result<Profile, ProfileError> {
        let archive = self.archive.clone();
        off_thread(move || {
            let id = archive.keep(&report)?;
            Ok(digest(&id, &report))
        })
        .await
    }
}

/// Disks block.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> Result<T, ProfileError> + Send + 'static) -> Result<T, ProfileError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| Err(ProfileError::Worker { reason: panic.to_string(), traceback: String::new() }))
}
