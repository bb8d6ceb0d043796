//! Extensions of candidates (`load_inline`, `load`) built before their process needs them: beside other work, in parallel, and once.
//!
//! 1. *Collect*: a confined process without a device imports the candidate with torch's call of ninja replaced by a recorder.
//! 2. *Make*: each object, and then the library, is made by a confined process of its own, unless the cache has it. A CUDA source gives two, of
//!    which the host's is there already where only a kernel's body has changed ([`sides`]); then there is nothing to link, either ([`linking`]).
//! 3. *Use*: the candidate's process finds copies of the finished libraries in its scratch folder and takes them where it would have
//!    run ninja.
//!
//! Whatever is not found there is built by torch in the candidate's own process, as if nothing of this existed; so whatever goes wrong
//! here costs time only. The one exception is a compiler that refuses the source as it was written: what it says is handed over, and
//! raised where torch would have raised it.
//!
//! # Why candidates cannot reach each other through the cache
//!
//! Everything in a build is the candidate's: sources, flags, even the program, since the process that reports it runs its code. So
//! nothing that is reported by them is believed. A [`Unit`] is stored under a key of all that its compiler is given (text, every argument, what
//! is installed), and what a hostile argument makes of it is found by whoever gives the same arguments to the same text, which
//! is the same candidate for all that matters. Compilers run confined, in a scratch folder that only one unit has had, and see of the cache only
//! the headers in [`headers`]; candidates see none of it. A library is made of another candidate's only where that was linked by the same command from
//! the same files but for the device's code, which is data. Only supervisors write to the cache, after the process that made a file has ended,
//! and candidates are given copies, never links.

mod cache;
mod headers;
mod libraries;
mod linking;
mod maker;
mod sides;
mod spares;
mod spec;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use kernelwright_compile::CompileTarget;
use kernelwright_harness::{HarnessError, LaunchError, Worker, WorkerLog, sandbox};
use kernelwright_protocol::{Backend, Target};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Mutex, Semaphore};

use cache::Cache;
pub use cache::size;
use headers::{Headers, Instead};
use libraries::Libraries;
use linking::{Linked, Parts};
use maker::{Maker, Unmade};
use sides::{Apart, Sides};
use spares::Spares;
use spec::{Build, Compiler, Unit};

/// Where a candidate's process finds what was built, below its scratch folder.
const FOLDER: &str = "built";
/// An import that takes longer is left to the candidate's own process.
const COLLECT: Duration = Duration::from_secs(60);
/// Asking a process that nobody's code has run in.
const ASKED: Duration = Duration::from_secs(180);

/// Where processes come from that build, or say what is to be built for.
pub trait Yard: Sync {
    /// A confined worker without a device that may read [`Builds::readable`].
    fn builder(&self, process: sandbox::Limits) -> impl Future<Output = Result<Worker, LaunchError>> + Send;

    /// A trusted worker on a target.
    fn trusted(&self, target: Target) -> impl Future<Output = Result<Worker, LaunchError>> + Send;
}

/// What builds may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All of a candidate's compilers, one after another.
    pub build: Duration,
    /// Each of their processes.
    pub process: sandbox::Limits,
}

/// A build took longer than it may.
#[derive(Debug)]
pub struct Late {
    /// How long it may take.
    pub limit: Duration,
    /// What the process that was building has printed.
    pub log: WorkerLog,
}

/// What is built, and what is kept of it. Cheap to clone; clones share everything.
#[derive(Clone, Debug)]
pub struct Builds {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    cache: Cache,
    headers: Headers,
    libraries: Libraries,
    sides: Sides,
    linked: Linked,
    /// As many compilers at once as there are processors for them.
    turns: Semaphore,
    /// What builders said is installed, by the programs they were asked for.
    installed: Mutex<HashMap<String, String>>,
    /// What torch would build for, by target; none where it cannot say.
    cuda_archs: Mutex<HashMap<Target, Option<CudaArch>>>,
}

/// Architectures of CUDA as torch writes them, e.g. `9.0`.
#[derive(Clone, Debug, Deserialize)]
struct CudaArch {
    /// What is built for: what `TORCH_CUDA_ARCH_LIST` says where the user has set it, else the target's own.
    built_for: String,
    /// The target's own.
    own: String,
}

/// The finished builds of one candidate.
#[derive(Clone, Debug, Default)]
pub struct Built {
    files: Vec<File>,
    /// What torch builds CUDA sources for, e.g. `9.0`: the candidate's process has to say the same.
    cuda_arch: Option<String>,
    /// How long this took.
    pub took: Duration,
}

#[derive(Clone, Debug)]
struct File {
    name: String,
    content: Content,
}

#[derive(Clone, Debug)]
enum Content {
    /// A file of the cache.
    Library(PathBuf),
    /// What the compiler said.
    Refusal(String),
}

/// A compiled unit.
#[derive(Debug)]
struct Object {
    path: PathBuf,
    /// The device's code, where that is an object of its own.
    device: Option<PathBuf>,
    /// Whether it calls functions of ours.
    needs_support: bool,
}

/// What a build is for.
#[derive(Clone, Debug)]
struct Aim {
    cuda_arch: Option<String>,
    part: Option<Value>,
}

impl Builds {
    /// Builds that are kept below `cache`, with at most `at_once` compilers.
    #[must_use]
    pub fn new(cache: &Path, at_once: usize) -> Self {
        let folder = cache.join("builds");
        let (cache, headers) = (Cache::at(folder.join("objects")), Headers::at(folder.join("headers")));
        let libraries = Libraries::at(folder.join("libraries"));
        let turns = Semaphore::new(at_once);
        Self {
            inner: Arc::new(Inner {
                cache,
                headers,
                libraries,
                sides: Sides::default(),
                linked: Linked::default(),
                turns,
                installed: Mutex::default(),
                cuda_archs: Mutex::default(),
            }),
        }
    }

    /// The folders that compilers read.
    #[must_use]
    pub fn readable(&self) -> [&Path; 2] {
        [self.inner.headers.folder(), self.inner.libraries.folder()]
    }

    /// Whether a candidate builds anything in the way that is known here.
    #[must_use]
    pub fn concerns(candidate: &str) -> bool {
        candidate.contains("cpp_extension")
    }

    /// Builds what a candidate would build. An error only where its compilation takes longer than `limits` allow.
    pub async fn prepare(
        &self,
        yard: &impl Yard,
        candidate: &str,
        problem_name: &str,
        target: Target,
        limits: &Limits,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Built, Late> {
        if !Self::concerns(candidate) {
            return Ok(Built::default());
        }
        let started = Instant::now();
        let Some(aim) = self.aim(yard, target).await else { return Ok(Built::default()) };
        say("collecting what is to be built");
        let spares = Spares::of(yard, limits.process);
        // What builds is started while the candidate is imported.
        let (texts, ()) = tokio::join!(collect(yard, candidate, problem_name, &aim, limits), spares.stock());
        let texts = texts.unwrap_or_else(|reason| {
            tracing::debug!(reason, "the candidate's builds are left to its own process");
            vec![]
        });
        let files = self.libraries(&spares, &texts, limits, say).await;
        spares.end().await;
        Ok(Built { files: files?, cuda_arch: aim.cuda_arch, took: started.elapsed() })
    }

    /// What becomes of the builds of these texts; nothing of one that cannot be made here.
    async fn libraries(
        &self,
        yard: &impl Yard,
        texts: &[String],
        limits: &Limits,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Vec<File>, Late> {
        let mut files = vec![];
        for text in texts {
            let Ok(wanted) = Build::parse(text) else { continue };
            let name = wanted.digest.as_str();
            match Box::pin(self.build(yard, &wanted, limits, say)).await {
                Ok(library) => files.push(File { name: format!("{name}.so"), content: Content::Library(library) }),
                Err(Unmade::Refused(words)) => files.push(File { name: format!("{name}.log"), content: Content::Refusal(words) }),
                Err(Unmade::Late(log)) => return Err(Late { limit: limits.build, log }),
                Err(Unmade::Failed(reason)) => tracing::debug!(reason, "a build is left to the candidate's own process"),
            }
        }
        Ok(files)
    }

    /// What is to be built for; none where that is not known.
    async fn aim(&self, yard: &impl Yard, target: Target) -> Option<Aim> {
        match target.backend {
            Backend::Cpu => Some(Aim { cuda_arch: None, part: None }),
            Backend::Cuda => {
                let arch = self.cuda_arch(yard, target).await?;
                let part: CompileTarget = arch.own.replace('.', "").parse().ok()?;
                Some(Aim { cuda_arch: Some(arch.built_for), part: Some(part.to_json()) })
            }
        }
    }

    /// What is installed here that decides what these programs make of a source: asked once, of a process that nobody's code has run in.
    async fn installed(&self, yard: &impl Yard, programs: &[&str]) -> Result<String, String> {
        #[derive(Deserialize)]
        struct Installed {
            installed: String,
        }
        let mut known = self.inner.installed.lock().await;
        let key = programs.join("\n");
        if let Some(text) = known.get(&key) {
            return Ok(text.clone());
        }
        let mut worker = yard.builder(sandbox::Limits::default()).await.map_err(|error| error.to_string())?;
        let answer = worker.ask("installed", json!({"programs": programs}), &[], ASKED).await;
        worker.end().await;
        let answer = answer.map_err(|error| error.to_string())?.ok;
        let text = Installed::deserialize(answer).map_err(|error| error.to_string())?.installed;
        Ok(known.entry(key).or_insert(text).clone())
    }

    /// What torch would build CUDA sources for.
    async fn cuda_arch(&self, yard: &impl Yard, target: Target) -> Option<CudaArch> {
        let mut known = self.inner.cuda_archs.lock().await;
        if let Some(arch) = known.get(&target) {
            return arch.clone();
        }
        let mut worker = yard.trusted(target).await.ok()?;
        let answer = worker.ask("cuda_arch", json!({"device": target.to_string()}), &[], ASKED).await;
        worker.end().await;
        let arch = answer.ok().and_then(|reply| CudaArch::deserialize(reply.ok).ok());
        known.entry(target).or_insert(arch).clone()
    }

    /// One library, from the cache or made.
    async fn build(&self, yard: &impl Yard, build: &Build, limits: &Limits, say: &(dyn Fn(&str) + Send + Sync)) -> Result<PathBuf, Unmade> {
        let installed = self.installed(yard, &build.programs()).await.map_err(Unmade::Failed)? + &headers::digest();
        let key = build.key(&installed);
        if let Some(library) = self.inner.cache.get(&key) {
            return Ok(library);
        }
        let (done, count) = (AtomicUsize::new(0), build.units.len());
        let tell = |done: usize| say(&format!("building: {done} of {count} translation units"));
        tell(0);
        let compile = |unit| {
            let (installed, done, tell) = (&installed, &done, &tell);
            async move {
                let object = self.unit(yard, build, unit, installed, limits).await;
                tell(done.fetch_add(1, Ordering::Relaxed) + 1);
                object
            }
        };
        // What CUDA sources use of torch is made beside them where it is not there yet: most of them do.
        let support = async {
            let unit = build.units.iter().find(|unit| unit.compiler() == Compiler::Nvcc)?;
            let (unit, instead) = self.inner.headers.support(unit).await?;
            let path = self.object(yard, &unit, Some(&instead), &installed, limits).await;
            Some((unit.object, path))
        };
        // The process that links is there when there is something to link; what it may read has to be there before it.
        let linker = async {
            let flags = self.inner.libraries.flags(yard, &build.link, &installed, limits).await;
            Ok::<_, Unmade>((flags, Maker::start(yard, limits).await?))
        };
        let (made, support, linker) = tokio::join!(all(build.units.iter().map(compile).collect()), support, linker);
        let (made, (flags, linker)) = (made?, linker?);
        let mut objects: Vec<_> = build.units.iter().zip(&made).map(|(unit, made)| (unit.object.clone(), made.path.clone())).collect();
        let devices = build.units.iter().zip(&made).filter_map(|(unit, made)| Some((unit.device_object(), made.device.clone()?)));
        let device: Vec<_> = devices.collect();
        let mut argv = build.link.clone();
        for (object, _) in &device {
            argv.insert(1.min(argv.len()), object.clone());
        }
        if made.iter().any(|made| made.needs_support) {
            let (object, path) = support.ok_or_else(|| Unmade::Failed("no headers".to_owned()))?;
            argv.insert(1.min(argv.len()), object.clone());
            objects.push((object, path?));
        }
        say("linking");
        let _turn = self.inner.turns.acquire().await;
        self.linked(yard, linker, (build, &Parts { argv, flags, objects, device }), (&installed, limits), &key).await
    }

    /// One unit, from the cache or made: with our headers where they give one, the least of them first, and otherwise as it was written.
    async fn unit(&self, yard: &impl Yard, build: &Build, unit: &Unit, installed: &str, limits: &Limits) -> Result<Object, Unmade> {
        if let Some(path) = self.inner.cache.get(&unit.key(installed, None)) {
            return Ok(Object { path, device: None, needs_support: false });
        }
        let headers = &self.inner.headers;
        for binds in [true, false] {
            let instead = if binds {
                headers.binding(yard, build, unit, installed, limits).await
            } else {
                headers.instead(yard, build, unit, installed, limits).await
            };
            let Some(instead) = instead else { continue };
            match self.compiled(yard, unit, Some(&instead), installed, limits).await {
                Ok(object) => return Ok(object),
                Err(late @ Unmade::Late(_)) => return Err(late),
                Err(Unmade::Refused(words)) => tracing::debug!(words, "our headers are not enough"),
                Err(Unmade::Failed(reason)) => tracing::debug!(reason, "an object is not made with our headers"),
            }
        }
        match self.compiled(yard, unit, None, installed, limits).await {
            Err(Unmade::Refused(words)) => Err(Unmade::Refused(format!("FAILED: {}\n{}\n{words}", unit.object, unit.argv.join(" ")))),
            made => made,
        }
    }

    /// One unit in two objects where that can be, and otherwise in one.
    async fn compiled(
        &self,
        yard: &impl Yard,
        unit: &Unit,
        instead: Option<&Instead>,
        installed: &str,
        limits: &Limits,
    ) -> Result<Object, Unmade> {
        let (flags, needs_support) = instead.map_or((&[][..], false), |instead| (&instead.flags, instead.is_supported));
        match self.apart(yard, unit, flags, installed, limits).await {
            Ok(Some(Apart { host, device })) => return Ok(Object { path: host, device: Some(device), needs_support }),
            Ok(None) => {}
            Err(Unmade::Failed(reason)) => tracing::debug!(reason, "a CUDA source is compiled as a whole"),
            Err(unmade) => return Err(unmade),
        }
        let path = self.object(yard, unit, instead, installed, limits).await?;
        Ok(Object { path, device: None, needs_support })
    }

    async fn object(
        &self,
        yard: &impl Yard,
        unit: &Unit,
        instead: Option<&Instead>,
        installed: &str,
        limits: &Limits,
    ) -> Result<PathBuf, Unmade> {
        let flags = instead.map_or(&[][..], |instead| &instead.flags);
        let key = unit.key(installed, instead.map(|_| flags));
        if let Some(object) = self.inner.cache.get(&key) {
            return Ok(object);
        }
        let _turn = self.inner.turns.acquire().await;
        let mut maker = Maker::start(yard, limits).await?;
        let made = maker.make(&unit.with_flags(flags), json!({ unit.file.clone(): unit.source })).await;
        maker.keep(made, &unit.object, &self.inner.cache, &key).await
    }
}

impl Built {
    /// Whether nothing of it was removed since, by this process or by a server beside it.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.files.iter().all(|File { content, .. }| !matches!(content, Content::Library(library) if !library.exists()))
    }

    /// Copies everything into a candidate's scratch folder, and tells its process.
    pub async fn hand_over(&self, scratch: &Path, fields: &mut Value) -> Result<(), HarnessError> {
        if let Some(arch) = &self.cuda_arch {
            fields["cuda_arch"] = arch.as_str().into();
        }
        if self.files.is_empty() {
            return Ok(());
        }
        let folder = scratch.join(FOLDER);
        let written = async {
            tokio::fs::create_dir_all(&folder).await?;
            for File { name, content } in &self.files {
                match content {
                    Content::Library(library) => drop(tokio::fs::copy(library, folder.join(name)).await?),
                    Content::Refusal(words) => tokio::fs::write(folder.join(name), words).await?,
                }
            }
            Ok(())
        };
        written.await.map_err(|source| HarnessError::Write { path: folder.clone(), source })?;
        fields["built"] = folder.to_string_lossy().into();
        Ok(())
    }
}

/// The texts of a candidate's builds, as its own code lets them be seen.
async fn collect(yard: &impl Yard, candidate: &str, problem_name: &str, aim: &Aim, limits: &Limits) -> Result<Vec<String>, String> {
    #[derive(Deserialize)]
    struct Collected {
        builds: Vec<String>,
    }
    let mut worker = yard.builder(limits.process).await.map_err(|error| error.to_string())?;
    let path = worker.scratch().join("candidate.py");
    tokio::fs::write(&path, candidate).await.map_err(|error| error.to_string())?;
    let problem = Path::new(problem_name).file_stem().unwrap_or_default().to_string_lossy();
    let fields = json!({"path": path, "problem": problem, "part": aim.part, "cuda_arch": aim.cuda_arch});
    let answer = worker.ask("collect", fields, &[], limits.build.min(COLLECT)).await;
    worker.end().await;
    let collected = Collected::deserialize(answer.map_err(|error| error.to_string())?.ok);
    collected.map(|collected| collected.builds).map_err(|error| error.to_string())
}

/// Waits for all, in order; the first error where there is one. Nothing is left running.
async fn all<T, E>(futures: Vec<impl Future<Output = Result<T, E>>>) -> Result<Vec<T>, E> {
    let mut pending: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        for (future, outcome) in &mut pending {
            if outcome.is_none()
                && let std::task::Poll::Ready(ready) = future.as_mut().poll(context)
            {
                *outcome = Some(ready);
            }
        }
        if pending.iter().all(|(_, outcome)| outcome.is_some()) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    pending.into_iter().filter_map(|(_, outcome)| outcome).collect()
}
