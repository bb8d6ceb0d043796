//! Who judges at the same time, and where: what is timed has a device to itself.

use std::collections::HashSet;

use kernelwright_protocol::Target;

use crate::failure::Failure;
use crate::judge::Judge;
use crate::settings::Settings;

/// One who takes a problem after another.
pub struct Seat {
    pub judge: Judge,
    pub target: Target,
}

/// Seats on every device that the target may be: one each, or as many as asked for where nothing is timed. At most `left`.
///
/// # Errors
/// If a judge cannot be had.
pub async fn seats(settings: &Settings, timed: bool, jobs: Option<u8>, left: usize) -> Result<Vec<Seat>, Failure> {
    let first = Judge::open(settings).await?;
    let mut places = places(first.devices(settings.evaluate.target), jobs.filter(|_| !timed), left).into_iter();
    let mut seats = Vec::from_iter(places.next().map(|target| Seat { judge: first, target }));
    for target in places {
        // Evaluations that are timed keep off each other's processors, and so have to know of each other; others would wait for each other.
        let shared = seats.first().filter(|_| timed).and_then(|seat| seat.judge.shared());
        let judge = match shared {
            Some(judge) => judge,
            None => Judge::open(settings).await?,
        };
        seats.push(Seat { judge, target });
    }
    Ok(seats)
}

/// The first seat on each device, and all others.
pub fn one_for_each_device(seats: Vec<Seat>) -> (Vec<Seat>, Vec<Seat>) {
    let mut taken = HashSet::new();
    seats.into_iter().partition(|seat| taken.insert(seat.target))
}

/// Whether several sit on one device.
pub fn share_devices(seats: &[Seat]) -> bool {
    let targets: HashSet<_> = seats.iter().map(|seat| seat.target).collect();
    targets.len() < seats.len()
}

fn places(devices: Vec<Target>, jobs: Option<u8>, left: usize) -> Vec<Target> {
    let count = jobs.map_or(devices.len(), usize::from).clamp(1, left.max(1));
    devices.into_iter().cycle().take(count).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_take_turns_and_there_is_always_somebody() {
        let places = |devices: u16, jobs, left| {
            let places = places((0..devices).map(Target::cuda).collect(), jobs, left);
            places.iter().map(|place| place.device.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(places(2, None, 100), [0, 1], "one for each device");
        assert_eq!(places(2, Some(5), 100), [0, 1, 0, 1, 0]);
        assert_eq!(places(8, Some(2), 100), [0, 1]);
        assert_eq!(places(8, None, 3), [0, 1, 2], "no more than there is to do");
        assert_eq!(places(1, Some(0), 100), [0]);
    }
}
