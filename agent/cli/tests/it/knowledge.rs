//! Packs of one's own from the command line: from documents to an answer, and what is said about sources that are none.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Desk;

/// A PDF with these lines on its only page.
fn pdf(lines: &[&str]) -> Vec<u8> {
    let shown: Vec<String> = lines.iter().map(|line| format!("({line}) Tj T*")).collect();
    let content = format!("BT /F1 10 Tf 14 TL 72 700 Td {} ET", shown.join(" "));
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R /Resources << /Font << /F1 4 0 R >> >> >>".to_owned(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
    ];
    let mut file = "%PDF-1.4\n".to_owned();
    let mut offsets = Vec::new();
    for (object, number) in objects.iter().zip(1..) {
        offsets.push(format!("{:010} 00000 n \n", file.len()));
        let _ = write!(file, "{number} 0 obj\n{object}\nendobj\n");
    }
    let table = file.len();
    let _ =
        write!(file, "xref\n0 6\n0000000000 65535 f \n{}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n", offsets.concat());
    file.into_bytes()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_folder_of_documents_is_added_found_updated_and_removed() {
    let desk = Desk::new();
    desk.write("Manuals/guide.md", "# Aurora guide\n\n## Tiles\n\nThe zorbulator takes tiles of 16 by 16.\n");
    desk.write("Manuals/latin.txt", "ok");
    fs::write(desk.path().join("Manuals/latin.txt"), b"caf\xe9").unwrap();
    let said = desk.run(&["knowledge", "add", "Manuals", "--id", "aurora", "--vendor", "aurora", "--arch", "aurora-1"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "added aurora: 0 entries, 1 document\n"), "{said:?}");
    insta::assert_snapshot!(said.stderr, @"
    left out 1 file:
      latin.txt: not UTF-8, at line 1, byte 3
    ");
    let listed = desk.run(&["knowledge", "list", "--json"]).stdout;
    let aurora = listed.lines().map(json).find(|pack| pack["pack"] == "aurora").unwrap();
    assert_eq!((&aurora["vendor"], &aurora["documents"]), (&Value::from("aurora"), &Value::from(1)));
    let found = json(&desk.run(&["knowledge", "search", "zorbulator tiles", "--pack", "aurora", "--json"]).stdout);
    let first = &found["passages"][0];
    assert_eq!((&first["path"], &first["kind"], &first["end_line"]), (&"guide.md".into(), &"document".into(), &5.into()), "{found}");
    desk.write("Manuals/more.md", "# More\n");
    let said = desk.run(&["knowledge", "update", "aurora"]);
    assert_eq!((said.code, said.stdout.as_str()), (0, "updated aurora: 0 entries, 2 documents\n"), "{said:?}");
    assert_eq!(desk.run(&["knowledge", "export", "aurora", "aurora.tar.gz"]).stdout, "aurora.tar.gz\n");
    let misnamed = desk.run(&["knowledge", "export", "aurora", "aurora.zip"]);
    assert!(misnamed.code == 2 && misnamed.stderr.contains("archives are written as .tar.gz"), "{misnamed:?}");
    assert_eq!(desk.run(&["knowledge", "remove", "aurora"]).stdout, "removed aurora\n");
    let said = desk.run(&["knowledge", "remove", "aurora"]);
    assert_eq!(said.code, 2);
    insta::assert_snapshot!(said.stderr, @"
    error: there is no installed pack `aurora`
      hint: none is installed; `kernelwright knowledge add` installs one
    ");
    assert_eq!(desk.run(&["knowledge", "add", "aurora.tar.gz", "--json"]).code, 0);
}

#[test]
fn pdfs_are_read_apart_and_the_odd_ones_are_named() {
    let desk = Desk::new();
    let write = |name: &str, bytes: &[u8]| fs::write(desk.path().join(name), bytes).unwrap();
    fs::create_dir(desk.path().join("docs")).unwrap();
    write("docs/manual.pdf", &pdf(&["The zorbulator takes tiles", "of 16 by 16."]));
    write("docs/scan.pdf", &pdf(&[]));
    write("docs/broken.pdf", b"%PDF-1.7\nnothing\n");
    let said = desk.run(&["knowledge", "add", "docs", "--json"]);
    let added = json(&said.stdout);
    assert_eq!((said.code, &added["documents"]), (0, &Value::from(1)), "{said:?}");
    let skipped = added["skipped"].as_array().unwrap();
    assert_eq!(skipped[1]["reason"], "has no text");
    assert_eq!(skipped[0]["path"], "broken.pdf");
    let text = fs::read_to_string(desk.path().join(".local/share/kernelwright/packs/docs/extracted/manual.pdf.md")).unwrap();
    assert_eq!(text, "## Page 1\n\nThe zorbulator takes tiles\nof 16 by 16.\n\n");
}

#[test]
fn sources_that_are_none_leave_no_trace() {
    let desk = Desk::new();
    desk.write("empty/picture.png", "PNG");
    desk.write("broken/pack.toml", "id = \"broken\"\n");
    let refused = |args: &[&str], code: i32| {
        let said = desk.run(args);
        assert_eq!((said.code, said.stdout.as_str()), (code, ""), "{said:?}");
        assert!(desk.run(&["knowledge", "list"]).stdout.lines().all(|line| !line.contains("installed")), "{said:?}");
        said.stderr
    };
    insta::assert_snapshot!(refused(&["knowledge", "add", "empty"], 25), @"
    error: DESK/empty: no document that can be read
             picture.png: not a kind of document that can be read
      hint: md, rst, txt, html, ipynb, pdf, py, rs and C, C++ or CUDA sources can be read
    ");
    insta::assert_snapshot!(refused(&["knowledge", "add", "broken"], 25), @"
    error: the pack DESK/broken cannot be read:
             DESK/broken/pack.toml:1: missing field `version`
      hint: correct the lines named; `kernelwright knowledge new NAME` writes a pack of the right form to compare with
    ");
    insta::assert_snapshot!(refused(&["knowledge", "add", "missing"], 25), @"
    error: DESK/missing: No such file or directory (os error 2)
      hint: check the path and its permissions; paths.packs names the folder of installed packs
    ");
    assert!(refused(&["knowledge", "add", "empty", "--id", "Not An Id"], 2).contains("`Not An Id` is no id"));
}

#[test]
fn a_new_pack_is_begun_checked_and_installed() {
    let desk = Desk::new();
    let begun = desk.run(&["knowledge", "new", "aurora", "--vendor", "aurora", "--arch", "aurora-1"]);
    assert_eq!(begun.code, 0, "{begun:?}");
    let said = desk.run(&["knowledge", "check", "aurora", "--json"]);
    assert_eq!(said.code, 13);
    assert!(
        said.stdout
            .lines()
            .map(json)
            .all(|problem| problem["type"] == "problem" && problem["path"].as_str().unwrap().starts_with("aurora/"))
    );
    for file in begun.stdout.lines() {
        let text = fs::read_to_string(desk.path().join(file)).unwrap();
        desk.write(file, &text.replace("FILL IN", "Filled in"));
    }
    let said = desk.run(&["knowledge", "check", "aurora"]);
    assert_eq!((said.code, said.stdout.as_str(), said.stderr.as_str()), (0, "", "nothing to correct\n"));
    assert_eq!(desk.run(&["knowledge", "add", "aurora"]).stdout, "added aurora: 3 entries, 0 documents\n");
    let said = desk.run(&["knowledge", "add", "aurora"]);
    assert_eq!(said.code, 25);
    insta::assert_snapshot!(said.stderr, @"
    error: a pack `aurora` is installed already
      hint: `kernelwright knowledge update aurora` fetches it again, `kernelwright knowledge remove aurora` makes room, --id names another
    ");
    let said = desk.run(&["knowledge", "search", "memories of the machine", "--pack", "aurora", "--kind", "hardware", "--json"]);
    assert_eq!(json(&said.stdout)["passages"][0]["entry"], "aurora/memory");
    let said = desk.run(&["knowledge", "search", "memory", "--pack", "arora"]);
    assert!(said.code == 2 && said.stderr.starts_with("error: there is no pack `arora`\n  hint: there are "), "{said:?}");
    assert!(desk.run(&["knowledge", "read", "aurora/memory"]).stdout.contains("Filled in: what a kernel's author"));
}

#[test]
fn packs_that_can_be_fetched_are_updated_beside_one_that_cannot() {
    let desk = Desk::new();
    for name in ["first", "second"] {
        desk.write(&format!("{name}/page.md"), "# One\n\nthe old text\n");
        assert_eq!(desk.run(&["knowledge", "add", name]).code, 0);
    }
    fs::rename(desk.path().join("first"), desk.path().join("elsewhere")).unwrap();
    desk.write("second/page.md", "# One\n\nthe new text\n");
    let said = desk.run(&["knowledge", "update"]);
    assert!(said.code == 25 && said.stderr.contains("1 of 2 packs could not be fetched again: first: "), "{said:?}");
    assert!(desk.run(&["knowledge", "read", "second/page.md"]).stdout.contains("the new text"));
}

#[test]
fn a_kill_while_adding_leaves_nothing_half() {
    let desk = Desk::new();
    for number in 0..3_000 {
        desk.write(&format!("docs/{number}.md"), &format!("# Page {number}\n"));
    }
    let home = desk.path().join(".local/share/kernelwright/packs");
    let mut command = desk.command(&["knowledge", "add", "docs"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn().unwrap();
    let began = Instant::now();
    // Killed as soon as it is at work, or when it was too quick for that.
    while fs::read_dir(&home)
        .map_or(0, |entries| entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(".staging-")).count())
        == 0
        && child.try_wait().unwrap().is_none()
        && began.elapsed() < Duration::from_secs(20)
    {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let pack = home.join("docs");
    assert!(!pack.exists() || fs::read_dir(pack.join("documents")).unwrap().count() == 3_000);
    assert!(desk.run(&["knowledge", "list"]).code == 0);
    if pack.exists() {
        return;
    }
    assert_eq!(desk.run(&["knowledge", "add", "docs"]).stdout, "added docs: 0 entries, 3000 documents\n");
    let left: Vec<_> = fs::read_dir(&home).unwrap().flatten().map(|entry| entry.file_name()).filter(|name| name != ".lock").collect();
    assert_eq!(left, ["docs"]);
}

#[test]
fn a_home_without_room_says_so_and_keeps_what_is_there() {
    let desk = Desk::new();
    desk.write("docs/a.md", "# A\n");
    desk.write("file", "no folder");
    let said = desk.run(&["knowledge", "add", "docs", "--home", "file/packs"]);
    assert_eq!(said.code, 25);
    insta::assert_snapshot!(said.stderr, @"
    error: DESK/file/packs: Not a directory (os error 20)
      hint: check the path and its permissions; paths.packs names the folder of installed packs
    ");
    // No file may grow beyond a few kilobytes: what a full disk does, without one.
    desk.write("docs/long.md", &"word ".repeat(40_000));
    let mut command = std::process::Command::new("bash");
    let limited = "ulimit -f 64; trap '' XFSZ; exec \"$@\"";
    let program = desk.command(&[]).get_program().to_owned();
    command.args(["-c", limited, "bash"]).arg(program).args(["knowledge", "add", "docs"]);
    command.current_dir(desk.path()).env_clear().env("HOME", desk.path()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let said = desk.said(&mut command);
    assert_eq!((said.code, said.stdout.as_str()), (25, ""), "{said:?}");
    assert!(said.stderr.contains("File too large"), "{said:?}");
    assert!(!desk.path().join(".local/share/kernelwright/packs/docs").exists());
}

/// A home with a lesson that was last used so many days ago.
fn lesson(desk: &Desk, name: &str, shown: u32, helped: u32, days: u64) {
    let pack = ".local/share/kernelwright/packs/learnt";
    desk.write(&format!("{pack}/pack.toml"), "id = \"learnt\"\nversion = \"1.0.0\"\nlicence = \"MIT\"\ndescription = \"Lessons.\"\n");
    let id = "ab".repeat(32);
    let page = format!(
        "+++\ntitle = \"Faster 1.50x: {name}\"\nkind = \"lesson\"\nsources = [\"measured: run r\"]\n\n[lesson]\ncandidate = \"{id}\"\n\
         change = \"c\"\nshown = {shown}\nhelped = {helped}\nmeasured = []\n+++\nKeeps rows in registers.\n"
    );
    let path = desk.write(&format!("{pack}/entries/{name}.md"), &page);
    let then = std::time::SystemTime::now() - Duration::from_secs(days * 86_400 + 60);
    fs::File::options().write(true).open(path).unwrap().set_modified(then).unwrap();
}

#[test]
fn lessons_are_listed_and_forgotten_only_when_it_is_said_twice() {
    let desk = Desk::new();
    lesson(&desk, "good", 4, 3, 200);
    lesson(&desk, "idle", 0, 0, 100);
    lesson(&desk, "vain", 1, 0, 1);
    let said = desk.run(&["knowledge", "lessons"]);
    insta::assert_snapshot!(said.stdout, @"
    learnt/vain
        Faster 1.50x: vain
        0 measurements, shown 1 time, helped 0, 1 day ago
    learnt/idle
        Faster 1.50x: idle
        0 measurements, never shown, 100 days ago
    learnt/good
        Faster 1.50x: good
        0 measurements, shown 4 times, helped 3, 200 days ago
    ");
    assert_eq!((said.code, said.stderr.as_str()), (0, "3 of 3 lessons\n"));
    let chosen = |args: &[&str]| {
        let said = desk.run(&[&["knowledge", "lessons", "--json"], args].concat());
        assert_eq!(said.code, 0, "{said:?}");
        let ids: Vec<String> = said.stdout.lines().map(|line| json(line)["lesson"].as_str().unwrap().to_owned()).collect();
        (ids.join(" "), said.stderr)
    };
    assert_eq!(chosen(&["--older-than", "90d"]).0, "learnt/idle learnt/good");
    assert_eq!(chosen(&["--pack", "other"]).0, "");
    let dry = chosen(&["--never-helped", "--prune"]);
    assert_eq!(dry, ("learnt/vain".to_owned(), "1 of 3 lessons would be removed; --yes removes them\n".to_owned()));
    assert_eq!(chosen(&["--never-helped", "--prune", "--yes"]).1, "removed 1 of 3 lessons\n");
    assert_eq!(chosen(&[]).0, "learnt/idle learnt/good");
    let refused = |args: &[&str]| {
        let said = desk.run(&[&["knowledge", "lessons"], args].concat());
        assert_eq!((said.code, said.stdout.as_str()), (2, ""));
        said.stderr
    };
    insta::assert_snapshot!(refused(&["--prune", "--yes"]), @"
    error: --prune alone would forget every lesson
      hint: choose some with --older-than, --never-helped or --pack
    ");
    assert!(refused(&["--older-than", "soon"]).contains("a time such as 90d or 12h, not \"soon\""));
    assert!(refused(&["--yes"]).contains("--prune"));
    assert_eq!(chosen(&[]).0, "learnt/idle learnt/good");
}

#[test]
fn a_damaged_lesson_is_named_and_hides_no_other() {
    let desk = Desk::new();
    lesson(&desk, "good", 0, 0, 1);
    desk.write(".local/share/kernelwright/packs/learnt/entries/torn.md", "+++\ntitle = \"To");
    let torn = "passed over, because it is damaged: DESK/.local/share/kernelwright/packs/learnt/entries/torn.md:1: ";
    for verb in [&["search", "registers", "--pack", "learnt"][..], &["list"], &["index"], &["lessons"]] {
        let said = desk.run(&[&["knowledge"], verb].concat());
        assert!(said.code == 0 && said.stderr.contains(torn), "{verb:?}: {said:?}");
        assert!(said.stdout.contains("learnt") || verb == ["index"], "{verb:?}: {said:?}");
    }
}

#[test]
fn a_pack_that_cannot_be_read_any_more_is_named() {
    let desk = Desk::new();
    desk.write("docs/a.md", "# Tiles of the zorbulator\n");
    assert_eq!(desk.run(&["knowledge", "add", "docs"]).code, 0);
    desk.write(".local/share/kernelwright/packs/docs/pack.toml", "id = \"docs\n");
    let said = desk.run(&["knowledge", "search", "zorbulator"]);
    assert!(said.code == 0 && said.stderr.contains("passed over, because it cannot be read: docs: "), "{said:?}");
    let said = desk.run(&["knowledge", "search", "zorbulator", "--pack", "docs"]);
    assert!(said.code == 25 && said.stderr.starts_with("error: the installed pack `docs` is passed over: "), "{said:?}");
    assert!(said.stderr.contains("knowledge update docs"), "{said:?}");
    assert!(desk.run(&["knowledge", "list"]).stdout.contains("docs               cannot be read: "));
    assert_eq!(desk.run(&["knowledge", "update", "docs"]).code, 0);
    assert_eq!(desk.run(&["knowledge", "search", "zorbulator", "--pack", "docs"]).stderr, "");
}

#[test]
fn the_index_goes_with_its_pack() {
    let desk = Desk::new();
    desk.write("docs/a.md", "# Tiles\n");
    desk.write("more/a.md", "# Tiles\n");
    assert_eq!(desk.run(&["knowledge", "add", "docs"]).code, 0);
    assert_eq!(desk.run(&["knowledge", "add", "more"]).code, 0);
    let indexes = || {
        let formats = fs::read_dir(desk.path().join(".cache/kernelwright")).unwrap().flatten();
        let format = formats.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("/knowledge-")).unwrap();
        let names = fs::read_dir(format).unwrap().flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut users: Vec<String> = names.filter(|name| !name.starts_with("built-in")).collect();
        users.sort();
        users
    };
    assert_eq!(indexes().len(), 2);
    assert_eq!(desk.run(&["knowledge", "remove", "docs"]).code, 0);
    assert!(indexes().len() == 1 && indexes()[0].starts_with("more-"), "{:?}", indexes());
    // Taken away by hand: whoever comes next clears up.
    fs::remove_dir_all(desk.path().join(".local/share/kernelwright/packs/more")).unwrap();
    assert_eq!(desk.run(&["knowledge", "search", "tiles"]).code, 0);
    assert_eq!(indexes(), Vec::<String>::new());
}

#[test]
fn the_index_of_one_pack_is_brought_up_to_date_alone() {
    let desk = Desk::new();
    desk.write("docs/a.md", "# Tiles\n");
    assert_eq!(desk.run(&["knowledge", "add", "docs"]).code, 0);
    let said = desk.run(&["knowledge", "index", "docs"]);
    assert!(said.code == 0 && said.stdout.starts_with("docs is indexed, after "), "{said:?}");
    let said = desk.run(&["knowledge", "index", "dogs", "--json"]);
    assert_eq!(said.code, 2, "{said:?}");
}

#[test]
fn an_entry_that_is_not_there_is_a_wrong_argument() {
    let said = Desk::new().run(&["knowledge", "read", "triton/nothing"]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""));
    assert!(
        said.stderr.starts_with("error: there is no entry `triton/nothing`") && said.stderr.contains("similar ids: triton/"),
        "{said:?}"
    );
}
