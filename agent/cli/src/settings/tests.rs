use std::fs;
use std::path::Path;

use kernelwright_engine::Launch;
use kernelwright_model::{ClientSettings, HeaderSource, KeySource, Transfer};

use super::*;
use crate::failure::Failure;

/// A project with settings, below it the current folder, and a user with settings.
struct Site {
    root: tempfile::TempDir,
}

impl Site {
    fn new(user: &str, project: &str) -> Self {
        let root = tempfile::tempdir().unwrap();
        for folder in ["config/kernelwright", "project/deep/down"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("config/kernelwright/config.toml"), user).unwrap();
        fs::write(root.path().join("project/kernelwright.toml"), project).unwrap();
        Self { root }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.root.path().join(path)
    }

    fn resolve(&self, variables: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Result<Settings, SettingsError> {
        let config = self.path("config");
        let mut variables = variables.to_vec();
        variables.push(("XDG_CONFIG_HOME", config.to_str().unwrap()));
        let environment = Environment::of(&self.path("project/deep/down"), &variables);
        let flags = flags.iter().map(|&(key, text)| (key, text.to_owned(), "--flag")).collect();
        Settings::resolve(&environment, None, &Recorded::new(), &flags)
    }

    /// The value and the origin of a setting, without the folder's name.
    fn value(&self, key: &str, variables: &[(&str, &str)], flags: &[(&'static str, &str)]) -> String {
        let settings = self.resolve(variables, flags).unwrap();
        let setting = settings.layers().get(key).unwrap();
        format!("{} ({})", setting.value, setting.origin).replace(&format!("{}/", self.root.path().display()), "")
    }

    /// What is said about settings that cannot be used.
    fn refused(&self, variables: &[(&str, &str)], flags: &[(&'static str, &str)]) -> String {
        let error = self.resolve(variables, flags).unwrap_err();
        Failure::from(error).to_string().replace(&format!("{}/", self.root.path().display()), "")
    }
}

fn project(text: &str) -> Site {
    Site::new("", text)
}

#[test]
fn every_layer_is_stronger_than_the_one_before() {
    let variable: (&str, &str) = ("KERNELWRIGHT_BUDGET_STEPS", "3");
    let (user, both) = (Site::new("[budget]\nsteps = 1", ""), Site::new("[budget]\nsteps = 1", "[budget]\n\nsteps = 2"));
    assert_eq!(project("").value("budget.steps", &[], &[]), "8 (default)");
    assert_eq!(user.value("budget.steps", &[], &[]), "1 (config/kernelwright/config.toml:2)");
    assert_eq!(both.value("budget.steps", &[], &[]), "2 (project/kernelwright.toml:3)");
    assert_eq!(both.value("budget.steps", &[variable], &[]), "3 (variable KERNELWRIGHT_BUDGET_STEPS)");
    assert_eq!(both.value("budget.steps", &[variable], &[("budget.steps", "4")]), "4 (flag --flag)");
    assert_eq!(both.value("budget.steps", &[("KERNELWRIGHT_BUDGET_STEPS", "")], &[]), "2 (project/kernelwright.toml:3)");
}

#[test]
fn a_layer_changes_only_what_it_names() {
    let site = Site::new("[budget]\nsteps = 1\ntokens = 5000\nwall = \"2h\"", "[budget]\nsteps = 2");
    let budget = site.resolve(&[("KERNELWRIGHT_BUDGET_DOLLARS", "2.5")], &[]).unwrap().budget;
    assert_eq!((budget.steps, budget.tokens), (Some(2), Some(Tokens(5000))));
    assert_eq!((budget.dollars, budget.wall), (Some(Dollars::new(2.5)), Some(Nanoseconds::from_seconds(7200.0))));
}

#[test]
fn paths_in_a_file_are_relative_to_the_file_and_others_to_the_current_folder() {
    let site = project("[paths]\nruns = \"runs\"");
    assert_eq!(site.resolve(&[], &[]).unwrap().runs, site.path("project/runs"));
    assert_eq!(site.resolve(&[("KERNELWRIGHT_PATHS_RUNS", "runs")], &[]).unwrap().runs, site.path("project/deep/down/runs"));
    assert_eq!(project("").resolve(&[], &[("paths.runs", "/runs")]).unwrap().runs, Path::new("/runs"));
}

#[test]
fn a_tilde_is_the_users_home_which_no_shell_puts_into_a_file() {
    let site = project(
        "[model]\napi_key_file = \"~/key\"\nheaders = { X-Token = { file = \"~/token\" } }\n[knowledge]\npacks = [\"~\", \"~other/packs\"]\n[servers.docs]\ncommand = [\"~/bin/docs\"]",
    );
    let settings = site.resolve(&[("HOME", "/home/me"), ("KERNELWRIGHT_MODEL", "openai:m")], &[("paths.runs", "~/runs")]).unwrap();
    assert_eq!(settings.key_source(), Some(KeySource::File("/home/me/key".into())));
    let ClientSettings::OpenAi(hosted) = settings.model().unwrap() else { panic!("not openai") };
    assert_eq!(hosted.headers["X-Token"], HeaderSource::Secret(KeySource::File("/home/me/token".into())));
    assert_eq!(settings.packs, [Path::new("/home/me"), &site.path("project/~other/packs")]);
    assert_eq!(settings.runs, Path::new("/home/me/runs"));
    let docs = settings.servers(Path::new("kernelwright")).unwrap().pop().unwrap();
    let Launch::Spawn { program, .. } = docs.launch;
    assert_eq!(program, Path::new("/home/me/bin/docs"));
}

#[test]
fn a_named_file_takes_the_place_of_the_projects() {
    let site = project("[budget]\nsteps = 2");
    fs::write(site.path("other.toml"), "[budget]\nsteps = 5").unwrap();
    let environment = Environment::of(&site.path("project"), &[]);
    let resolved = |config: &str| Settings::resolve(&environment, Some(Path::new(config)), &Recorded::new(), &Flags::new());
    assert_eq!(resolved("../other.toml").unwrap().budget.steps, Some(5));
    assert!(matches!(resolved("missing.toml").unwrap_err(), SettingsError::Unreadable { .. }));
}

#[test]
fn mistakes_in_a_file_are_shown_with_their_line_and_what_was_meant() {
    let refused = |text| project(text).refused(&[], &[]);
    insta::assert_snapshot!(refused("[budget]\nsteps = 1\nstepz = 2"), @r"
    error: there is no setting `budget.stepz`
      where: project/kernelwright.toml:3
      hint: did you mean `budget.steps`?
    ");
    insta::assert_snapshot!(refused("[bugdet]\nsteps = 1"), @r"
    error: there is no setting `bugdet`
      where: project/kernelwright.toml:1
      hint: did you mean `budget`?
    ");
    insta::assert_snapshot!(refused("steps = 1"), @r"
    error: there is no setting `steps`
      where: project/kernelwright.toml:1
      hint: did you mean `budget.steps`?
    ");
    insta::assert_snapshot!(refused("[model]\nprovider = \"azure\""), @r#"
    error: `model.provider` has to be one of openai, anthropic, replay, mailbox, not "azure"
      where: project/kernelwright.toml:2
      hint: `kernelwright config show` prints every setting with its value and where it comes from
    "#);
    insta::assert_snapshot!(refused("[budget]\nwall = \"soon\""), @r#"
    error: `budget.wall` has to be a time such as 90s, 15m or 1h30m, not "soon"
      where: project/kernelwright.toml:2
      hint: `kernelwright config show` prints every setting with its value and where it comes from
    "#);
    insta::assert_snapshot!(refused("[budget]\nsteps = 0"), @r"
    error: `budget.steps` has to be a whole number of 1 or more, not 0
      where: project/kernelwright.toml:2
      hint: `kernelwright config show` prints every setting with its value and where it comes from
    ");
    insta::assert_snapshot!(refused("[budget\nsteps = 1"), @r"
    error: not a settings file: unclosed table, expected `]`
      where: project/kernelwright.toml:1
      hint: settings are TOML: [section] lines and key = value lines
    ");
    insta::assert_snapshot!(refused("[servers.mine]\ncommand = []"), @r"
    error: `servers.mine` has to be a server with a command, not one without
      where: project/kernelwright.toml:1
      hint: `kernelwright config show` prints every setting with its value and where it comes from
    ");
    insta::assert_snapshot!(refused("[servers.evaluate]\ncomand = [\"x\"]"), @r"
    error: `servers.evaluate` cannot be read: unknown field `comand`, expected one of `command`, `env`, `idle_timeout`, `total_timeout`, `leave_out`
      where: project/kernelwright.toml:1
      hint: `kernelwright config show` prints every setting with its value and where it comes from
    ");
}

#[test]
fn mistakes_elsewhere_name_the_variable_or_the_flag() {
    let site = project("");
    insta::assert_snapshot!(site.refused(&[("KERNELWRIGHT_BUDGET_STEPS", "many")], &[]), @r"
    error: `budget.steps` has to be a whole number of 1 or more, not `many`
      where: variable KERNELWRIGHT_BUDGET_STEPS
      hint: `kernelwright config show` prints every setting with its value and where it comes from
    ");
    insta::assert_snapshot!(site.refused(&[], &[("evaluate.target", "tpu")]), @r"
    error: `evaluate.target` has to be cpu, cuda, cuda:N or auto, not `tpu`
      where: flag --flag
      hint: `kernelwright config show` prints every setting with its value and where it comes from
    ");
}

#[test]
fn a_variable_that_sets_nothing_is_noticed() {
    let settings = project("").resolve(&[("KERNELWRIGHT_BUDGET_STEP", "1"), ("KERNELWRIGHT_MODEL", "openai:m")], &[]).unwrap();
    assert_eq!(settings.layers().strays, ["KERNELWRIGHT_BUDGET_STEP"]);
}

mod the_model {
    use super::*;

    const DESK: &str = "[model]\nprovider = \"openai\"\nname = \"house\"\nbase_url = \"http://desk/v1\"\napi_key_env = \"DESK_KEY\"";

    #[test]
    fn is_what_the_section_says() {
        let more = format!(
            "{DESK}\nstream = false\ntemperature = 0.5\nextra_body = {{ effort = \"high\" }}\n\n[model.headers]\nX-Team = \"kernels\"\nX-Token = {{ file = \"token\" }}\n\n[model.prices.house]\ninput = 1.0\noutput = 4.0"
        );
        let site = project(&more);
        let ClientSettings::OpenAi(hosted) = site.resolve(&[], &[]).unwrap().model().unwrap() else { panic!("not openai") };
        assert_eq!((hosted.model.as_str(), hosted.base_url.as_deref()), ("house", Some("http://desk/v1")));
        assert_eq!((hosted.transfer, hosted.temperature), (Transfer::Whole, Some(0.5)));
        assert_eq!(hosted.key, Some(KeySource::Env("DESK_KEY".into())));
        assert_eq!(hosted.extra_body["effort"], "high");
        assert_eq!(hosted.headers["X-Token"], HeaderSource::Secret(KeySource::File(site.path("project/token"))));
        assert!(hosted.prices["house"].output > 3.9);
    }

    #[test]
    fn in_short_keeps_the_address_of_its_own_provider_only() {
        let hosted = |model: &str| match project(DESK).resolve(&[("KERNELWRIGHT_MODEL", model)], &[]).unwrap().model().unwrap() {
            ClientSettings::OpenAi(hosted) | ClientSettings::Anthropic(hosted) => (hosted.model, hosted.base_url, hosted.key.is_some()),
            other => panic!("{other:?}"),
        };
        assert_eq!(hosted("openai:large"), ("large".into(), Some("http://desk/v1".into()), true));
        assert_eq!(hosted("llama3:8b"), ("llama3:8b".into(), Some("http://desk/v1".into()), true));
        assert_eq!(hosted("anthropic:other"), ("other".into(), None, false));
    }

    #[test]
    fn may_be_a_recording_or_a_mailbox() {
        let model = |text: &str| project(DESK).resolve(&[("KERNELWRIGHT_MODEL", text)], &[]).unwrap().model().unwrap();
        assert!(matches!(model("replay:/runs/one"), ClientSettings::Replay(replay) if replay.path == Path::new("/runs/one")));
        assert!(matches!(model("mailbox:box"), ClientSettings::Mailbox(mailbox) if mailbox.dir.ends_with("project/deep/down/box")));
    }

    /// The model of a run that recorded this, resumed where the file [`DESK`] lies.
    fn resumed(recorded: &[(&'static str, &str)], variables: &[(&str, &str)], flags: &[(&'static str, &str)]) -> String {
        let site = project(DESK);
        let environment = Environment::of(&site.path("project"), variables);
        let recorded = recorded.iter().map(|&(key, text)| (key, text.to_owned())).collect();
        let flags = flags.iter().map(|&(key, text)| (key, text.to_owned(), "--flag")).collect();
        match Settings::resolve(&environment, None, &recorded, &flags).unwrap().model().unwrap() {
            ClientSettings::OpenAi(hosted) => {
                let key = hosted.key.map(|key| format!(" with {key}")).unwrap_or_default();
                format!("{} at {}{key}", hosted.model, hosted.base_url.unwrap_or_default())
            }
            ClientSettings::Mailbox(mailbox) => format!("mailbox {}", mailbox.dir.display()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn of_a_recorded_run_is_stronger_than_files_and_weaker_than_what_is_said_now() {
        const BOX: [(&str, &str); 2] = [("model.provider", "mailbox"), ("model.path", "/box")];
        assert_eq!(resumed(&BOX, &[], &[]), "mailbox /box");
        assert_eq!(resumed(&BOX, &[("KERNELWRIGHT_MODEL", "mailbox:/other")], &[]), "mailbox /other");
        assert_eq!(resumed(&BOX, &[], &[("model.path", "/other")]), "mailbox /other");
        assert_eq!(resumed(&[], &[], &[]), "house at http://desk/v1 with environment variable DESK_KEY");
    }

    #[test]
    fn of_a_recorded_run_gets_the_key_of_a_file_that_names_the_same_host() {
        let at = |url| resumed(&[("model.provider", "openai"), ("model.name", "m"), ("model.base_url", url)], &[], &[]);
        assert_eq!(at("http://desk/v1/chat/completions"), "m at http://desk/v1/chat/completions with environment variable DESK_KEY");
        assert_eq!(at("https://elsewhere/v1/chat/completions"), "m at https://elsewhere/v1/chat/completions");
    }

    #[test]
    fn has_to_be_named() {
        let said = |text: &str| {
            let site = project(text);
            let error = site.resolve(&[], &[]).unwrap().model().unwrap_err();
            Failure::from(error).to_string().replace(&format!("{}/", site.root.path().display()), "")
        };
        insta::assert_snapshot!(said(""), @r"
        error: no model is configured
          hint: pass --model openai:NAME or anthropic:NAME, or set [model] provider and name; `--model mailbox:FOLDER` works without network
        ");
        insta::assert_snapshot!(said("[model]\nname = \"openrouter:m\""), @r"
        error: a model is named, but not who answers
          hint: write openai:, anthropic:, replay: or mailbox: before it, or set [model] provider
        ");
        insta::assert_snapshot!(said("[model]\nprovider = \"openai\""), @r"
        error: a provider is configured, but no model's name
          hint: set [model] name, or pass --model openai:NAME or anthropic:NAME
        ");
        insta::assert_snapshot!(said("[model]\nprovider = \"mailbox\""), @r"
        error: the model's provider needs a path, and none is configured
          hint: pass --model replay:PATH or mailbox:FOLDER, or set [model] path
        ");
        for (model, missing) in [("openai:", "no model's name"), ("mailbox: ", "needs a path")] {
            let settings = project("").resolve(&[("KERNELWRIGHT_MODEL", model)], &[]).unwrap();
            let error = settings.model().unwrap_err().to_string();
            assert!(error.contains(missing), "{model} {error}");
        }
        insta::assert_snapshot!(said("[model]\nprovider = \"openai\"\nname = \"m\"\nprices = { m = 3 }"), @r"
        error: `model.prices` cannot be read: invalid type: integer `3`, expected struct Price
          where: project/kernelwright.toml:4
          hint: `kernelwright config show` prints every setting with its value and where it comes from
        ");
    }
}

mod the_tool_servers {
    use super::*;

    fn launches(text: &str) -> Vec<String> {
        let site = project(text);
        let settings = site.resolve(&[], &[("paths.cache", "/cache"), ("paths.packs", "/packs")]).unwrap();
        let show = |spec: kernelwright_engine::ServerSpec| {
            let Launch::Spawn { program, args, env } = spec.launch;
            format!("{}: {} {} {env:?} {:?}", spec.name, program.display(), args.join(" "), spec.idle_timeout)
        };
        let root = format!("{}/", site.root.path().display());
        settings.servers(Path::new("kernelwright")).unwrap().into_iter().map(|spec| show(spec).replace(&root, "")).collect()
    }

    #[test]
    fn are_this_program_with_these_settings() {
        insta::assert_snapshot!(launches("[evaluate]\npython = \"env/bin/python\"\nthreads = 2\n[knowledge]\npacks = [\"packs\"]").join("\n"), @r"
        evaluate: kernelwright serve evaluate --stdio --cache /cache --python project/env/bin/python --threads 2 --build-limit 5m --run-limit 2m --time-limit 2m [] 300s
        profile: kernelwright serve profile --stdio --cache /cache --python project/env/bin/python --threads 2 [] 300s
        knowledge: kernelwright serve knowledge --stdio --cache /cache --home /packs --packs project/packs [] 60s
        ");
    }

    #[test]
    fn are_not_waited_for_longer_than_their_calls_can_wait() {
        let resolved = |section: &str| project(&format!("[servers.evaluate]\n{section}")).resolve(&[], &[]).map(drop);
        resolved("total_timeout = \"1h\"").unwrap();
        resolved("total_timeout = \"2h\"\ncommand = [\"own\"]").unwrap();
        insta::assert_snapshot!(project("[servers.evaluate]\ntotal_timeout = \"2h\"").refused(&[], &[]), @r"
        error: `servers.evaluate` has to be a server with a total_timeout of 1h at most, which is as long as its calls can wait, not `2h`
          where: project/kernelwright.toml:1
          hint: `kernelwright config show` prints every setting with its value and where it comes from
        ");
    }

    #[test]
    fn do_not_inherit_what_any_layer_names_as_a_secret() {
        let site = project(
            "[model]\nprovider = \"openai\"\nname = \"m\"\napi_key_env = \"GATEWAY_PAT\"\nheaders = { X-Team = \"a\", X-Corp = { env = \"CORP_CRED\" } }",
        );
        let settings = site.resolve(&[("KERNELWRIGHT_MODEL_API_KEY_ENV", "OTHER_PAT")], &[("model.provider", "anthropic")]).unwrap();
        for spec in settings.servers(Path::new("kernelwright")).unwrap() {
            assert_eq!(spec.secrets, ["CORP_CRED", "GATEWAY_PAT", "OTHER_PAT"], "{}", spec.name);
        }
    }

    #[test]
    fn can_be_replaced_slowed_down_and_added_to() {
        let text = "[servers.profile]\ncommand = [\"./ncu-server\", \"--gpu\"]\nenv = { LEVEL = \"2\" }\n[servers.evaluate]\nidle_timeout = \"20m\"\n[servers.docs]\ncommand = [\"docs-server\"]";
        insta::assert_snapshot!(launches(text).join("\n"), @r#"
        evaluate: kernelwright serve evaluate --stdio --cache /cache --build-limit 5m --run-limit 2m --time-limit 2m [] 1200s
        profile: project/./ncu-server --gpu [("LEVEL", "2")] 300s
        knowledge: kernelwright serve knowledge --stdio --cache /cache --home /packs [] 60s
        docs: docs-server  [] 300s
        "#);
    }
}
