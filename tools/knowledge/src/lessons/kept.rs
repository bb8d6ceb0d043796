//! Lessons as people look through them, and forgetting some.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use kernelwright_packs::{Home, Installed, Pack, Problem, lesson_table};
use kernelwright_protocol::EntryKind;

use super::error::LessonError;
use super::lock;
use super::page::Page;

/// The lessons in a user's packs.
#[derive(Debug, Default)]
pub struct KeptLessons {
    /// The one that changed last comes first.
    pub lessons: Vec<KeptLesson>,
    /// Files among them that cannot be read any more.
    pub damaged: Vec<Problem>,
}

/// One lesson.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptLesson {
    /// `pack/name`.
    pub lesson: String,
    /// The pack it is in.
    pub pack: String,
    /// What it says, in a line.
    pub title: String,
    /// Its file.
    pub file: PathBuf,
    /// On how many problems and architectures it was measured.
    pub measurements: usize,
    /// How often it was shown before a kernel was written.
    pub shown: u32,
    /// How often that kernel improved.
    pub helped: u32,
    /// When it was last measured, or a kernel written with it in view.
    pub changed: SystemTime,
}

/// What became of lessons that were to be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgotten {
    /// Its file is gone.
    Removed,
    /// A run has just measured or used it: it stays.
    InUse,
}

impl KeptLessons {
    /// Looks through the packs installed in `home`.
    pub fn of(home: &Path) -> Result<Self, LessonError> {
        let mut kept = Self::default();
        for Installed { folder, pack, damaged, .. } in Home::at(home).packs()? {
            let Ok(pack) = pack else { continue };
            let before = kept.lessons.len();
            kept.look_through(&folder, &pack)?;
            // Of other packs, the verbs for packs tell.
            if kept.lessons.len() > before || pack.id == super::PACK {
                kept.damaged.extend(damaged);
            }
        }
        kept.lessons.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.lesson.cmp(&b.lesson)));
        Ok(kept)
    }

    fn look_through(&mut self, folder: &Path, pack: &Pack) -> Result<(), LessonError> {
        for entry in pack.entries.iter().filter(|entry| entry.kind == EntryKind::Lesson) {
            let file = folder.join(&entry.path);
            match lesson_table::<Page>(&entry.text) {
                Ok(Page { shown, helped, measured, .. }) => self.lessons.push(KeptLesson {
                    lesson: format!("{}/{}", pack.id, entry.name),
                    pack: pack.id.clone(),
                    title: entry.title.clone(),
                    changed: changed(&file)?,
                    file,
                    measurements: measured.len(),
                    shown,
                    helped,
                }),
                Err(fault) => self.damaged.push(Problem { path: file.display().to_string(), line: None, fault }),
            }
        }
        Ok(())
    }
}

impl KeptLesson {
    /// Whether it was shown, and no kernel that was written with it in view improved.
    #[must_use]
    pub fn never_helped(&self) -> bool {
        self.shown > 0 && self.helped == 0
    }

    /// Removes its file, unless a run has changed it since it was looked at.
    pub fn forget(&self) -> Result<Forgotten, LessonError> {
        let _lock = self.file.parent().map(lock).transpose()?;
        match changed(&self.file) {
            Ok(now) if now != self.changed => return Ok(Forgotten::InUse),
            Err(LessonError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return Ok(Forgotten::Removed),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        fs::remove_file(&self.file).map_err(LessonError::io("remove", &self.file))?;
        Ok(Forgotten::Removed)
    }
}

fn changed(file: &Path) -> Result<SystemTime, LessonError> {
    fs::metadata(file).and_then(|metadata| metadata.modified()).map_err(LessonError::io("look at", file))
}
