//! Packs of a user: found, filtered, read, cached, and refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernelwright_knowledge::{BuiltIn, Library, Query, Settings};
use tempfile::TempDir;

const MANIFEST: &str = "id = \"ID\"\nversion = \"1\"\nlicence = \"MIT\"\ndescription = \"About ID.\"\n";

fn entry(front: &str, body: &str) -> String {
    format!("+++\n{front}\nsources = [\"A manual, section 1\"]\n+++\n{body}")
}

/// A pack: its id, more of its manifest, and its entries.
type Draft<'a> = (&'a str, &'a str, &'a [(&'a str, String)]);

fn library_of(packs: &[Draft<'_>]) -> (TempDir, Library) {
    let folder = TempDir::new().unwrap();
    for (id, manifest, entries) in packs {
        let entries_folder = folder.path().join(id).join("entries");
        fs::create_dir_all(&entries_folder).unwrap();
        fs::write(folder.path().join(id).join("pack.toml"), format!("{}{manifest}", MANIFEST.replace("ID", id))).unwrap();
        for (name, text) in *entries {
            fs::write(entries_folder.join(name), text).unwrap();
        }
    }
    let library = Library::open(settings(vec![folder.path().to_owned()], None));
    (folder, library)
}

fn settings(packs: Vec<PathBuf>, cache_dir: Option<&Path>) -> Settings {
    Settings { built_in: BuiltIn::LeftOut, packs, cache_dir: cache_dir.map(Path::to_owned), ..Settings::default() }
}

fn query(text: &str) -> Query {
    Query { text: text.to_owned(), limit: 5, ..Query::default() }
}

fn found(library: &Library, query: &Query) -> Vec<String> {
    library.search(query).unwrap().passages.into_iter().map(|passage| passage.entry).collect()
}

fn platforms() -> (TempDir, Library) {
    library_of(&[
        (
            "north",
            "vendor = \"north\"\narchitectures = [\"n1\"]\nlanguages = [\"triton\"]\n",
            &[
                ("tile.md", entry("title = \"Tiles on n1\"\nkind = \"constraint\"", "A tile has 16 rows.\n")),
                (
                    "wide.md",
                    entry("title = \"Tiles on wide n1\"\nkind = \"hardware\"\narchitectures = [\"n1-wide\"]", "A wide tile has 32 rows.\n"),
                ),
            ],
        ),
        ("all", "", &[("tile.md", entry("title = \"Tiles everywhere\"\nkind = \"pattern\"", "A tile is read once.\n"))]),
    ])
}

#[test]
fn filters_keep_what_holds_for_everything() {
    let (_folder, library) = platforms();
    let check = |query: Query, expected: &[&str]| {
        let mut found = found(&library, &query);
        found.sort();
        assert_eq!(found, expected, "{query:?}");
    };
    check(query("tile"), &["all/tile", "north/tile", "north/wide"]);
    check(Query { vendor: Some("north".into()), ..query("tile") }, &["all/tile", "north/tile", "north/wide"]);
    // No pack is about it, and everybody knows it: what holds everywhere holds there.
    check(Query { vendor: Some("amd".into()), ..query("tile") }, &["all/tile"]);
    check(Query { arch: Some("n1".into()), ..query("tile") }, &["all/tile", "north/tile"]);
    check(Query { arch: Some("N1-wide".into()), ..query("tile") }, &["all/tile", "north/tile", "north/wide"]);
    check(Query { language: Some("cpp".into()), ..query("tile") }, &["all/tile"]);
    check(Query { kind: Some(kernelwright_protocol::EntryKind::Hardware), ..query("tile") }, &["north/wide"]);
    check(Query { pack: Some("all".into()), ..query("tile") }, &["all/tile"]);
}

/// By the packs that are about it; what another vendor's pack says of all of that vendor's does not hold there.
#[test]
fn an_architecture_has_a_vendor() {
    let tile = |title: &str| entry(&format!("title = \"{title}\"\nkind = \"api\""), "A tile has a name.\n");
    let (_folder, library) = library_of(&[
        ("n1", "vendor = \"north\"\narchitectures = [\"n1\"]\n", &[("tile.md", tile("Tiles on n1"))]),
        ("north", "vendor = \"north\"\n", &[("tile.md", tile("Tiles of the north"))]),
        ("south", "vendor = \"south\"\n", &[("tile.md", tile("Tiles of the south"))]),
        ("all", "", &[("tile.md", tile("Tiles everywhere"))]),
    ]);
    let on = |arch: &str| {
        let mut found = found(&library, &Query { arch: Some(arch.into()), ..query("tile") });
        found.sort();
        found
    };
    assert_eq!(on("n1-wide"), ["all/tile", "n1/tile", "north/tile"]);
}

#[test]
fn a_filter_that_nobody_knows_is_refused_with_those_there_are() {
    let (_folder, library) = platforms();
    let said = |query: Query| {
        let error = library.search(&query).unwrap_err();
        format!("{error}; {}", error.hint())
    };
    insta::assert_snapshot!(
        [
            said(Query { vendor: Some("south".into()), ..query("tile") }),
            said(Query { arch: Some("e5".into()), ..query("tile") }),
            said(Query { language: Some("cobol".into()), ..query("tile") }),
        ]
        .join("\n"),
        @"
    there is no vendor `south` in the packs; name one of: north; or leave `vendor` out
    there is no architecture `e5` in the packs; name one of: n1, n1-wide; or leave `arch` out
    there is no language `cobol` in the packs; name one of: triton; or leave `language` out
    "
    );
    let (_folder, library) = library_of(&[("all", "", &[("tile.md", entry("title = \"Tiles\"\nkind = \"pattern\"", "A tile.\n"))])]);
    let error = library.search(&Query { vendor: Some("south".into()), ..query("tile") }).unwrap_err();
    assert_eq!(error.hint(), "leave `vendor` out: the packs name none");
}

#[test]
fn one_name_may_stand_for_several_architectures() {
    let tile = |title: &str| entry(&format!("title = \"{title}\"\nkind = \"api\""), "A tile has a name.\n");
    let of = |arch: &str| format!("vendor = \"nvidia\"\narchitectures = [\"{arch}\"]\n");
    let (_folder, library) = library_of(&[
        ("large", &of("sm_100"), &[("tile.md", tile("Tiles of the large one"))]),
        ("small", &of("sm_120"), &[("tile.md", tile("Tiles of the small one"))]),
        ("older", &of("sm_90"), &[("tile.md", tile("Tiles of the older one"))]),
        ("south", "vendor = \"south\"\n", &[("tile.md", tile("Tiles of the south"))]),
    ]);
    let on = |arch: &str| {
        let mut found = found(&library, &Query { arch: Some(arch.into()), ..query("tile") });
        found.sort();
        found
    };
    assert_eq!(on("Blackwell"), ["large/tile", "small/tile"]);
    assert_eq!(on("NVIDIA H100"), ["older/tile"]);
    assert_eq!(on("t4"), Vec::<String>::new(), "it is no part of the south");
}

#[test]
fn passages_have_exact_lines_and_their_heading() {
    let body = "Before.\n\n## Padding rows\n\nOne word more a row.\n\n## Other\n\nText.\n";
    let (_folder, library) = library_of(&[("p", "", &[("banks.md", entry("title = \"Banks\"\nkind = \"pattern\"", body))])]);
    let passages = library.search(&Query { limit: 1, ..query("padding rows") }).unwrap().passages;
    let passage = &passages[0];
    assert_eq!((passage.heading.as_str(), passage.start_line, passage.end_line), ("Banks > Padding rows", 8, 10));
    assert_eq!(passage.text, "## Padding rows\n\nOne word more a row.");
    assert_eq!(passage.path, "entries/banks.md");
}

#[test]
fn whatever_is_asked_is_no_error() {
    let (_folder, library) = platforms();
    for text in [
        "",
        "   ",
        "\"",
        "((tile",
        "tile AND",
        "+-*/^~",
        "field:tile",
        "tile\0\u{FFFD}\u{202E}",
        "😀",
        "a/b\\c[d]{e}",
        "NOT tile",
        &"tile ".repeat(10_000),
    ] {
        library.search(&query(text)).unwrap();
    }
    assert_eq!(found(&library, &query("")), Vec::<String>::new());
    assert_eq!(found(&library, &Query { limit: 0, ..query("tile") }), Vec::<String>::new());
    assert_eq!(found(&library, &query("title:\"Tiles everywhere\" AND (")).first().map(String::as_str), Some("all/tile"));
}

#[test]
fn answers_keep_to_their_budget() {
    let section = |n: usize| format!("## Tile {n}\n\n{}\n", "A tile again, with many more words to fill a line.\n".repeat(20));
    let body: String = (0..10).map(section).collect();
    let (_folder, library) = library_of(&[("p", "", &[("long.md", entry("title = \"Long\"\nkind = \"api\"", &body))])]);
    let passages = library.search(&Query { max_bytes: Some(2_000), ..query("tile") }).unwrap().passages;
    assert!(passages.len() > 1);
    assert!(passages.iter().map(|passage| passage.text.len()).sum::<usize>() <= 2_000);
    let whole = library.read("p/long", 0).unwrap();
    let lines: Vec<&str> = entry("title = \"Long\"\nkind = \"api\"", &body).leak().lines().collect();
    for passage in passages {
        // What was cut says so; the notes are no lines of the entry.
        let is_note = |line: &&str| line.starts_with('[') && line.ends_with(']');
        let notes: Vec<&str> = passage.text.lines().filter(is_note).collect();
        assert!(notes.last().unwrap().ends_with(": read_entry]"), "{notes:?}");
        let text = passage.text.lines().filter(|line| !is_note(line)).collect::<Vec<_>>().join("\n");
        assert_eq!(text, lines[passage.start_line as usize - 1..passage.end_line as usize].join("\n"));
        assert!(whole.text.contains(&text));
    }
    let uncut = library.search(&query("tile")).unwrap().passages;
    assert!(uncut.iter().all(|passage| !passage.text.contains("read_entry")));
}

#[test]
fn an_answer_shows_the_lines_that_fit_and_says_what_stands_around_them() {
    let filler = "A line of other words.\n".repeat(30);
    let body = format!("{filler}The walrus sleeps.\n{filler}");
    let line = format!("{}the beluga sleeps, {}", "many words ".repeat(600), "and more words ".repeat(600));
    let (_folder, library) = library_of(&[(
        "p",
        "",
        &[
            ("long.md", entry("title = \"Long\"\nkind = \"api\"", &body)),
            ("line.md", entry("title = \"Line\"\nkind = \"api\"", &format!("{line}\n"))),
        ],
    )]);
    let ask = |text: &str| library.search(&Query { max_bytes: Some(500), limit: 1, ..query(text) }).unwrap().passages.remove(0);
    let passage = ask("walrus");
    let lines: Vec<&str> = passage.text.lines().collect();
    assert!(passage.text.contains("The walrus sleeps.") && passage.text.len() <= 500, "{passage:?}");
    assert_eq!(lines[0], format!("[{} lines before]", passage.start_line - 6));
    assert_eq!(*lines.last().unwrap(), format!("[{} more lines: read_entry]", 66 - passage.end_line));
    let passage = ask("beluga");
    assert!(passage.text.starts_with("… ") && passage.text.ends_with(" …") && passage.text.contains("beluga"), "{passage:?}");
    assert_eq!((passage.start_line, passage.end_line), (6, 6));
}

#[test]
fn entries_are_read_in_pages_without_front_matter() {
    let body = "Grüße. ".repeat(2_000);
    let (_folder, library) = library_of(&[("p", "", &[("long.md", entry("title = \"Long\"\nkind = \"api\"", &body))])]);
    let first = library.read("p/long", 0).unwrap();
    let second = library.read("p/long", first.next_offset.unwrap() as usize).unwrap();
    assert_eq!(format!("{}{}", first.text, second.text), body);
    assert_eq!(second.next_offset, None);
    assert_eq!(first.sources, ["A manual, section 1"]);
    assert_eq!(library.read("p/long", usize::MAX).unwrap().text, "");
}

#[test]
fn an_unknown_entry_is_answered_with_similar_ones() {
    let (_folder, library) = platforms();
    let error = library.read("north/tiles", 0).unwrap_err();
    insta::assert_snapshot!(format!("{error}\n{}", error.hint()), @"
    there is no entry `north/tiles`
    take an id from search_knowledge; similar ids: north/tile, north/wide, all/tile
    ");
}

#[test]
fn packs_are_listed() {
    let (_folder, library) = platforms();
    let packs = library.packs().unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&packs).unwrap(), @r#"
    [
      {
        "id": "all",
        "version": "1",
        "description": "About all.",
        "entries": 1
      },
      {
        "id": "north",
        "version": "1",
        "description": "About north.",
        "entries": 2
      }
    ]
    "#);
}

#[test]
fn two_packs_of_one_id_are_refused() {
    let (folder, _library) = platforms();
    let pack = folder.path().join("all");
    let library = Library::open(settings(vec![folder.path().to_owned(), pack], None));
    assert_eq!(library.packs().unwrap_err().to_string(), "two packs have the id `all`");
}

#[test]
fn a_pack_that_is_mended_is_found_at_the_next_question() {
    let (folder, library) = platforms();
    let entry = folder.path().join("all/entries/tile.md");
    let good = fs::read_to_string(&entry).unwrap();
    fs::write(&entry, good.replace("pattern", "patern")).unwrap();
    let error = library.search(&query("tile")).unwrap_err().to_string();
    assert!(error.contains("all/entries/tile.md:3: unknown variant `patern`"), "{error}");
    fs::write(&entry, good).unwrap();
    assert_eq!(found(&library, &query("everywhere")), ["all/tile"]);
}

/// A home with these packs, each installed as a folder.
fn home_of(packs: &[Draft<'_>]) -> (TempDir, Settings) {
    let (folder, _) = library_of(packs);
    let settings = Settings { home: Some(folder.path().to_owned()), ..settings(vec![], Some(&folder.path().join(".cache"))) };
    (folder, settings)
}

#[test]
fn a_damaged_file_of_an_installed_pack_is_passed_over_and_named() {
    let lesson = |title: &str| {
        format!("+++\ntitle = \"{title}\"\nkind = \"lesson\"\nsources = [\"measured: a run\"]\n[lesson]\n+++\nRows in registers.\n")
    };
    let (folder, settings) = home_of(&[("learnt", "", &[("a.md", lesson("Faster")), ("b.md", lesson("Slower"))])]);
    fs::write(folder.path().join("learnt/entries/b.md"), &lesson("Slower")[..40]).unwrap();
    fs::write(folder.path().join("learnt/entries/c.md"), b"+++\ncaf\xe9\n").unwrap();
    let library = Library::open(settings);
    assert_eq!(found(&library, &query("registers")), ["learnt/a"]);
    let root = format!("{}/", folder.path().display());
    let damaged: Vec<String> = library.damaged().unwrap().iter().map(|problem| problem.to_string().replace(&root, "")).collect();
    insta::assert_snapshot!(damaged.join("\n"), @"
    learnt/entries/c.md:2: not UTF-8, at byte 7
    learnt/entries/b.md:1: the front matter is not closed with a line `+++`
    ");
}

#[test]
fn one_pack_can_be_indexed_alone() {
    let tile = |pack: &str| [("tile.md", entry(&format!("title = \"Tiles of {pack}\"\nkind = \"api\""), "Text.\n"))];
    let (folder, settings) = home_of(&[("north", "", &tile("north")), ("south", "", &tile("south"))]);
    let cache = folder.path().join(".cache");
    let library = Library::open(settings);
    assert_eq!(library.index("south").unwrap().id, "south");
    let names: Vec<String> = indexes(&cache).iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert!(names.len() == 1 && names[0].starts_with("south-"), "{names:?}");
    let error = library.index("east").unwrap_err();
    assert_eq!((error.to_string(), error.hint()), ("there is no pack `east`".to_owned(), "name one of: north, south".to_owned()));
}

#[test]
fn a_question_to_one_pack_waits_for_the_index_of_no_other() {
    let tile = |pack: &str| [("tile.md", entry(&format!("title = \"Tiles of {pack}\"\nkind = \"api\""), "Text.\n"))];
    let (folder, settings) = home_of(&[("north", "", &tile("north")), ("south", "", &tile("south"))]);
    let library = Library::open(settings);
    assert_eq!(found(&library, &Query { pack: Some("south".into()), ..query("tiles") }), ["south/tile"]);
    let names: Vec<PathBuf> = indexes(&folder.path().join(".cache"));
    assert!(names.len() == 1 && names[0].file_name().unwrap().to_string_lossy().starts_with("south-"), "{names:?}");
    assert_eq!(found(&library, &query("tiles")).len(), 2);
}

#[test]
fn what_changed_a_second_ago_is_seen_by_the_next_question() {
    let tile = |pack: &str| [("tile.md", entry(&format!("title = \"Tiles of {pack}\"\nkind = \"api\""), "Text.\n"))];
    let (folder, settings) = home_of(&[("north", "", &tile("north"))]);
    let (other, _) = home_of(&[("south", "", &tile("south"))]);
    let library = Library::open(settings);
    assert_eq!(found(&library, &query("tiles")), ["north/tile"]);
    // Asked for by name it is looked for at once.
    fs::rename(other.path().join("south"), folder.path().join("south")).unwrap();
    assert_eq!(found(&library, &Query { pack: Some("south".into()), ..query("tiles") }), ["south/tile"]);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(found(&library, &query("tiles")).len(), 2);
    fs::rename(folder.path().join("south"), other.path().join("south")).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(found(&library, &query("tiles")), ["north/tile"]);
    fs::write(folder.path().join("north/entries/more.md"), entry("title = \"More tiles\"\nkind = \"api\"", "Text.\n")).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(found(&library, &query("more tiles"))[0], "north/more");
}

/// The indexes in a cache: one for each pack of the user.
fn indexes(cache: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    below(cache).iter().flat_map(|format| below(format)).collect()
}

#[test]
fn an_index_is_kept_and_follows_its_pack() {
    let (folder, _library) = platforms();
    let cache = TempDir::new().unwrap();
    let ask = |text: &str| found(&Library::open(settings(vec![folder.path().to_owned()], Some(cache.path()))), &query(text));
    assert_eq!(ask("everywhere"), ["all/tile"]);
    assert_eq!(ask("everywhere"), ["all/tile"]);
    let entry = folder.path().join("all/entries/tile.md");
    fs::write(&entry, fs::read_to_string(&entry).unwrap().replace("once", "twice")).unwrap();
    assert_eq!(ask("twice"), ["all/tile"]);
    assert_eq!(indexes(cache.path()).len(), 2);
}

#[test]
fn a_damaged_or_unusable_cache_is_no_reason_not_to_answer() {
    let (folder, _library) = platforms();
    let cache = TempDir::new().unwrap();
    let ask = |cache: &Path| found(&Library::open(settings(vec![folder.path().to_owned()], Some(cache))), &query("everywhere"));
    assert_eq!(ask(cache.path()), ["all/tile"]);
    for index in indexes(cache.path()) {
        fs::write(index.join("meta.json"), "{").unwrap();
    }
    assert_eq!(ask(cache.path()), ["all/tile"]);
    let file = cache.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(ask(&file), ["all/tile"]);
}

#[test]
fn many_threads_and_libraries_share_a_cache() {
    let (folder, _library) = platforms();
    let cache = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let library = Library::open(settings(vec![folder.path().to_owned()], Some(cache.path())));
                assert_eq!(found(&library, &query("everywhere")), ["all/tile"]);
            });
        }
    });
    assert_eq!(indexes(cache.path()).len(), 2);
}
