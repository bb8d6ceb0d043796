//! What can go wrong when a model is asked, in the words of somebody who has to do something about it.
//!
//! Every text that came from a server has been masked before it gets here: no variant ever holds a key.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The model did not answer.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The settings name an address that is none.
    #[error("the model's address {url:?} cannot be used: {reason}")]
    BadAddress {
        /// As it was given, without passwords in it.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The settings name a header that cannot be sent.
    #[error("the extra header {name:?} cannot be sent: {reason}")]
    BadHeader {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A key is needed and not there.
    #[error("the key for {url} is missing: {missing}")]
    NoKey {
        /// What it is for.
        url: String,
        /// Where it was looked for.
        missing: MissingKey,
    },
    /// The server does not accept the key.
    #[error("{url} refused the key (HTTP {status}): {message}")]
    Auth {
        /// The server.
        url: String,
        /// 401 or 403.
        status: u16,
        /// What it says.
        message: String,
    },
    /// There is a server, but no model endpoint at this path.
    #[error("there is no model endpoint at {url} ({found})")]
    WrongUrl {
        /// Where the request went.
        url: String,
        /// What is there.
        found: String,
        /// What to try.
        hint: String,
    },
    /// The server's certificate is not trusted. It is always checked.
    #[error("the certificate of {url} is not trusted: {reason}")]
    Untrusted {
        /// The server.
        url: String,
        /// Why.
        reason: String,
    },
    /// The server does not know the model.
    #[error("{url} has no model {model:?}: {message}")]
    UnknownModel {
        /// The server.
        url: String,
        /// The name.
        model: String,
        /// What it says.
        message: String,
    },
    /// The model, or the server in front of it, has no function calling.
    #[error("{model} at {url} does not call functions: {message}")]
    NoToolSupport {
        /// The server.
        url: String,
        /// The model.
        model: String,
        /// What it says or did.
        message: String,
    },
    /// The server cannot be told that a tool has to be called.
    #[error("{url} does not accept this tool choice: {message}")]
    NoToolChoice {
        /// The server.
        url: String,
        /// What it says.
        message: String,
    },
    /// The conversation does not fit into the model.
    #[error("the conversation is too long for {model} at {url}: {message}")]
    ContextTooLong {
        /// The server.
        url: String,
        /// The model.
        model: String,
        /// What it says, usually with both lengths.
        message: String,
    },
    /// The account has no money left.
    #[error("the account at {url} has no credit: {message}")]
    NoCredit {
        /// The server.
        url: String,
        /// What it says.
        message: String,
    },
    /// The server refuses the request for a reason that is none of the others.
    #[error("{url} refused the request (HTTP {status}): {message}")]
    Rejected {
        /// The server.
        url: String,
        /// The HTTP status.
        status: u16,
        /// What it says.
        message: String,
    },
    /// The server was out of reach or busy for longer than patience lasts. The run can go on later from where it is.
    #[error("{url} gave no answer in {attempts} {}, the last time: {last}", if *attempts == 1 { "attempt" } else { "attempts" })]
    Outage {
        /// The server.
        url: String,
        /// How often it was tried.
        attempts: u32,
        /// From the first failure to the last.
        waited: Duration,
        /// What went wrong the last time.
        last: Fault,
        /// How long the server wants to be left alone, where it says.
        retry_after: Option<Duration>,
    },
    /// Questions lie in the mailbox and wait for answers. The run can go on when they are there.
    #[error("waiting for {}", list(waiting))]
    Suspended {
        /// The reply files that are missing.
        waiting: Vec<PathBuf>,
    },
    /// A reply file in the mailbox cannot be read as an answer.
    #[error("the reply {} is no answer: {reason}", path.display())]
    BadReply {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The mailbox holds the answer to another question under this question's number.
    #[error("{} is not the question this run asks", path.display())]
    OtherQuestion {
        /// The request file.
        path: PathBuf,
    },
    /// A file of the mailbox cannot be read or written.
    #[error("the mailbox file {}: {source}", path.display())]
    Mailbox {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The recorded run cannot be read.
    #[error("the recording {} cannot be used: {reason}", path.display())]
    BadRecording {
        /// The event log.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The replayed run asks more than the recorded one did.
    #[error("question {asked} is not in the recording {}, which has {available} answers", path.display())]
    ReplayExhausted {
        /// The event log.
        path: PathBuf,
        /// The number of the question, counted from 1.
        asked: u64,
        /// How many answers there are.
        available: u64,
    },
}

impl ModelError {
    /// What to try, in a sentence.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::BadAddress { .. } => "give the address up to and including the version, e.g. https://api.example.com/v1".to_owned(),
            Self::BadHeader { .. } => "a header is a name of letters, digits and `-`, and one line of visible ASCII".to_owned(),
            Self::NoKey { missing, .. } => missing.hint(),
            Self::Auth { status: 403, .. } => {
                "the key is known but may not do this: check its project, its permissions and the region it is used from".to_owned()
            }
            Self::Auth { .. } => "check that the key is complete, not expired, and belongs to this server".to_owned(),
            Self::WrongUrl { hint, .. } => hint.clone(),
            Self::Untrusted { .. } => {
                "add your site's certificate authority to the system's store or name its file in SSL_CERT_FILE; checking cannot be turned off"
                    .to_owned()
            }
            Self::UnknownModel { .. } => "check the model's name; `GET /models` at the same address lists the names of most servers".to_owned(),
            Self::NoToolSupport { .. } => {
                "choose a model with function calling, or turn it on in the server (vLLM: --enable-auto-tool-choice --tool-call-parser ...; llama.cpp: --jinja)"
                    .to_owned()
            }
            Self::NoToolChoice { .. } => "leave the choice of tools to the model".to_owned(),
            Self::ContextTooLong { .. } => "choose a model with a longer context, or fewer turns in a step".to_owned(),
            Self::NoCredit { .. } => "add credit to the account, then resume the run; nothing is lost".to_owned(),
            Self::Rejected { message, .. } if message.contains("max_completion_tokens") || message.contains("max_tokens") => {
                "set which of `max_tokens` and `max_completion_tokens` the server takes, and a limit within the model's".to_owned()
            }
            Self::Rejected { .. } => "the server's own words say what it does not accept; extra body fields come from the settings".to_owned(),
            Self::Outage { retry_after: Some(delay), .. } => {
                format!("the server asks to be left alone for {} s; resume the run after that, nothing is lost", delay.as_secs())
            }
            Self::Outage { last: Fault::Connect { .. }, .. } => {
                "check the address, the network and the proxy settings; nothing is lost, a run that had begun can be resumed".to_owned()
            }
            Self::Outage { .. } => "resume the run when the server is well again; nothing is lost".to_owned(),
            Self::Suspended { .. } => "put the answers there, then resume the run".to_owned(),
            Self::BadReply { .. } => {
                "a reply is {\"content\": ..., \"tool_calls\": [{\"name\": ..., \"arguments\": {...}}]} or a chat completion; mend or delete the file, then resume"
                    .to_owned()
            }
            Self::OtherQuestion { .. } => "give every run a mailbox of its own, or delete this number's two files to ask again".to_owned(),
            Self::Mailbox { .. } => "the folder must exist or be creatable, be writable, and have room".to_owned(),
            Self::BadRecording { .. } => "name a run's folder or its events.jsonl".to_owned(),
            Self::ReplayExhausted { .. } => {
                "the run went another way than the recorded one: another problem, other prompts or other settings".to_owned()
            }
        }
    }
}

/// Where a key was looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MissingKey {
    /// In the environment.
    #[error("the environment variable {variable} is not set")]
    Variable {
        /// Its name.
        variable: String,
    },
    /// In the environment, where something unusable is.
    #[error("the environment variable {variable} holds no key: {reason}")]
    BadVariable {
        /// Its name.
        variable: String,
        /// What is wrong, without what it holds.
        reason: &'static str,
    },
    /// In a file.
    #[error("the file {} holds no key: {reason}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// Why, without what it holds.
        reason: String,
    },
}

impl MissingKey {
    fn hint(&self) -> String {
        match self {
            Self::Variable { variable } | Self::BadVariable { variable, .. } => {
                format!("export {variable}=..., or name another variable or a file in the settings; keys are never written into settings")
            }
            Self::File { .. } => "the file must be readable and hold the key alone, on one line".to_owned(),
        }
    }
}

/// A failure that may pass by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server answered that it is busy or broken.
    Status {
        /// The HTTP status.
        status: u16,
        /// What it says.
        message: String,
    },
    /// There was no connection.
    Connect {
        /// Why.
        reason: String,
    },
    /// The server said nothing for too long.
    Idle {
        /// The limit.
        after: Duration,
    },
    /// The answer took too long in all.
    TooLong {
        /// The limit.
        after: Duration,
    },
    /// The connection ended before the answer did.
    Cut {
        /// How.
        reason: String,
    },
    /// The server broke off its answer with an error.
    InStream {
        /// What it says.
        message: String,
    },
    /// What came is no answer.
    Garbled {
        /// What is wrong with it.
        reason: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status { status, message } => write!(f, "HTTP {status}: {message}"),
            Self::Connect { reason } => write!(f, "no connection: {reason}"),
            Self::Idle { after } => write!(f, "nothing came for {} s", after.as_secs_f64()),
            Self::TooLong { after } => write!(f, "the answer was not complete after {} s", after.as_secs_f64()),
            Self::Cut { reason } => write!(f, "the connection was cut: {reason}"),
            Self::InStream { message } => write!(f, "the server broke off: {message}"),
            Self::Garbled { reason } => write!(f, "the answer is not understood: {reason}"),
        }
    }
}

fn list(paths: &[PathBuf]) -> String {
    match paths {
        [] => "nothing".to_owned(),
        [one] => one.display().to_string(),
        [first, rest @ ..] => format!("{} and {} more", first.display(), rest.len()),
    }
}
