//! Where an installed pack came from, kept with it.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::HomeError;

/// The file inside an installed pack.
const FILE: &str = ".origin.toml";

/// What was asked for when a pack was added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// A path or an address. Paths are absolute, so that they can be followed from anywhere.
    pub source: String,
    /// The id that was asked for; without it the pack's own, or one made of the source's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What the documents hold for.
    #[serde(flatten)]
    pub labels: Labels,
}

/// What a folder of documents cannot say of itself. A source with a `pack.toml` says it there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// The vendor; none for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Architectures; none for any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub architectures: Vec<String>,
    /// Languages; none for any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
}

impl Origin {
    pub(super) fn read(pack: &Path) -> Option<Self> {
        toml::from_str(&fs::read_to_string(pack.join(FILE)).ok()?).ok()
    }

    pub(super) fn write(&self, pack: &Path) -> Result<(), HomeError> {
        let path = pack.join(FILE);
        let text = toml::to_string(self).map_err(|error| HomeError::io(&path, std::io::Error::other(error)))?;
        fs::write(&path, text).map_err(|source| HomeError::io(&path, source))
    }
}
