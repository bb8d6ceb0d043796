//! From files to a pack, collecting on the way everything that keeps them from being understood.

use kernelwright_protocol::EntryKind;
use serde::Deserialize;

use crate::files::{Files, TextFile};
use crate::front_matter::{Placed, Style, parse, split};
use crate::lesson;
use crate::pack::{Entry, Pack, ProblemFile};
use crate::problem::{Fault, PackError, Problem};

/// The keys of `pack.toml`, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    id: String,
    version: String,
    licence: String,
    description: String,
    #[serde(default)]
    vendor: Option<String>,
    #[serde(default)]
    architectures: Vec<String>,
    #[serde(default)]
    languages: Vec<String>,
    #[serde(default)]
    sources: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
}

/// What could be read, and what could not.
pub(crate) struct Reading {
    /// Absent when the manifest cannot be read. Holds the entries that can be.
    pub(crate) pack: Option<Pack>,
    /// Why files are missing from the pack.
    pub(crate) problems: Vec<Problem>,
}

impl Reading {
    /// Reads a pack's files.
    pub(crate) fn of(files: &Files) -> Self {
        let mut problems = files.unreadable.clone();
        // What is no text has been reported, and what keys it lacks cannot be said.
        if files.has_no_manifest() {
            return Self { pack: None, problems };
        }
        let manifest = match parse::<Manifest>(&files.manifest, 0).and_then(named) {
            Ok(manifest) => manifest,
            Err((line, fault)) => {
                problems.push(files.problem("pack.toml", line, fault));
                return Self { pack: None, problems };
            }
        };
        let mut entries: Vec<Entry> = Vec::new();
        for file in &files.entries {
            match read_entry(file, &manifest) {
                Ok(entry) => match entries.iter().find(|other| other.name == entry.name) {
                    Some(other) => {
                        let fault = Fault::DuplicateName { name: entry.name, other: other.path.clone() };
                        problems.push(files.problem(&file.path, None, fault));
                    }
                    None => entries.push(entry),
                },
                Err((line, fault)) => problems.push(files.problem(&file.path, line, fault)),
            }
        }
        let Manifest { id, version, licence, description, vendor, architectures, languages, sources, tags } = manifest;
        let pack = Pack {
            id,
            version,
            licence,
            description,
            vendor,
            architectures,
            languages,
            sources,
            tags,
            entries,
            problems: files.problems.iter().map(|file| ProblemFile { path: file.path.clone(), text: file.text.clone() }).collect(),
            documents: files.documents.clone(),
            root: files.folder.clone(),
        };
        Self { pack: Some(pack), problems }
    }

    /// The pack with what of it could be read, and why the rest could not; nothing without its manifest.
    pub(crate) fn into_readable(self, files: &Files) -> Result<(Pack, Vec<Problem>), PackError> {
        match self.pack {
            Some(pack) => Ok((pack, self.problems)),
            None => Err(PackError::Broken { root: files.root.clone(), problems: self.problems }),
        }
    }

    /// The pack, if all of it could be read.
    pub(crate) fn into_pack(self, files: &Files) -> Result<Pack, PackError> {
        match self.pack {
            Some(pack) if self.problems.is_empty() => Ok(pack),
            _ => Err(PackError::Broken { root: files.root.clone(), problems: self.problems }),
        }
    }
}

fn named(manifest: Manifest) -> Result<Manifest, Placed> {
    if !is_name(&manifest.id) {
        return Err((None, Fault::Name(manifest.id)));
    }
    platforms(manifest.vendor.iter().chain(&manifest.architectures).chain(&manifest.languages))?;
    Ok(manifest)
}

fn read_entry(file: &TextFile, manifest: &Manifest) -> Result<Entry, Placed> {
    let (folder, file_name) = file.path.split_once('/').unwrap_or(("", &file.path));
    let name = file_name.rsplit_once('.').map_or(file_name, |(stem, _)| stem);
    // A kernel's file is a Python module, whose name cannot have hyphens if it is to be imported.
    let is_example = folder == "examples";
    if !is_name(&if is_example { name.replace('_', "-") } else { name.to_owned() }) {
        return Err((None, Fault::Name(name.to_owned())));
    }
    let (front, body_line) = split(&file.text, if is_example { Style::Python } else { Style::Markdown })?;
    let kind = match (is_example, front.kind) {
        (true, None) => EntryKind::Example,
        (true, Some(_)) => return Err((Some(1), Fault::ExampleKind)),
        (false, Some(EntryKind::Document)) => return Err((Some(1), Fault::DocumentKind)),
        (false, Some(kind)) => kind,
        (false, None) => return Err((Some(1), Fault::Form("missing field `kind`".to_owned()))),
    };
    lesson::agrees(kind, &front)?;
    let languages = front.languages.unwrap_or_else(|| manifest.languages.clone());
    let architectures = front.architectures.unwrap_or_else(|| manifest.architectures.clone());
    platforms(languages.iter().chain(&architectures).chain(front.evidence.iter().map(|evidence| &evidence.target)))?;
    Ok(Entry {
        name: name.to_owned(),
        title: front.title,
        kind,
        languages,
        architectures,
        bottleneck: front.bottleneck,
        phase: front.phase,
        sources: front.sources,
        tags: front.tags,
        problem: front.problem,
        evidence: front.evidence,
        path: file.path.clone(),
        text: file.text.clone(),
        body_line,
    })
}

/// Lower-case letters, digits and hyphens, beginning with a letter or digit.
pub(crate) fn is_name(name: &str) -> bool {
    let starts_well = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    starts_well && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn platforms<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), Placed> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
    for name in names {
        if name.is_empty() || !name.bytes().all(is_plain) {
            return Err((None, Fault::Platform(name.clone())));
        }
    }
    Ok(())
}
