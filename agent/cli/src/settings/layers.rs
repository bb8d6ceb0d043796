//! Layers of settings, from the weakest to the strongest: defaults, the user's file, the project's file, the recorded run that is gone on
//! with, variables, flags.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::SettingsError;
use super::keys::{KEYS, Key, OF_ONE_PROVIDER, nearest, sections};
use super::value::{Base, Kind, Value};
use crate::environment::Environment;

/// The name of a project's settings file.
pub const PROJECT_FILE: &str = "kernelwright.toml";

/// Variables of ours that set no key of the table, or set one under a shorter name.
const OTHER_VARIABLES: [&str; 5] =
    ["KERNELWRIGHT_MODEL", "KERNELWRIGHT_PYTHON", "KERNELWRIGHT_CONFIG", "KERNELWRIGHT_HTTP_TOKEN", "KERNELWRIGHT_CRASH_AFTER_EVENT"];

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// A line of a settings file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// The run that is gone on with.
    Recorded,
    /// A variable.
    Variable(String),
    /// A flag.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Recorded => f.write_str("the recorded run"),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// A value and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// What it is.
    pub value: Value,
    /// Who says so.
    pub origin: Origin,
}

/// What the command line says: key, text, flag.
pub type Flags = Vec<(&'static str, String, &'static str)>;

/// What a run recorded of its settings: key, text.
pub type Recorded = Vec<(&'static str, String)>;

/// All layers, one over the other.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    settings: BTreeMap<String, Setting>,
    home: Option<PathBuf>,
    /// Variables that some layer names as the place of a secret, whether or not a stronger one asks another model.
    secret_variables: BTreeSet<String>,
    /// The settings files that were found, the weakest first.
    pub files: Vec<PathBuf>,
    /// Variables that look like settings and are none.
    pub strays: Vec<String>,
}

impl Layers {
    /// Reads all layers. `config` names a file that takes the place of the project's.
    pub fn read(environment: &Environment, config: Option<&Path>, recorded: &Recorded, flags: &Flags) -> Result<Self, SettingsError> {
        let mut layers = Self { home: environment.get("HOME").map(PathBuf::from), ..Self::default() };
        let folder = &environment.folder;
        for key in KEYS {
            if let Some(value) = key.default.and_then(|text| key.kind.read_text(text, layers.base(folder))) {
                layers.settings.insert(key.name.to_owned(), Setting { value, origin: Origin::Default });
            }
        }
        if let Some(path) = environment.user_file().filter(|path| path.is_file()) {
            layers.add_file(&path)?;
        }
        let named = config.map(Path::to_path_buf).or_else(|| environment.get("KERNELWRIGHT_CONFIG").map(PathBuf::from));
        let project = named.map(|path| folder.join(path)).or_else(|| find_upwards(folder));
        if let Some(path) = project {
            layers.add_file(&path)?;
        }
        layers.add_recorded(recorded, folder)?;
        layers.add_variables(environment)?;
        let mut texts = BTreeMap::new();
        for (name, text, flag) in flags {
            texts.insert(*name, (text.as_str(), Origin::Flag(flag)));
        }
        layers.add_texts(texts, folder)?;
        Ok(layers)
    }

    /// A setting, if anybody or the default says something.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        debug_assert!(Key::find(name).is_some() || name.starts_with("servers."), "{name} is not in the table");
        self.settings.get(name)
    }

    /// The variables that hold keys and headers for models.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        self.secret_variables.iter().map(String::as_str)
    }

    /// All settings with this beginning.
    pub fn below<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Setting)> {
        self.settings.iter().filter_map(move |(name, setting)| Some((name.strip_prefix(prefix)?, setting)))
    }

    /// The path that a text inside this setting names.
    pub fn path_in(&self, setting: &Setting, text: &str) -> PathBuf {
        match &setting.origin {
            Origin::File { path, .. } => self.base(path.parent().unwrap_or(Path::new(""))).path(text),
            Origin::Default | Origin::Recorded | Origin::Variable(_) | Origin::Flag(_) => PathBuf::from(text),
        }
    }

    fn base<'a>(&'a self, folder: &'a Path) -> Base<'a> {
        Base { folder, home: self.home.as_deref() }
    }

    /// What the run was begun with is stronger than files, which may have changed since or never counted: another model would be asked, and
    /// paid, without a word. Files that name another host keep their key and headers to themselves.
    fn add_recorded(&mut self, recorded: &Recorded, folder: &Path) -> Result<(), SettingsError> {
        let texts: BTreeMap<_, _> = recorded.iter().map(|(name, text)| (*name, (text.as_str(), Origin::Recorded))).collect();
        let named = self.get("model.base_url").map(|url| url.value.to_string());
        if let (Some(named), Some((url, _))) = (named, texts.get("model.base_url"))
            && !host(&named).eq_ignore_ascii_case(host(url))
        {
            self.forget_provider();
        }
        self.add_texts(texts, folder)
    }

    fn add_variables(&mut self, environment: &Environment) -> Result<(), SettingsError> {
        let mut texts = BTreeMap::new();
        let shorthand = environment.get("KERNELWRIGHT_MODEL");
        for (name, text) in shorthand.map(expand_model).unwrap_or_default() {
            texts.insert(name, (text, Origin::Variable("KERNELWRIGHT_MODEL".to_owned())));
        }
        if let Some(python) = environment.get("KERNELWRIGHT_PYTHON") {
            texts.insert("evaluate.python", (python, Origin::Variable("KERNELWRIGHT_PYTHON".to_owned())));
        }
        let mut known = Vec::new();
        for key in KEYS {
            let Some(variable) = key.variable() else { continue };
            if let Some(text) = environment.get(&variable) {
                texts.insert(key.name, (text, Origin::Variable(variable.clone())));
            }
            known.push(variable);
        }
        let stray = |name: &&str| !OTHER_VARIABLES.contains(name) && !known.iter().any(|known| known == name);
        self.strays = environment.names("KERNELWRIGHT_").filter(stray).map(str::to_owned).collect();
        self.add_texts(texts, &environment.folder)
    }

    fn add_texts(&mut self, texts: BTreeMap<&'static str, (&str, Origin)>, folder: &Path) -> Result<(), SettingsError> {
        let mut layer = BTreeMap::new();
        for (name, (text, origin)) in texts {
            let Some(key) = Key::find(name) else { continue };
            let Some(value) = key.kind.read_text(text, self.base(folder)) else {
                let (name, expected, found) = (name.to_owned(), key.kind.expected(), format!("`{text}`"));
                return Err(SettingsError::Wrong { origin, name, expected, found });
            };
            layer.insert(name.to_owned(), Setting { value, origin });
        }
        self.lay_over(layer);
        Ok(())
    }

    fn add_file(&mut self, path: &Path) -> Result<(), SettingsError> {
        let unreadable = |source: io::Error| SettingsError::Unreadable { path: path.to_path_buf(), source };
        let text = fs::read_to_string(path).map_err(unreadable)?;
        self.files.push(path.to_path_buf());
        let layer = read_file(path, &text, self.base(path.parent().unwrap_or(Path::new(""))))?;
        self.lay_over(layer);
        Ok(())
    }

    /// Puts a layer over those below. Where it names another provider, what the layers below say about reaching the old one goes: an
    /// address or a key of one provider must not be used with another.
    fn lay_over(&mut self, layer: BTreeMap<String, Setting>) {
        self.secret_variables.extend(secret_variables(&layer).map(str::to_owned));
        let provider = |settings: &BTreeMap<String, Setting>| settings.get("model.provider").map(|setting| setting.value.clone());
        if let (Some(old), Some(new)) = (provider(&self.settings), provider(&layer))
            && old != new
        {
            self.forget_provider();
        }
        self.settings.extend(layer);
    }

    fn forget_provider(&mut self) {
        self.settings.retain(|name, setting| setting.origin == Origin::Default || !OF_ONE_PROVIDER.contains(&name.as_str()));
    }
}

/// The variables that a layer names as places of secrets: for the model's key, and for headers.
fn secret_variables(layer: &BTreeMap<String, Setting>) -> impl Iterator<Item = &str> {
    let key = layer.get("model.api_key_env").and_then(|setting| match &setting.value {
        Value::Text(name) => Some(name.as_str()),
        _ => None,
    });
    let headers = layer.get("model.headers").and_then(|setting| match &setting.value {
        Value::Table(headers) => Some(headers),
        _ => None,
    });
    key.into_iter().chain(headers.into_iter().flat_map(|headers| headers.values().filter_map(|source| source.get("env")?.as_str())))
}

/// Host and port of an address, as far as they can be told from one that may be none. Recorded addresses leave a usual port out.
fn host(url: &str) -> &str {
    let (scheme, rest) = url.trim().split_once("://").unwrap_or(("", url.trim()));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.strip_suffix(if scheme == "http" { ":80" } else { ":443" }).unwrap_or(host)
}

/// `openai:NAME`, `anthropic:NAME`, `replay:PATH` or `mailbox:FOLDER`; anything else is a name of the configured provider's, even with a
/// colon in it, as local servers have them. A provider without a name or a path leaves that to other layers.
pub fn expand_model(text: &str) -> Vec<(&'static str, &str)> {
    match text.split_once(':') {
        Some((provider @ ("openai" | "anthropic" | "replay" | "mailbox"), rest)) if rest.trim().is_empty() => {
            vec![("model.provider", provider)]
        }
        Some((provider @ ("openai" | "anthropic"), name)) => vec![("model.provider", provider), ("model.name", name)],
        Some((provider @ ("replay" | "mailbox"), path)) => vec![("model.provider", provider), ("model.path", path)],
        _ => vec![("model.name", text)],
    }
}

fn find_upwards(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(PROJECT_FILE)).find(|path| path.is_file())
}

fn read_file(path: &Path, text: &str, base: Base<'_>) -> Result<BTreeMap<String, Setting>, SettingsError> {
    let line_at = |offset: usize| text.get(..offset).unwrap_or(text).matches('\n').count() + 1;
    let origin = |offset: usize| Origin::File { path: path.to_path_buf(), line: line_at(offset) };
    let syntax = |error: toml::de::Error| SettingsError::Syntax {
        origin: origin(error.span().map_or(0, |span| span.start)),
        reason: error.message().to_owned(),
    };
    // Parsed twice: once for the values, once for where they stand.
    let values: toml::Table = toml::from_str(text).map_err(syntax)?;
    let places = toml::de::DeTable::parse(text).map_err(syntax)?;
    let mut layer = BTreeMap::new();
    for (section, place) in places.get_ref() {
        let at = origin(section.span().start);
        let unknown = |name: String, nearest: Option<String>, origin: Origin| SettingsError::Unknown { origin, name, nearest };
        if !sections().any(|known| known == section.get_ref().as_ref()) {
            let name = section.get_ref().to_string();
            // A key without its section, or a section with a typing error.
            let unsectioned = KEYS.iter().map(|key| key.name).find(|key| key.split_once('.').is_some_and(|(_, key)| key == name));
            let meant = unsectioned.or_else(|| nearest(&name, sections())).map(str::to_owned);
            return Err(unknown(name, meant, at));
        }
        let Some(members) = place.get_ref().as_table() else {
            let (name, found) = (section.get_ref().to_string(), place.get_ref().type_str().to_owned());
            return Err(SettingsError::Wrong { origin: at, name, expected: "a [section]".to_owned(), found });
        };
        for (member, place) in members {
            let name = format!("{}.{}", section.get_ref(), member.get_ref());
            let at = origin(member.span().start);
            let kind = if section.get_ref() == "servers" { Kind::Table } else { Key::find(&name).map_or(Kind::Text, |key| key.kind) };
            if section.get_ref() != "servers" && Key::find(&name).is_none() {
                let meant = nearest(&name, KEYS.iter().map(|key| key.name)).map(str::to_owned);
                return Err(unknown(name, meant, at));
            }
            let value = values.get(section.get_ref().as_ref()).and_then(|section| section.get(member.get_ref().as_ref()));
            let Some(value) = value.and_then(|value| kind.read_toml(value, base)) else {
                let found = value.map_or_else(|| place.get_ref().type_str().to_owned(), ToString::to_string);
                return Err(SettingsError::Wrong { origin: at, name, expected: kind.expected(), found });
            };
            layer.insert(name, Setting { value, origin: at });
        }
    }
    Ok(layer)
}
