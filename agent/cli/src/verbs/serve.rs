//! `kernelwright serve`: one of the tool servers in this process.

use kernelwright_server::Transport;

use super::{Context, runtime};
use crate::args::{Serve, ServerName};
use crate::built_in::{evaluate_settings, executable, library_settings, profile_settings};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Verbosity;

pub fn run(context: &Context, args: &Serve) -> Result<Exit, Failure> {
    let default = if context.printer.verbosity > Verbosity::Normal { "info,kernelwright=debug" } else { "warn,kernelwright=info" };
    kernelwright_server::log_to_stderr(default);
    let settings = context.settings(&args.flags())?;
    let transport = match args.http {
        Some(addr) => Transport::Http { addr, token: context.environment.get("KERNELWRIGHT_HTTP_TOKEN").map(str::to_owned) },
        None => Transport::Stdio,
    };
    let helper = executable()?;
    let runtime = runtime()?;
    let served = runtime.block_on(async {
        match args.server {
            ServerName::Evaluate => kernelwright_evaluate::serve(evaluate_settings(&settings, helper), transport).await,
            ServerName::Profile => kernelwright_profile::serve(profile_settings(&settings, helper), transport).await,
            ServerName::Knowledge => kernelwright_knowledge::serve(library_settings(&settings), transport).await,
        }
    });
    // A blocked read of stdin must not keep the process.
    runtime.shutdown_background();
    served.map(|()| Exit::Success).map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Failure::new(Exit::ToolServer, format!("{error}{cause}")).hint(error.hint())
    })
}
