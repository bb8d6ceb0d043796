//! The end of the terminal: lines that stay, and below them the live region, drawn again and again.

use std::io::{self, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::region::Region;
use crate::printer::Printer;

/// How often the region is drawn when nothing happens.
const TICK: Duration = Duration::from_millis(200);

/// Where lines go.
pub struct Screen {
    printer: Printer,
    live: Option<Live>,
}

struct Live {
    region: Arc<Mutex<Region>>,
    canvas: Arc<Mutex<Canvas>>,
    wake: Arc<Condvar>,
    ticker: Option<JoinHandle<()>>,
}

/// What is on the terminal now.
struct Canvas {
    drawn: usize,
    tick: usize,
    open: bool,
}

impl Screen {
    /// Starts to draw where `live` says that somebody watches a terminal.
    pub fn start(printer: Printer, live: bool) -> Self {
        Self { printer, live: live.then(Live::start) }
    }

    /// The region, for whoever else has to say something there.
    pub fn shared(&self) -> Option<Arc<Mutex<Region>>> {
        self.live.as_ref().map(|live| Arc::clone(&live.region))
    }

    /// A line that stays.
    pub fn print(&self, text: &str) {
        match &self.live {
            Some(live) => lock(&live.canvas).print(&self.printer.shown_on_stderr(text), &lock(&live.region)),
            None => self.printer.say(text),
        }
    }

    pub fn update(&self, change: impl FnOnce(&mut Region)) {
        if let Some(live) = &self.live {
            change(&mut lock(&live.region));
        }
    }

    /// Takes the region away and stops drawing.
    pub fn close(&mut self) {
        if let Some(live) = self.live.take() {
            live.end();
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.close();
    }
}

impl Live {
    fn start() -> Self {
        let region = Arc::new(Mutex::new(Region::new()));
        let canvas = Arc::new(Mutex::new(Canvas { drawn: 0, tick: 0, open: true }));
        let wake = Arc::new(Condvar::new());
        let (shown, drawn, woken) = (Arc::clone(&region), Arc::clone(&canvas), Arc::clone(&wake));
        let ticker = std::thread::spawn(move || {
            let mut canvas = lock(&drawn);
            while canvas.open {
                canvas.tick += 1;
                canvas.draw("", &lock(&shown));
                canvas = woken.wait_timeout(canvas, TICK).unwrap_or_else(PoisonError::into_inner).0;
            }
        });
        Self { region, canvas, wake, ticker: Some(ticker) }
    }

    fn end(mut self) {
        {
            let mut canvas = lock(&self.canvas);
            canvas.open = false;
            canvas.clear();
        }
        self.wake.notify_all();
        if let Some(ticker) = self.ticker.take() {
            let _ = ticker.join();
        }
    }
}

impl Canvas {
    fn print(&mut self, line: &str, region: &Region) {
        self.draw(&format!("{line}\n"), region);
    }

    /// Writes `above` where the region was, and the region below it. One write, so that nothing flickers.
    fn draw(&mut self, above: &str, region: &Region) {
        let width = terminal_size::terminal_size_of(io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let lines = region.lines(self.tick, width.saturating_sub(1), region.elapsed());
        let mut text = self.erase();
        text.push_str(above);
        for line in &lines {
            text.push_str(line);
            text.push('\n');
        }
        self.drawn = lines.len();
        // A closed stderr is no reason to stop a run.
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    fn clear(&mut self) {
        let text = self.erase();
        self.drawn = 0;
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Moves to the region's first line and erases from there to the end of the screen.
    fn erase(&self) -> String {
        if self.drawn == 0 { "\r\x1b[J".to_owned() } else { format!("\r\x1b[{}A\x1b[J", self.drawn) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
