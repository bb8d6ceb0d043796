//! Lessons: what runs proved, kept as entries of the user's pack `learnt`.
//!
//! A lesson is a change (one kernel made from another) and its measured effects. The change is told in the words of whoever made it; the
//! effects are read from verdicts that lie on this machine's disk, and what they do not prove is refused. Whoever calls is not believed, so
//! a server that does not share the agent's disk keeps no lessons.
//!
//! The same change measured again adds to its lesson. Every operation can be repeated: telling the same thing twice changes nothing, which
//! is what lets an agent that was killed between a call and its own note of it simply call again.

mod error;
mod evidence;
mod kept;
mod page;
pub(crate) mod tools;

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use kernelwright_packs::lesson_table;
use kernelwright_protocol::{
    ContentHash, FoundLesson, LessonUse, Lessons, Likeness, NewLesson, Proof, RatedLessons, RecordedLesson, Subject,
};

pub use self::error::LessonError;
pub use self::kept::{Forgotten, KeptLesson, KeptLessons};
use self::page::{Measured, Page, Use};

/// The pack that lessons are kept in.
const PACK: &str = "learnt";

const MANIFEST: &str = "id = \"learnt\"\nversion = \"1.0.0\"\nlicence = \"LicenseRef-Private\"\n\
                        description = \"What the runs on this machine proved about changes to kernels, with the evidence.\"\n";

/// Lessons of an answer, unless the caller wants another number.
pub(crate) const DEFAULT_LIMIT: u32 = 4;

/// Below this, a lesson is about something else.
const LEAST_LIKENESS: f64 = 0.25;

/// The longest description of a change that is kept, in characters.
const CHANGE_CHARACTERS: usize = 1_500;

/// The user's lessons.
#[derive(Clone, Debug)]
pub(crate) struct LessonBook {
    /// The folder of the user's packs; without one, nothing can be kept.
    home: Option<PathBuf>,
}

impl LessonBook {
    pub(crate) fn new(home: Option<PathBuf>) -> Self {
        Self { home }
    }

    /// Keeps what a pair of verdicts proves.
    pub(crate) fn record(&self, new: &NewLesson) -> Result<RecordedLesson, LessonError> {
        let change = new.change.trim();
        if change.is_empty() {
            return Err(LessonError::NoChange);
        }
        let verdict = evidence::verdict(&new.verdict)?;
        let parent = new.parent.as_ref().map(evidence::verdict).transpose()?;
        if parent.as_ref().is_some_and(|parent| parent.problem != verdict.problem || parent.target.backend != verdict.target.backend) {
            return Err(LessonError::Unrelated);
        }
        if verdict.target.backend != new.subject.backend {
            return Err(LessonError::OtherBackend);
        }
        let proof = Proof::of(&verdict, parent.as_ref()).ok_or(LessonError::NothingProven)?;

        let entries = self.open()?;
        let _lock = lock(&entries)?;
        let name = name(new);
        let path = entries.join(format!("{name}.md"));
        let mut page = read(&path)?.unwrap_or_else(|| Page::new(change.chars().take(CHANGE_CHARACTERS).collect(), new));
        page.measure(Measured::of(new, &verdict, proof));
        write(&path, &page.render(&name))?;
        let measurements = u32::try_from(page.measured.len()).unwrap_or(u32::MAX);
        Ok(RecordedLesson { lesson: format!("{PACK}/{name}"), effect: proof.effect, measurements })
    }

    /// At most so many lessons that bear on a subject: the most similar first, those that helped before those that did not.
    pub(crate) fn find(&self, subject: &Subject, limit: usize) -> Result<Lessons, LessonError> {
        let mut found: Vec<(f64, FoundLesson)> = Vec::new();
        for (name, page) in self.pages()? {
            let nearest = page.measured.iter().filter_map(|measured| Some((measured, subject.likeness(&measured.subject)?)));
            let Some((measured, likeness)) = nearest.max_by(|a, b| a.1.score().total_cmp(&b.1.score())) else { continue };
            if likeness.score() >= LEAST_LIKENESS {
                found.push((likeness.score() * page.usefulness(), page.found(&format!("{PACK}/{name}"), measured, likeness)));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.lesson.cmp(&b.1.lesson)));
        Ok(Lessons { lessons: found.into_iter().take(limit).map(|(_, lesson)| lesson).collect() })
    }

    /// Notes what became of kernels that were written with lessons in view.
    pub(crate) fn rate(&self, used: &LessonUse) -> Result<RatedLessons, LessonError> {
        let entries = self.open()?;
        let _lock = lock(&entries)?;
        let mut known = 0;
        for lesson in &used.lessons {
            let name = lesson.strip_prefix(PACK).and_then(|rest| rest.strip_prefix('/')).filter(|name| is_name(name));
            let Some(name) = name else { return Err(LessonError::NoLesson { lesson: lesson.clone() }) };
            let path = entries.join(format!("{name}.md"));
            let Some(mut page) = read(&path)? else { continue };
            known += 1;
            if page.used(Use { run: used.run.clone(), step: used.step, helped: used.helped }) {
                write(&path, &page.render(name))?;
            }
        }
        Ok(RatedLessons { known })
    }

    /// Every lesson that can be read, by name. One that was damaged by hand does not hide the others.
    fn pages(&self) -> Result<Vec<(String, Page)>, LessonError> {
        let Some(home) = &self.home else { return Ok(vec![]) };
        let entries = home.join(PACK).join("entries");
        let listed = match fs::read_dir(&entries) {
            Ok(listed) => listed,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(vec![]),
            Err(source) => return Err(LessonError::Io { action: "list", path: entries, source }),
        };
        let mut pages = Vec::new();
        for path in listed.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.extension().is_some_and(|end| end == "md")) {
            match read(&path) {
                Ok(Some(page)) => pages.push((path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), page)),
                Ok(None) => {}
                Err(error) => tracing::warn!(path = %path.display(), %error, "a lesson is passed over"),
            }
        }
        Ok(pages)
    }

    /// The folder of the lessons, made when it is not there.
    fn open(&self) -> Result<PathBuf, LessonError> {
        let pack = self.home.as_ref().ok_or(LessonError::NoHome)?.join(PACK);
        let entries = pack.join("entries");
        fs::create_dir_all(&entries).map_err(LessonError::io("make", &entries))?;
        let manifest = pack.join("pack.toml");
        if !manifest.is_file() {
            write(&manifest, MANIFEST)?;
        }
        Ok(entries)
    }
}

/// A change is named by the kernels before and after it, so that the same change is the same lesson whoever measures it.
fn name(new: &NewLesson) -> String {
    let parent = new.parent.as_ref().map(|parent| parent.candidate.as_str()).unwrap_or_default();
    let id = ContentHash::of(format!("{parent} {}", new.verdict.candidate.as_str()));
    let words = new.subject.operators.iter().take(3).flat_map(|operator| operator.chars().chain(['-']));
    let slug: String = words.filter_map(|c| if c == '_' { Some('-') } else { is_plain(c).then_some(c) }).take(40).collect();
    let slug = slug.trim_matches('-');
    if slug.is_empty() { format!("lesson-{}", id.short()) } else { format!("{slug}-{}", id.short()) }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_plain)
}

fn read(path: &Path) -> Result<Option<Page>, LessonError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(LessonError::Io { action: "read", path: path.to_owned(), source }),
    };
    lesson_table(&text).map(Some).map_err(|fault| LessonError::Damaged { path: path.to_owned(), fault })
}

/// Held while a lesson is read, changed and written: several agents share the pack.
fn lock(entries: &Path) -> Result<File, LessonError> {
    let path = entries.join(".lock");
    let file = OpenOptions::new().create(true).append(true).open(&path).map_err(LessonError::io("open", &path))?;
    file.lock().map_err(LessonError::io("lock", &path))?;
    Ok(file)
}

/// Readers see the old file or the new one.
fn write(path: &Path, text: &str) -> Result<(), LessonError> {
    let partial = path.with_extension(format!("part-{}", std::process::id()));
    let written = File::create(&partial).and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_data()));
    written.and_then(|()| fs::rename(&partial, path)).map_err(|source| {
        // What is left of a failed attempt is in nobody's way, but nobody's either.
        let _ = fs::remove_file(&partial);
        LessonError::Io { action: "write", path: path.to_owned(), source }
    })
}

/// How a lesson is told to whoever asks.
impl Page {
    fn found(&self, lesson: &str, measured: &Measured, likeness: Likeness) -> FoundLesson {
        FoundLesson {
            lesson: lesson.to_owned(),
            effect: measured.effect,
            likeness: likeness.score(),
            why: likeness.to_string(),
            shown: self.shown,
            helped: self.helped,
            text: self.told(measured),
        }
    }
}

#[cfg(test)]
mod tests;
