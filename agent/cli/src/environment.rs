//! The only module of this crate that reads environment variables. Everything else is handed an [`Environment`].

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The process's surroundings, read once.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// The current folder; relative paths of flags and variables start here.
    pub folder: PathBuf,
}

impl Environment {
    /// Reads the process's own. Variables that are not Unicode are passed over: no setting of ours can be one.
    pub fn read() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        // Without a current folder, relative paths fail where they are used, with their own message.
        Self { variables: std::env::vars_os().filter_map(text).collect(), folder: std::env::current_dir().unwrap_or_default() }
    }

    /// A variable's value; an empty one counts as not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The names of set variables with this beginning.
    pub fn names<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a str> {
        self.variables.keys().map(String::as_str).filter(move |name| name.starts_with(prefix))
    }

    /// The user's settings file, whether or not it is there: `$XDG_CONFIG_HOME/kernelwright/config.toml`, else below `~/.config`.
    pub fn user_file(&self) -> Option<PathBuf> {
        let config = self.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
        let config = config.or_else(|| self.get("HOME").map(|home| PathBuf::from(home).join(".config")))?;
        Some(config.join("kernelwright/config.toml"))
    }

    /// Where this program keeps what the user gave it: `$XDG_DATA_HOME/kernelwright`, else below `~/.local/share`, else below the current folder.
    pub fn data_folder(&self) -> PathBuf {
        let data = self.get("XDG_DATA_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
        let data = data.or_else(|| self.get("HOME").map(|home| PathBuf::from(home).join(".local/share")));
        data.unwrap_or_else(|| self.folder.clone()).join("kernelwright")
    }

    /// Whether text for people may be coloured: `NO_COLOR` is not set and the terminal is not a dumb one.
    pub fn allows_colour(&self) -> bool {
        self.get("NO_COLOR").is_none() && self.get("TERM") != Some("dumb")
    }

    /// The first executable of this name on `PATH`.
    pub fn on_path(&self, program: &str) -> Option<PathBuf> {
        let path = self.get("PATH")?;
        std::env::split_paths(path).map(|folder| folder.join(program)).find(|candidate| candidate.is_file())
    }

    #[cfg(test)]
    pub fn of(folder: &std::path::Path, variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { variables, folder: folder.to_path_buf() }
    }
}
