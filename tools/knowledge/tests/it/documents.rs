//! Documents of a user: indexed file by file, whatever dies or writes at the same time.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kernelwright_knowledge::{BuiltIn, Find, Library, Query, Settings, Sought};
use tempfile::TempDir;

/// Set for the process that only indexes: the pack and the cache.
const CHILD: &str = "KERNELWRIGHT_TEST_INDEXES";

const FILES: usize = 150;

/// A pack of documents that all hold one word more.
fn write_pack(root: &Path, word: &str) {
    fs::create_dir_all(root.join("documents/guide")).unwrap();
    fs::write(root.join("pack.toml"), "id = \"manuals\"\nversion = \"1\"\nlicence = \"MIT\"\ndescription = \"Manuals.\"\n").unwrap();
    for number in 0..FILES {
        let paragraph = format!("Registers of unit{number} spill to local memory, {word}.\n\n").repeat(40);
        fs::write(root.join(format!("documents/guide/unit{number}.md")), format!("# Unit {number}\n\n{paragraph}")).unwrap();
    }
}

fn library(root: &Path, cache: &Path) -> Library {
    Library::open(Settings {
        built_in: BuiltIn::LeftOut,
        packs: vec![root.to_owned()],
        cache_dir: Some(cache.to_owned()),
        ..Settings::default()
    })
}

fn paths(library: &Library, text: &str) -> Vec<String> {
    let query = Query { text: text.to_owned(), limit: 3, ..Query::default() };
    library.search(&query).unwrap().passages.into_iter().map(|passage| passage.path).collect()
}

/// A process that opens the library, which indexes it, and ends.
fn indexing(root: &Path, cache: &Path) -> Child {
    let both = format!("{}\n{}", root.display(), cache.display());
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "documents::index_for_a_parent", "--ignored"])
        .env(CHILD, both)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "run by other tests in a process of its own"]
fn index_for_a_parent() {
    let both = std::env::var(CHILD).unwrap();
    let (root, cache) = both.split_once('\n').unwrap();
    assert_eq!(paths(&library(root.as_ref(), cache.as_ref()), "unit7").first().map(String::as_str), Some("guide/unit7.md"));
}

#[test]
fn a_kill_while_indexing_leaves_what_was_there() {
    let (pack, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for (word, wait) in [("alpha", 0), ("bravo", 20), ("delta", 60), ("echo", 120), ("foxtrot", 250), ("golf", 500)] {
        write_pack(pack.path(), word);
        let mut child = indexing(pack.path(), cache.path());
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let library = library(pack.path(), cache.path());
    assert_eq!(paths(&library, "unit7").first().map(String::as_str), Some("guide/unit7.md"));
    assert_eq!(paths(&library, "golf").len(), 3);
    assert_eq!(paths(&library, "alpha"), Vec::<String>::new());
}

#[test]
fn processes_share_an_index() {
    let (pack, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write_pack(pack.path(), "shared");
    let children: Vec<Child> = (0..3).map(|_| indexing(pack.path(), cache.path())).collect();
    let library = library(pack.path(), cache.path());
    assert_eq!(paths(&library, "unit7").first().map(String::as_str), Some("guide/unit7.md"));
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn what_changes_is_found_and_what_goes_is_not() {
    let (pack, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write_pack(pack.path(), "first");
    let library = library(pack.path(), cache.path());
    assert_eq!(paths(&library, "unit9").first().map(String::as_str), Some("guide/unit9.md"));
    fs::write(pack.path().join("documents/swizzle.py"), "def swizzle(tile):\n    return tile\n").unwrap();
    fs::remove_file(pack.path().join("documents/guide/unit9.md")).unwrap();
    fs::write(pack.path().join("documents/bad.md"), [b'a', 0xff]).unwrap();
    library.refresh().unwrap();
    assert_eq!(paths(&library, "swizzle"), ["swizzle.py"]);
    assert!(!paths(&library, "unit9").contains(&"guide/unit9.md".to_owned()));
    assert_eq!(library.read("manuals/swizzle.py", 0).unwrap().text, "def swizzle(tile):\n    return tile\n");
}

#[test]
fn a_damaged_index_and_one_of_another_format_are_built_again() {
    let (pack, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write_pack(pack.path(), "first");
    let ask = || paths(&library(pack.path(), cache.path()), "unit7").first().cloned();
    assert_eq!(ask().as_deref(), Some("guide/unit7.md"));
    let formats = fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap().path();
    let index = fs::read_dir(&formats).unwrap().next().unwrap().unwrap().path();
    fs::write(index.join("meta.json"), "{").unwrap();
    assert_eq!(ask().as_deref(), Some("guide/unit7.md"));
    fs::rename(&formats, formats.with_file_name("knowledge-0")).unwrap();
    assert_eq!(ask().as_deref(), Some("guide/unit7.md"));
    assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 2);
}

#[test]
fn exact_places_are_found_in_pages() {
    let (pack, cache) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    write_pack(pack.path(), "first");
    let source = "#define TILE 32\n\n// kernel: uses TILE\n__global__ void kernel(float* x) {\n  int y = TILE;\n}\n";
    fs::write(pack.path().join("documents/a.cu"), source).unwrap();
    let library = library(pack.path(), cache.path());
    let find = |sought: Sought, files: Option<&str>, offset: usize| {
        let find = Find { sought, files: files.map(str::to_owned), pack: None, offset, limit: 2 };
        let found = library.find(&find).unwrap();
        let lines: Vec<String> =
            found.matches.iter().map(|found| format!("{}:{}: {}", found.entry, found.line.unwrap_or(0), found.text)).collect();
        (lines, found.next_offset)
    };
    let strings = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        find(Sought::Text("TILE".into()), None, 0),
        (strings(&["manuals/a.cu:1: #define TILE 32", "manuals/a.cu:3: // kernel: uses TILE"]), Some(2))
    );
    assert_eq!(find(Sought::Text("TILE".into()), None, 2), (strings(&["manuals/a.cu:5: int y = TILE;"]), None));
    assert_eq!(find(Sought::Pattern(r"^\s+int".into()), None, 0).0, ["manuals/a.cu:5: int y = TILE;"]);
    assert_eq!(find(Sought::Symbol("kernel".into()), None, 0).0, ["manuals/a.cu:4: __global__ void kernel(float* x) {"]);
    assert_eq!(find(Sought::Symbol("TILE".into()), None, 0).0, ["manuals/a.cu:1: #define TILE 32"]);
    assert_eq!(find(Sought::Names, Some("*.cu"), 0).0, ["manuals/a.cu:0: "]);
    assert_eq!(find(Sought::Text("TILE".into()), Some("*.md"), 0).0, Vec::<String>::new());
}
