//! Lessons in a pack of their own.

use kernelwright_packs::{check, load};
use kernelwright_protocol::{Backend, CandidateId, Effect, EntryKind, Evidence, Subject};
use serde_json::{Value, json};
use std::time::SystemTime;
use tempfile::TempDir;

use super::*;

/// A pack home and a run's log in one folder.
struct Desk {
    folder: TempDir,
    book: LessonBook,
}

impl Desk {
    /// Verdicts by what their candidates are called: correct at a speedup of 10 % either way, or wrong.
    fn new(verdicts: &[(&str, Option<f64>)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let lines: Vec<String> = (1..)
            .zip(verdicts)
            .map(|(seq, (name, speedup))| {
                json!({"v": 1, "seq": seq, "at": "", "type": "candidate_evaluated", "evaluation": verdict(name, *speedup)}).to_string()
                    + "\n"
            })
            .collect();
        std::fs::write(folder.path().join("events.jsonl"), lines.concat()).unwrap();
        let book = LessonBook::new(Some(folder.path().join("packs")));
        Self { folder, book }
    }

    fn evidence(&self, event: u64, name: &str) -> Evidence {
        let file = self.folder.path().join("events.jsonl").display().to_string();
        Evidence { file, event: Some(event), candidate: CandidateId::of(name) }
    }

    fn lesson(&self, change: &str, parent: Option<(u64, &str)>, child: (u64, &str)) -> NewLesson {
        NewLesson {
            change: change.into(),
            problem: "row_softmax".into(),
            subject: subject("float32[64, 64]"),
            run: "row_softmax-1".into(),
            verdict: self.evidence(child.0, child.1),
            parent: parent.map(|(event, name)| self.evidence(event, name)),
        }
    }

    fn found(&self) -> Vec<FoundLesson> {
        self.book.find(&subject("float32[128, 64]"), 4).unwrap().lessons
    }

    fn pack(&self) -> PathBuf {
        self.folder.path().join("packs/learnt")
    }
}

fn subject(input: &str) -> Subject {
    Subject { operators: vec!["softmax".into()], inputs: vec![input.into()], backend: Backend::Cpu, arch: "x86_64-avx2".into() }
}

fn verdict(name: &str, speedup: Option<f64>) -> Value {
    let mut value = json!({
        "problem": ContentHash::of("p"), "candidate": ContentHash::of(name), "target": "cpu",
        "findings": [], "sandbox": {"active": []}, "wall_ns": 1, "trials": {"ran": [], "timed_calls_verified": 0},
    });
    let rest = match speedup {
        Some(speedup) => json!({
            "status": "correct", "error_over_tolerance": 0.1, "speedup": speedup, "speedup_low": speedup * 0.95,
            "speedup_high": speedup * 1.05, "candidate_ns": 500, "candidate_spread": 0.01, "baseline": "eager", "baselines": [], "pairs": 9,
            "calls_per_batch": 4, "build_ns": 1, "first_call_ns": 2,
        }),
        None => {
            json!({"status": "incorrect", "mismatches": [{"trial": "trial 2 (scaled x100)", "output": "output", "detail": "it overflows"}]})
        }
    };
    value.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    value
}

#[test]
fn a_lesson_is_an_entry_that_people_and_packs_can_read() {
    let desk = Desk::new(&[("a", Some(1.5)), ("b", Some(3.0))]);
    let recorded = desk.book.record(&desk.lesson("keeps a row\nin registers", Some((1, "a")), (2, "b"))).unwrap();
    assert_eq!((recorded.effect, recorded.measurements), (Effect::Faster, 1));
    let packs = load(&desk.pack()).unwrap();
    assert_eq!((packs[0].id.as_str(), packs[0].entries[0].kind), ("learnt", EntryKind::Lesson));
    assert_eq!(format!("learnt/{}", packs[0].entries[0].name), recorded.lesson);
    assert_eq!(check(&desk.pack()).unwrap(), vec![]);
    let text = packs[0].entries[0].text.replace(&desk.folder.path().display().to_string(), "[folder]");
    insta::assert_snapshot!(text);
}

#[test]
fn what_verdicts_do_not_prove_is_refused() {
    let desk = Desk::new(&[("a", Some(1.5)), ("b", Some(1.55))]);
    let refused = |new: &NewLesson| desk.book.record(new).unwrap_err().to_string();
    let sound = desk.lesson("c", Some((1, "a")), (2, "b"));
    assert!(refused(&sound).starts_with("the verdicts prove nothing"));
    assert!(refused(&desk.lesson(" ", None, (1, "a"))).contains("not described"));
    assert!(refused(&desk.lesson("c", None, (3, "a"))).starts_with("there is no verdict in event 3 of "));
    assert!(refused(&desk.lesson("c", None, (2, "a"))).starts_with("the verdict is on candidate "));
    let mut nowhere = sound.clone();
    nowhere.verdict.file = "/nowhere".into();
    assert!(refused(&nowhere).starts_with("the evidence cannot be read"));
    assert!(!desk.pack().exists(), "nothing is written for a claim");
    assert!(matches!(LessonBook::new(None).record(&desk.lesson("c", None, (1, "a"))), Err(LessonError::NoHome)));
}

#[test]
fn evidence_is_a_regular_file_of_bounded_records_named_from_the_root() {
    let desk = Desk::new(&[("a", Some(1.5))]);
    let refused = |file: &str, event: Option<u64>| {
        let mut new = desk.lesson("c", None, (1, "a"));
        new.verdict.file = file.into();
        new.verdict.event = event;
        desk.book.record(&new).unwrap_err().to_string()
    };
    assert_eq!(refused("events.jsonl", Some(1)), "the evidence is not named by an absolute path: events.jsonl");
    // A FIFO without a writer, and devices without an end.
    let fifo = desk.folder.path().join("fifo").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for file in ["/dev/zero", "/", &fifo] {
        for event in [None, Some(1)] {
            assert_eq!(refused(file, event), format!("the evidence cannot be read: {file}: it is no regular file"));
        }
    }
    let endless = desk.folder.path().join("long");
    File::create(&endless).unwrap().set_len((16 << 20) + 1).unwrap();
    for event in [None, Some(1)] {
        assert!(refused(&endless.display().to_string(), event).ends_with(": it holds more than 16 MiB in one piece"));
    }
    // A log of many records may be longer than one of them.
    let log = desk.folder.path().join("events.jsonl");
    let record = std::fs::read_to_string(&log).unwrap();
    let words = format!("{{\"words\":\"{}\"}}\n", "x".repeat(9 << 20));
    std::fs::write(&log, [&words, &words, &record].map(String::as_str).concat()).unwrap();
    desk.book.record(&desk.lesson("c", None, (1, "a"))).unwrap();
}

#[test]
fn the_same_change_measured_again_is_the_same_lesson() {
    let desk = Desk::new(&[("a", Some(1.5)), ("b", Some(3.0)), ("b", Some(4.0))]);
    let first = desk.lesson("c", Some((1, "a")), (2, "b"));
    let again = NewLesson { run: "row_softmax-2".into(), change: "other words".into(), ..desk.lesson("c", Some((1, "a")), (3, "b")) };
    let other_machine = NewLesson { subject: Subject { arch: "x86_64-avx512".into(), ..subject("float32[64, 64]") }, ..again.clone() };
    let recorded: Vec<_> = [&first, &first, &again, &other_machine].map(|new| desk.book.record(new).unwrap()).into();
    assert!(recorded.iter().all(|recorded| recorded.lesson == recorded.lesson));
    assert_eq!(recorded.iter().map(|recorded| recorded.measurements).collect::<Vec<_>>(), [1, 1, 1, 2]);
    let found = desk.found();
    assert_eq!(found.len(), 1);
    let text = &found[0].text;
    assert!(text.starts_with("Faster: 2.67x"), "the newer figures: {text}");
    assert!(text.contains("measured in 2 runs") && text.ends_with("in the words of its author: c"), "{text}");
}

#[test]
fn lessons_that_helped_come_first_and_no_use_counts_twice() {
    let desk = Desk::new(&[("a", Some(1.5)), ("b", Some(3.0)), ("c", None)]);
    let good = desk.book.record(&desk.lesson("good", Some((1, "a")), (2, "b"))).unwrap().lesson;
    let bad = desk.book.record(&desk.lesson("bad", Some((1, "a")), (3, "c"))).unwrap().lesson;
    let used = |lesson: &str, step, helped| LessonUse { lessons: vec![lesson.to_owned()], run: "r".into(), step, helped };
    for _ in 0..3 {
        desk.book.rate(&used(&bad, 1, true)).unwrap();
    }
    let found = desk.found();
    assert_eq!((found[0].lesson.as_str(), found[0].shown, found[0].helped), (bad.as_str(), 1, 1));
    assert!(found[0].text.starts_with("Not correct: trial 2 (scaled x100), output: it overflows"), "{}", found[0].text);
    desk.book.rate(&used(&bad, 2, false)).unwrap();
    desk.book.rate(&used(&bad, 3, false)).unwrap();
    assert_eq!(desk.found()[0].lesson, good);
    assert_eq!(desk.book.rate(&used("learnt/gone", 1, true)).unwrap().known, 0);
    assert!(matches!(desk.book.rate(&used("learnt/../../x", 1, true)), Err(LessonError::NoLesson { .. })));
}

#[test]
fn other_operators_are_about_something_else_and_a_damaged_lesson_hides_no_other() {
    let desk = Desk::new(&[("a", Some(1.5)), ("b", Some(3.0))]);
    desk.book.record(&desk.lesson("c", None, (1, "a"))).unwrap();
    std::fs::write(desk.pack().join("entries/broken.md"), "+++\ntitle = 3\n+++\n").unwrap();
    assert_eq!(desk.found().len(), 1);
    let other = Subject { operators: vec!["conv2d".into()], ..subject("float32[64, 64]") };
    assert_eq!(desk.book.find(&other, 4).unwrap().lessons, []);
}

#[test]
fn kept_lessons_are_looked_through_and_forgotten_unless_a_run_uses_them() {
    let desk = Desk::new(&[("a", Some(1.5)), ("b", Some(3.0)), ("c", None)]);
    let good = desk.book.record(&desk.lesson("good", Some((1, "a")), (2, "b"))).unwrap().lesson;
    let bad = desk.book.record(&desk.lesson("bad", Some((1, "a")), (3, "c"))).unwrap().lesson;
    let used = |step| LessonUse { lessons: vec![bad.clone()], run: "r".into(), step, helped: false };
    desk.book.rate(&used(1)).unwrap();
    std::fs::write(desk.pack().join("entries/broken.md"), "+++\ntitle = 3\n+++\n").unwrap();
    let home = desk.folder.path().join("packs");
    let KeptLessons { lessons, damaged } = KeptLessons::of(&home).unwrap();
    assert!(damaged.len() == 1 && damaged[0].path.ends_with("learnt/entries/broken.md"), "{damaged:?}");
    let of = |id: &str| lessons.iter().find(|lesson| lesson.lesson == id).unwrap();
    assert_eq!((of(&good).never_helped(), of(&bad).never_helped(), of(&bad).shown), (false, true, 1));
    assert_eq!(of(&bad).forget().unwrap(), Forgotten::Removed);
    assert_eq!(of(&bad).forget().unwrap(), Forgotten::Removed, "somebody else was quicker");
    assert_eq!(desk.found().iter().map(|found| found.lesson.as_str()).collect::<Vec<_>>(), [good.as_str()]);

    let later = SystemTime::now() + std::time::Duration::from_secs(60);
    File::options().write(true).open(&of(&good).file).unwrap().set_modified(later).unwrap();
    assert_eq!(of(&good).forget().unwrap(), Forgotten::InUse);
    assert_eq!(desk.found().len(), 1);
    assert!(KeptLessons::of(Path::new("/nowhere")).unwrap().lessons.is_empty());
}
