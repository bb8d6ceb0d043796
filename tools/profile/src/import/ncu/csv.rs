//! What `ncu --csv` prints: the raw page, with one launch in a row, or the details page, with one metric in a row.
//!
//! The program's own output and the profiler's remarks (`==PROF==`) may stand before, between and after the rows.

use std::collections::BTreeMap;

use csv::{ReaderBuilder, StringRecord};
use kernelwright_protocol::{Figures, KernelProfile, LaunchShape, ProfilerKind};

use super::metrics::Measured;
use super::{DURATION, NO_DURATIONS, REPLAYED, labels, stalls};
use crate::import::error::{Fault, Format};
use crate::import::launches::{self, Launch};
use crate::import::{CALLS_UNKNOWN, NAME, limited};
use crate::{Capture, RawFigure};

/// Columns that say which launch a row is about; what is right of them in the raw page are metrics.
const ABOUT: &[&str] = &[
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Kernel Time",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
];

/// Columns of a row: the profiler has some thousand metrics in all.
const COLUMNS: usize = 1 << 16;

/// Where the table begins, if there is one.
pub(in crate::import) fn table(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let fields = line.trim_end().split(',').map(|field| field.trim_matches('"'));
        if fields.clone().next() == Some("ID") && fields.clone().any(|field| field == "Kernel Name") {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// Reads the table that begins there.
pub(in crate::import) fn read(text: &str, begin: usize) -> Result<Capture, Fault> {
    let rows = &text[begin..];
    let line = 1 + text[..begin].matches('\n').count() as u64;
    // A quote that is not closed would make the rest of the file one field.
    if rows.trim_end_matches(['\n', '\r']).matches('"').count() % 2 == 1 {
        return Err(truncated("inside a quoted field"));
    }
    if rows.starts_with('"') && !rows.ends_with(['\n', '"']) {
        return Err(truncated("inside its last row"));
    }
    if rows.lines().any(|line| line.matches(',').count() > COLUMNS) {
        return Err(Fault::damaged(Format::NcuCsv, "somewhere", "a row has more columns than the profiler has metrics"));
    }
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(rows.as_bytes());
    let mut records = reader.records();
    let header = records.next().and_then(Result::ok).ok_or(Fault::Empty(Format::NcuCsv))?;
    let table = Table::of(&header);
    let mut launches: BTreeMap<(u64, String), Row> = BTreeMap::new();
    let mut taken = 0;
    let mut wanted_units = table.details.is_none();
    let mut column_units = StringRecord::new();
    for record in records {
        let at = |record: &StringRecord| line + record.position().map_or(0, |position| position.line() - 1);
        let record = record.map_err(|error| Fault::damaged(Format::NcuCsv, format!("after line {line}"), error.to_string()))?;
        if wanted_units && record.get(table.id) == Some("") && record.len() >= header.len() {
            column_units = record;
            wanted_units = false;
            continue;
        }
        // Anything without a number in front is a remark, or the header once more for the next process.
        let Some(Ok(id)) = record.get(table.id).map(str::parse::<u64>) else { continue };
        if record.len() < table.least {
            return Err(Fault::Truncated {
                format: Format::NcuCsv,
                at: format!("in line {}: {} of {} columns", at(&record), record.len(), table.least),
            });
        }
        let process = record.get(table.process.unwrap_or(table.id)).unwrap_or_default().to_owned();
        let row = launches.entry((id, process)).or_insert_with(|| table.row(&record));
        let figures = match &table.details {
            Some(details) => details.figure(&record).into_iter().collect(),
            None => table.figures(&header, &column_units, &record),
        };
        limited(&mut taken, &figures)?;
        row.raw.extend(figures);
    }
    capture(launches.into_values().collect())
}

fn truncated(at: &str) -> Fault {
    Fault::Truncated { format: Format::NcuCsv, at: at.to_owned() }
}

struct Row {
    name: String,
    shape: Option<LaunchShape>,
    raw: Vec<RawFigure>,
}

struct Table {
    id: usize,
    process: Option<usize>,
    kernel: usize,
    block: Option<usize>,
    grid: Option<usize>,
    /// Where the raw page's metrics are.
    metrics: Vec<usize>,
    /// Where the details page has its metric.
    details: Option<Details>,
    /// What a whole row has at least.
    least: usize,
}

struct Details {
    section: Option<usize>,
    name: usize,
    unit: usize,
    value: usize,
}

impl Table {
    fn of(header: &StringRecord) -> Self {
        let column = |name: &str| header.iter().position(|field| field == name);
        let details = column("Metric Name").zip(column("Metric Unit")).zip(column("Metric Value"));
        let details = details.map(|((name, unit), value)| Details { section: column("Section Name"), name, unit, value });
        Self {
            id: column("ID").unwrap_or(0),
            process: column("Process ID"),
            kernel: column("Kernel Name").unwrap_or(0),
            block: column("Block Size"),
            grid: column("Grid Size"),
            metrics: (0..header.len()).filter(|at| !ABOUT.contains(&&header[*at]) && header[*at].len() <= NAME).collect(),
            least: details.as_ref().map_or(header.len(), |details| details.value + 1),
            details,
        }
    }

    fn row(&self, record: &StringRecord) -> Row {
        let sides = |column: Option<usize>| sides(record.get(column?)?);
        let shape = sides(self.grid).zip(sides(self.block)).map(|(grid, block)| LaunchShape { grid, block });
        Row { name: record.get(self.kernel).unwrap_or_default().to_owned(), shape, raw: Vec::new() }
    }

    fn figures(&self, header: &StringRecord, units: &StringRecord, record: &StringRecord) -> Vec<RawFigure> {
        let figure = |at: usize| {
            Some(RawFigure {
                name: header.get(at)?.to_owned(),
                value: number(record.get(at)?)?,
                unit: units.get(at).unwrap_or_default().to_owned(),
            })
        };
        self.metrics.iter().filter_map(|at| figure(*at)).collect()
    }
}

impl Details {
    fn figure(&self, record: &StringRecord) -> Option<RawFigure> {
        let section = self.section.and_then(|column| record.get(column)).unwrap_or_default();
        let unit = record.get(self.unit)?.to_owned();
        // Rows of rules have no metric.
        let label = record.get(self.name).filter(|label| !label.is_empty() && label.len() + section.len() <= NAME)?;
        Some(RawFigure { name: labels::metric(section, label), value: number(record.get(self.value)?)?, unit })
    }
}

/// `(256, 1, 1)`, `256,1,1` and `256x1x1`.
fn sides(text: &str) -> Option<[u32; 3]> {
    let sides: Result<Vec<u32>, _> = text.trim_matches(['(', ')', ' ']).split([',', 'x']).map(|side| side.trim().parse()).collect();
    sides.ok()?.try_into().ok()
}

/// A number with separators of thousands, and without the values of single instances that may follow it. `n/a` and words are none.
fn number(text: &str) -> Option<f64> {
    let whole = text.split(" (").next()?.trim().replace(',', "");
    // Rust reads `inf` and `nan`, too, which no counter says.
    whole.parse().ok().filter(|value: &f64| value.is_finite())
}

fn capture(rows: Vec<Row>) -> Result<Capture, Fault> {
    if rows.is_empty() {
        return Err(Fault::Empty(Format::NcuCsv));
    }
    let mut limits = vec![REPLAYED.to_owned(), CALLS_UNKNOWN.to_owned()];
    let launches: Vec<Launch<Vec<RawFigure>>> = rows
        .into_iter()
        .map(|row| {
            let duration_ns = Measured::of(&row.raw).get(DURATION);
            Launch { name: row.name, shape: row.shape, duration_ns, detail: row.raw }
        })
        .collect();
    if launches.iter().all(|launch| launch.duration_ns.is_none()) {
        NO_DURATIONS.clone_into(&mut limits[0]);
    }
    limits.push("The table rounds its figures; the report (`.ncu-rep`) has them whole, with samples of single instructions.".to_owned());
    let mut capture = Capture {
        profiler: ProfilerKind::Ncu,
        device: None,
        calls: 1,
        wall_per_call_ns: None,
        kernels: Vec::new(),
        call: Figures::default(),
        limits,
        raw: Vec::new(),
    };
    for group in launches::group(launches, 1) {
        let mut raw = group.median;
        raw.sort_by(|left, right| left.name.cmp(&right.name));
        let measured = Measured::of(&raw);
        let mut kernel = KernelProfile::from(group.time);
        kernel.launch = group.shape;
        kernel.figures = measured.figures();
        kernel.stalls = stalls::of(&measured);
        capture.kernels.push(kernel);
        capture.raw.push(raw);
    }
    Ok(capture)
}
