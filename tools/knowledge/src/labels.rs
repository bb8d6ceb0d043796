//! What a question asks to be about: names that people use for vendors, architectures and languages, brought to those of the packs.
//!
//! A name that neither the packs nor `labels.txt` know is refused. To leave it out, or to look for it all the same, would answer with what
//! holds everywhere as if there were nothing else.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::LazyLock;

use kernelwright_packs::Pack;

use crate::error::LibraryError;
use crate::rank::of_architecture;
use crate::shelves::Shelves;

/// Longer names are sentences, of which the first words are looked at.
const MAX_WORDS: usize = 12;

static TABLE: LazyLock<Table> = LazyLock::new(|| Table::of(include_str!("labels.txt")));

/// What packs are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Label {
    /// Whose platform.
    Vendor,
    /// Which architecture.
    Arch,
    /// Which language.
    Language,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vendor => "vendor",
            Self::Arch => "architecture",
            Self::Language => "language",
        })
    }
}

impl Label {
    /// The argument that asks for it.
    pub(crate) fn argument(self) -> &'static str {
        match self {
            Self::Vendor => "vendor",
            Self::Arch => "arch",
            Self::Language => "language",
        }
    }

    /// The names that these packs have.
    fn of_packs(self, packs: &[Pack]) -> BTreeSet<&str> {
        let names = |pack_has: fn(&Pack) -> &Vec<String>, entry_has: fn(&kernelwright_packs::Entry) -> &Vec<String>| {
            packs.iter().flat_map(move |pack| pack_has(pack).iter().chain(pack.entries.iter().flat_map(entry_has))).map(String::as_str)
        };
        match self {
            Self::Vendor => packs.iter().filter_map(|pack| pack.vendor.as_deref()).collect(),
            Self::Arch => names(|pack| &pack.architectures, |entry| &entry.architectures).collect(),
            Self::Language => names(|pack| &pack.languages, |entry| &entry.languages).collect(),
        }
    }
}

impl Shelves {
    /// The packs' names for what was asked for: one, or several where people have one name for several.
    pub(crate) fn named(&self, label: Label, asked: &str) -> Result<Vec<String>, LibraryError> {
        let known = label.of_packs(&self.packs);
        let written = asked.trim().to_lowercase();
        let is_known = match label {
            Label::Arch => of_architecture(&written).iter().any(|name| known.contains(name.as_str())),
            Label::Vendor | Label::Language => known.contains(written.as_str()),
        };
        if is_known {
            return Ok(vec![written]);
        }
        let plain: HashMap<String, &str> = known.iter().map(|name| (folded(name), *name)).collect();
        let words = words(asked);
        let understood = runs(&words).find_map(|run| match plain.get(&run) {
            Some(name) => Some(vec![(*name).to_owned()]),
            None => TABLE.names(label, &run, run.len() == folded(asked).len()),
        });
        let known = || known.iter().map(|name| (*name).to_owned()).collect();
        understood.ok_or_else(|| LibraryError::UnknownLabel { label, asked: asked.to_owned(), known: known() })
    }
}

/// Whose an architecture is, where no pack says it.
pub(crate) fn maker(architecture: &str) -> Option<&'static str> {
    TABLE.makers.get(architecture).copied()
}

/// `labels.txt`.
#[derive(Debug, Default)]
struct Table {
    names: HashMap<Label, HashMap<String, Vec<&'static str>>>,
    makers: HashMap<&'static str, &'static str>,
}

impl Table {
    fn of(text: &'static str) -> Self {
        let mut table = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((head, others)) = line.split_once(':') else { continue };
            let (label, name) = match head.split_whitespace().collect::<Vec<_>>()[..] {
                ["vendor", name] => (Label::Vendor, name),
                ["language", name] => (Label::Language, name),
                ["arch", name, vendor] => {
                    if vendor != "-" {
                        table.makers.insert(name, vendor);
                    }
                    (Label::Arch, name)
                }
                _ => continue,
            };
            let names = table.names.entry(label).or_default();
            for other in [name].into_iter().chain(others.split('|')) {
                names.entry(folded(other)).or_default().push(name);
            }
        }
        table
    }

    fn names(&self, label: Label, run: &str, is_whole: bool) -> Option<Vec<String>> {
        let names = self.names.get(&label)?;
        let of = |run: &str| names.get(run).map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        of(run).or_else(|| of(&compute_capability(run, is_whole).filter(|_| label == Label::Arch)?))
    }
}

/// `sm_90a`, `compute_90` and `9.0` are ways to say `sm_90`; a number among other words may be anything.
fn compute_capability(run: &str, is_whole: bool) -> Option<String> {
    let rest = run.strip_prefix("sm").or_else(|| run.strip_prefix("compute")).or(is_whole.then_some(run))?;
    let digits = rest.trim_end_matches(['a', 'f']);
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("sm{digits}"))
}

/// The words of a name. Signs part them, but for those that languages have in their names.
fn words(name: &str) -> Vec<String> {
    let is_part = |sign: char| sign.is_alphanumeric() || matches!(sign, '+' | '#');
    name.to_lowercase().split(|sign| !is_part(sign)).filter(|word| !word.is_empty()).take(MAX_WORDS).map(str::to_owned).collect()
}

fn folded(name: &str) -> String {
    words(name).concat()
}

/// What follows each other in a name, the longest first: a product's name stands among those of its maker and its memory.
fn runs(words: &[String]) -> impl Iterator<Item = String> + '_ {
    (1..=words.len()).rev().flat_map(|length| words.windows(length).map(<[String]>::concat))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Settings;
    use crate::slot::Place;

    /// What each of these is taken for, as `arch`, `language` or `vendor` of a question to the built-in packs.
    fn check(label: Label, expected: &[(&str, &str)]) {
        let shelves = Shelves::fill(&Settings::default(), &Place::default()).unwrap();
        for (asked, names) in expected {
            assert_eq!(shelves.named(label, asked).map(|names| names.join(" ")).unwrap_or_default(), *names, "{asked}");
        }
    }

    #[test]
    fn parts_are_known_by_the_names_that_people_use() {
        check(
            Label::Arch,
            &[
                ("sm_90", "sm_90"),
                ("SM_90", "sm_90"),
                ("sm90", "sm_90"),
                ("sm_90a", "sm_90"),
                ("compute_90", "sm_90"),
                ("9.0", "sm_90"),
                ("hopper", "sm_90"),
                ("H100", "sm_90"),
                ("NVIDIA H100 80GB HBM3", "sm_90"),
                ("h200", "sm_90"),
                ("b200", "sm_100"),
                ("NVIDIA A100-SXM4-80GB", "sm_80"),
                ("GeForce RTX 4090", "sm_89"),
                ("Blackwell Ultra", "sm_103"),
                ("blackwell", "sm_100 sm_103 sm_110 sm_120 sm_121"),
                ("mi300x", "gfx942"),
                ("AMD Instinct MI300X", "gfx942"),
                ("gfx942:sramecc+:xnack-", "gfx942"),
                ("CDNA 4", "gfx950"),
                ("x86-64", "x86_64"),
                ("x86_64-avx2", "x86_64-avx2"),
                ("AVX-512", "x86_64-avx512"),
                ("arm64", "aarch64"),
                ("Ampere Altra", "aarch64"),
                // A part that no pack is about: what holds for its vendor's parts holds for it.
                ("t4", "sm_75"),
                ("sm_999", ""),
                ("hoper", ""),
                ("", ""),
            ],
        );
    }

    #[test]
    fn languages_and_vendors_as_well() {
        check(
            Label::Language,
            &[
                ("C++", "cpp"),
                ("c++", "cpp"),
                ("CUDA C++", "cuda"),
                ("C++/CUDA", "cuda"),
                ("CUDA", "cuda"),
                ("Triton (Python)", "triton"),
                ("HIP", "hip"),
                ("Ascend C", "ascendc"),
                ("cobol", ""),
            ],
        );
        check(Label::Vendor, &[("NVIDIA", "nvidia"), ("NVIDIA Corporation", "nvidia"), ("Advanced Micro Devices", "amd"), ("foo", "")]);
    }

    #[test]
    fn every_line_of_the_table_is_read_and_every_maker_is_a_vendor() {
        let text = include_str!("labels.txt");
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        let table = Table::of(text);
        let names: BTreeSet<_> =
            table.names.iter().flat_map(|(label, names)| names.values().flatten().map(move |name| (label.argument(), name))).collect();
        assert_eq!(names.len(), lines);
        assert!(table.makers.values().all(|maker| table.names[&Label::Vendor].contains_key(*maker)));
    }
}
