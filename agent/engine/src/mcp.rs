//! One tool server at the other end of a pipe. The only module that knows the MCP library; everything it returns is ours.
//!
//! A server is a child process in a process group of its own, so that Ctrl-C at the terminal reaches the agent and not the evaluation in
//! flight. It learns of the agent's end, however that comes about, by the end of its input. Its messages go to a file of the run.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientConfig, ClientRequest, ContentBlock,
    Implementation, ProgressNotificationParam, ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, Peer, PeerRequestOptions, RoleClient,
    RunningService, ServiceError,
};
use rmcp::transport::TokioChildProcess;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;

use crate::error::ServerFailure;
use crate::request::{Launch, ServerSpec};

/// How long a server may take from its start to its list of tools.
const START_LIMIT: Duration = Duration::from_secs(60);

/// How long a server may take to end by itself.
const END_LIMIT: Duration = Duration::from_secs(8);

/// Where our servers put the parts of a failure in `_meta`: structured content has to fit a tool's output schema, in errors too.
const FAILURE_KEY: &str = "kernelwright/error";

/// A server that is up.
pub(crate) struct Connection {
    service: RunningService<RoleClient, Relay>,
    group: Option<Pid>,
    /// What it offers, in its order.
    pub(crate) tools: Vec<Tool>,
    /// Its version, for the record.
    pub(crate) version: String,
}

/// One tool as its server lists it.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    /// The JSON Schema of its arguments: an object.
    pub(crate) schema: Map<String, Value>,
}

/// What a tool returned.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolOutput {
    pub(crate) text: String,
    pub(crate) structured: Option<Value>,
    pub(crate) is_error: bool,
}

/// A call that came to nothing.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// The connection is gone.
    Died,
    /// No message for this long.
    Silent(Duration),
    /// No result for this long.
    TooLong(Duration),
    /// The server is well and refuses the request: an unknown tool or arguments that do not fit its schema.
    Refused(String),
    /// The answer is no tool result.
    NotUnderstood(String),
}

/// A progress message of a call.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) server: String,
    pub(crate) message: String,
}

/// Hands progress messages on. There is one call at a time, so they need no further address.
#[derive(Clone)]
struct Relay {
    server: String,
    progress: UnboundedSender<Progress>,
}

impl ClientHandler for Relay {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("kernelwright", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let message = params.message.unwrap_or_else(|| match params.total {
            Some(total) => format!("{} of {total}", params.progress),
            None => params.progress.to_string(),
        });
        // Nobody listens any more once the run is over; that is no error.
        let _ = self.progress.send(Progress { server: self.server.clone(), message });
    }
}

/// Starts a server and reads its list of tools. Dropping the future ends what was started.
pub(crate) async fn connect(spec: &ServerSpec, log: &Path, progress: UnboundedSender<Progress>) -> Result<Connection, ServerFailure> {
    let Launch::Spawn { program, args, env } = &spec.launch;
    let not_started = |source| ServerFailure::NotStarted { program: program.clone(), source };
    let messages = OpenOptions::new().create(true).append(true).open(log).map_err(not_started)?;
    let mut command = tokio::process::Command::new(program);
    command.args(args).process_group(0);
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_secret(&name.to_string_lossy(), &spec.secrets)) {
        command.env_remove(name);
    }
    command.envs(env.iter().map(|(name, value)| (name, value)));
    let (transport, _) = TokioChildProcess::builder(command).stderr(messages).spawn().map_err(not_started)?;
    let starting = Starting(transport.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let relay = Relay { server: spec.name.clone(), progress };
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::LATEST],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    };
    let start = async {
        let service = relay.serve_with_lifecycle(transport, lifecycle).await.map_err(|error| no_handshake(&error))?;
        let listed = service.list_all_tools().await.map_err(|error| ServerFailure::NoHandshake { reason: error.to_string() })?;
        Ok((service, listed))
    };
    let started = tokio::time::timeout(START_LIMIT, start)
        .await
        .unwrap_or_else(|_| Err(ServerFailure::NoHandshake { reason: format!("nothing for {} s", START_LIMIT.as_secs()) }));
    let (service, listed) = started?;
    if let Some(tool) = spec.leave_out.iter().find(|name| listed.iter().all(|tool| tool.name != **name)) {
        let listed = listed.iter().map(|tool| tool.name.to_string()).collect();
        return Err(ServerFailure::NothingToLeaveOut { tool: tool.clone(), listed });
    }
    let tools = listed
        .into_iter()
        .filter(|tool| !spec.leave_out.iter().any(|name| *name == tool.name))
        .map(|tool| Tool {
            name: tool.name.into_owned(),
            description: tool.description.unwrap_or_default().into_owned(),
            schema: tool.input_schema.as_ref().clone(),
        })
        .collect();
    let version = service.peer_info().and_then(|peer| peer.server_info.clone()).map(|info| info.version);
    Ok(Connection { service, group: starting.up(), tools, version: version.unwrap_or_default() })
}

/// A process group that has not become a server yet: dropped, it is ended.
struct Starting(Option<Pid>);

impl Starting {
    fn up(mut self) -> Option<Pid> {
        self.0.take()
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        kill(self.0);
    }
}

/// A call that has no answer yet: dropped, the server is told that nobody waits for it.
struct Underway {
    peer: Peer<RoleClient>,
    /// None once it has one.
    id: Option<RequestId>,
}

impl Drop for Underway {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let cancelled = CancelledNotificationParam::new(Some(id), Some("nobody waits for it any more".to_owned()));
            // A server that has ended needs not to be told.
            let _ = peer.notify_cancelled(cancelled).await;
        });
    }
}

impl Connection {
    /// Calls a tool. `idle` starts over with every progress message, `total` does not. Dropping the future cancels the call: a server that went on with it
    /// would keep its device from the next one.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        idle: Duration,
        total: Duration,
    ) -> Result<ToolOutput, CallFailure> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let options = PeerRequestOptions::with_timeout(idle).reset_timeout_on_progress().with_max_total_timeout(total);
        let answer = match self.service.send_request_with_option(request, options).await {
            Ok(handle) => {
                let mut call = Underway { peer: handle.peer.clone(), id: Some(handle.id.clone()) };
                let answer = handle.await_response().await;
                call.id = None;
                answer
            }
            Err(error) => Err(error),
        };
        match answer {
            Ok(ServerResult::CallToolResult(result)) => Ok(output(result)),
            Ok(other) => Err(CallFailure::NotUnderstood(format!("no tool result: {other:?}"))),
            Err(ServiceError::McpError(error)) => Err(CallFailure::Refused(error.message.into_owned())),
            Err(ServiceError::Timeout { timeout }) if timeout == idle => Err(CallFailure::Silent(timeout)),
            Err(ServiceError::Timeout { timeout }) => Err(CallFailure::TooLong(timeout)),
            Err(ServiceError::UnexpectedResponse) => Err(CallFailure::NotUnderstood("not the form of an MCP answer".to_owned())),
            Err(_) => Err(CallFailure::Died),
        }
    }

    /// Ends the server's whole process group at once.
    pub(crate) fn kill(&self) {
        kill(self.group);
    }

    /// Lets the server end by itself, and ends it if it does not.
    pub(crate) async fn close(mut self) {
        if !matches!(self.service.close_with_timeout(END_LIMIT).await, Ok(Some(_))) {
            self.kill();
        }
    }
}

fn kill(group: Option<Pid>) {
    if let Some(group) = group {
        // It may be gone already.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn no_handshake(error: &ClientInitializeError) -> ServerFailure {
    ServerFailure::NoHandshake { reason: error.to_string() }
}

fn output(result: CallToolResult) -> ToolOutput {
    let texts: Vec<String> = result
        .content
        .into_iter()
        .filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.text),
            _ => None,
        })
        .collect();
    let parts = || result.meta.as_ref().and_then(|meta| meta.0.get(FAILURE_KEY)).map(|parts| json!({"error": parts}));
    let structured = result.structured_content.or_else(parts);
    ToolOutput { text: texts.join("\n"), structured, is_error: result.is_error.unwrap_or(false) }
}

/// Whether a variable's value is a secret: it is known for one, or its name says so. Tool servers run other people's code and need none.
fn is_secret(name: &str, known: &[String]) -> bool {
    const WORDS: [&str; 9] = ["KEY", "APIKEY", "TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "CREDENTIAL", "CREDENTIALS"];
    known.iter().any(|known| known == name) || name.to_ascii_uppercase().split('_').any(|part| WORDS.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failures_parts_are_read_from_either_place() {
        let parts = json!({"code": "busy", "reason": "the GPU is taken", "fix": "wait"});
        let content = json!([{"type": "text", "text": "error: busy"}]);
        for result in [
            json!({"content": content, "isError": true, "_meta": {"kernelwright/error": parts}}),
            json!({"content": content, "isError": true, "structuredContent": {"error": parts}}),
        ] {
            let read = output(serde_json::from_value(result).unwrap());
            assert_eq!(read, ToolOutput { text: "error: busy".to_owned(), structured: Some(json!({"error": parts})), is_error: true });
        }
    }

    #[test]
    fn keys_are_kept_from_tool_servers_and_settings_are_not() {
        for name in ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_PASSWORD"] {
            assert!(is_secret(name, &[]), "{name}");
        }
        for name in ["PATH", "CUDA_VISIBLE_DEVICES", "TOKENIZERS_PARALLELISM", "KERNELWRIGHT_PYTHON", "LD_LIBRARY_PATH", "KEYMAP"] {
            assert!(!is_secret(name, &[]), "{name}");
        }
        assert!(is_secret("GATEWAY_PAT", &["GATEWAY_PAT".to_owned()]) && !is_secret("GATEWAY_PATH", &["GATEWAY_PAT".to_owned()]));
    }
}
