//! Packs from folders: what is read, and how mistakes are reported.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod home;

use std::fs;
use std::path::Path;

use kernelwright_packs::{EvidenceStatus, Fault, Labels, Problem, begin, built_in, check, check_built_in, load};
use kernelwright_protocol::{EntryKind, Phase};
use tempfile::TempDir;

const MANIFEST: &str = r#"
id = "aurora"
version = "0.1.0"
licence = "Apache-2.0"
description = "The Aurora-1 accelerator."
vendor = "aurora"
architectures = ["aurora-1"]
languages = ["auroralang"]
tags = ["tiles"]
"#;

const ENTRY: &str =
    "+++\ntitle = \"Tiles are 16 by 16\"\nkind = \"constraint\"\nsources = [\"Aurora-1 manual, section 3\"]\n+++\nAlways.\n";

const EXAMPLE: &str = "# +++\n# title = \"Copy\"\n# sources = [\"Aurora-1 manual, section 4\"]\n# +++\nclass ModelNew:\n    ...\n";

const PROBLEM: &str = "class Model:\n    ...\n\n\ndef get_inputs():\n    return []\n\n\ndef get_init_inputs():\n    return []\n";

fn pack(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// What the checker says, with the folder's own name left out.
fn reported(files: &[(&str, &str)]) -> String {
    let folder = pack(files);
    let root = format!("{}/", folder.path().display());
    check(folder.path()).unwrap().iter().map(|problem| problem.to_string().replace(&root, "") + "\n").collect()
}

#[test]
fn a_pack_is_read_with_its_defaults() {
    let folder =
        pack(&[("pack.toml", MANIFEST), ("entries/tiles.md", ENTRY), ("examples/copy_rows.py", EXAMPLE), ("README.md", "Not part of it.")]);
    let packs = load(folder.path()).unwrap();
    assert_eq!(packs.len(), 1);
    let [tiles, copy] = packs[0].entries.as_slice() else { panic!("{packs:?}") };
    assert_eq!((tiles.name.as_str(), tiles.kind, tiles.body(), tiles.body_line), ("tiles", EntryKind::Constraint, "Always.\n", 6));
    assert_eq!((copy.name.as_str(), copy.kind, copy.body_line), ("copy_rows", EntryKind::Example, 5));
    assert_eq!(copy.architectures, ["aurora-1"]);
    let problems = check(folder.path()).unwrap();
    assert_eq!(problems.iter().map(|problem| &problem.fault).collect::<Vec<_>>(), [&Fault::NoProblem, &Fault::NoEvidence]);
}

#[test]
fn an_example_names_its_problem_and_what_was_found() {
    let more = "# phase = \"tune\"\n# problem = \"problems/copy.py\"\n# evidence = [\n\
        #   { target = \"aurora-1\", status = \"correct\", text = \"1.4x against the vendor's copy, 1 GiB\" },\n# ]\n# +++\nclass";
    let example = EXAMPLE.replace("# +++\nclass", more);
    let folder = pack(&[
        ("pack.toml", MANIFEST),
        ("examples/copy.py", &example),
        ("problems/copy.py", PROBLEM),
        ("documents/guide/tiles.md", "# Tiles\n"),
    ]);
    let pack = load(folder.path()).unwrap().remove(0);
    let copy = &pack.entries[0];
    assert_eq!((copy.phase, copy.problem.as_deref()), (Some(Phase::Tune), Some("problems/copy.py")));
    assert_eq!((copy.evidence[0].target.as_str(), copy.evidence[0].status), ("aurora-1", EvidenceStatus::Correct));
    assert_eq!(pack.problems[0].text, PROBLEM);
    assert_eq!((pack.documents[0].path.as_str(), pack.documents[0].bytes), ("guide/tiles.md", 8));
    assert_eq!(pack.root.as_deref(), Some(folder.path()));
}

#[test]
fn a_folder_of_packs_gives_each_of_them() {
    let second = MANIFEST.replace("\"aurora\"", "\"borealis\"");
    let folder = pack(&[("a/pack.toml", MANIFEST), ("a/entries/tiles.md", ENTRY), ("b/pack.toml", &second), ("b/entries/tiles.md", ENTRY)]);
    let ids: Vec<String> = load(folder.path()).unwrap().into_iter().map(|pack| pack.id).collect();
    assert_eq!(ids, ["aurora", "borealis"]);
}

#[test]
fn a_folder_without_packs_is_said_to_be_one() {
    let folder = pack(&[("notes.md", "Nothing.")]);
    let error = load(folder.path()).unwrap_err();
    assert!(error.to_string().starts_with("no pack.toml in "), "{error}");
    assert!(load(Path::new("/does/not/exist")).unwrap_err().to_string().starts_with("cannot read /does/not/exist"));
}

#[test]
fn what_cannot_be_read_is_named_with_file_and_line() {
    insta::assert_snapshot!(
        reported(&[
            ("pack.toml", MANIFEST),
            ("entries/kind.md", &ENTRY.replace("constraint", "rule")),
            ("entries/document.md", &ENTRY.replace("constraint", "document")),
            ("entries/key.md", &ENTRY.replace("kind", "sort")),
            ("entries/open.md", "+++\ntitle = \"Open\"\n"),
            ("entries/bare.md", "Only text.\n"),
            ("entries/Name.md", ENTRY),
            ("entries/toml.md", "+++\ntitle = \"A\"\nkind = \n+++\n"),
            ("examples/kind.py", &EXAMPLE.replace("# sources", "# kind = \"example\"\n# sources")),
        ]),
        @"
        entries/Name.md: `Name` is no name: use lower-case letters, digits and `-`, beginning with a letter or digit
        entries/bare.md:1: no front matter: the first line has to be `+++`
        entries/document.md:1: an entry is no document: texts without front matter lie in documents/
        entries/key.md:3: unknown field `sort`, expected one of `title`, `kind`, `languages`, `architectures`, `bottleneck`, `phase`, `sources`, `tags`, `problem`, `evidence`, `lesson`
        entries/kind.md:3: unknown variant `rule`, expected one of `constraint`, `guidance`, `hardware`, `pattern`, `pitfall`, `error`, `api`, `example`, `lesson`, `document`
        entries/open.md:1: the front matter is not closed with a line `+++`
        entries/toml.md:3: string values must be quoted, expected literal string
        examples/kind.py:1: an example says no kind: it is an example
        "
    );
    insta::assert_snapshot!(reported(&[("pack.toml", "id = \"Aurora\"\n")]), @"
    pack.toml:1: missing field `version`
    ");
    insta::assert_snapshot!(reported(&[("pack.toml", &MANIFEST.replace("\"aurora\"\nversion", "\"Aurora\"\nversion"))]), @"
    pack.toml: `Aurora` is no name: use lower-case letters, digits and `-`, beginning with a letter or digit
    ");
}

#[test]
fn what_should_not_be_published_is_named_as_well() {
    let long = "word ".repeat(2_000);
    insta::assert_snapshot!(
        reported(&[
            ("pack.toml", MANIFEST),
            ("entries/a-good.md", ENTRY),
            ("entries/b-same-title.md", ENTRY),
            ("entries/copy.md", &ENTRY.replace("Tiles", "More tiles")),
            ("entries/empty.md", &ENTRY.replace("Tiles", "No tiles").replace("Always.", "")),
            ("entries/fence.md", &ENTRY.replace("Tiles", "Fence").replace("Always.", "Text.\n```c\nint x;\n")),
            ("entries/heading.md", &ENTRY.replace("Tiles", "Heading").replace("Always.", "# Tiles\n```sh\n# no heading\n```")),
            ("entries/long.md", &ENTRY.replace("Tiles", "Long").replace("Always.", &long)),
            ("entries/no-source.md", "+++\ntitle = \"A\"\nkind = \"api\"\n+++\nText.\n"),
            ("entries/source.md", &ENTRY.replace("Tiles", "Source").replace("Aurora-1 manual, section 3", "ftp://x.org/y\", \"manual")),
            ("entries/tag.md", &ENTRY.replace("Tiles", "Tag").replace("sources", "tags = [\"tiles\", \"tile\"]\nsources")),
            ("examples/copy.py", EXAMPLE),
            ("examples/broken.py", &EXAMPLE.replace("Copy", "Broken").replace("    ...", "    x = (1")),
        ]),
        @"
        entries/b-same-title.md:1: the title is that of entries/a-good.md
        entries/empty.md:6: no text
        entries/fence.md:7: the code fence is never closed
        entries/heading.md:6: a first-level heading: the title is the heading, begin with `##`
        entries/long.md: 10001 characters; at most 8000 are allowed: split it
        entries/no-source.md:1: no source: say where the facts come from
        entries/source.md:4: `ftp://x.org/y` is no source: give an https:// address, a document with its chapter or section, or a file of the pack's documents/
        entries/source.md:4: `manual` is no source: give an https:// address, a document with its chapter or section, or a file of the pack's documents/
        entries/tag.md:4: the tag `tile` is not listed in pack.toml
        examples/broken.py:1: no problem: say which file of problems/ the kernel solves
        examples/broken.py:1: no evidence: say what was found by running or compiling it
        examples/broken.py:6: no valid Python: the bracket that opens here never closes
        examples/copy.py: the name `copy` is taken by entries/copy.md
        "
    );
}

#[test]
fn examples_and_their_problems_belong_together() {
    let dangling = EXAMPLE.replace("Copy", "Dangling").replace("# sources", "# problem = \"problems/missing.py\"\n# sources");
    insta::assert_snapshot!(
        reported(&[
            ("pack.toml", MANIFEST),
            ("entries/kernel.md", &ENTRY.replace("constraint", "example")),
            ("entries/solves.md", &ENTRY.replace("Tiles", "Solves").replace("sources", "problem = \"problems/unused.py\"\nsources")),
            ("examples/dangling.py", &dangling),
            ("examples/function.py", &EXAMPLE.replace("Copy", "Function").replace("class ModelNew:", "def copy(x):")),
            ("problems/unused.py", &PROBLEM.replace("get_init_inputs", "init_inputs")),
        ]),
        @"
        entries/kernel.md:3: an example is a Python file in examples/
        entries/solves.md:4: only an example has a problem
        examples/dangling.py:1: no evidence: say what was found by running or compiling it
        examples/dangling.py:3: there is no problems/missing.py in the pack
        examples/function.py: no class `ModelNew`: an example is what the evaluator runs
        examples/function.py:1: no problem: say which file of problems/ the kernel solves
        examples/function.py:1: no evidence: say what was found by running or compiling it
        problems/unused.py: a problem defines `Model`, `get_inputs` and `get_init_inputs`; `get_init_inputs` is missing
        "
    );
}

#[test]
fn examples_that_bring_one_header_along_are_no_copies() {
    let calls: Vec<String> = (0..60).map(|n| format!("inline float aurora_call_{n}(float x) {{ return x * {n}.0f; }}\n")).collect();
    let header = calls.concat();
    let example = |title: &str, own: &str| {
        let front = "# problem = \"problems/copy.py\"\n\
                     # evidence = [{ target = \"aurora-1\", status = \"not_run\", text = \"no such machine\" }]\n# sources";
        let text =
            EXAMPLE.replace("Copy", title).replace("Aurora-1 manual, section 4", "documents/include/aurora.h").replace("# sources", front);
        text.replace("class", &format!("HEADER = r\"\"\"\n{header}\"\"\"\nOWN = \"{own}\"\n\n\nclass"))
    };
    let (copy, turn) = (example("Copy", "rows go straight through"), example("Turn", "columns become rows, tile by tile"));
    let mut files = vec![("pack.toml", MANIFEST), ("examples/copy.py", &copy), ("examples/turn.py", &turn), ("problems/copy.py", PROBLEM)];
    insta::assert_snapshot!(reported(&files), @"
    examples/copy.py:5: `documents/include/aurora.h` is no source: give an https:// address, a document with its chapter or section, or a file of the pack's documents/
    examples/turn.py:5: `documents/include/aurora.h` is no source: give an https:// address, a document with its chapter or section, or a file of the pack's documents/
    examples/turn.py: says nearly the same as examples/copy.py: 99 % of it; keep one of them
    ");
    files.push(("documents/include/aurora.h", &header));
    assert_eq!(reported(&files), "");
}

#[test]
fn what_is_said_twice_is_found_across_packs() {
    let text = "Tiles of sixteen by sixteen halves are loaded by one instruction when the row stride is a multiple of sixteen bytes, and otherwise by \
                two, which halves the bandwidth that a kernel reaches. Pad rows to such a stride.";
    let entry = ENTRY.replace("Always.", text);
    insta::assert_snapshot!(
        reported(&[
            ("a/pack.toml", MANIFEST),
            ("a/entries/tiles.md", &entry),
            ("b/pack.toml", &MANIFEST.replace("\"aurora\"\nversion", "\"borealis\"\nversion")),
            ("b/entries/rows.md", &entry.replace("Tiles are", "Rows are").replace("sixteen bytes", "32 bytes")),
        ]),
        @"b/entries/rows.md: says nearly the same as a/entries/tiles.md: 85 % of it; keep one of them"
    );
}

#[test]
fn a_new_pack_says_where_to_fill_it_in_and_then_passes() {
    let desk = TempDir::new().unwrap();
    let labels =
        Labels { vendor: Some("aurora".to_owned()), architectures: vec!["aurora-1".to_owned()], languages: vec!["cpp".to_owned()] };
    let files = begin(desk.path(), "aurora", &labels).unwrap();
    let folder = desk.path().join("aurora");
    let problems = check(&folder).unwrap();
    assert!(!problems.is_empty() && problems.iter().all(|problem| problem.fault == Fault::Placeholder), "{problems:?}");
    for file in &files {
        let path = desk.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        let filled = text.replace("FILL IN", "Filled in");
        fs::write(&path, filled).unwrap();
    }
    assert_eq!(check(&folder).unwrap(), []);
    let pack = load(&folder).unwrap().remove(0);
    assert_eq!(
        (pack.vendor.as_deref(), pack.architectures.as_slice(), pack.entries.len()),
        (Some("aurora"), ["aurora-1".to_owned()].as_slice(), 3)
    );
    assert!(begin(desk.path(), "aurora", &labels).is_err(), "what is there is not written over");
    assert!(begin(desk.path(), "../aurora", &labels).is_err());
}

#[test]
fn documents_that_cannot_be_read_are_problems() {
    let folder =
        pack(&[("pack.toml", MANIFEST), ("documents/a.md", "# A\n"), ("documents/manual.pdf", "%PDF"), ("documents/b.ipynb", "{\n")]);
    fs::write(folder.path().join("documents/latin.txt"), b"caf\xe9").unwrap();
    let root = format!("{}/", folder.path().display());
    let problems: Vec<String> = check(folder.path()).unwrap().iter().map(|problem| problem.to_string().replace(&root, "")).collect();
    insta::assert_snapshot!(problems.join("\n"), @"
    documents/b.ipynb: EOF while parsing an object at line 2 column 0
    documents/latin.txt: not UTF-8, at line 1, byte 3
    ");
}

#[test]
fn bytes_that_are_no_text_are_reported() {
    let folder = pack(&[("pack.toml", MANIFEST), ("entries/tiles.md", ENTRY)]);
    fs::write(folder.path().join("entries/bytes.md"), b"+++\n\xff\n").unwrap();
    fs::File::create(folder.path().join("entries/huge.md")).unwrap().set_len(200 << 20).unwrap();
    let error = load(folder.path()).unwrap_err().to_string().replace(&folder.path().display().to_string(), "aurora");
    insta::assert_snapshot!(error, @"
    the pack aurora cannot be read:
      aurora/entries/bytes.md:2: not UTF-8, at byte 4
      aurora/entries/huge.md: 209715200 bytes are more than a pack's file may have (1048576)
    ");
}

#[test]
fn the_built_in_packs_are_fit_to_publish() {
    let problems: Vec<String> = check_built_in().iter().map(ToString::to_string).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let entries: usize = built_in().unwrap().iter().map(|pack| pack.entries.len()).sum();
    assert!(entries >= 30, "{entries} entries");
}

#[test]
fn a_pack_with_the_id_of_a_built_in_one_is_reported_as_adding_refuses_it() {
    let manifest = MANIFEST.replace("\"aurora\"\nversion", "\"triton\"\nversion");
    let folder = pack(&[("pack.toml", &manifest), ("entries/tiles.md", ENTRY)]);
    let problems = check(folder.path()).unwrap();
    assert_eq!(problems[0].fault, Fault::BuiltInId("triton".to_owned()), "{problems:?}");
    assert_eq!((problems.len(), problems[0].line), (1, Some(2)), "{problems:?}");
}

#[test]
fn a_manifest_that_is_no_text_is_one_problem() {
    let folder = pack(&[("pack.toml", ""), ("entries/tiles.md", ENTRY)]);
    fs::write(folder.path().join("pack.toml"), b"id = \"caf\xe9\"\n").unwrap();
    let problems = check(folder.path()).unwrap();
    assert!(matches!(problems[..], [Problem { fault: Fault::NotUtf8 { .. }, .. }]), "{problems:?}");
}
