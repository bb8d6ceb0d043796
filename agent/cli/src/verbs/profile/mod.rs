//! `kernelwright profile`: where a call's time goes and why, and the profiles that are kept.

mod text;

use std::path::Path;

use kernelwright_profile::{ProfileRequest, Profiles, Reading};
use serde_json::{Value, json};

use super::{Context, read_source, runtime};
use crate::args::Profile;
use crate::built_in::{executable, profile_settings};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt;
use crate::printer::{Printer, Tone, Verbosity};
use crate::settings::Settings;

pub fn run(context: &Context, args: &Profile) -> Result<Exit, Failure> {
    let settings = context.settings(&args.flags())?;
    let profiles = Profiles::new(profile_settings(&settings, executable()?));
    let runtime = runtime()?;
    let ended = runtime.block_on(async {
        tokio::select! {
            answer = ask(&profiles, &settings, args, context.printer) => answer.map(Some),
            signalled = interrupt::signalled() => signalled.map(|()| None),
        }
    });
    runtime.shutdown_background();
    let Some(Answer { json, text }) = ended? else { return Ok(Exit::Interrupted) };
    if args.json {
        context.printer.json(&json)?;
    } else {
        context.printer.result(text.trim_end())?;
    }
    Ok(Exit::Success)
}

/// The result, for programs and for people.
struct Answer {
    json: Value,
    text: String,
}

async fn ask(profiles: &Profiles, settings: &Settings, args: &Profile, printer: Printer) -> Result<Answer, Failure> {
    let target = settings.evaluate.target;
    if args.list {
        let rungs = profiles.rungs(target).await?;
        return Ok(Answer { text: text::rungs(&rungs, printer), json: json!({"target": target, "profilers": rungs}) });
    }
    if let Some(ids) = &args.compare {
        let [before, after] = pair(ids)?;
        let comparison = profiles.compare(before, after).await?;
        return Ok(Answer { text: text::comparison(&comparison), json: serde_json::to_value(comparison).unwrap_or_default() });
    }
    if let Some(named) = &args.read {
        let [id, section] = pair(named)?;
        return whole_section(profiles, id, section, args.kernel.as_deref()).await;
    }
    let profile = if let Some(file) = &args.import {
        profiles.import(file).await.map_err(|error| Failure::from(error).at(file.display().to_string()))?
    } else {
        let request = ProfileRequest {
            problem: read_source(args.problem.as_deref().unwrap_or(Path::new("")), "problem")?,
            candidate: args.candidate.as_ref().map(|candidate| read_source(candidate, "candidate")).transpose()?,
            target,
            profiler: args.profiler.kind(),
            arch: None,
        };
        let say = move |message: &str| {
            if printer.stderr_is_terminal || printer.verbosity > Verbosity::Normal {
                printer.say(printer.on_stderr(Tone::Faint, message));
            }
        };
        profiles.profile(&request, &say).await?
    };
    Ok(Answer { text: text::profile(&profile, printer), json: serde_json::to_value(profile).unwrap_or_default() })
}

/// Two values of one flag, which clap has counted.
fn pair(values: &[String]) -> Result<[&str; 2], Failure> {
    match values {
        [first, second] => Ok([first, second]),
        _ => Err(Failure::new(Exit::Usage, "two values are needed")),
    }
}

/// All pages of a section: a terminal needs none.
async fn whole_section(profiles: &Profiles, id: &str, section: &str, kernel: Option<&str>) -> Result<Answer, Failure> {
    let mut lines = Vec::new();
    let mut next = Some(0);
    let mut whole = Value::Null;
    while let Some(offset) = next {
        let reading = Reading { section: section.to_owned(), kernel: kernel.map(str::to_owned), offset };
        let page = profiles.read(id, reading).await?;
        next = page.next_offset;
        lines.extend(page.lines);
        whole = json!({"id": page.id, "section": page.section, "kernel": page.kernel, "lines": lines});
    }
    Ok(Answer { json: whole, text: lines.join("\n") })
}
