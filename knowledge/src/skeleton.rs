//! The beginning of a pack: a folder whose files only need to be filled in.

use std::fs;
use std::path::{Path, PathBuf};

use crate::home::{HomeError, Labels};
use crate::read::is_name;

/// What marks a place that is still to be written; the checker finds it.
pub(crate) const PLACEHOLDER: &str = "FILL IN";

const FILES: [(&str, &str); 5] = [
    ("pack.toml", include_str!("../skeleton/pack.toml")),
    ("entries/constraints.md", include_str!("../skeleton/entries/constraints.md")),
    ("entries/memory.md", include_str!("../skeleton/entries/memory.md")),
    ("examples/vector_add.py", include_str!("../skeleton/examples/vector_add.py")),
    ("problems/vector_add.py", include_str!("../skeleton/problems/vector_add.py")),
];

/// Writes the beginning of a pack into a new folder of its name in `parent`, and says which files to fill in, as paths from `parent`.
pub fn begin(parent: &Path, name: &str, labels: &Labels) -> Result<Vec<PathBuf>, HomeError> {
    if !is_name(name) {
        return Err(HomeError::Id(name.to_owned()));
    }
    let folder = parent.join(name);
    fs::create_dir(&folder).map_err(|error| HomeError::io(&folder, error))?;
    let target = labels.architectures.first().map_or("x86_64", String::as_str);
    let mut written = Vec::new();
    for (file, text) in FILES {
        let path = folder.join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| HomeError::io(parent, error))?;
        }
        let text = text.replace("@ID@", name).replace("@LABELS@", &labelled(labels)).replace("@TARGET@", target);
        fs::write(&path, text).map_err(|error| HomeError::io(&path, error))?;
        written.push(Path::new(name).join(file));
    }
    Ok(written)
}

/// The lines of `pack.toml` that say what the pack holds for.
fn labelled(labels: &Labels) -> String {
    let list = |key: &str, values: &[String]| {
        let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        if values.is_empty() { String::new() } else { format!("{key} = [{}]\n", values.join(", ")) }
    };
    let vendor = labels.vendor.as_ref().map(|vendor| format!("vendor = {vendor:?}\n")).unwrap_or_default();
    vendor + &list("architectures", &labels.architectures) + &list("languages", &labels.languages)
}
