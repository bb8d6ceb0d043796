//! One tool server outside of a run: for programs that need a single tool and no model.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::error::{ServerFailure, ToolServerError};
use crate::mcp::{CallFailure, Connection, Progress, ToolOutput, connect};
use crate::request::ServerSpec;
use crate::toolbox::describe;

/// A tool server that is up and lists the tool it was started for.
pub struct ToolServer {
    spec: ServerSpec,
    log: PathBuf,
    tool: &'static str,
    connection: Connection,
    progress: UnboundedReceiver<Progress>,
    relay: UnboundedSender<Progress>,
}

/// The server is well and refuses a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ToolRefusal {
    /// What kind of reason it is, in a word, where the server says so.
    pub code: Option<String>,
    /// What it says.
    pub reason: String,
    /// What it says to do about it.
    pub fix: Option<String>,
}

impl ToolRefusal {
    /// Whether the problem is at fault, not the machine.
    #[must_use]
    pub fn is_about_problem(&self) -> bool {
        self.code.as_deref().is_some_and(|code| code.starts_with("problem"))
    }

    fn of(output: &ToolOutput) -> Self {
        let said = |part: &str| Some(output.structured.as_ref()?.get("error")?.get(part)?.as_str()?.to_owned());
        let reason = said("reason").unwrap_or_else(|| output.text.trim_start_matches("error: ").to_owned());
        Self { code: said("code"), reason, fix: said("fix") }
    }
}

impl ToolServer {
    /// Starts a server; its messages go to `log`. It has to list `tool`.
    pub async fn start(spec: ServerSpec, log: &Path, tool: &'static str) -> Result<Self, ToolServerError> {
        let failed = |what| ToolServerError { server: spec.name.clone(), what, log: log.to_path_buf() };
        if let Some(folder) = log.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|source| failed(ServerFailure::NotStarted { program: folder.to_path_buf(), source }))?;
        }
        let (relay, progress) = unbounded_channel();
        let connection = connect(&spec, log, relay.clone()).await.map_err(failed)?;
        if !connection.tools.iter().any(|listed| listed.name == tool) {
            let missing = failed(ServerFailure::NoTool { tool: tool.to_owned() });
            connection.close().await;
            return Err(missing);
        }
        Ok(Self { log: log.to_path_buf(), spec, tool, connection, progress, relay })
    }

    /// Calls the tool with those of the arguments that its schema has; its structured result. A server that dies or hangs is started anew,
    /// once, and asked again. Dropping the future cancels the call.
    pub async fn call(
        &mut self,
        arguments: Map<String, Value>,
        say: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Result<Value, ToolRefusal>, ToolServerError> {
        let schema = self.connection.tools.iter().find(|listed| listed.name == self.tool).map(|listed| listed.schema.clone());
        let properties = schema.as_ref().and_then(|schema| schema.get("properties")).and_then(Value::as_object).cloned();
        let known = |name: &String| properties.as_ref().is_none_or(|properties| properties.contains_key(name));
        let arguments: Map<String, Value> = arguments.into_iter().filter(|(name, _)| known(name)).collect();
        let mut restarted = false;
        loop {
            let failure = match self.once(arguments.clone(), say).await {
                Ok(output) if output.is_error => return Ok(Err(ToolRefusal::of(&output))),
                Ok(output) => return self.read(output).map(Ok),
                Err(CallFailure::Refused(reason)) => return Ok(Err(ToolRefusal { code: None, reason, fix: None })),
                Err(failure) => failure,
            };
            self.connection.kill();
            if restarted {
                return Err(self.failed(describe(failure, self.tool)));
            }
            restarted = true;
            self.connection = connect(&self.spec, &self.log, self.relay.clone()).await.map_err(|what| self.failed(what))?;
        }
    }

    async fn once(&mut self, arguments: Map<String, Value>, say: &(dyn Fn(&str) + Send + Sync)) -> Result<ToolOutput, CallFailure> {
        while self.progress.try_recv().is_ok() {}
        let call = self.connection.call(self.tool, arguments, self.spec.idle_timeout, self.spec.total_timeout);
        tokio::pin!(call);
        loop {
            tokio::select! {
                result = &mut call => return result,
                Some(progress) = self.progress.recv() => say(&progress.message),
            }
        }
    }

    fn read(&self, output: ToolOutput) -> Result<Value, ToolServerError> {
        match output.structured {
            Some(value) => Ok(value),
            None => serde_json::from_str(&output.text).map_err(|error| self.not_understood(&error)),
        }
    }

    /// The error for a result that has not the agreed form.
    #[must_use]
    pub fn not_understood(&self, error: &serde_json::Error) -> ToolServerError {
        self.failed(ServerFailure::NotUnderstood { tool: self.tool.to_owned(), reason: error.to_string() })
    }

    fn failed(&self, what: ServerFailure) -> ToolServerError {
        ToolServerError { server: self.spec.name.clone(), what, log: self.log.clone() }
    }

    /// Lets the server end by itself, and ends it if it does not.
    pub async fn close(self) {
        self.connection.close().await;
    }
}
