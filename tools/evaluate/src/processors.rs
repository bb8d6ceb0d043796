//! A share of the processors for each GPU of a machine that has several.
//!
//! Threads of one evaluation that run on every processor keep those of another from the one they need, by as much as a scheduler's turn: with eight GPUs at
//! work, kernels that are equal came to 0.37 to 0.50, and take as long as each other where each GPU has processors of its own.

use std::path::Path;

use kernelwright_harness::visible_devices;
use kernelwright_protocol::{Backend, Target};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::devices::DRIVER;

/// Where the system tells which processors are near to a device.
const PCI: &str = "/sys/bus/pci/devices";

/// With fewer than these a GPU's worker, its driver's threads and compilers would only wait for each other.
const FEWEST: usize = 4;

/// The processors of a GPU's workers, at most so many; none of their own on `cpu`, where there is one GPU, and where there are too few for all.
pub(crate) fn of(target: Target, most: usize) -> Option<Vec<usize>> {
    if target.backend != Backend::Cuda {
        return None;
    }
    let allowed = sched_getaffinity(None).ok()?;
    let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&processor| allowed.is_set(processor)).collect();
    let visible = visible_devices();
    let device = physical(target, visible.as_ref().map(|list| list.to_string_lossy()).as_deref())?;
    let mut share = share(&near(Path::new(DRIVER), Path::new(PCI)), device, &allowed)?;
    share.truncate(most.max(1));
    Some(share)
}

/// Keeps every thread of a process, and those that it will have, to these processors. A process that is gone needs none.
pub(crate) fn keep(process: i32, processors: &[usize]) {
    let mut set = CpuSet::new();
    for &processor in processors {
        set.set(processor);
    }
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return };
    for thread in threads.flatten().filter_map(|thread| thread.file_name().to_str()?.parse().ok()) {
        let _ = sched_setaffinity(Pid::from_raw(thread), &set);
    }
}

/// Which of the machine's GPUs a target is, where some are hidden.
fn physical(target: Target, visible: Option<&str>) -> Option<usize> {
    let device = usize::from(target.device.unwrap_or(0));
    match visible {
        Some(list) => list.split(',').nth(device)?.trim().parse().ok(),
        None => Some(device),
    }
}

/// The processors near to each GPU, in the order of their buses, as the system lists them.
fn near(driver: &Path, pci: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(driver) else { return vec![] };
    let mut buses: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    buses.sort();
    let list = |bus: &String| std::fs::read_to_string(pci.join(bus.to_lowercase()).join("local_cpulist")).unwrap_or_default();
    buses.iter().map(list).collect()
}

/// The part of the allowed processors for one GPU: of those near to it, which it shares evenly with the GPUs to which the same ones are near.
fn share(near: &[String], device: usize, allowed: &[usize]) -> Option<Vec<usize>> {
    let own = near.get(device)?;
    let local: Vec<usize> = allowed.iter().copied().filter(|&processor| is_listed(own, processor)).collect();
    let local = if local.is_empty() { allowed } else { &local };
    let sharing: Vec<usize> = (0..near.len()).filter(|&other| near[other] == *own).collect();
    let each = local.len() / sharing.len();
    let place = sharing.iter().position(|&other| other == device)?;
    (near.len() > 1 && each >= FEWEST).then(|| local[place * each..(place + 1) * each].to_vec())
}

/// Whether a list such as `0-15,64` names a processor.
pub(crate) fn is_listed(list: &str, processor: usize) -> bool {
    list.trim().split(',').any(|part| {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let bounds = from.parse::<usize>().ok().zip(to.parse::<usize>().ok());
        bounds.is_some_and(|(from, to)| (from..=to).contains(&processor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(list: &str, gpus: usize) -> Vec<String> {
        vec![list.to_owned(); gpus]
    }

    #[test]
    fn gpus_share_what_is_near_to_them() {
        let allowed: Vec<usize> = (0..32).collect();
        assert_eq!(share(&every("0-31\n", 2), 1, &allowed), Some((16..32).collect()));
        let sockets = [every("0-7,16-23", 2), every("8-15,24-31", 2)].concat();
        assert_eq!(share(&sockets, 0, &allowed), Some((0..8).collect()));
        assert_eq!(share(&sockets, 3, &allowed), Some((24..32).collect()));
        assert_eq!(share(&every("", 4), 3, &allowed), Some((24..32).collect()), "where the system does not say");
    }

    #[test]
    fn one_gpu_has_all_and_few_processors_are_not_divided() {
        let allowed: Vec<usize> = (0..32).collect();
        assert_eq!(share(&every("0-31", 1), 0, &allowed), None);
        assert_eq!(share(&every("0-31", 8), 0, &allowed[..16]), None, "somebody has given this process its own");
        assert_eq!(share(&every("0-31", 2), 2, &allowed), None);
        assert_eq!(of(Target::CPU, 4), None);
    }

    #[test]
    fn a_hidden_gpu_counts() {
        assert_eq!(physical(Target::cuda(1), Some("6,3")), Some(3));
        assert_eq!(physical(Target::cuda(1), None), Some(1));
        assert_eq!(physical(Target::cuda(2), Some("6,3")), None);
        assert_eq!(physical(Target::cuda(0), Some("GPU-1b2c")), None);
    }

    #[test]
    fn all_threads_of_a_process_are_kept() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let before = sched_getaffinity(None).unwrap();
        let one = (0..CpuSet::MAX_CPU).find(|&processor| before.is_set(processor)).unwrap();
        keep(child.id().cast_signed(), &[one]);
        let after = sched_getaffinity(Pid::from_raw(child.id().cast_signed())).unwrap();
        child.kill().and_then(|()| child.wait().map(drop)).unwrap();
        assert!(after.count() == 1 && after.is_set(one));
    }
}
