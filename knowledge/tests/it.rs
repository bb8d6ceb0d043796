//! Packs from folders: what is read, and how mistakes are reported.

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests")]

use std::fs;
use std::path::Path;

use kernelwright_packs::{Kind, built_in, check, check_built_in, load};
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

const EXAMPLE: &str = "# +++\n# title = \"Copy\"\n# sources = [\"Aurora-1 manual, section 4\"]\n# +++\ndef copy(x):\n    return x\n";

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
    assert_eq!((tiles.name.as_str(), tiles.kind, tiles.body(), tiles.body_line), ("tiles", Kind::Constraint, "Always.\n", 6));
    assert_eq!((copy.name.as_str(), copy.kind, copy.body_line), ("copy_rows", Kind::Example, 5));
    assert_eq!(copy.architectures, ["aurora-1"]);
    assert_eq!(check(folder.path()).unwrap(), []);
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
        entries/key.md:3: unknown field `sort`, expected one of `title`, `kind`, `languages`, `architectures`, `bottleneck`, `sources`, `tags`
        entries/kind.md:3: unknown variant `rule`, expected one of `constraint`, `guidance`, `hardware`, `pattern`, `pitfall`, `error`, `api`, `example`
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
            ("examples/broken.py", &EXAMPLE.replace("Copy", "Broken").replace("(x):", "(x:")),
        ]),
        @"
        entries/b-same-title.md:1: the title is that of entries/a-good.md
        entries/empty.md:6: no text
        entries/fence.md:7: the code fence is never closed
        entries/heading.md:6: a first-level heading: the title is the heading, begin with `##`
        entries/long.md: 10001 characters; at most 8000 are allowed: split it
        entries/no-source.md:1: no source: say where the facts come from
        entries/source.md:4: `ftp://x.org/y` is no source: give an https:// address, or a document with its chapter or section
        entries/source.md:4: `manual` is no source: give an https:// address, or a document with its chapter or section
        entries/tag.md:4: the tag `tile` is not listed in pack.toml
        examples/broken.py:5: no valid Python: the bracket that opens here never closes
        examples/copy.py: the name `copy` is taken by entries/copy.md
        "
    );
}

#[test]
fn bytes_that_are_no_text_are_reported() {
    let folder = pack(&[("pack.toml", MANIFEST), ("entries/tiles.md", ENTRY)]);
    fs::write(folder.path().join("entries/bytes.md"), b"+++\n\xff\n").unwrap();
    fs::File::create(folder.path().join("entries/huge.md")).unwrap().set_len(200 << 20).unwrap();
    let error = load(folder.path()).unwrap_err().to_string().replace(&folder.path().display().to_string(), "aurora");
    insta::assert_snapshot!(error, @"
    the pack aurora cannot be read:
      aurora/entries/bytes.md:2: not UTF-8
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
