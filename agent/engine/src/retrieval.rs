//! What the knowledge base has for a step: passages that bear on its problem, and the best example kernel as a whole.

use kernelwright_prompts::PassageView;
use kernelwright_protocol::{Backend, Entry, EntryKind, Passage, Passages};
use kernelwright_search::{Profiled, Standing, operators};
use serde_json::{Map, Value, json};

use crate::error::EngineError;
use crate::render;
use crate::session::{Flow, Session};
use crate::toolbox::{READ_ENTRY, SEARCH_KNOWLEDGE};

/// How many passages are asked for, and how much of each is told, in characters.
const PASSAGES: usize = 4;
const PASSAGE_CHARACTERS: usize = 1_500;

/// As much of one example kernel: nine of ten are shorter.
const EXAMPLE_CHARACTERS: usize = 8_000;

/// A search for an opening prompt, and what came of it.
pub(crate) struct Searched {
    arguments: Map<String, Value>,
    found: Passages,
    example: Option<Entry>,
}

impl Session<'_> {
    /// Passages that bear on the problem. Without them the step goes on all the same.
    pub(crate) async fn retrieve(&mut self) -> Flow<Vec<PassageView>> {
        let Some(tool) = self.tools.find(SEARCH_KNOWLEDGE) else { return Ok(vec![]) };
        let schema = tool.schema.clone();
        let query = self.query()?;
        let mut wanted = Map::from_iter([("query".to_owned(), json!(query))]);
        let takes = |name: &str| schema.get("properties").is_some_and(|properties| properties.get(name).is_some());
        if takes("limit") {
            wanted.insert("limit".to_owned(), json!(PASSAGES));
        }
        if let Some(target) = self.graph.target.as_ref().filter(|_| takes("arch")) {
            wanted.insert("arch".to_owned(), json!(target.arch));
        }
        // On a CPU, Triton only runs through its interpreter; on a GPU, every language is open.
        if takes("language") && self.head()?.target.backend == Backend::Cpu {
            wanted.insert("language".to_owned(), json!("cpp"));
        }
        let Ok(arguments) = self.bindings.bind(&schema, wanted, None) else { return Ok(vec![]) };
        let known = self.searched.as_ref().is_some_and(|searched| searched.arguments == arguments);
        if !known {
            let mut found: Result<Passages, String> = self.consult(SEARCH_KNOWLEDGE, arguments.clone()).await?;
            let filters = ["arch", "language"];
            if found.is_err() && filters.iter().any(|filter| arguments.contains_key(*filter)) {
                // A part that no pack knows is refused as a filter; what holds everywhere is worth having all the same.
                let wider = arguments.clone().into_iter().filter(|(name, _)| !filters.contains(&name.as_str())).collect();
                found = self.consult(SEARCH_KNOWLEDGE, wider).await?;
            }
            let found = match found {
                Ok(found) => found,
                Err(reason) => {
                    self.remark(format!("no passages for this step: {reason}"));
                    return Ok(vec![]);
                }
            };
            let example = self.whole_example(&found).await?;
            self.searched = Some(Searched { arguments, found, example });
        }
        let Some(Searched { found, example, .. }) = &self.searched else { return Ok(vec![]) };
        let view = |passage: &Passage| PassageView {
            text: match example {
                Some(whole) if whole.id == passage.entry => render::shorten(whole.text.trim(), EXAMPLE_CHARACTERS),
                _ => render::shorten(passage.text.trim(), PASSAGE_CHARACTERS),
            },
            entry: passage.entry.clone(),
            heading: passage.heading.clone(),
        };
        let mut whole_is_told = false;
        let is_new = |passage: &&Passage| {
            let is_whole = example.as_ref().is_some_and(|whole| whole.id == passage.entry);
            !(is_whole && std::mem::replace(&mut whole_is_told, true))
        };
        Ok(told(found).filter(is_new).map(view).collect())
    }

    /// The best example kernel that was found, all of it: of one that holds its kernel in a string, the passage that fits the words best is what is
    /// written around that.
    async fn whole_example(&mut self, found: &Passages) -> Flow<Option<Entry>> {
        let Some(example) = told(found).find(|passage| passage.kind == EntryKind::Example) else { return Ok(None) };
        if self.tools.find(READ_ENTRY).is_none() {
            return Ok(None);
        }
        let entry = self.consult(READ_ENTRY, Map::from_iter([("entry".to_owned(), json!(example.entry))])).await?;
        // The passage itself is there all the same, also where somebody's own tool of this name answers in another form.
        Ok(entry.ok())
    }

    /// Words for the search: what the problem calls, what its time goes into, for what it is written, and what went wrong last. The
    /// architecture is a filter: as a word it would outweigh all others.
    fn query(&self) -> Result<String, EngineError> {
        let head = self.head()?;
        let mut words = operators(&self.problem.source);
        if let Some(Profiled::Taken(profile)) = self.graph.profile(None) {
            // Names in brackets are the profiler's own remainders.
            let names =
                profile.kernels.iter().map(|kernel| kernel.time.name.trim_start_matches("aten::")).filter(|name| !name.starts_with('('));
            words.extend(names.take(3).map(str::to_owned));
        }
        words.push(match head.target.backend {
            Backend::Cpu => "cpu c++".to_owned(),
            Backend::Cuda => "cuda triton".to_owned(),
        });
        if let Some(parent) = self.open()?.parent.and_then(|id| self.graph.node(id)) {
            let verdict = self.graph.verdict(&parent.candidate).filter(|_| self.graph.standing(parent) == Standing::Wrong);
            words.extend(verdict.map(render::headline));
        }
        Ok(render::elide(&words.join(" "), 400))
    }
}

/// Those that are told; lessons have a section of their own.
fn told(found: &Passages) -> impl Iterator<Item = &Passage> {
    found.passages.iter().filter(|passage| passage.kind != EntryKind::Lesson).take(PASSAGES)
}
