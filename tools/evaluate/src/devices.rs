//! The devices of this machine: one lock each, and work that may go to any of them spread over them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::select_all;
use kernelwright_harness::visible_devices;
use kernelwright_protocol::{Backend, Target};
use tokio::sync::OwnedMutexGuard;

use crate::shelf::Shelf;

/// Where the driver tells of its devices, one folder each.
pub(crate) const DRIVER: &str = "/proc/driver/nvidia/gpus";

/// What the driver's file of a device says it is.
const MODEL: &str = "Model:";

/// Every device that was asked for, with what is loaded there.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    shelves: Mutex<HashMap<Target, Arc<tokio::sync::Mutex<Shelf>>>>,
    /// How many GPUs work without a number is spread over; found once.
    alike: OnceLock<u16>,
}

/// A device that nobody else has until this is dropped.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) target: Target,
    pub(crate) shelf: OwnedMutexGuard<Shelf>,
}

impl Devices {
    /// The devices that do for a wanted one: all that are alike where it has no number. At least one.
    pub(crate) fn choices(&self, wanted: Target) -> Vec<Target> {
        match (wanted.backend, wanted.device) {
            (Backend::Cuda, None) => (0..*self.alike.get_or_init(count)).map(Target::cuda).collect(),
            _ => vec![wanted],
        }
    }

    /// Waits for one of these devices, whichever is free first: work takes longer one time than another, so who waits is bound to none of them.
    pub(crate) async fn take(&self, choices: &[Target]) -> Device {
        let waiting = choices.iter().map(|&target| {
            let there = self.shelf(target);
            Box::pin(async move { Device { target, shelf: there.lock_owned().await } })
        });
        select_all(waiting).await.0
    }

    fn shelf(&self, target: Target) -> Arc<tokio::sync::Mutex<Shelf>> {
        Arc::clone(self.shelves.lock().unwrap_or_else(PoisonError::into_inner).entry(target).or_default())
    }

    /// What is kept on all devices.
    pub(crate) fn shelves(&self) -> Vec<Arc<tokio::sync::Mutex<Shelf>>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

/// How many GPUs CUDA shows that are like the first; only the first where they differ: times of different devices are not to be compared.
fn count() -> u16 {
    let all = alike(Path::new(DRIVER));
    let visible = visible_devices().map(|list| list.to_string_lossy().split(',').filter(|name| !name.trim().is_empty()).count());
    u16::try_from(visible.map_or(all, |visible| visible.min(all))).unwrap_or(1).max(1)
}

fn alike(driver: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(driver) else { return 1 };
    let model = |information: String| information.lines().find_map(|line| Some(line.strip_prefix(MODEL)?.trim().to_owned()));
    let models: Vec<_> =
        entries.flatten().map(|entry| std::fs::read_to_string(entry.path().join("information")).ok().and_then(model)).collect();
    match models.first() {
        Some(first) if first.is_some() && models.iter().all(|other| other == first) => models.len(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const ANY: Target = Target { backend: Backend::Cuda, device: None };

    fn with(alike: u16) -> Devices {
        Devices { alike: OnceLock::from(alike), ..Devices::default() }
    }

    #[tokio::test]
    async fn work_for_any_device_goes_where_one_is_free_first() {
        let devices = with(3);
        let any = devices.choices(ANY);
        let named = devices.take(&[Target::cuda(1)]).await;
        let (first, second) = (devices.take(&any).await, devices.take(&any).await);
        assert_eq!([named.target, first.target, second.target], [1, 0, 2].map(Target::cuda));
        let waiting = devices.take(&any);
        tokio::pin!(waiting);
        assert!(timeout(Duration::from_millis(20), &mut waiting).await.is_err());
        drop(second);
        assert_eq!(waiting.await.target, Target::cuda(2));
    }

    #[tokio::test]
    async fn a_device_is_had_by_one_however_it_is_asked_for() {
        let devices = with(1);
        let first = devices.take(&devices.choices(ANY)).await;
        assert!(timeout(Duration::from_millis(20), devices.take(&[Target::cuda(0)])).await.is_err());
        assert_eq!(devices.take(&devices.choices(Target::CPU)).await.target, Target::CPU);
        drop(first);
        devices.take(&[Target::cuda(0)]).await;
    }

    #[test]
    fn only_devices_of_one_model_share_work() {
        let driver = tempfile::tempdir().unwrap();
        let add = |bus: &str, model: &str| {
            std::fs::create_dir(driver.path().join(bus)).unwrap();
            std::fs::write(driver.path().join(bus).join("information"), format!("Model: \t\t {model}\nIRQ: 1\n")).unwrap();
        };
        assert_eq!(alike(&driver.path().join("none")), 1);
        add("0000:01:00.0", "NVIDIA H200");
        add("0000:02:00.0", "NVIDIA H200");
        assert_eq!(alike(driver.path()), 2);
        add("0000:03:00.0", "NVIDIA T400");
        assert_eq!(alike(driver.path()), 1);
    }
}
