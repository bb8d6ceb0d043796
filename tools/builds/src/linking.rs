//! Libraries of objects: linked, or where nothing differs but the device's code, made of a library that was linked before.
//!
//! Linking resolves names, of which the device's code has none: it is data in a section of its own, which objects keep equally long (`nvcc_sides.py`).
//! A search changes the body of one kernel again and again, so mostly all but that section is there.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use super::maker::{Maker, Unmade};
use super::sides::remember;
use super::spec::{Build, key};
use super::{Builds, Limits, Yard};

/// Which library was linked last from what, but for the device's code: its key by the key of that.
pub(super) type Linked = Mutex<HashMap<String, String>>;

/// What is linked.
#[derive(Debug)]
pub(super) struct Parts {
    /// The command.
    pub(super) argv: Vec<String>,
    /// Flags of ours that come first, where there are such. It may fail with them, and is tried without.
    pub(super) flags: Option<[String; 2]>,
    /// Objects by their names in the command.
    pub(super) objects: Vec<(String, PathBuf)>,
    /// Those of the device's code.
    pub(super) device: Vec<(String, PathBuf)>,
}

impl Parts {
    /// The command with our flags first.
    fn with_flags(&self) -> Vec<String> {
        let (program, rest) = self.argv.split_at(1.min(self.argv.len()));
        [program, self.flags.as_ref().map_or(&[], |flags| &flags[..]), rest].concat()
    }

    /// The object of the device's code, and a key of everything else; none where that is in no object or in several.
    fn but_device(&self, installed: &str) -> Option<(&(String, PathBuf), String)> {
        let [device] = self.device.as_slice() else { return None };
        // Files of the cache are called by their keys.
        let objects: Vec<_> = self.objects.iter().map(|(name, path)| (name, path.file_name())).collect();
        Some((device, key(&("linked", installed, self.with_flags(), &device.0, objects))))
    }
}

impl Builds {
    /// The library of these parts, under `key`; `linker` is a process that is there for it.
    pub(super) async fn linked(
        &self,
        yard: &impl Yard,
        mut linker: Maker,
        (build, parts): (&Build, &Parts),
        (installed, limits): (&str, &Limits),
        key: &str,
    ) -> Result<PathBuf, Unmade> {
        let but_device = parts.but_device(installed);
        if let Some((device, rest)) = &but_device {
            let known = self.inner.linked.lock().await.get(rest).cloned();
            if let Some(library) = known.and_then(|known| self.inner.cache.get(&known)) {
                match self.exchanged(linker, build, device, library, key).await {
                    Ok(library) => return Ok(library),
                    Err(unmade) => tracing::debug!(?unmade, "a library is linked anew"),
                }
                linker = Maker::start(yard, limits).await?;
            }
        }
        let mut library = self.link(linker, build, &parts.with_flags(), parts, key).await;
        if let (Err(unmade), Some(_)) = (&library, &parts.flags) {
            tracing::debug!(?unmade, "it is linked against torch's own libraries");
            library = self.link(Maker::start(yard, limits).await?, build, &parts.argv, parts, key).await;
        }
        if let (Ok(_), Some((_, rest))) = (&library, but_device) {
            remember(&self.inner.linked, rest, key.to_owned()).await;
        }
        library
    }

    async fn link(&self, mut maker: Maker, build: &Build, argv: &[String], parts: &Parts, key: &str) -> Result<PathBuf, Unmade> {
        maker.place(&[&parts.objects[..], &parts.device].concat()).await?;
        let made = maker.make(argv, json!({})).await;
        maker.keep(made, &build.library, &self.inner.cache, key).await
    }

    /// A library that was linked before with another object of the device's code.
    async fn exchanged(
        &self,
        mut maker: Maker,
        build: &Build,
        device: &(String, PathBuf),
        library: PathBuf,
        key: &str,
    ) -> Result<PathBuf, Unmade> {
        #[derive(Deserialize)]
        struct Done {
            exchanged: bool,
        }
        maker.place(&[(build.library.clone(), library), device.clone()]).await?;
        let made = match maker.ask("exchange", json!({"library": build.library, "object": device.0})).await {
            Ok(Done { exchanged: true }) => Ok(()),
            Ok(Done { exchanged: false }) => Err(Unmade::Failed("the device's code is not equally long".to_owned())),
            Err(unmade) => Err(unmade),
        };
        maker.keep(made, &build.library, &self.inner.cache, key).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(host: &str, devices: &[&str]) -> Parts {
        let named = |name: &str, key: &str| (name.to_owned(), PathBuf::from("/cache").join(key));
        Parts {
            argv: ["c++", "main.o", "-o", "a.so"].map(str::to_owned).to_vec(),
            flags: Some(["-Wl,--no-as-needed", "-L/stubs"].map(str::to_owned)),
            objects: vec![named("main.o", "k1"), named("cuda.o", host)],
            device: devices.iter().map(|key| named("cuda.device.o", key)).collect(),
        }
    }

    fn rest(parts: &Parts) -> String {
        parts.but_device("c++ 12").unwrap().1
    }

    #[test]
    fn everything_but_the_devices_code_decides() {
        let known = rest(&parts("k2", &["k3"]));
        assert_eq!(known, rest(&parts("k2", &["k4"])));
        assert_ne!(known, rest(&parts("k5", &["k3"])));
        assert_ne!(known, rest(&Parts { argv: vec!["c++".to_owned()], ..parts("k2", &["k3"]) }));
        assert_ne!(known, rest(&Parts { flags: None, ..parts("k2", &["k3"]) }));
        assert_ne!(known, parts("k2", &["k3"]).but_device("c++ 13").unwrap().1);
    }

    #[test]
    fn several_objects_of_the_devices_code_are_linked_each_time() {
        assert!(parts("k2", &[]).but_device("").is_none());
        assert!(parts("k2", &["k3", "k4"]).but_device("").is_none());
    }

    #[test]
    fn our_flags_come_first() {
        assert_eq!(parts("k2", &[]).with_flags().join(" "), "c++ -Wl,--no-as-needed -L/stubs main.o -o a.so");
    }
}
