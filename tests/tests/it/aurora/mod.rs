//! An accelerator that nobody here has: a pack written for it from the documentation alone, and a model that has to find and keep its rules.
//!
//! The pack is `tests/packs/aurora-1`. Its intrinsics have an implementation for the host, so its kernels are judged on the CPU.

mod rules;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kernelwright_packs::{Pack, check, load};
use kernelwright_protocol::{EntryKind, Target};
use kernelwright_tests::examples::{Example, Judge, Outcome, Question};
use serde_json::Value;
use tempfile::TempDir;

use self::rules::{broken, strict};
use crate::support::{Said, fixture, kernelwright, of_type, only_run, records, said};

const PROBLEM: &str = "problems/sigmoid_routing.py";
const RECORDING: &str = "recordings/sigmoid_routing/events.jsonl";

fn pack() -> Pack {
    load(&fixture("packs/aurora-1")).unwrap().remove(0)
}

fn header() -> String {
    fs::read_to_string(fixture("packs/aurora-1/documents/aurora.h")).unwrap()
}

fn examples() -> Vec<Example> {
    let pack = pack();
    pack.entries.iter().filter(|entry| entry.kind == EntryKind::Example).map(|entry| Example::of(&pack, entry).unwrap()).collect()
}

/// A verdict on the CPU, without times.
async fn judged(example: &Example) -> Outcome {
    let cache = TempDir::new().unwrap();
    let (binary, python) = (kernelwright_tests::binary(), kernelwright_tests::python());
    Judge::new(binary, python, cache.path(), Target::CPU, Question::Correctness).judge(example).await
}

#[test]
fn the_pack_has_nothing_to_correct_and_its_examples_keep_its_rules() {
    assert_eq!(check(&fixture("packs/aurora-1")).unwrap(), vec![]);
    let examples = examples();
    assert_eq!(examples.len(), 2);
    for example in &examples {
        assert_eq!(broken(&example.candidate, &header()), Vec::<&str>::new(), "{}", example.id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn its_examples_are_correct_where_the_host_checks_addresses_and_fences() {
    for example in examples() {
        let outcome = judged(&Example { candidate: strict(&example.candidate), ..example }).await;
        assert!(outcome.is_correct, "{outcome}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_misaligned_pad_is_correct_on_the_host_until_it_checks() {
    let example = examples().remove(0);
    let candidate = example.candidate.replacen("core.alloc(columns);", "core.alloc(columns + 4) + 4;", 1);
    assert_ne!(candidate, example.candidate);
    let outcome = judged(&Example { candidate: strict(&candidate), ..example }).await;
    assert!(!outcome.is_correct && outcome.reading.starts_with("faulted"), "{outcome}");
}

#[test]
fn a_kernel_that_breaks_a_rule_is_told_which() {
    let kernel = examples().remove(0).candidate;
    let check = |from: &str, to: &str, rule: &str| {
        let changed = kernel.replacen(from, to, 1);
        assert_ne!(changed, kernel, "{from}");
        assert_eq!(broken(&changed, &header()), [rule], "{from} -> {to}");
    };
    check("constexpr int AUR_LANES = 24; ", "constexpr int AUR_LANES = 16; ", "where-to-begin");
    check("float* pad = core.alloc(columns);", "float* pad = core.alloc(columns); pad[0] = x[row];", "constraints");
    check("i < columns; i += AUR_LANES) aur_store", "i < columns; i += 8) aur_store", "vectors");
    check("float* pad = core.alloc(columns);", "core.alloc(columns); alignas(64) static float pad;", "alignment");
    check("aur_v24 scale = aur_mul(r, aur_nmsub(total, r, aur_splat(2.0f)));", "aur_v24 scale = r;", "division");
    check("aur_splat(aur_sum(sum))", "aur_splat(1.0f / aur_sum(sum))", "division");
    check("        aur_fence();\n", "", "fence");
    check("aur_launch(cores, rows, [=]", "run_threads(cores, rows, [=]", "launch");
}

/// `optimize` on the test's problem as the recording was made, with only the eager baseline so that it is quick.
fn optimized(home: &Path) -> Said {
    let mut command = kernelwright(home);
    let replay = format!("replay:{}", fixture(RECORDING).display());
    command
        .arg("optimize")
        .arg(fixture(PROBLEM))
        .args(["--target", "cpu", "--drafts", "1", "--steps", "2", "--stall", "2", "--model", &replay]);
    said(command.env("KERNELWRIGHT_EVALUATE_BASELINES", "eager"))
}

/// What the model was told by its tools before it first wrote a kernel.
fn told_before_writing(records: &[Value]) -> String {
    let before = records.iter().take_while(|record| record["tool"] != "write_kernel");
    before.filter(|record| record["type"] == "tool_returned").map(|record| record["text"].as_str().unwrap().to_owned() + "\n").collect()
}

/// The entries of the pack that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let names = text.split("aurora-1/").skip(1);
    names.map(|rest| rest.chars().take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(*c)).collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_asked_for_aurora_finds_its_rules_cites_them_and_keeps_them() {
    let home = TempDir::new().unwrap();
    let added = said(kernelwright(home.path()).args(["knowledge", "add"]).arg(fixture("packs/aurora-1")));
    assert_eq!((added.code, added.stdout.as_str()), (Some(0), "added aurora-1: 16 entries, 1 document\n"), "{added:?}");
    let folder = home.path().to_owned();
    let ended = tokio::task::spawn_blocking(move || optimized(&folder)).await.unwrap();
    // How fast the host implementation is, is the host's affair.
    assert!(matches!(ended.code, Some(0 | 10)), "stdout:\n{}\nstderr:\n{}", ended.stdout, ended.stderr);
    let run = only_run(home.path());
    let records = records(&run);

    // The searches are live: the words are the recording's, the passages are this build's.
    let told = told_before_writing(&records);
    for rule in ["24 lanes", "multiples of 48 bytes", "There is no division", "`aur_fence()` stands between", "at most 12288 bytes"] {
        assert!(told.contains(rule), "the model was not told: {rule}\n{told}");
    }
    let summaries: Vec<&str> = of_type(&records, "node_added").iter().map(|node| node["summary"].as_str().unwrap()).collect();
    assert_eq!(summaries.len(), 2);
    let entries: BTreeSet<String> = pack().entries.into_iter().map(|entry| entry.name).collect();
    for summary in summaries {
        let cited = named(summary);
        for rule in ["constraints", "alignment", "division", "fence", "transfers"] {
            assert!(cited.contains(rule), "{rule} is not cited: {summary}");
        }
        assert!(cited.is_subset(&entries), "{cited:?}");
        assert!(cited.is_subset(&named(&told)), "cited without having been shown: {cited:?}");
    }

    for record in of_type(&records, "candidate_evaluated") {
        assert_eq!(record["evaluation"]["status"], "correct");
        let id = record["candidate"].as_str().unwrap();
        let kernel = fs::read_to_string(run.join("candidates").join(format!("{id}.py"))).unwrap();
        assert_eq!(broken(&kernel, &header()), Vec::<&str>::new(), "{id}");
    }
    let problem = fs::read_to_string(fixture(PROBLEM)).unwrap();
    let candidate = strict(&fs::read_to_string(run.join("best.py")).unwrap());
    let outcome = judged(&Example { id: "the run's best kernel".to_owned(), problem, candidate }).await;
    assert!(outcome.is_correct, "{outcome}");
}
