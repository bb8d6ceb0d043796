//! Who gives verdicts to the verbs that need no model: the built-in evaluator in this process, or the server that the settings put in its place.

use kernelwright_engine::{ToolRefusal, ToolServer};
use kernelwright_evaluate::{BaselineChoice, EvaluateError, EvaluateRequest, Evaluator};
use kernelwright_protocol::{BaselineKind, Evaluation, Target};
use serde_json::{Map, Value, json};

use crate::built_in::{evaluate_settings, executable};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;

/// The tool that gives verdicts, on every server that can take the place of ours.
const TOOL: &str = "evaluate_kernel";

/// What a server that answers with a job after a while is asked to wait for the verdict, in seconds; one that knows no such argument is not given it.
const WAIT_S: u32 = 3_600;

/// Gives verdicts.
pub enum Judge {
    /// The evaluator of this executable; it may hand the work to a command.
    BuiltIn(Evaluator),
    /// Another MCP server.
    Server(Box<ToolServer>),
}

/// Why there is no verdict.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// The problem, the environment or the request does not allow one.
    #[error(transparent)]
    BuiltIn(#[from] EvaluateError),
    /// The server does not answer as agreed.
    #[error(transparent)]
    Server(#[from] kernelwright_engine::ToolServerError),
    /// The server refuses the request.
    #[error(transparent)]
    Refused(#[from] ToolRefusal),
}

impl From<JudgeError> for Failure {
    fn from(error: JudgeError) -> Self {
        match error {
            JudgeError::BuiltIn(error) => error.into(),
            JudgeError::Server(error) => kernelwright_engine::EngineError::from(error).into(),
            JudgeError::Refused(refusal) => {
                let exit = if refusal.is_about_problem() { Exit::ProblemInvalid } else { Exit::ToolServer };
                let failure = Self::new(exit, refusal.reason.clone());
                match &refusal.fix {
                    Some(fix) => failure.hint(fix.clone()),
                    None => failure,
                }
            }
        }
    }
}

impl Judge {
    /// The judge that the settings name. A server is started here; its messages go to a file in the cache folder.
    pub async fn open(settings: &Settings) -> Result<Self, Failure> {
        let executable = executable()?;
        let Some(spec) = settings.replaced_evaluator(&executable)? else {
            return Ok(Self::BuiltIn(Evaluator::new(evaluate_settings(settings, executable))));
        };
        let log = settings.cache.join("logs").join(format!("server-{}-{}.log", spec.name, std::process::id()));
        let server = ToolServer::start(spec, &log, TOOL).await.map_err(JudgeError::Server)?;
        Ok(Self::Server(Box::new(server)))
    }

    /// One verdict.
    pub async fn evaluate(&mut self, request: &EvaluateRequest, say: &(dyn Fn(&str) + Send + Sync)) -> Result<Evaluation, JudgeError> {
        match self {
            Self::BuiltIn(evaluator) => Ok(evaluator.evaluate(request, say).await?),
            Self::Server(server) => {
                let value = server.call(arguments(request), say).await??;
                serde_json::from_value(value).map_err(|error| server.not_understood(&error).into())
            }
        }
    }

    /// The devices that a request for this target may go to, as far as they are known here; at least one.
    pub fn devices(&self, target: Target) -> Vec<Target> {
        match self {
            Self::BuiltIn(evaluator) => evaluator.devices(target),
            Self::Server(_) => vec![target],
        }
    }

    /// The same judge for somebody else at the same time; none of a server, which is asked one thing after another.
    pub fn shared(&self) -> Option<Self> {
        match self {
            Self::BuiltIn(evaluator) => Some(Self::BuiltIn(evaluator.clone())),
            Self::Server(_) => None,
        }
    }

    /// Ends what was started.
    pub async fn close(self) {
        match self {
            Self::BuiltIn(evaluator) => evaluator.close().await,
            Self::Server(server) => server.close().await,
        }
    }
}

fn arguments(request: &EvaluateRequest) -> Map<String, Value> {
    let options = &request.options;
    let baselines: &[BaselineKind] = match options.baselines {
        BaselineChoice::All => &[BaselineKind::Eager, BaselineKind::Compile],
        BaselineChoice::EagerOnly => &[BaselineKind::Eager],
        BaselineChoice::CompileOnly => &[BaselineKind::Compile],
    };
    let all = json!({
        "problem": request.problem_source, "candidate": request.candidate_source, "target": request.target, "measure": options.measure,
        "trials": options.trials, "tf32": options.tf32, "baselines": baselines, "pairs": options.pairs,
        "deep_check": options.deep_check.then_some(true), "wait_s": WAIT_S,
    });
    match all {
        Value::Object(all) => all.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        _ => Map::new(),
    }
}
