//! `compile_kernel` on the MCP surface: what `kernelwright-compile` says, cut to what fits into an answer.

mod brief;
mod surface;

use kernelwright_compile::Settings;

impl From<crate::Settings> for Settings {
    fn from(settings: crate::Settings) -> Self {
        let crate::Settings { python, cache_dir, sandbox_helper, threads, limits, command: _ } = settings;
        Self { python, cache_dir, sandbox_helper, threads, build_limit: limits.build, kernel_limit: limits.run, limits: limits.process }
    }
}
