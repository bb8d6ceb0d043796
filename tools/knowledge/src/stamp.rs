//! Whether something in the folders of packs may have changed, told from their times alone.
//!
//! To add, update or remove a pack changes the folder of packs; to add, remove or replace an entry changes the folder that it is in. A file
//! that is written over where it lies changes neither: the library finds that when it reads everything again.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use kernelwright_packs::Pack;

use crate::library::Settings;

/// File systems do not tell moments apart that are closer than this.
const TICK: Duration = Duration::from_millis(20);

/// What of a pack is looked at.
const PARTS: [&str; 5] = ["", "pack.toml", "entries", "examples", "documents"];

/// The times of what belongs to the user's packs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(Vec<Option<SystemTime>>);

impl Stamp {
    /// The times as they are now.
    pub(crate) fn of(settings: &Settings, packs: &[Pack]) -> Self {
        let changed = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        let folders = settings.packs.iter().chain(&settings.home).map(|folder| changed(folder));
        let roots = packs.iter().filter_map(|pack| pack.root.as_deref());
        Self(folders.chain(roots.flat_map(|root| PARTS.map(|part| changed(&root.join(part))))).collect())
    }

    /// The times of packs that were read from `since` on; nothing if something changed while or just before they were.
    pub(crate) fn settled(settings: &Settings, packs: &[Pack], since: SystemTime) -> Option<Self> {
        let stamp = Self::of(settings, packs);
        let newest = stamp.0.iter().flatten().max();
        newest.is_none_or(|newest| *newest + TICK < since).then_some(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_that_comes_goes_or_changes_is_another_stamp() {
        let home = tempfile::TempDir::new().unwrap();
        let settings = Settings { home: Some(home.path().to_owned()), ..Settings::default() };
        let of = || Stamp::of(&settings, &[]);
        let long_ago = SystemTime::now() - Duration::from_secs(60);
        let age = || fs::File::open(home.path()).unwrap().set_modified(long_ago).unwrap();
        age();
        let before = of();
        assert_eq!(Stamp::settled(&settings, &[], SystemTime::now()), Some(before.clone()));
        fs::create_dir(home.path().join("aurora")).unwrap();
        assert_ne!(of(), before);
        assert_eq!(Stamp::settled(&settings, &[], SystemTime::now()), None);
        age();
        fs::remove_dir(home.path().join("aurora")).unwrap();
        assert_ne!(of(), before);
        fs::remove_dir(home.path()).unwrap();
        assert_ne!(of(), before);
        fs::create_dir(home.path()).unwrap();
    }
}
