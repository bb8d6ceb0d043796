//! The tool servers that are built in, as the settings describe them: for `serve`, and for verbs that do their work in this process.

use std::path::PathBuf;

use kernelwright_knowledge::BuiltIn;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings::Settings;

/// This program's own file: tool servers and sandboxes are started from it.
pub fn executable() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| Failure::new(Exit::Unexpected, format!("cannot find this program's own file: {error}")))
}

/// The evaluator. `helper` is this program.
pub fn evaluate_settings(settings: &Settings, helper: PathBuf) -> kernelwright_evaluate::Settings {
    let evaluate = &settings.evaluate;
    let usual = kernelwright_evaluate::Settings::new(helper);
    kernelwright_evaluate::Settings {
        python: evaluate.python.clone(),
        cache_dir: settings.cache.clone(),
        threads: evaluate.threads,
        command: evaluate.command.clone(),
        limits: kernelwright_evaluate::Limits {
            build: evaluate.build_limit,
            run: evaluate.run_limit,
            time: evaluate.time_limit,
            ..usual.limits
        },
        ..usual
    }
}

/// What takes profiles. `helper` is this program.
pub fn profile_settings(settings: &Settings, helper: PathBuf) -> kernelwright_profile::Settings {
    let evaluate = &settings.evaluate;
    kernelwright_profile::Settings {
        python: evaluate.python.clone(),
        cache_dir: settings.cache.clone(),
        threads: evaluate.threads,
        ..kernelwright_profile::Settings::new(helper)
    }
}

/// The library of knowledge packs.
pub fn library_settings(settings: &Settings) -> kernelwright_knowledge::Settings {
    kernelwright_knowledge::Settings {
        built_in: BuiltIn::Included,
        packs: settings.packs.clone(),
        home: Some(settings.pack_home.clone()),
        cache_dir: Some(settings.cache.clone()),
    }
}
