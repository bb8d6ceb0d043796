//! What the model reads, as it reads it, and what a user reads who gets a template wrong.

#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

use std::fs;

use kernelwright_prompts::{
    BaselineView, DiagnosisView, FactView, FailureView, FloorView, Form, KernelTimeView, KernelView, LessonView, LineageView, NudgeContext,
    OperatorContext, PassageView, ProblemView, ProfileView, PromptError, Prompts, SeedView, SystemContext, TargetView,
};

fn system(backend: Form) -> SystemContext {
    let tools = ["write_kernel", "edit_kernel", "read_kernel", "take_note", "finish_step", "evaluate_kernel", "search_knowledge"];
    SystemContext {
        backend,
        tools: tools.map(str::to_owned).to_vec(),
        inner_turns: 20,
        tf32: false,
        baselines: vec!["eager".into(), "torch.compile".into()],
    }
}

/// The start of a run: problem, target and baselines are known, nothing else.
fn fresh() -> OperatorContext {
    let source = "import torch\nfrom torch import nn\n\n\nclass Model(nn.Module):\n    def forward(self, A, B, D):\n        return torch.diag(A) @ B + D\n";
    OperatorContext {
        problem: ProblemView {
            name: "diag_matmul_add".into(),
            source: source.into(),
            inputs: vec!["float32[4096]".into(), "float32[4096, 4096]".into(), "float32[4096, 4096]".into()],
            outputs: vec!["float32[4096, 4096]".into()],
            findings: vec![],
        },
        target: TargetView {
            name: "AMD EPYC".into(),
            arch: "x86_64-avx512".into(),
            facts: vec![
                FactView { name: "cores".into(), value: "2".into() },
                FactView { name: "copy bandwidth".into(), value: "18.1 GB/s".into() },
            ],
            software: vec!["torch 2.15".into(), "g++ 12.2".into()],
        },
        baselines: vec![
            BaselineView { name: "eager".into(), time: Some("678 ms".into()), reason: None, fastest: true },
            BaselineView { name: "torch.compile".into(), time: None, reason: Some("no compiler".into()), fastest: false },
        ],
        floor: Some(FloorView {
            bytes: "192 MiB".into(),
            bandwidth: "18.1 GB/s".into(),
            time: "11.1 ms".into(),
            ratio: Some("61".into()),
            is_baselines: true,
        }),
        problem_profile: Some(ProfileView {
            wall: Some("680 ms".into()),
            id: None,
            profiler: "torch".into(),
            headroom: None,
            diagnoses: vec![],
            ruled_out: vec![],
            before: None,
            kernels: vec![KernelTimeView { name: "aten::mm".into(), launches: "1".into(), time: "650 ms".into(), share: "96 %".into() }],
            limits: vec![],
        }),
        parent: None,
        ancestors: vec![],
        others: vec![],
        best: None,
        failures: vec![],
        notes: vec![],
        seeds: vec![],
        lessons: vec![],
        passages: vec![PassageView {
            entry: "x86-cpu/algebra-before-code".into(),
            heading: "Algebra before code > Diagonal matrices".into(),
            text: "A diagonal matrix times a dense one is a row scaling.\n".into(),
        }],
        budget: vec!["8 of 8 steps".into(), "$2.00 of $2.00".into()],
        turns: 20,
    }
}

fn kernel() -> KernelView {
    KernelView {
        node: 1,
        source: "class ModelNew: ...\n".into(),
        correct: true,
        result: "correct, 31.2x (30.8x to 31.9x), 21.7 ms".into(),
        details: String::new(),
        findings: vec![],
        summary: "Row scaling in one pass.".into(),
        origin: None,
        profile: None,
    }
}

/// The step after one that did not build.
fn after_failure() -> OperatorContext {
    let failed = KernelView {
        correct: false,
        result: "build_failed in import: RuntimeError: g++ failed".into(),
        details: "<stdin>:9:5: error: expected ';' before '}' token\n".into(),
        summary: "Ran out of answers.".into(),
        ..kernel()
    };
    let failures = vec![FailureView { result: "incorrect: output, trial 2 (scaled x100)".into(), details: "worst at [0, 17]\n".into() }];
    OperatorContext { parent: Some(failed), failures, notes: vec!["num_threads left out: one core only".into()], ..fresh() }
}

/// A later step: a lineage, a profile of the parent, other branches.
fn expanding() -> OperatorContext {
    let diagnosis = DiagnosisView {
        cause: "not vectorised".into(),
        kernel: None,
        at_stake: "40 %".into(),
        summary: "2.0 % of the arithmetic in its loops is vector code".into(),
        remedies: vec!["find why the loop stays scalar (read_entry x86-cpu/loop-not-vectorised)".into()],
    };
    let profile = ProfileView {
        wall: Some("21.7 ms".into()),
        id: Some("1a2b3c4d5e".into()),
        profiler: "cpu".into(),
        headroom: Some("1.95 times the floor of 11.1 ms that memory sets (192 MiB at 18.1 GB/s): much is left".into()),
        diagnoses: vec![diagnosis],
        ruled_out: vec!["page faults (3 pages are mapped in a call)".into()],
        before: Some("2 kernels before, 1 now; before: 96 % aten::mm".into()),
        kernels: vec![],
        limits: vec!["time inside ctypes calls".into()],
    };
    let line = |node: u32, result: &str, summary: &str| LineageView { node, result: result.into(), summary: summary.into() };
    OperatorContext {
        parent: Some(KernelView { node: 3, profile: Some(profile), findings: vec!["first call took 0.2 s".into()], ..kernel() }),
        ancestors: vec![line(1, "correct, 9.80x", "Broadcast in torch."), line(2, "incorrect", "Blocked by columns.")],
        others: vec![line(4, "correct, 30.1x", "Streaming stores.")],
        best: Some(line(5, "correct, 33.0x", "Streaming stores and huge pages.")),
        floor: fresh().floor.map(|floor| FloorView { ratio: Some("1.8".into()), is_baselines: false, ..floor }),
        problem_profile: None,
        passages: vec![],
        ..fresh()
    }
}

/// The first step of a run whose warm start found a kernel that is right here, and lessons.
fn warm() -> OperatorContext {
    let origin = "run diag_matmul_add-20260101-000000-aaaa on diag_matmul_add (the same operators, inputs of other sizes, the same architecture), where it was at least 30.1x";
    let lesson = LessonView {
        lesson: "learnt/diag-matmul-1a2b3c4d5e".into(),
        why: "the same operators, inputs of other sizes, the same architecture".into(),
        used: Some("helped 2 of 3 times".into()),
        text: "Faster: 1.80x (1.70x to 1.91x) over the kernel it was made from.\nThe change, in the words of its author: streaming stores"
            .into(),
    };
    OperatorContext {
        parent: Some(KernelView { origin: Some(origin.into()), ..kernel() }),
        lessons: vec![lesson],
        passages: vec![],
        ..fresh()
    }
}

/// The same, with a kernel that is wrong here.
fn material() -> OperatorContext {
    let seed = SeedView {
        node: 1,
        origin: "run diag_matmul_add-20260101-000000-aaaa on diag_matmul_add (the same operators), where it was at least 30.1x".into(),
        source: "class ModelNew: ...\n".into(),
        result: "faulted in run: ValueError: only 4096 rows".into(),
        details: "line 7\n".into(),
        summary: "Row scaling in one pass.".into(),
    };
    OperatorContext { seeds: vec![seed], passages: vec![], ..fresh() }
}

fn prompts() -> Prompts {
    Prompts::new(None).unwrap()
}

#[test]
fn the_system_prompt_for_cpu() {
    insta::assert_snapshot!(prompts().render(&system(Form::Cpu)).unwrap());
}

#[test]
fn the_system_prompt_for_cuda() {
    insta::assert_snapshot!(prompts().render(&SystemContext { tf32: true, ..system(Form::Cuda) }).unwrap());
}

#[test]
fn a_first_step() {
    insta::assert_snapshot!(prompts().render(&fresh()).unwrap());
}

#[test]
fn a_step_after_a_failure() {
    insta::assert_snapshot!(prompts().render(&after_failure()).unwrap());
}

#[test]
fn a_step_that_expands() {
    insta::assert_snapshot!(prompts().render(&expanding()).unwrap());
}

#[test]
fn a_step_that_goes_on_from_what_earlier_runs_found() {
    insta::assert_snapshot!(prompts().render(&warm()).unwrap());
}

#[test]
fn a_first_step_with_a_kernel_that_is_wrong_here() {
    insta::assert_snapshot!(prompts().render(&material()).unwrap());
}

#[test]
fn an_answer_without_a_tool_call_is_answered_by_what_is_missing() {
    let nudge = |context: NudgeContext| prompts().render(&context).unwrap();
    let nothing = NudgeContext { turns_left: 3, written: false, cut_off: false, best: None };
    insta::assert_snapshot!(nudge(nothing.clone()), @r"
    Your last answer called no tool, so nothing happened: code in the text of an answer is not read. Go on by calling a tool.
    No kernel has been written in this step. Call `write_kernel` with the whole file, then `evaluate_kernel`.
    3 answers left in this step.
    ");
    insta::assert_snapshot!(nudge(NudgeContext { written: true, ..nothing.clone() }), @r"
    Your last answer called no tool, so nothing happened: code in the text of an answer is not read. Go on by calling a tool.
    The file you wrote has not been evaluated. Call `evaluate_kernel`.
    3 answers left in this step.
    ");
    insta::assert_snapshot!(nudge(NudgeContext { cut_off: true, ..nothing.clone() }), @r"
    Your last answer was cut off at its length limit before it called a tool. Answer again, more briefly, and write the file in one `write_kernel` call.
    No kernel has been written in this step. Call `write_kernel` with the whole file, then `evaluate_kernel`.
    3 answers left in this step.
    ");
    insta::assert_snapshot!(nudge(NudgeContext { best: Some("correct, 1.20x".into()), written: true, turns_left: 1, ..nothing }), @r"
    Your last answer called no tool, so nothing happened: code in the text of an answer is not read. Go on by calling a tool.
    Best evaluated in this step so far: correct, 1.20x. If you have an idea that could beat it, write it and evaluate it; otherwise call `finish_step`.
    1 answer left in this step.
    ");
}

#[test]
fn a_template_of_the_user_replaces_the_built_in_one_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("nudge.md"), "{% include 'ours.md' %} {{ turns_left }}\n").unwrap();
    fs::write(folder.path().join("ours.md"), "Go on.").unwrap();
    fs::write(folder.path().join("notes.txt"), "{{ not a template").unwrap();
    let prompts = Prompts::new(Some(folder.path())).unwrap();
    assert_eq!(prompts.overridden().collect::<Vec<_>>(), ["nudge.md", "ours.md"]);
    let nudge = NudgeContext { turns_left: 3, written: false, cut_off: false, best: None };
    assert_eq!(prompts.render(&nudge).unwrap(), "Go on. 3");
    assert!(prompts.render(&system(Form::Cpu)).unwrap().contains("ModelNew"), "the others stay as they are");
}

/// What is said about a `nudge.md` of the user, with the folder's name left out.
fn refused(template: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("nudge.md"), template).unwrap();
    let nudge = NudgeContext { turns_left: 3, written: false, cut_off: false, best: None };
    let error: PromptError = match Prompts::new(Some(folder.path())) {
        Ok(prompts) => prompts.render(&nudge).unwrap_err(),
        Err(error) => error,
    };
    error.to_string().replace(&folder.path().display().to_string(), "FOLDER")
}

#[test]
fn an_unknown_variable_is_named_with_its_template_and_line() {
    insta::assert_snapshot!(refused("All is well.\n{{ turns_lft }} left"), @"FOLDER/nudge.md:2: there is no `turns_lft` in the context of this template");
    insta::assert_snapshot!(refused("{% if writen %}x{% endif %}"), @"FOLDER/nudge.md:1: there is no `writen` in the context of this template");
    insta::assert_snapshot!(refused("{{ best.speed }}"), @"FOLDER/nudge.md:1: there is no `best.speed` in the context of this template");
    insta::assert_snapshot!(refused("{% for x in turns %}{% endfor %}"), @"FOLDER/nudge.md:1: there is no `turns` in the context of this template");
}

#[test]
fn a_broken_template_is_refused_before_anything_is_rendered() {
    insta::assert_snapshot!(refused("{% if written %}"), @"FOLDER/nudge.md:1: unexpected end of input, expected end of block");
    insta::assert_snapshot!(refused("\n\n{{ 1 + }}"), @"FOLDER/nudge.md:3: unexpected end of variable block");
}

#[test]
fn a_missing_folder_is_named() {
    let error = Prompts::new(Some("no/such/folder".as_ref())).unwrap_err();
    assert_eq!(error.to_string(), "cannot read the templates in no/such/folder: No such file or directory (os error 2)");
}
