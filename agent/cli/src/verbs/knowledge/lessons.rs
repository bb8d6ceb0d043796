//! What runs have kept, and forgetting some of it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kernelwright_knowledge::{Forgotten, KeptLesson, KeptLessons};
use serde_json::json;

use super::tell_damaged;
use crate::args::Lessons;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::{Printer, Tone, counted};
use crate::settings::{Settings, parse_duration};
use crate::verbs::Context;

pub fn run(context: &Context, settings: &Settings, args: &Lessons) -> Result<Exit, Failure> {
    let older_than = args.older_than.as_deref().map(age).transpose()?;
    if args.prune && older_than.is_none() && !args.never_helped && args.pack.is_none() {
        return Err(Failure::new(Exit::Usage, "--prune alone would forget every lesson")
            .hint("choose some with --older-than, --never-helped or --pack"));
    }
    let KeptLessons { lessons, damaged } = KeptLessons::of(&settings.pack_home)?;
    let now = SystemTime::now();
    let is_chosen = |lesson: &KeptLesson| {
        older_than.is_none_or(|least| age_of(lesson, now) > least)
            && (!args.never_helped || lesson.never_helped())
            && args.pack.as_ref().is_none_or(|pack| *pack == lesson.pack)
    };
    let total = lessons.len();
    let chosen: Vec<KeptLesson> = lessons.into_iter().filter(is_chosen).collect();
    let printer = context.printer;
    tell_damaged(printer, &damaged);
    let mut removed = 0;
    for lesson in &chosen {
        let fate = match (args.prune, args.yes) {
            (true, true) => match lesson.forget()? {
                Forgotten::Removed => {
                    removed += 1;
                    "removed"
                }
                Forgotten::InUse => "in use",
            },
            (true, false) => "would be removed",
            (false, _) => "kept",
        };
        show(printer, lesson, now, fate, args.json)?;
    }
    let of_all = format!("{} of {}", chosen.len(), counted(total, "lesson"));
    match (args.prune, args.yes) {
        (true, true) => printer.say(format!("removed {removed} of {}", counted(total, "lesson"))),
        (true, false) if !chosen.is_empty() => printer.say(format!("{of_all} would be removed; --yes removes them")),
        _ => printer.say(of_all),
    }
    Ok(Exit::Success)
}

fn age(text: &str) -> Result<Duration, Failure> {
    parse_duration(text)
        .ok_or_else(|| Failure::new(Exit::Usage, format!("`--older-than` has to be a time such as 90d or 12h, not \"{text}\"")))
}

fn age_of(lesson: &KeptLesson, now: SystemTime) -> Duration {
    now.duration_since(lesson.changed).unwrap_or_default()
}

fn show(printer: Printer, lesson: &KeptLesson, now: SystemTime, fate: &str, as_json: bool) -> Result<(), Failure> {
    let KeptLesson { lesson: id, title, file, measurements, shown, helped, changed, .. } = lesson;
    if as_json {
        let changed = changed.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        printer.json(&json!({
            "type": "lesson", "lesson": id, "title": title, "file": file, "measurements": measurements, "shown": shown, "helped": helped,
            "changed_unix_s": changed, "fate": fate,
        }))?;
        return Ok(());
    }
    let use_of_it =
        if *shown == 0 { "never shown".to_owned() } else { format!("shown {}, helped {helped}", counted(*shown as usize, "time")) };
    let figures = format!("{}, {use_of_it}, {}", counted(*measurements, "measurement"), told(age_of(lesson, now)));
    let fate = if fate == "kept" { String::new() } else { format!(": {fate}") };
    printer.result(printer.on_stdout(Tone::Strong, &format!("{id}{fate}")))?;
    printer.result(format!("    {title}"))?;
    printer.result(format!("    {figures}"))?;
    Ok(())
}

/// How long ago, in the largest unit of which one has passed.
fn told(age: Duration) -> String {
    let seconds = age.as_secs();
    match [(86_400, "day"), (3_600, "hour"), (60, "minute")].into_iter().find(|(unit, _)| seconds >= *unit) {
        Some((unit, name)) => format!("{} ago", counted((seconds / unit) as usize, name)),
        None => "just now".to_owned(),
    }
}
