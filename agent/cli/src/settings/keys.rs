//! Every setting there is, in one table: names, kinds and defaults. Variables' names follow from it, and so does what counts as unknown.

use super::value::Kind;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// `section.name`, as in a settings file.
    pub name: &'static str,
    /// What it may be.
    pub kind: Kind,
    /// What it is when nobody says otherwise, as it would be written in a variable.
    pub default: Option<&'static str>,
    /// What it is for.
    pub help: &'static str,
}

const fn key(name: &'static str, kind: Kind, default: Option<&'static str>, help: &'static str) -> Key {
    Key { name, kind, default, help }
}

/// Every setting, `[servers.NAME]` apart, whose names are the user's.
pub const KEYS: &[Key] = &[
    key("model.provider", Kind::Choice(&["openai", "anthropic", "replay", "mailbox"]), None, "who answers"),
    key("model.name", Kind::Text, None, "the model's name, as its server knows it"),
    key("model.path", Kind::Path, None, "replay: the recorded run; mailbox: the folder of questions and answers"),
    key("model.base_url", Kind::Text, None, "the server's address; the provider's own when absent"),
    key("model.api_key_env", Kind::Text, None, "the variable that holds the key"),
    key("model.api_key_file", Kind::Path, None, "the file that holds the key, alone"),
    key("model.headers", Kind::Table, None, "extra headers: NAME = \"value\", or { env = \"VARIABLE\" }, or { file = \"PATH\" }"),
    key("model.stream", Kind::Flag, Some("true"), "whether answers come piece by piece"),
    key("model.max_output_tokens", Kind::Count, None, "the longest answer"),
    key("model.temperature", Kind::Number, None, "sampling temperature"),
    key(
        "model.limit_field",
        Kind::Choice(&["auto", "max_tokens", "max_completion_tokens"]),
        Some("auto"),
        "what the server calls that limit",
    ),
    key("model.extra_body", Kind::Table, None, "fields added to every request"),
    key("model.prices", Kind::Table, None, "dollars per million tokens by model: NAME = { input = 1.0, output = 4.0 }"),
    key("model.idle_timeout", Kind::Duration, Some("5m"), "how long the server may say nothing"),
    key("model.outage", Kind::Duration, Some("15m"), "how long to retry before the run pauses"),
    key("budget.steps", Kind::Count, Some("8"), "steps of the search"),
    key("budget.evaluations", Kind::Count, None, "candidates evaluated"),
    key("budget.tokens", Kind::Count, None, "model tokens, input plus output"),
    key("budget.dollars", Kind::Number, None, "money for the model"),
    key("budget.wall", Kind::Duration, None, "time the run is active"),
    key("search.policy", Kind::Choice(&["greedy"]), Some("greedy"), "how the parent of a step is picked"),
    key("search.drafts", Kind::Count, Some("2"), "independent first kernels"),
    key("search.stall", Kind::Count, Some("4"), "stop after so many steps without a better kernel"),
    key("search.target_speedup", Kind::Number, None, "stop at this speedup"),
    key("search.warm_start", Kind::Flag, Some("true"), "whether a run begins with kernels of earlier runs on similar problems"),
    key("search.seeds", Kind::Count, Some("2"), "how many of them at most"),
    key("search.profile_share", Kind::Number, Some("0.25"), "part of a run's time that profiles may take"),
    key("search.inner_turns", Kind::Count, Some("20"), "model answers in one step"),
    key("evaluate.target", Kind::Text, Some("auto"), "where kernels run: cpu, cuda, cuda:N, or auto for a GPU if there is one"),
    key("evaluate.python", Kind::Path, None, "the Python with torch"),
    key("evaluate.baselines", Kind::Choices(&["eager", "compile"]), Some("eager,compile"), "what candidates are compared with"),
    key("evaluate.trials", Kind::Count, Some("5"), "draws of inputs that are checked at least"),
    key("evaluate.pairs", Kind::Count, None, "interleaved pairs that are timed"),
    key("evaluate.tf32", Kind::Flag, Some("false"), "whether TF32 is allowed in float32 matrix products"),
    key("evaluate.threads", Kind::Count, None, "threads each side may use; all when absent"),
    key("evaluate.build_limit", Kind::Duration, Some("5m"), "how long a candidate may take to build"),
    key("evaluate.run_limit", Kind::Duration, Some("2m"), "how long one call may take"),
    key("evaluate.time_limit", Kind::Duration, Some("2m"), "how long one batch of timed calls may take"),
    key("evaluate.command", Kind::Text, None, "a shell command that gives the verdicts instead of the built-in evaluator"),
    key("knowledge.packs", Kind::Paths, None, "folders of knowledge packs beside the built-in ones"),
    key("paths.runs", Kind::Path, Some("kernelwright-runs"), "where runs are kept"),
    key("paths.packs", Kind::Path, None, "where installed knowledge packs lie; $XDG_DATA_HOME/kernelwright/packs when absent"),
    key("paths.prompts", Kind::Path, None, "templates that replace the built-in ones of the same name"),
    key("paths.cache", Kind::Path, None, "where workers are unpacked and scratch folders made"),
];

/// The settings that say how one model is reached. They go together: another provider starts without them.
pub const OF_ONE_PROVIDER: [&str; 8] = [
    "model.name",
    "model.path",
    "model.base_url",
    "model.api_key_env",
    "model.api_key_file",
    "model.headers",
    "model.extra_body",
    "model.limit_field",
];

impl Key {
    /// The key of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// The variable that sets it, e.g. `KERNELWRIGHT_BUDGET_STEPS`. Tables have none.
    pub fn variable(&self) -> Option<String> {
        (self.kind != Kind::Table).then(|| format!("KERNELWRIGHT_{}", self.name.replace('.', "_").to_uppercase()))
    }
}

/// The sections of a settings file.
pub fn sections() -> impl Iterator<Item = &'static str> {
    let mut seen = std::collections::BTreeSet::new();
    KEYS.iter().filter_map(|key| key.name.split('.').next()).chain(["servers"]).filter(move |section| seen.insert(*section))
}

/// The most similar of some words, unless none is similar.
pub fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (distance, best) = words.into_iter().map(|other| (distance(word, other), other)).min_by_key(|&(distance, _)| distance)?;
    (distance <= best.len().max(word.len()) / 2).then_some(best)
}

/// How many letters have to be changed, put in or left out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::value::Base;
    use super::*;

    #[test]
    fn every_default_is_of_its_kind() {
        let nowhere = Base { folder: Path::new(""), home: None };
        for key in KEYS {
            let sound = key.default.is_none_or(|text| key.kind.read_text(text, nowhere).is_some());
            assert!(sound, "{}", key.name);
        }
    }

    #[test]
    fn the_nearest_name_is_offered_if_it_is_near() {
        let names = || KEYS.iter().map(|key| key.name);
        assert_eq!(nearest("budget.stepps", names()), Some("budget.steps"));
        assert_eq!(nearest("budget.max_steps", names()), Some("budget.steps"));
        assert_eq!(nearest("completely.different.thing", names()), None);
    }
}
