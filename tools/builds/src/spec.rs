//! What torch would have built, as a candidate's process tells it; nothing in it is believed.

use std::path::Path;

use kernelwright_protocol::ContentHash;
use serde::{Deserialize, Serialize};

/// More would be no extension of a kernel.
const UNITS: usize = 64;

/// A library and what it is made of.
#[derive(Debug)]
pub(super) struct Build {
    /// The name by which the candidate's process asks for it.
    pub(super) digest: ContentHash,
    pub(super) units: Vec<Unit>,
    pub(super) link: Vec<String>,
    pub(super) library: String,
}

/// A translation unit: one source that one command makes one object of.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Unit {
    /// The command, with `@BUILD@` for its folder.
    pub(super) argv: Vec<String>,
    /// The name of the source in that folder.
    pub(super) file: String,
    pub(super) source: String,
    /// The name of the object in that folder.
    pub(super) object: String,
}

/// The text says something that torch's builder would not.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadBuild {
    #[error(transparent)]
    Text(#[from] serde_json::Error),
    #[error("`{0}` is no name of a file in the build's folder")]
    Name(String),
    #[error("`{0}` is no compiler")]
    Program(String),
    #[error("no units, or too many")]
    Units,
}

/// Which compiler a unit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compiler {
    /// g++, under one of its names.
    Gnu,
    /// NVIDIA's.
    Nvcc,
    /// Another one.
    Other,
}

impl Build {
    pub(super) fn parse(text: &str) -> Result<Self, BadBuild> {
        #[derive(Deserialize)]
        struct Link {
            argv: Vec<String>,
            library: String,
        }
        #[derive(Deserialize)]
        struct Text {
            units: Vec<Unit>,
            link: Link,
        }
        let Text { units, link } = serde_json::from_str(text)?;
        if units.is_empty() || units.len() > UNITS {
            return Err(BadBuild::Units);
        }
        let names = units.iter().flat_map(|unit| [&unit.file, &unit.object]).chain([&link.library]);
        names.into_iter().try_for_each(|name| plain(name))?;
        units.iter().map(|unit| &unit.argv).chain([&link.argv]).try_for_each(|argv| compiler(argv).map(drop))?;
        Ok(Self { digest: ContentHash::of(text), units, link: link.argv, library: link.library })
    }

    /// Every program it needs.
    pub(super) fn programs(&self) -> Vec<&str> {
        let commands = self.units.iter().map(|unit| &unit.argv).chain([&self.link]);
        let mut programs: Vec<_> = commands.filter_map(|argv| argv.first().map(String::as_str)).collect();
        programs.sort_unstable();
        programs.dedup();
        programs
    }

    /// The key of the library: its objects, how they are linked, and what is installed.
    pub(super) fn key(&self, installed: &str) -> String {
        let units: Vec<_> = self.units.iter().map(|unit| unit.key(installed, None)).collect();
        key(&(installed, units, &self.link, &self.library))
    }
}

impl Unit {
    /// The key of the object: everything its compiler is given, flags of ours included, and what is installed.
    pub(super) fn key(&self, installed: &str, flags: Option<&[String]>) -> String {
        key(&(installed, self, flags))
    }

    pub(super) fn compiler(&self) -> Compiler {
        compiler(&self.argv).unwrap_or(Compiler::Other)
    }

    /// The name of the object with the device's code, where that is one of its own.
    pub(super) fn device_object(&self) -> String {
        format!("{}.device.o", self.object.trim_end_matches(".o"))
    }

    /// Its command with flags of ours, which come first.
    pub(super) fn with_flags(&self, flags: &[String]) -> Vec<String> {
        let (program, rest) = self.argv.split_at(1.min(self.argv.len()));
        [program, flags, rest].concat()
    }
}

/// A digest of values that cannot be taken for each other.
pub(super) fn key(values: &impl Serialize) -> String {
    let text = serde_json::to_vec(values).unwrap_or_default();
    ContentHash::of(text).as_str().to_owned()
}

fn plain(name: &str) -> Result<(), BadBuild> {
    let allowed = |c: char| c.is_alphanumeric() || "._-+".contains(c);
    let is_plain = !name.is_empty() && !name.starts_with(['.', '-']) && name.len() < 200 && name.chars().all(allowed);
    is_plain.then_some(()).ok_or_else(|| BadBuild::Name(name.to_owned()))
}

/// Only compilers are run: not because of what others could do, confined as they are, but to no purpose.
fn compiler(argv: &[String]) -> Result<Compiler, BadBuild> {
    let program = argv.first().map_or("", String::as_str);
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    let name = name.rsplit_once("-gnu-").map_or(name, |(_, name)| name);
    match name {
        "c++" | "g++" => Ok(Compiler::Gnu),
        "nvcc" => Ok(Compiler::Nvcc),
        "clang++" | "icpx" | "hipcc" => Ok(Compiler::Other),
        _ => Err(BadBuild::Program(program.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(argv: &str, object: &str, source: &str) -> String {
        format!(
            r#"{{"units": [{{"argv": {argv}, "file": "main.cpp", "source": "{source}", "object": "{object}"}}],
                "link": {{"argv": ["c++", "main.o"], "library": "a.so"}}}}"#
        )
    }

    fn unit_key(argv: &str, source: &str) -> String {
        Build::parse(&text(argv, "main.o", source)).unwrap().units[0].key("c++ 12", None)
    }

    #[test]
    fn a_key_covers_all_that_the_compiler_is_given() {
        let key = unit_key(r#"["c++", "-O2"]"#, "int x;");
        assert_eq!(key, unit_key(r#"["c++", "-O2"]"#, "int x;"));
        let others =
            [(r#"["c++", "-O2", "-fplugin=evil.so"]"#, "int x;"), (r#"["c++", "-O", "2"]"#, "int x;"), (r#"["c++", "-O2"]"#, "int y;")];
        for (argv, source) in others {
            assert_ne!(key, unit_key(argv, source), "{argv}");
        }
        let build = Build::parse(&text(r#"["c++"]"#, "main.o", "")).unwrap();
        assert_ne!(build.units[0].key("c++ 12", None), build.units[0].key("c++ 13", None));
        assert_ne!(build.key("c++ 12"), build.key("c++ 13"));
    }

    #[test]
    fn what_torch_would_not_say_is_refused() {
        for (argv, object) in [
            (r#"["c++"]"#, "../main.o"),
            (r#"["c++"]"#, "/etc/passwd"),
            (r#"["c++"]"#, ""),
            (r#"["sh", "-c", "true"]"#, "main.o"),
            ("[]", "main.o"),
        ] {
            assert!(Build::parse(&text(argv, object, "")).is_err(), "{argv} {object}");
        }
        let found = |program: &str| compiler(&[program.to_owned()]).ok();
        assert_eq!(found("/usr/bin/x86_64-linux-gnu-g++-12"), Some(Compiler::Gnu));
        assert_eq!(found("/usr/local/cuda/bin/nvcc"), Some(Compiler::Nvcc));
        assert_eq!(found("clang++"), Some(Compiler::Other));
    }
}
