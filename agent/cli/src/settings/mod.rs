//! Settings: resolved once, each with its origin.
//!
//! A value is looked for in the flags, then in variables (`KERNELWRIGHT_SECTION_NAME`), then in what a resumed run recorded of its model, then in
//! the `kernelwright.toml` of the current folder or the nearest one above it, then in the user's `config.toml`, and then among the defaults. [`Layers`] knows all that; [`Settings`] is what
//! the rest of the program sees.

mod error;
mod keys;
mod layers;
mod model;
mod servers;
mod value;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernelwright_protocol::{Backend, BaselineKind, Dollars, Nanoseconds, Target, Tokens};
use kernelwright_search::{Budget, Policy, StopRules};
use serde_json::{Map, json};

pub use error::SettingsError;
pub use keys::{KEYS, sections};
pub use layers::{Flags, Layers, Origin, Recorded, Setting, expand_model};
pub use servers::TOOL_SERVERS;
pub use value::{Value, parse_duration, show_duration};

use crate::environment::Environment;

/// Everything that is configured.
#[derive(Debug)]
pub struct Settings {
    layers: Layers,
    /// What a run may spend.
    pub budget: Budget,
    /// When a run stops before that.
    pub stop: StopRules,
    /// How parents are picked.
    pub policy: Policy,
    /// Model answers in one step.
    pub inner_turns: u32,
    /// Kernels of earlier runs that a run begins with, at most.
    pub seeds: u32,
    /// The part of a run's time that profiles may take.
    pub profile_share: Option<f64>,
    /// How kernels are evaluated.
    pub evaluate: EvaluateSettings,
    /// Folders of knowledge packs beside the built-in ones.
    pub packs: Vec<PathBuf>,
    /// Where installed knowledge packs lie.
    pub pack_home: PathBuf,
    /// Where runs are kept.
    pub runs: PathBuf,
    /// Templates that replace the built-in ones.
    pub prompts: Option<PathBuf>,
    /// Where workers are unpacked and scratch folders made.
    pub cache: PathBuf,
}

/// How kernels are evaluated.
#[derive(Clone, Debug)]
pub struct EvaluateSettings {
    /// Where kernels run.
    pub target: Target,
    /// The Python with torch, where one is named.
    pub python: Option<PathBuf>,
    /// What candidates are compared with.
    pub baselines: Vec<BaselineKind>,
    /// Draws of inputs that are checked.
    pub trials: NonZeroU32,
    /// Interleaved pairs that are timed.
    pub pairs: Option<NonZeroU32>,
    /// Whether TF32 is allowed.
    pub tf32: bool,
    /// Threads each side may use.
    pub threads: Option<usize>,
    /// How long a candidate may take to build.
    pub build_limit: Duration,
    /// How long one call may take.
    pub run_limit: Duration,
    /// How long one batch of timed calls may take.
    pub time_limit: Duration,
    /// A shell command that gives the verdicts instead of the built-in evaluator.
    pub command: Option<String>,
}

impl Settings {
    /// Resolves every setting. `config` names a file that takes the place of the project's; `recorded` is what a run that is gone on with
    /// says of its model.
    pub fn resolve(environment: &Environment, config: Option<&Path>, recorded: &Recorded, flags: &Flags) -> Result<Self, SettingsError> {
        let layers = Layers::read(environment, config, recorded, flags)?;
        let budget = Budget {
            steps: layers.small("budget.steps")?,
            evaluations: layers.small("budget.evaluations")?,
            tokens: layers.count("budget.tokens").map(Tokens),
            dollars: layers.number("budget.dollars").map(Dollars::new),
            wall: layers.duration("budget.wall").map(Nanoseconds::from),
        };
        let stop = StopRules { stall_steps: layers.small("search.stall")?, target_speedup: layers.number("search.target_speedup") };
        let evaluate = EvaluateSettings {
            target: layers.target()?,
            // A Python named by its own variable is found by the harness, which then says where the name came from.
            python: layers
                .get("evaluate.python")
                .filter(|python| python.origin != Origin::Variable("KERNELWRIGHT_PYTHON".into()))
                .and_then(path),
            baselines: layers.baselines(),
            trials: layers.small("evaluate.trials")?.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN),
            pairs: layers.small("evaluate.pairs")?.and_then(NonZeroU32::new),
            tf32: layers.flag("evaluate.tf32"),
            threads: layers.small("evaluate.threads")?.map(|threads| threads as usize),
            build_limit: layers.duration("evaluate.build_limit").unwrap_or_default(),
            run_limit: layers.duration("evaluate.run_limit").unwrap_or_default(),
            time_limit: layers.duration("evaluate.time_limit").unwrap_or_default(),
            command: layers.command()?,
        };
        servers::check(&layers)?;
        Ok(Self {
            budget,
            stop,
            policy: Policy::Greedy { drafts: layers.small("search.drafts")?.unwrap_or_default() },
            inner_turns: layers.small("search.inner_turns")?.unwrap_or_default(),
            seeds: if layers.flag("search.warm_start") { layers.small("search.seeds")?.unwrap_or_default() } else { 0 },
            profile_share: layers.number("search.profile_share"),
            evaluate,
            packs: match layers.get("knowledge.packs").map(|setting| &setting.value) {
                Some(Value::Paths(paths)) => paths.clone(),
                _ => vec![],
            },
            pack_home: layers.get("paths.packs").and_then(path).unwrap_or_else(|| environment.data_folder().join("packs")),
            runs: layers.get("paths.runs").and_then(path).unwrap_or_default(),
            prompts: layers.get("paths.prompts").and_then(path),
            cache: layers.get("paths.cache").and_then(path).unwrap_or_else(kernelwright_harness::default_cache),
            layers,
        })
    }

    /// Every value with its origin, and the files that were read.
    pub fn layers(&self) -> &Layers {
        &self.layers
    }

    /// What the evaluate server is asked with, beside problem and candidate.
    pub fn evaluation_options(&self) -> Map<String, serde_json::Value> {
        let mut options = Map::new();
        options.insert("trials".to_owned(), json!(self.evaluate.trials));
        options.insert("tf32".to_owned(), json!(self.evaluate.tf32));
        if let Some(pairs) = self.evaluate.pairs {
            options.insert("pairs".to_owned(), json!(pairs));
        }
        options
    }
}

fn path(setting: &layers::Setting) -> Option<PathBuf> {
    match &setting.value {
        Value::Path(path) => Some(path.clone()),
        _ => None,
    }
}

impl Layers {
    fn text(&self, name: &str) -> Option<&str> {
        match &self.get(name)?.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn count(&self, name: &str) -> Option<u64> {
        match self.get(name)?.value {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }

    /// A count that is used as one of 32 bits.
    fn small(&self, name: &str) -> Result<Option<u32>, SettingsError> {
        let Some(count) = self.count(name) else { return Ok(None) };
        u32::try_from(count).map(Some).map_err(|_| self.wrong(name, "a whole number below 4294967296"))
    }

    fn number(&self, name: &str) -> Option<f64> {
        match self.get(name)?.value {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    fn duration(&self, name: &str) -> Option<Duration> {
        match self.get(name)?.value {
            Value::Duration(duration) => Some(duration),
            _ => None,
        }
    }

    fn flag(&self, name: &str) -> bool {
        matches!(self.get(name), Some(layers::Setting { value: Value::Flag(true), .. }))
    }

    /// What is said about a value that is of its kind and still cannot be used.
    fn wrong(&self, name: &str, expected: &str) -> SettingsError {
        let (origin, found) = match self.get(name) {
            Some(setting) => (setting.origin.clone(), format!("`{}`", setting.value)),
            None => (Origin::Default, "nothing".to_owned()),
        };
        SettingsError::Wrong { origin, name: name.to_owned(), expected: expected.to_owned(), found }
    }

    fn target(&self) -> Result<Target, SettingsError> {
        match self.text("evaluate.target") {
            None | Some("auto") if Path::new("/dev/nvidia0").exists() => Ok(Target { backend: Backend::Cuda, device: None }),
            None | Some("auto") => Ok(Target::CPU),
            Some(text) => text.parse().map_err(|_| self.wrong("evaluate.target", "cpu, cuda, cuda:N or auto")),
        }
    }

    /// The command that gives the verdicts. A shell is content with none at all, and would say nothing.
    fn command(&self) -> Result<Option<String>, SettingsError> {
        match self.text("evaluate.command") {
            Some("") => Err(self.wrong("evaluate.command", "a shell command")),
            other => Ok(other.map(str::to_owned)),
        }
    }

    fn baselines(&self) -> Vec<BaselineKind> {
        let Some(Value::List(words)) = self.get("evaluate.baselines").map(|setting| &setting.value) else { return vec![] };
        let has = |word: &str| words.iter().any(|other| other == word);
        let both = [(BaselineKind::Eager, has("eager")), (BaselineKind::Compile, has("compile"))];
        both.into_iter().filter_map(|(kind, wanted)| wanted.then_some(kind)).collect()
    }
}

#[cfg(test)]
mod tests;
