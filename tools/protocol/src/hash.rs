//! Content hashes: a candidate and a problem are named by what they say, never by where they lie.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The SHA-256 of some content, as 64 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// Hashes the content.
    #[must_use]
    pub fn of(content: impl AsRef<[u8]>) -> Self {
        use std::fmt::Write as _;
        let mut hex = String::with_capacity(64);
        for byte in Sha256::digest(content.as_ref()) {
            let _ = write!(hex, "{byte:02x}");
        }
        Self(hex)
    }

    /// All 64 digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first 10 digits: what people see.
    #[must_use]
    pub fn short(&self) -> &str {
        self.0.get(..10).unwrap_or(&self.0)
    }
}

/// The first 10 digits, as in logs and reports; [`ContentHash::as_str`] gives all of them.
impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.short())
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.short())
    }
}

/// The text was not 64 hexadecimal digits.
#[derive(Debug, PartialEq, Eq)]
pub struct NotAHash;

impl fmt::Display for NotAHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected 64 hexadecimal digits")
    }
}

impl std::error::Error for NotAHash {}

impl FromStr for ContentHash {
    type Err = NotAHash;

    fn from_str(text: &str) -> Result<Self, NotAHash> {
        let valid = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if valid { Ok(Self(text.to_ascii_lowercase())) } else { Err(NotAHash) }
    }
}

/// Names a candidate: the hash of its source text.
pub type CandidateId = ContentHash;

/// Names a problem: the hash of its source text.
pub type ProblemId = ContentHash;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_the_content_and_reads_itself_back() {
        let hash = ContentHash::of("abc");
        assert_eq!(hash.short(), "ba7816bf8f");
        assert_eq!(hash.as_str().parse(), Ok(hash.clone()));
        assert_eq!("ba78".parse::<ContentHash>(), Err(NotAHash));
    }
}
