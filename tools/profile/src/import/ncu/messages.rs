//! The messages of a report that are read, with the numbers of their fields as the `.proto` files say that Nsight Compute ships under
//! `extras/FileFormat`.

use std::borrow::Cow;

use kernelwright_protocol::LaunchShape;

use super::container::Container;
use super::wire::{self, Value};

/// A profiled launch (`ProfileResult`).
#[derive(Clone, Copy)]
pub(super) struct Launched<'a> {
    message: &'a [u8],
    strings: &'a Container<'a>,
}

/// One metric of a launch (`ProfileMetricResult`).
#[derive(Clone, Copy)]
pub(super) struct MetricResult<'a> {
    message: &'a [u8],
}

impl<'a> Launched<'a> {
    pub(super) fn of(message: &'a [u8], strings: &'a Container<'a>) -> Self {
        Self { message, strings }
    }

    /// The name for people: demangled, else without its parameters, else as the linker knows it.
    pub(super) fn name(self) -> String {
        let names = [7, 6, 5].into_iter().filter_map(|field| wire::last(self.message, field)?.text());
        names.map(Cow::into_owned).find(|name| !name.is_empty()).unwrap_or_else(|| "kernel without a name".to_owned())
    }

    /// The name in the compiled module.
    pub(super) fn symbol(self) -> Option<Cow<'a, str>> {
        wire::last(self.message, 5)?.text()
    }

    pub(super) fn shape(self) -> Option<LaunchShape> {
        let sides = |field| {
            let sides = wire::last(self.message, field)?.bytes()?;
            let side = |field| u32::try_from(wire::last(sides, field)?.integer()?).ok();
            Some([side(1)?, side(2)?, side(3)?])
        };
        Some(LaunchShape { grid: sides(10)?, block: sides(11)? })
    }

    /// The modules that it was launched from, by their numbers.
    pub(super) fn modules(self) -> impl Iterator<Item = u64> {
        wire::all(self.message, 15).filter_map(|reference| wire::last(reference, 1)?.integer())
    }

    /// Its metrics with their names.
    pub(super) fn metrics(self) -> impl Iterator<Item = (Cow<'a, str>, MetricResult<'a>)> {
        wire::all(self.message, 13).filter_map(move |message| {
            let name = usize::try_from(wire::last(message, 1)?.integer()?).ok()?;
            Some((String::from_utf8_lossy(self.strings.strings.get(name)?), MetricResult { message }))
        })
    }

    /// A metric by its name.
    pub(super) fn metric(self, name: &str) -> Option<MetricResult<'a>> {
        self.metrics().find(|(found, _)| found == name).map(|(_, metric)| metric)
    }

    /// Instructions as text, where the report has them.
    pub(super) fn instructions(self) -> impl Iterator<Item = Instruction<'a>> {
        wire::all(self.message, 12).filter_map(move |message| {
            let locator = wire::last(message, 5).and_then(Value::bytes).unwrap_or_default();
            let file = wire::last(locator, 4).and_then(Value::text).filter(|path| !path.is_empty());
            let listed = || {
                let index = usize::try_from(wire::last(locator, 3)?.integer()?).ok()?;
                self.strings.strings.get(index).map(|path| String::from_utf8_lossy(path))
            };
            let line = wire::last(locator, 2).and_then(Value::integer).filter(|line| *line > 0);
            Some(Instruction {
                address: wire::last(message, 1)?.integer()?,
                text: wire::last(message, 2)?.text()?,
                line: line.and_then(|line| Some((file.or_else(listed)?, line))),
            })
        })
    }
}

/// One machine instruction (`SourceLine`).
pub(super) struct Instruction<'a> {
    pub address: u64,
    pub text: Cow<'a, str>,
    pub line: Option<(Cow<'a, str>, u64)>,
}

impl<'a> MetricResult<'a> {
    /// Its value as a whole, where that is a number.
    pub(super) fn number(self) -> Option<f64> {
        number(wire::last(self.message, 2)?)
    }

    /// Its value as a whole, where that is text.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        wire::last(wire::last(self.message, 2)?.bytes()?, 1)?.text()
    }

    /// Its values at addresses of instructions.
    pub(super) fn instances(self) -> impl Iterator<Item = (u64, f64)> {
        wire::all(self.message, 3)
            .filter_map(|instance| Some((wire::last(wire::last(instance, 1)?.bytes()?, 5)?.integer()?, number(wire::last(instance, 2)?)?)))
    }
}

/// A float, a double or an integer of either width, in the fields 2 to 5 of a value; what is no finite number is none.
fn number(value: Value<'_>) -> Option<f64> {
    let value = value.bytes()?;
    (2..=5).find_map(|field| wire::last(value, field)?.number()).filter(|value| value.is_finite())
}

/// A compiled module (`ProfileSource`).
#[derive(Clone, Copy)]
pub(super) struct Module<'a> {
    message: &'a [u8],
}

impl<'a> Module<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { message }
    }

    pub(super) fn number(self) -> Option<u64> {
        wire::last(self.message, 1)?.integer()
    }

    /// The module's executable.
    pub(super) fn code(self) -> Option<&'a [u8]> {
        wire::last(self.message, 4)?.bytes()
    }

    /// Where a function was loaded.
    pub(super) fn address(self, function: &str) -> Option<u64> {
        let functions = wire::last(self.message, 9)?.bytes()?;
        let found =
            wire::all(functions, 1).find(|entry| wire::last(entry, 1).and_then(Value::text).is_some_and(|name| name == function))?;
        wire::last(found, 2)?.integer()
    }
}
