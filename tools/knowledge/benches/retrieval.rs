//! What indexing and searching cost: `cargo bench -p kernelwright-knowledge --bench retrieval -- FOLDER`.
//!
//! The folder's documents are copied into a pack; without one, texts of about 20 MB are made up. Times are of this process, on an idle machine;
//! memory is the most that it ever had. The goals: 18 MB indexed in 5 s, a question in 1 ms (p50) and 5 ms (p95), 100 MB in less than a
//! minute and 500 MB of memory, and one file added in milliseconds.

#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]
#![expect(clippy::unwrap_used, reason = "what cannot be measured ends the program, as in a test")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kernelwright_knowledge::{BuiltIn, Library, Query, Settings};
use tempfile::TempDir;

const QUESTIONS: [&str; 10] = [
    "why are shared memory bank conflicts slow",
    "cp.async.bulk.tensor",
    "out of resource: shared memory, Required: 262144, Hardware limit: 232448",
    "softmax kernel that reads each row once",
    "num_warps and num_stages of a matmul",
    "how is a tensor map encoded on the host",
    "warp specialisation with producer and consumer",
    "__launch_bounds__ second argument",
    "reduce a block with shuffles",
    "registers spill to local memory",
];

/// How often every question is asked.
const ROUNDS: usize = 50;

fn main() {
    let home = TempDir::new().unwrap();
    let pack = home.path().join("pack");
    fs::create_dir_all(pack.join("documents")).unwrap();
    fs::write(pack.join("pack.toml"), "id = \"bench\"\nversion = \"1\"\nlicence = \"MIT\"\ndescription = \"Documents.\"\n").unwrap();
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).map(PathBuf::from);
    let bytes = match folder {
        Some(folder) => copied(&folder, &pack.join("documents")),
        None => made_up(&pack.join("documents")),
    };
    println!("documents            {:>10.1} MB", bytes as f64 / 1e6);

    let open = || {
        let settings = Settings {
            built_in: BuiltIn::LeftOut,
            packs: vec![pack.clone()],
            cache_dir: Some(home.path().join("cache")),
            ..Settings::default()
        };
        let library = Library::open(settings);
        let started = Instant::now();
        ask(&library, "warp");
        (library, started.elapsed())
    };
    println!("indexed and asked    {:>10.1} ms", milliseconds(open().1));
    let (library, again) = open();
    println!("opened and asked     {:>10.1} ms", milliseconds(again));

    let mut times: Vec<Duration> = (0..ROUNDS).flat_map(|_| QUESTIONS.iter().map(|question| ask(&library, question))).collect();
    times.sort();
    println!("question, p50        {:>10.2} ms", milliseconds(times[times.len() / 2]));
    println!("question, p95        {:>10.2} ms", milliseconds(times[times.len() * 95 / 100]));

    fs::write(pack.join("documents/one-more.md"), "# One more\n\nA swizzle.\n").unwrap();
    let started = Instant::now();
    library.refresh().unwrap();
    println!("one file added       {:>10.1} ms", milliseconds(started.elapsed()));
    println!("memory, at most      {:>10.1} MB", peak_memory());
}

fn ask(library: &Library, question: &str) -> Duration {
    let started = Instant::now();
    library.search(&Query { text: question.to_owned(), limit: 10, ..Query::default() }).unwrap();
    started.elapsed()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Copies a folder and says how many bytes that were.
fn copied(from: &Path, to: &Path) -> u64 {
    fs::create_dir_all(to).unwrap();
    let mut bytes = 0;
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            bytes += copied(&entry.path(), &to.join(entry.file_name()));
        } else if kind.is_file() {
            bytes += fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    bytes
}

/// Writes pages of words that are as unevenly frequent as those of a language.
fn made_up(to: &Path) -> u64 {
    let mut state = 7_u64;
    let mut bytes = 0;
    for page in 0..1_000 {
        let mut text = format!("# Page {page}\n");
        for line in 0..220 {
            if line % 20 == 0 {
                text.push_str("\n## Registers and shared memory\n\n");
            }
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let draw = (state >> 40) as f64 / f64::from(1_u32 << 24);
                let _ = write!(text, "word{} ", (draw.powi(4) * 30_000.0) as u32);
            }
            text.push('\n');
        }
        fs::write(to.join(format!("page{page}.md")), &text).unwrap();
        bytes += text.len() as u64;
    }
    bytes
}

/// The most memory that this process had, in megabytes.
fn peak_memory() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1e3
}
