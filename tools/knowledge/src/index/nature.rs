//! Sorts of text.

use kernelwright_packs::Structure;

/// What sort of text a chunk is, as far as ranking cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nature {
    /// Documentation.
    Prose,
    /// Source code.
    Code,
    /// Source code that tests other source code.
    Test,
    /// Lists of what changed, licences, tables of contents.
    Notes,
    /// A kernel of a pack, to be read as a whole.
    Example,
    /// Source code that shows how something is used.
    Sample,
}

impl Nature {
    const ALL: [Self; 6] = [Self::Prose, Self::Code, Self::Test, Self::Notes, Self::Example, Self::Sample];

    /// As an index keeps it.
    pub(super) fn number(self) -> u64 {
        self as u64
    }

    /// The nature of that number.
    pub(crate) fn of(number: u64) -> Self {
        usize::try_from(number).ok().and_then(|number| Self::ALL.get(number)).copied().unwrap_or(Self::Prose)
    }

    /// Told from a document's path: folders and names say what code is for.
    pub(super) fn of_file(path: &str, structure: Structure) -> Self {
        let path = path.to_ascii_lowercase();
        let name = path.rsplit('/').next().unwrap_or(&path);
        let has_folder = |folder: &str| path.split('/').rev().skip(1).any(|part| part == folder);
        match structure {
            Structure::Python | Structure::CFamily | Structure::Rust => {
                let is_test = ["test", "tests", "unittest", "unit_tests", "testing"].into_iter().any(has_folder)
                    || name.starts_with("test_")
                    || name.rsplit_once('.').is_some_and(|(stem, _)| stem.ends_with("_test"));
                let is_sample = path.split('/').any(|part| ["example", "sample", "tutorial"].into_iter().any(|word| part.contains(word)));
                match (is_test, is_sample) {
                    (true, _) => Self::Test,
                    (false, true) => Self::Sample,
                    (false, false) => Self::Code,
                }
            }
            _ => {
                let is_notes = ["changelog", "changes", "release", "licen", "third_party", "contributing", "code_of_conduct"]
                    .into_iter()
                    .any(|start| name.starts_with(start));
                if is_notes { Self::Notes } else { Self::Prose }
            }
        }
    }
}
