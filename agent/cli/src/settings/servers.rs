//! The tool servers of a run: our own three, each of which `[servers.NAME]` may replace, and further ones of the user's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernelwright_engine::{Launch, ServerSpec};
use kernelwright_protocol::ContentHash;
use serde::Deserialize;

use super::layers::{Layers, Setting};
use super::{Settings, SettingsError, Value, parse_duration, show_duration};

/// Our own tool servers: name, and how long a call may be silent and take in all.
pub const TOOL_SERVERS: [(&str, Duration, Duration); 3] = [
    ("evaluate", Duration::from_secs(300), Duration::from_secs(3600)),
    ("profile", Duration::from_secs(300), Duration::from_secs(1800)),
    ("knowledge", Duration::from_secs(60), Duration::from_secs(120)),
];

/// Limits of a server that sets none.
const USUAL: (Duration, Duration) = (Duration::from_secs(300), Duration::from_secs(3600));

/// The most that a call of our evaluate server waits for its job. A call that may take longer would end with a job's id in place of a verdict.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// One `[servers.NAME]` section.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSettings {
    /// Program and arguments; our own server when absent.
    #[serde(default)]
    pub command: Vec<String>,
    /// Variables for it.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How long a call may be silent.
    #[serde(default)]
    pub idle_timeout: Option<String>,
    /// How long a call may take in all.
    #[serde(default)]
    pub total_timeout: Option<String>,
    /// Tools that a run does without.
    #[serde(default)]
    pub leave_out: Vec<String>,
}

/// Whether every `[servers.NAME]` can be read.
pub(super) fn check(layers: &Layers) -> Result<(), SettingsError> {
    layers.below("servers.").try_for_each(|(name, setting)| read(name, setting).map(|_| ()))
}

impl Settings {
    /// What the engine starts. `executable` is this program.
    pub fn servers(&self, executable: &Path) -> Result<Vec<ServerSpec>, SettingsError> {
        let mut own: BTreeMap<&str, (&Setting, ServerSettings)> = BTreeMap::new();
        for (name, setting) in self.layers.below("servers.") {
            own.insert(name, (setting, read(name, setting)?));
        }
        let spec = |name: &str, program: &Path, args: Vec<String>, (idle_timeout, total_timeout): (Duration, Duration)| ServerSpec {
            name: name.to_owned(),
            launch: Launch::Spawn { program: program.to_path_buf(), args, env: vec![] },
            idle_timeout,
            total_timeout,
            leave_out: vec![],
            secrets: self.layers.secret_variables().map(str::to_owned).collect(),
        };
        let mut specs = Vec::new();
        for (name, idle, total) in TOOL_SERVERS {
            let built_in = spec(name, executable, self.serve_arguments(name), (idle, total));
            specs.push(match own.remove(name) {
                Some((setting, settings)) => self.changed(built_in, setting, &settings),
                None => built_in,
            });
        }
        for (name, (setting, settings)) in own {
            specs.push(self.changed(spec(name, Path::new(""), vec![], USUAL), setting, &settings));
        }
        Ok(specs)
    }

    /// The server that `[servers.evaluate]` puts in the place of ours, if it does.
    pub fn replaced_evaluator(&self, executable: &Path) -> Result<Option<ServerSpec>, SettingsError> {
        let replaced = match self.layers.below("servers.").find(|(name, _)| *name == "evaluate") {
            Some((name, setting)) => !read(name, setting)?.command.is_empty(),
            None => false,
        };
        let evaluate = self.servers(executable)?.into_iter().find(|spec| spec.name == "evaluate");
        Ok(evaluate.filter(|_| replaced))
    }

    /// Who gives verdicts, for a log: what is to be judged again when it changes. Of a command it has a hash alone, since there may be a key in it.
    pub fn judge_name(&self, executable: &Path) -> Result<String, SettingsError> {
        if let Some(spec) = self.replaced_evaluator(executable)? {
            let Launch::Spawn { program, args, .. } = spec.launch;
            return Ok(format!("server {}", ContentHash::of(format!("{} {args:?}", program.display())).short()));
        }
        Ok(match &self.evaluate.command {
            Some(command) => format!("command {}", ContentHash::of(command).short()),
            None => format!("kernelwright {}", kernelwright_evaluate::version()),
        })
    }

    /// A server as the user's section changes it.
    fn changed(&self, mut spec: ServerSpec, setting: &Setting, settings: &ServerSettings) -> ServerSpec {
        let Launch::Spawn { program, args, env } = &mut spec.launch;
        if let Some((first, rest)) = settings.command.split_first() {
            // A path is relative to the file that names it; a bare name is looked up on the PATH.
            *program = if first.contains('/') { self.layers.path_in(setting, first) } else { PathBuf::from(first) };
            *args = rest.to_vec();
        }
        env.extend(settings.env.clone());
        spec.leave_out.clone_from(&settings.leave_out);
        spec.idle_timeout = settings.idle_timeout.as_deref().and_then(parse_duration).unwrap_or(spec.idle_timeout);
        spec.total_timeout = settings.total_timeout.as_deref().and_then(parse_duration).unwrap_or(spec.total_timeout);
        spec
    }

    /// The arguments that give one of our own servers the settings of this process, whatever it would find by itself.
    fn serve_arguments(&self, server: &str) -> Vec<String> {
        let evaluate = &self.evaluate;
        let mut args: Vec<String> = ["serve", server, "--stdio"].map(str::to_owned).to_vec();
        let mut flag = |name: &str, value: String| args.extend([format!("--{name}"), value]);
        flag("cache", self.cache.display().to_string());
        if server == "knowledge" {
            flag("home", self.pack_home.display().to_string());
            self.packs.iter().for_each(|pack| flag("packs", pack.display().to_string()));
            return args;
        }
        if let Some(python) = &evaluate.python {
            flag("python", python.display().to_string());
        }
        if let Some(threads) = evaluate.threads {
            flag("threads", threads.to_string());
        }
        if server == "evaluate" {
            flag("build-limit", show_duration(evaluate.build_limit));
            flag("run-limit", show_duration(evaluate.run_limit));
            flag("time-limit", show_duration(evaluate.time_limit));
            if let Some(command) = &evaluate.command {
                flag("evaluator", command.clone());
            }
        }
        args
    }
}

fn read(name: &str, setting: &Setting) -> Result<ServerSettings, SettingsError> {
    let wrong = |expected: &str, found: String| SettingsError::Wrong {
        origin: setting.origin.clone(),
        name: format!("servers.{name}"),
        expected: expected.to_owned(),
        found,
    };
    let Value::Table(table) = &setting.value else { return Err(wrong("a table", setting.value.to_string())) };
    let settings: ServerSettings = table.clone().try_into().map_err(|error: toml::de::Error| SettingsError::Unfit {
        origin: setting.origin.clone(),
        name: format!("servers.{name}"),
        reason: error.message().to_owned(),
    })?;
    if settings.command.is_empty() && !TOOL_SERVERS.iter().any(|(own, ..)| *own == name) {
        return Err(wrong("a server with a command", "one without".to_owned()));
    }
    for time in [&settings.idle_timeout, &settings.total_timeout].into_iter().flatten() {
        parse_duration(time).ok_or_else(|| wrong("a server with times such as 90s or 15m", format!("`{time}`")))?;
    }
    if let Some(total) = settings.total_timeout.as_deref()
        && name == "evaluate"
        && settings.command.is_empty()
        && parse_duration(total).is_some_and(|total| total > LONGEST_WAIT)
    {
        return Err(wrong("a server with a total_timeout of 1h at most, which is as long as its calls can wait", format!("`{total}`")));
    }
    Ok(settings)
}
