//! The devices of this machine: one lock each, and work that may go to any of them spread over them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use kernelwright_harness::visible_devices;
use kernelwright_protocol::{Backend, Target};

use crate::shelf::Shelf;

/// Where the driver tells of its devices, one folder each.
const DRIVER: &str = "/proc/driver/nvidia/gpus";

/// What the driver's file of a device says it is.
const MODEL: &str = "Model:";

/// Every device that was asked for, and how much waits for it.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    places: Mutex<HashMap<Target, Place>>,
    /// How many GPUs work without a number is spread over; found once.
    alike: OnceLock<u16>,
}

#[derive(Debug, Default)]
struct Place {
    shelf: Arc<tokio::sync::Mutex<Shelf>>,
    /// Tickets that are out.
    waiting: usize,
}

/// A place in the queue of one device; dropping it leaves the queue.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// Which device.
    pub(crate) target: Target,
    /// Whoever holds its lock has the device.
    pub(crate) shelf: Arc<tokio::sync::Mutex<Shelf>>,
    devices: Arc<Devices>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(place) = self.devices.places.lock().unwrap_or_else(PoisonError::into_inner).get_mut(&self.target) {
            place.waiting = place.waiting.saturating_sub(1);
        }
    }
}

impl Devices {
    /// A place in the queue of the wanted device; of any, in the shortest queue.
    pub(crate) fn queue(self: &Arc<Self>, wanted: Target) -> Ticket {
        let candidates = match (wanted.backend, wanted.device) {
            (Backend::Cuda, None) => (0..*self.alike.get_or_init(count)).map(Target::cuda).collect(),
            _ => vec![wanted],
        };
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let shortest = candidates.into_iter().min_by_key(|target| places.get(target).map_or(0, |place| place.waiting));
        let target = shortest.unwrap_or(wanted);
        let place = places.entry(target).or_default();
        place.waiting += 1;
        Ticket { target, shelf: Arc::clone(&place.shelf), devices: Arc::clone(self) }
    }

    /// What is kept on all devices.
    pub(crate) fn shelves(&self) -> Vec<Arc<tokio::sync::Mutex<Shelf>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).values().map(|place| Arc::clone(&place.shelf)).collect()
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
    use super::*;

    fn with(alike: u16) -> Arc<Devices> {
        Arc::new(Devices { alike: OnceLock::from(alike), ..Devices::default() })
    }

    #[test]
    fn work_for_any_device_goes_where_least_waits() {
        let devices = with(3);
        let any = Target { backend: Backend::Cuda, device: None };
        let named = devices.queue(Target::cuda(1));
        let tickets: Vec<Ticket> = (0..5).map(|_| devices.queue(any)).collect();
        let numbers: Vec<_> = tickets.iter().map(|ticket| ticket.target.to_string()).collect();
        assert_eq!(numbers, ["cuda:0", "cuda:2", "cuda:0", "cuda:1", "cuda:2"]);
        drop((named, tickets));
        assert_eq!(devices.queue(any).target, Target::cuda(0), "who has left is not counted");
    }

    #[test]
    fn a_device_has_one_lock_however_it_is_asked_for() {
        let devices = with(1);
        let any = devices.queue(Target { backend: Backend::Cuda, device: None });
        assert!(Arc::ptr_eq(&any.shelf, &devices.queue(Target::cuda(0)).shelf));
        assert!(!Arc::ptr_eq(&any.shelf, &devices.queue(Target::CPU).shelf));
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
