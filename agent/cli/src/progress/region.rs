//! The live region: what is being tried, the best so far, what was spent. Three lines, four while the run is being stopped.

use std::time::{Duration, Instant};

use kernelwright_engine::Activity;
use kernelwright_protocol::{Nanoseconds, Verdict};
use kernelwright_search::{Event, Graph, Record};

use crate::printer::clean;

/// What the region shows.
#[derive(Debug)]
pub struct Region {
    /// Since when the clock runs, and how much it showed then.
    clock: Option<(Instant, Nanoseconds)>,
    step: String,
    doing: String,
    best: String,
    spend: String,
    /// What is said while the run is being stopped.
    pub stopping: Option<String>,
}

impl Region {
    pub fn new() -> Self {
        Self {
            clock: None,
            step: String::new(),
            doing: "starting".to_owned(),
            best: "nothing correct yet".to_owned(),
            spend: String::new(),
            stopping: None,
        }
    }

    /// Takes in an event; `graph` has done so already.
    pub fn event(&mut self, record: &Record, graph: &Graph) {
        self.clock = Some((Instant::now(), record.elapsed_ns));
        if let Some(doing) = super::begins(&record.event) {
            self.doing = doing;
        }
        match &record.event {
            Event::StepStarted { step, parent, .. } => {
                let of = graph.head().and_then(|head| head.settings.budget.steps).map(|steps| format!(" of {steps}")).unwrap_or_default();
                let from = parent.map(|node| format!(", from kernel {node}")).unwrap_or_default();
                self.step = format!("step {step}{of}{from}");
                "starting".clone_into(&mut self.doing);
            }
            Event::ToolReturned { .. } | Event::ModelAnswered { .. } => "thinking".clone_into(&mut self.doing),
            _ => {}
        }
        if let Some(best) = graph.best() {
            self.best = match &best.evaluation.verdict {
                Verdict::Correct(correct) => match &correct.timing {
                    Some(t) => format!("best {:.2}x ({:.2} to {:.2}), {}", t.speedup, t.speedup_low, t.speedup_high, t.candidate_ns),
                    None => "best: correct, not timed".to_owned(),
                },
                _ => self.best.clone(),
            };
        }
        let spend = &graph.spend;
        let money = match (spend.dollars.value() > 0.0, spend.unpriced) {
            (_, 0) => spend.dollars.to_string(),
            (true, _) => format!("more than {}", spend.dollars),
            (false, _) => "price unknown".to_owned(),
        };
        self.spend = format!("{} evaluations, {}, {money}", spend.evaluations, spend.usage.total());
    }

    pub fn activity(&mut self, activity: &Activity) {
        match activity {
            Activity::ServerStarting { server } => self.doing = format!("starting the tool server {server}"),
            Activity::ToolProgress { tool, message, .. } => self.doing = format!("{tool}: {message}"),
            Activity::ModelWaiting { step: None, .. } => "asking the model whether it can call tools".clone_into(&mut self.doing),
            Activity::ModelWaiting { .. } => "waiting for the model".clone_into(&mut self.doing),
            Activity::ModelStreaming { characters } => self.doing = format!("the model writes ({characters} characters)"),
            Activity::ModelRetry { wait, .. } => self.doing = format!("asking the model again in {} s", wait.as_secs_f64().ceil()),
            Activity::RunOpened { .. } | Activity::Remark { .. } => {}
        }
    }

    /// How long the run has been active by now.
    pub fn elapsed(&self) -> Option<Nanoseconds> {
        self.clock.map(|(since, shown)| shown + Nanoseconds::from(since.elapsed()))
    }

    /// The lines, none longer than `width` characters. `tick` turns the spinner.
    pub fn lines(&self, tick: usize, width: usize, elapsed: Option<Nanoseconds>) -> Vec<String> {
        let spinner = ['|', '/', '-', '\\'][tick % 4];
        let step = if self.step.is_empty() { String::new() } else { format!("{}: ", self.step) };
        let mut lines = vec![format!("{spinner} {step}{}", self.doing), format!("  {}", self.best)];
        lines.push(format!("  {}{}", elapsed.map(|elapsed| format!("{}, ", clock(elapsed))).unwrap_or_default(), self.spend));
        lines.extend(self.stopping.as_ref().map(|text| format!("  {text}")));
        for line in &mut lines {
            // What tools say of their work is somebody's text, and a line break in it would be a line more than the region counts.
            *line = clean(line).replace(['\n', '\t'], " ");
            if let Some((end, _)) = line.char_indices().nth(width) {
                line.truncate(end);
            }
        }
        lines
    }
}

/// A run's time as a clock shows it: `0:07`, `12:34`, `1:02:03`.
pub fn clock(elapsed: Nanoseconds) -> String {
    let seconds = Duration::from_nanos(elapsed.0).as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}
