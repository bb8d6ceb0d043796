//! What people see while a run works: one line per thing that happened, and on a terminal a live region of what is happening.
//!
//! [`lines`] words the events, [`region`] the live part; [`Progress`] is the engine's observer that feeds both.

mod lines;
mod region;
mod screen;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use kernelwright_engine::{Activity, Observer, StopToken};
use kernelwright_search::{Event, Graph, Record};

pub use lines::{Line, verdict};
use region::Region;
use screen::Screen;

use crate::printer::{Printer, Tone, Verbosity};

/// What stdout is for during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdout {
    /// Nothing until the summary.
    Summary,
    /// Every record as a line of JSON.
    Records,
}

/// Watches a run for people and programs.
pub struct Progress {
    printer: Printer,
    stdout: Stdout,
    graph: Graph,
    screen: Screen,
    stop: StopToken,
    dir: Option<PathBuf>,
}

/// Lets the interrupt handler speak on the same screen.
#[derive(Clone)]
pub struct Announcer {
    shared: Option<Arc<Mutex<Region>>>,
    printer: Printer,
}

impl Announcer {
    /// Speaks on stderr alone.
    pub fn of(printer: Printer) -> Self {
        Self { shared: None, printer }
    }

    /// Says that the run is being stopped.
    pub fn stopping(&self, text: &str) {
        match &self.shared {
            Some(region) => region.lock().unwrap_or_else(PoisonError::into_inner).stopping = Some(text.to_owned()),
            None => self.printer.say(text),
        }
    }
}

impl Progress {
    /// `history` is what happened before this session. The live region needs a terminal to itself.
    pub fn new(printer: Printer, stdout: Stdout, history: &[Record], stop: StopToken) -> Self {
        let shares_screen = stdout == Stdout::Records && printer.stdout_is_terminal;
        let live = printer.stderr_is_terminal && printer.verbosity == Verbosity::Normal && !shares_screen;
        let mut graph = Graph::default();
        for record in history {
            // The engine judges the log; what does not fit is only not shown.
            let _ = graph.apply(record);
        }
        Self { printer, stdout, graph, screen: Screen::start(printer, live), stop, dir: None }
    }

    pub fn announcer(&self) -> Announcer {
        Announcer { shared: self.screen.shared(), printer: self.printer }
    }

    /// The run's folder, once there is one.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// What the run's events add up to so far.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Takes the live region off the screen.
    pub fn finish(&mut self) {
        self.screen.close();
    }

    fn show(&self, line: &Line, elapsed: &str) {
        for line in compose(self.printer, line, elapsed) {
            self.screen.print(&line);
        }
    }
}

/// The lines as they are printed: the time in front of the first one, in its own column. None below the line's verbosity.
fn compose(printer: Printer, line: &Line, elapsed: &str) -> Vec<String> {
    if line.from > printer.verbosity {
        return vec![];
    }
    let text = line.text.split('\n').enumerate();
    let put = |(index, text): (usize, &str)| {
        let elapsed = if index == 0 { elapsed } else { "" };
        format!("{}  {}", printer.on_stderr(Tone::Faint, &format!("{elapsed:>8}")), printer.on_stderr(line.tone, text))
    };
    text.map(put).collect()
}

impl Observer for Progress {
    fn event(&mut self, record: &Record) {
        if self.stdout == Stdout::Records && self.printer.try_json(record).is_err() {
            // Whoever read the records has left; the run is saved and can be resumed.
            self.stop.save_and_stop();
        }
        let before = self.graph.best().map(|best| best.candidate.clone());
        let _ = self.graph.apply(record);
        let improved = self.graph.best().map(|best| &best.candidate) != before.as_ref();
        if let Some(line) = lines::of_event(&record.event, &self.graph, improved) {
            self.show(&line, &region::clock(record.elapsed_ns));
        }
        self.screen.update(|region| region.event(record, &self.graph));
    }

    fn activity(&mut self, activity: &Activity) {
        if let Activity::RunOpened { dir } = activity {
            self.dir = Some(dir.clone());
        }
        if let Some(line) = lines::of_activity(activity) {
            self.show(&line, "");
        }
        self.screen.update(|region| region.activity(activity));
    }
}

/// Whether an event begins something that takes a while.
fn begins(event: &Event) -> Option<String> {
    match event {
        Event::StepStarted { step, .. } => Some(format!("step {step}")),
        Event::ToolCalled { tool, .. } => Some(tool.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
