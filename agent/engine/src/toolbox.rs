//! All tool servers of a run as one set of tools.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

use crate::error::{ServerFailure, ToolServerError};
use crate::mcp::{CallFailure, Connection, Progress, Tool, ToolOutput, connect};
use crate::observer::{Activity, Observer};
use crate::request::ServerSpec;
use crate::stop::StopToken;
use crate::store::Store;

/// The tools that the engine calls itself and the model is not offered.
pub(crate) const MEASURE_BASELINE: &str = "measure_baseline";
pub(crate) const DESCRIBE_TARGET: &str = "describe_target";
/// The tool that gives verdicts.
pub(crate) const EVALUATE_KERNEL: &str = "evaluate_kernel";
/// The tools that a run cannot do without: it does not begin unless all are listed, and ends where the server of one fails for good.
pub(crate) const NEEDED_TOOLS: [&str; 3] = [EVALUATE_KERNEL, MEASURE_BASELINE, DESCRIBE_TARGET];
/// The tool that says where time goes.
pub(crate) const PROFILE_KERNEL: &str = "profile_kernel";
/// Tools of the profile server that are for people at a machine, and not for a run.
pub(crate) const PROFILING_TOOLS: [&str; 2] = ["list_profilers", "import_profile"];
/// The tools that find passages and read what they are from.
pub(crate) const SEARCH_KNOWLEDGE: &str = "search_knowledge";
pub(crate) const READ_ENTRY: &str = "read_entry";
/// The tools that keep what runs prove. The engine alone calls them.
pub(crate) const FIND_LESSONS: &str = "find_lessons";
pub(crate) const RECORD_LESSON: &str = "record_lesson";
pub(crate) const RATE_LESSONS: &str = "rate_lessons";

/// The tools by which hosts that cut calls short wait on. The engine waits in the call itself.
pub(crate) const JOB_TOOLS: [&str; 2] = ["get_job", "cancel_job"];
/// How long it lets servers with such tools wait, in seconds: the most they take. Its own limits are below that.
pub(crate) const WAIT_S: u32 = 3_600;

/// Every server, up and running.
pub(crate) struct Toolbox {
    servers: Vec<Server>,
    progress: UnboundedReceiver<Progress>,
    relay: UnboundedSender<Progress>,
}

struct Server {
    spec: ServerSpec,
    log: std::path::PathBuf,
    connection: Connection,
    /// Whether it failed for good in the last call: the next one has to start it first.
    is_down: bool,
}

impl Server {
    fn failed(&self, what: ServerFailure) -> CallEnd {
        CallEnd::Failed(ToolServerError { server: self.spec.name.clone(), what, log: self.log.clone() })
    }
}

/// Why a call has no output.
#[derive(Debug)]
pub(crate) enum CallEnd {
    /// No server lists a tool of that name.
    Unknown,
    /// The server is well and refuses the request.
    Refused(String),
    /// The server died or hung, and again after it was started anew.
    Failed(ToolServerError),
    /// The user gave the call up.
    Abandoned,
}

/// A server that was started anew during a call.
#[derive(Debug)]
pub(crate) struct Restart {
    pub(crate) server: String,
    pub(crate) reason: String,
}

impl Toolbox {
    /// Starts every server, all at once. `None` where the user does not wait for it.
    pub(crate) async fn start(
        specs: &[ServerSpec],
        store: &Store,
        observer: &mut dyn Observer,
        stop: &StopToken,
    ) -> Result<Option<Self>, ToolServerError> {
        let (relay, progress) = unbounded_channel();
        let mut starting = Vec::new();
        for spec in specs {
            observer.activity(&Activity::ServerStarting { server: spec.name.clone() });
            let (spec, log, relay) = (spec.clone(), store.server_log(&spec.name), relay.clone());
            starting.push(tokio::spawn(async move {
                let connection = connect(&spec, &log, relay).await;
                (spec, log, connection)
            }));
        }
        let mut toolbox = Self { servers: Vec::new(), progress, relay };
        let mut failure = None;
        for task in &mut starting {
            let started = tokio::select! {
                started = task => started,
                () = stop.stopping() => break,
            };
            // A panic in the library is the only way to lose the task.
            let Ok((spec, log, connection)) = started else { continue };
            match connection {
                Ok(connection) => toolbox.servers.push(Server { spec, log, connection, is_down: false }),
                Err(what) => failure = Some(ToolServerError { server: spec.name, what, log }),
            }
        }
        if stop.is_stopping() {
            starting.iter().for_each(JoinHandle::abort);
            toolbox.close().await;
            return Ok(None);
        }
        let Some(failure) = failure.or_else(|| toolbox.missing(store)) else { return Ok(Some(toolbox)) };
        toolbox.close().await;
        Err(failure)
    }

    fn missing(&self, store: &Store) -> Option<ToolServerError> {
        let missing = NEEDED_TOOLS.into_iter().find(|tool| self.find(tool).is_none())?;
        let names: Vec<&str> = self.servers.iter().map(|server| server.spec.name.as_str()).collect();
        let what = ServerFailure::NoTool { tool: missing.to_owned() };
        Some(ToolServerError { server: names.join("`, `"), what, log: store.dir().join("logs") })
    }

    /// Each server's version.
    pub(crate) fn versions(&self) -> BTreeMap<String, String> {
        self.servers.iter().map(|server| (server.spec.name.clone(), server.connection.version.clone())).collect()
    }

    /// Every tool, in the order of the servers.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.servers.iter().flat_map(|server| &server.connection.tools)
    }

    /// The tool of that name; the first server's, where several list it.
    pub(crate) fn find(&self, name: &str) -> Option<&Tool> {
        self.tools().find(|tool| tool.name == name)
    }

    /// The name of the server that lists the tool.
    pub(crate) fn server_of(&self, tool: &str) -> String {
        self.index_of(tool).map(|index| self.servers[index].spec.name.clone()).unwrap_or_default()
    }

    fn index_of(&self, tool: &str) -> Option<usize> {
        self.servers.iter().position(|server| server.connection.tools.iter().any(|listed| listed.name == tool))
    }

    /// Calls a tool. A server that dies or hangs is started anew, once, and asked again; `restarts` learns of it.
    pub(crate) async fn call(
        &mut self,
        tool: &str,
        arguments: Map<String, Value>,
        observer: &mut dyn Observer,
        stop: &StopToken,
        restarts: &mut Vec<Restart>,
    ) -> Result<ToolOutput, CallEnd> {
        let index = self.index_of(tool).ok_or(CallEnd::Unknown)?;
        if self.servers[index].is_down {
            self.start_again(index, observer, stop).await?;
        }
        loop {
            let failure = match self.call_once(index, tool, arguments.clone(), observer, stop).await {
                Ok(output) => return Ok(output),
                Err(None) => return Err(CallEnd::Abandoned),
                Err(Some(CallFailure::Refused(reason))) => return Err(CallEnd::Refused(reason)),
                Err(Some(failure)) => failure,
            };
            let server = &mut self.servers[index];
            server.connection.kill();
            server.is_down = true;
            let what = describe(failure, tool);
            if restarts.iter().any(|restart| restart.server == server.spec.name) {
                return Err(server.failed(what));
            }
            let reason = what.to_string().replace(", and again after a restart", "");
            restarts.push(Restart { server: server.spec.name.clone(), reason });
            self.start_again(index, observer, stop).await?;
        }
    }

    async fn start_again(&mut self, index: usize, observer: &mut dyn Observer, stop: &StopToken) -> Result<(), CallEnd> {
        let server = &mut self.servers[index];
        observer.activity(&Activity::ServerStarting { server: server.spec.name.clone() });
        let started = tokio::select! {
            started = connect(&server.spec, &server.log, self.relay.clone()) => started,
            () = stop.abandoned() => return Err(CallEnd::Abandoned),
        };
        server.connection = started.map_err(|what| server.failed(what))?;
        server.is_down = false;
        Ok(())
    }

    /// `Err(None)` when the user gave it up.
    async fn call_once(
        &mut self,
        index: usize,
        tool: &str,
        arguments: Map<String, Value>,
        observer: &mut dyn Observer,
        stop: &StopToken,
    ) -> Result<ToolOutput, Option<CallFailure>> {
        // What an earlier call left behind is not about this one.
        while self.progress.try_recv().is_ok() {}
        let Server { spec, connection, .. } = &self.servers[index];
        let call = connection.call(tool, arguments, spec.idle_timeout, spec.total_timeout);
        tokio::pin!(call);
        loop {
            tokio::select! {
                result = &mut call => {
                    // What was said before the result is told before it.
                    while let Ok(Progress { server, message }) = self.progress.try_recv() {
                        observer.activity(&Activity::ToolProgress { server, tool: tool.to_owned(), message });
                    }
                    return result.map_err(Some);
                }
                Some(Progress { server, message }) = self.progress.recv() => {
                    observer.activity(&Activity::ToolProgress { server, tool: tool.to_owned(), message });
                }
                () = stop.abandoned() => {
                    connection.kill();
                    return Err(None);
                }
            }
        }
    }

    /// Ends every server, all at once.
    pub(crate) async fn close(self) {
        let closing: Vec<_> = self.servers.into_iter().map(|server| tokio::spawn(server.connection.close())).collect();
        for task in closing {
            let _ = task.await;
        }
    }
}

/// A call that came to nothing, in the words of the engine.
pub(crate) fn describe(failure: CallFailure, tool: &str) -> ServerFailure {
    let tool = tool.to_owned();
    match failure {
        CallFailure::Died => ServerFailure::Died { tool },
        CallFailure::Silent(limit) => ServerFailure::Silent { tool, seconds: limit.as_secs() },
        CallFailure::TooLong(limit) => ServerFailure::TooLong { tool, seconds: limit.as_secs() },
        CallFailure::Refused(reason) | CallFailure::NotUnderstood(reason) => ServerFailure::NotUnderstood { tool, reason },
    }
}
