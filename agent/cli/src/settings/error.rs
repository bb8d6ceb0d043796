//! Settings that cannot be used.

use std::io;
use std::path::PathBuf;

use super::layers::Origin;

/// A setting, or a file of them, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file that was named is not there, or cannot be read.
    #[error("cannot read the settings in {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not TOML.
    #[error("not a settings file: {reason}")]
    Syntax {
        /// Where.
        origin: Origin,
        /// What is wrong there.
        reason: String,
    },
    /// There is no such setting.
    #[error("there is no setting `{name}`")]
    Unknown {
        /// Where it stands.
        origin: Origin,
        /// What it is called there.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A value is not of the setting's kind.
    #[error("`{name}` has to be {expected}, not {found}")]
    Wrong {
        /// Where it stands.
        origin: Origin,
        /// The setting.
        name: String,
        /// What it may be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A table does not hold what it should.
    #[error("`{name}` cannot be read: {reason}")]
    Unfit {
        /// Where it stands.
        origin: Origin,
        /// The setting.
        name: String,
        /// What is wrong inside it.
        reason: String,
    },
    /// A setting is needed and nowhere given.
    #[error("{what}")]
    Missing {
        /// What is missing, and for what.
        what: &'static str,
        /// How to give it.
        hint: &'static str,
    },
}

impl SettingsError {
    /// Where it stands.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Syntax { origin, .. } | Self::Unknown { origin, .. } | Self::Wrong { origin, .. } | Self::Unfit { origin, .. } => {
                Some(origin.to_string())
            }
            Self::Unreadable { .. } | Self::Missing { .. } => None,
        }
    }

    /// What to try.
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable { .. } => "check the path given with --config or KERNELWRIGHT_CONFIG".to_owned(),
            Self::Syntax { .. } => "settings are TOML: [section] lines and key = value lines".to_owned(),
            Self::Unknown { nearest: Some(nearest), .. } => format!("did you mean `{nearest}`?"),
            Self::Unknown { nearest: None, .. } => "`kernelwright config show` lists every setting".to_owned(),
            Self::Wrong { .. } | Self::Unfit { .. } => {
                "`kernelwright config show` prints every setting with its value and where it comes from".to_owned()
            }
            Self::Missing { hint, .. } => (*hint).to_owned(),
        }
    }
}
