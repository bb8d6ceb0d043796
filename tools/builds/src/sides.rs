//! CUDA sources in two objects: where only bodies of device functions have changed, the host's is found, and the device's is all there is to compile.
//!
//! What the host's object is made of is found by a compiler: the preprocessed text without those bodies, and the stub that the device's front end
//! writes. So its key can only be told by the process that compiles the device's side. It holds the command as well, so what a hostile command
//! makes such a process say is found under that command alone.

use std::collections::HashMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use super::maker::{Maker, Unmade};
use super::spec::{Compiler, Unit, key};
use super::{Builds, Limits, Yard};

/// More is no longer worth its memory.
const REMEMBERED: usize = 4096;

/// What was found out about the sides of units, by keys.
#[derive(Debug, Default)]
pub(super) struct Sides {
    /// By what the host's side is made of but the stub: that stub, or none where it does not compile.
    stubs: Mutex<HashMap<String, Option<String>>>,
    /// What nvcc says that it would run, by its command.
    said: Mutex<HashMap<String, String>>,
    /// The key of the host's object, by that of the device's.
    hosts: Mutex<HashMap<String, String>>,
}

/// The two objects of a unit.
#[derive(Debug)]
pub(super) struct Apart {
    pub(super) host: PathBuf,
    pub(super) device: PathBuf,
}

/// What a compiler says of the host's side before it has seen the stub.
#[derive(Deserialize)]
struct Begun {
    text: Option<String>,
    said: Option<String>,
}

/// How the device's side went, and the stub; none where the host's side was to be made and is not.
#[derive(Deserialize)]
struct Finished {
    status: i32,
    output: String,
    stub: Option<String>,
}

impl Builds {
    /// Both objects of a unit, from the cache or made; none for a unit that has to be compiled as a whole.
    pub(super) async fn apart(
        &self,
        yard: &impl Yard,
        unit: &Unit,
        flags: &[String],
        installed: &str,
        limits: &Limits,
    ) -> Result<Option<Apart>, Unmade> {
        if unit.compiler() != Compiler::Nvcc {
            return Ok(None);
        }
        let (cache, sides) = (&self.inner.cache, &self.inner.sides);
        let device_key = key(&("device", unit.key(installed, Some(flags))));
        let known = sides.hosts.lock().await.get(&device_key).cloned();
        if let Some((host, device)) = known.and_then(|host| cache.get(&host)).zip(cache.get(&device_key)) {
            return Ok(Some(Apart { host, device }));
        }
        let _turn = self.inner.turns.acquire().await;
        let mut maker = Maker::start(yard, limits).await?;
        let argv = unit.with_flags(flags);
        let (object, sources) = (unit.device_object(), json!({ unit.file.clone(): unit.source }));
        let command = key(&("command", installed, &argv));
        let said = sides.said.lock().await.get(&command).cloned();
        let begun: Begun = maker.ask("begin", json!({"argv": argv, "sources": sources, "device_object": object, "said": said})).await?;
        let Some(text) = begun.text else { return Ok(None) };
        if let Some(said) = begun.said {
            remember(&sides.said, command, said).await;
        }
        let text_key = key(&("host", installed, &argv, &unit.file, text));
        let host_key = |stub: &str| key(&(&text_key, stub));
        let expected = sides.stubs.lock().await.get(&text_key).cloned();
        if expected == Some(None) {
            return Ok(None);
        }
        let mut is_made = expected.flatten().is_none_or(|stub| cache.get(&host_key(&stub)).is_none());
        let mut finished: Finished = maker.ask("finish", json!({"make_host": is_made})).await?;
        let is_missing = |stub: &String| cache.get(&host_key(stub)).is_none();
        if !is_made && finished.stub.as_ref().is_some_and(is_missing) {
            is_made = true;
            finished = maker.ask("finish", json!({"make_host": true})).await?;
        }
        match finished.status {
            0 => {}
            1.. => return Err(Unmade::Refused(finished.output)),
            status => return Err(Unmade::Failed(format!("the compiler ended with {status}"))),
        }
        remember(&sides.stubs, text_key.clone(), finished.stub.clone()).await;
        let Some(host_key) = finished.stub.as_deref().map(host_key) else { return Ok(None) };
        remember(&sides.hosts, device_key.clone(), host_key.clone()).await;
        let mut wanted = vec![(device_key.as_str(), object.as_str())];
        if is_made {
            wanted.push((host_key.as_str(), unit.object.as_str()));
        }
        let mut kept = maker.keep_all(&wanted, cache).await?.into_iter();
        let device = kept.next();
        let host = if is_made { kept.next() } else { cache.get(&host_key) };
        let missing = || Unmade::Failed("an object is gone".to_owned());
        Ok(Some(Apart { host: host.ok_or_else(missing)?, device: device.ok_or_else(missing)? }))
    }
}

/// Remembers something, and forgets all where that is too much.
pub(super) async fn remember<T>(known: &Mutex<HashMap<String, T>>, key: String, value: T) {
    let mut known = known.lock().await;
    if known.len() >= REMEMBERED {
        known.clear();
    }
    known.insert(key, value);
}
