//! The two ways into a run.

use std::collections::BTreeMap;

use kernelwright_model::Client;
use kernelwright_prompts::Prompts;
use kernelwright_protocol::{ProblemId, Target};
use kernelwright_search::{Budget, Event, Graph, Move, ProblemName, Settings, decide};
use serde_json::{Map, json};

use crate::asking::probe;
use crate::bindings::Bindings;
use crate::error::EngineError;
use crate::observer::{Activity, Observer};
use crate::outcome::{End, Outcome};
use crate::request::{Overrides, ResumeRequest, RunRequest, Setup};
use crate::session::{Problem, STOPPED, Session, keep_results, outcome};
use crate::stop::StopToken;
use crate::store::Store;
use crate::toolbox::{Toolbox, WAIT_S};

/// Begins a run and works on it until its budget is spent, a stop rule holds, or it is stopped.
///
/// The model is probed, its price is looked up and the prompt templates are read before anything else, so that a wrong key or a broken
/// template costs nothing and leaves no folder behind.
pub async fn optimize(request: RunRequest, observer: &mut dyn Observer, stop: StopToken) -> Result<Outcome, EngineError> {
    let model = Client::open(&request.setup.model)?;
    require_price(&request.budget, &model)?;
    let prompts = Prompts::new(request.setup.prompts_dir.as_deref())?;
    let probed = probe(&model, observer, &stop).await?;
    let source = &request.problem.source;
    let mut store = Store::create(&request.runs_dir, &request.problem.name, source)?;
    observer.activity(&Activity::RunOpened { dir: store.dir().to_path_buf() });
    let started = Event::RunStarted {
        run: store.run_id(),
        problem: ProblemName { name: request.problem.name.clone(), id: ProblemId::of(source) },
        target: request.target,
        settings: Settings {
            budget: request.budget.clone(),
            stop: request.stop_rules.clone(),
            policy: request.policy.clone(),
            inner_turns: request.inner_turns,
            seeds: request.seeds,
            profile_share: request.profile_share,
            baselines: request.baselines.clone(),
            evaluation: request.evaluation.clone(),
            output: request.output.clone(),
            model: model.describe(),
        },
        versions: BTreeMap::from([("kernelwright".to_owned(), env!("CARGO_PKG_VERSION").to_owned())]),
    };
    let mut graph = Graph::default();
    write(&mut store, &mut graph, observer, started)?;
    write(&mut store, &mut graph, observer, probed)?;
    let problem = Problem { name: request.problem.name.clone(), path: request.problem.path.clone(), source: source.clone() };
    Box::pin(work(store, graph, model, prompts, problem, request.setup, observer, stop)).await
}

/// Goes on with a run, from wherever its log ends. A run that is finished and still has a reason to stop is returned as it is, with
/// that reason.
pub async fn resume(request: ResumeRequest, observer: &mut dyn Observer, stop: StopToken) -> Result<Outcome, EngineError> {
    let model = Client::open(&request.setup.model)?;
    let prompts = Prompts::new(request.setup.prompts_dir.as_deref())?;
    let opened = Store::open(&request.run_dir)?;
    let mut store = opened.store;
    observer.activity(&Activity::RunOpened { dir: store.dir().to_path_buf() });
    if opened.cut > 0 {
        let text = format!("the last line of the log was torn; {} bytes were cut off, the step goes on from the line before", opened.cut);
        observer.activity(&Activity::Remark { text });
    }
    let damaged = |source| EngineError::Log { dir: request.run_dir.clone(), source };
    let mut graph = Graph::fold(&opened.records).map_err(damaged)?;
    let Some(head) = graph.head().cloned() else { return Err(crate::StoreError::NoRun { dir: request.run_dir }.into()) };
    let is_other_model = head.settings.model != model.describe();
    let settings = overridden(head.settings, &request.overrides, &model);
    if graph.finished.is_some()
        && let Move::Stop(reason) = decide(&graph.clone().with_settings(settings.clone()))
    {
        observer.activity(&Activity::Remark { text: format!("the run stays finished: {reason}") });
        keep_results(&mut store, &graph, request.overrides.output.as_deref(), &mut None)?;
        store.settle()?;
        return Ok(outcome(&store, &graph, End::Finished(reason)));
    }
    require_price(&settings.budget, &model)?;
    // Before the resume is recorded: a model that cannot be used does not take the place of the one that could.
    let probed = if is_other_model || !graph.probed { Some(probe(&model, observer, &stop).await?) } else { None };
    if settings.budget.dollars.is_some() && graph.spend.unpriced > 0 {
        let text = "the price of some earlier answers is not known; the budget in dollars does not count them".to_owned();
        observer.activity(&Activity::Remark { text });
    }
    write(&mut store, &mut graph, observer, Event::RunResumed { settings })?;
    if let Some(probed) = probed {
        write(&mut store, &mut graph, observer, probed)?;
    }
    let problem = Problem { name: head.problem.name, path: store.problem_path(), source: store.problem()? };
    Box::pin(work(store, graph, model, prompts, problem, request.setup, observer, stop)).await
}

/// A budget in dollars limits nothing where nobody knows what the model costs.
fn require_price(budget: &Budget, model: &Client) -> Result<(), EngineError> {
    if budget.dollars.is_none() || model.has_price() {
        return Ok(());
    }
    Err(EngineError::UnknownPrice { model: model.describe()["model"].as_str().unwrap_or_default().to_owned() })
}

#[expect(clippy::too_many_arguments, reason = "everything that a session is made of, gathered by its two callers")]
async fn work(
    mut store: Store,
    mut graph: Graph,
    model: Client,
    prompts: Prompts,
    problem: Problem,
    setup: Setup,
    observer: &mut dyn Observer,
    stop: StopToken,
) -> Result<Outcome, EngineError> {
    let tools = match Toolbox::start(&setup.servers, &store, observer, &stop).await {
        Ok(Some(tools)) => tools,
        Ok(None) => {
            write(&mut store, &mut graph, observer, Event::RunPaused { reason: STOPPED.to_owned() })?;
            store.settle()?;
            return Ok(outcome(&store, &graph, End::Interrupted));
        }
        Err(error) => {
            write(&mut store, &mut graph, observer, Event::RunPaused { reason: error.to_string() })?;
            return Err(error.into());
        }
    };
    let bindings = bindings(&store, &graph, &problem);
    for (server, version) in tools.versions() {
        if graph.head().is_some_and(|head| head.versions.get(&server) != Some(&version)) {
            write(&mut store, &mut graph, observer, Event::ToolServerStarted { server, version })?;
        }
    }
    Session { store, graph, model, tools, bindings, prompts, observer, stop, problem, kept: None, searched: None, recalled: None }
        .work()
        .await
}

fn bindings(store: &Store, graph: &Graph, problem: &Problem) -> Bindings {
    let (target, mut options) = match graph.head() {
        Some(head) => {
            let mut options = head.settings.evaluation.clone();
            options.entry("baselines").or_insert_with(|| json!(head.settings.baselines));
            (head.target, options)
        }
        None => (Target::CPU, Map::new()),
    };
    options.entry("wait_s").or_insert(WAIT_S.into());
    options.entry("fresh").or_insert(false.into());
    options.retain(|_, value| !value.is_null());
    Bindings::new(&store.problem_path(), &problem.source, target, options)
}

/// What a session does before it is one.
fn write(store: &mut Store, graph: &mut Graph, observer: &mut dyn Observer, event: Event) -> Result<(), EngineError> {
    let record = store.append(event)?;
    graph.apply(&record).map_err(|source| EngineError::Log { dir: store.dir().to_path_buf(), source })?;
    observer.event(&record);
    Ok(())
}

fn overridden(mut settings: Settings, overrides: &Overrides, model: &Client) -> Settings {
    let new = &overrides.budget;
    let old = &mut settings.budget;
    old.steps = new.steps.or(old.steps);
    old.evaluations = new.evaluations.or(old.evaluations);
    old.tokens = new.tokens.or(old.tokens);
    old.dollars = new.dollars.or(old.dollars);
    old.wall = new.wall.or(old.wall);
    settings.stop.stall_steps = overrides.stall_steps.or(settings.stop.stall_steps);
    settings.stop.target_speedup = overrides.target_speedup.or(settings.stop.target_speedup);
    settings.inner_turns = overrides.inner_turns.unwrap_or(settings.inner_turns);
    settings.output = overrides.output.clone().or(settings.output);
    settings.model = model.describe();
    settings
}
