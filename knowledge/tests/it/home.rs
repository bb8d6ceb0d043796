//! The pack home: adding from what people have, and from what they should not trust.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use kernelwright_packs::{Added, Home, HomeError, Labels, Origin, PdfReader, export_built_in};
use tempfile::TempDir;

use crate::{ENTRY, MANIFEST};

/// A home and a folder for sources. PDFs, which need the whole executable, are tested with it.
struct Desk {
    folder: TempDir,
    home: Home,
}

impl Desk {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let home = Home::at(folder.path().join("home/packs"));
        Self { folder, home }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn add(&self, source: &str) -> Result<Added, HomeError> {
        self.add_as(source, None)
    }

    fn add_as(&self, source: &str, id: Option<&str>) -> Result<Added, HomeError> {
        let source = self.path(source).display().to_string();
        let origin =
            Origin { source, id: id.map(str::to_owned), labels: Labels { vendor: Some("aurora".to_owned()), ..Labels::default() } };
        self.home.add(&origin, &PdfReader::new("/nowhere"), &mut |_| {})
    }

    /// What went wrong, with the folder's name left out. Whatever it was, nothing is left in the home.
    fn refused(&self, source: &str) -> String {
        let error = self.add(source).unwrap_err().to_string();
        assert_eq!(self.left(), Vec::<String>::new(), "{error}");
        error.replace(&format!("{}/", self.folder.path().display()), "")
    }

    /// Everything in the home but the lock.
    fn left(&self) -> Vec<String> {
        let names = fs::read_dir(self.home.folder()).into_iter().flatten().flatten().map(|entry| entry.file_name().into_string().unwrap());
        names.filter(|name| name != ".lock").collect()
    }
}

fn documents(added: &Added) -> Vec<&str> {
    added.pack.documents.iter().map(|file| file.path.as_str()).collect()
}

fn zip(path: &Path, members: &[(&str, &[u8])]) {
    let mut zip = zip::ZipWriter::new(File::create(path).unwrap());
    for (name, bytes) in members {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

/// A tar archive whose names are written as they are, even those that the library would refuse to write.
fn tar_gz(path: &Path, members: &[(&str, &[u8])]) {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(File::create(path).unwrap(), flate2::Compression::fast()));
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap();
}

#[test]
fn a_folder_of_documents_becomes_a_pack_and_says_what_it_left_out() {
    let desk = Desk::new();
    desk.write("My Docs/guide/tiles.md", "# Tiles\n");
    desk.write("My Docs/page.html", "<p>Text");
    desk.write("My Docs/.claude/skills/tune.md", "# For agents\n");
    desk.write("My Docs/latin.txt", b"caf\xe9\n");
    desk.write("My Docs/picture.png", b"\x89PNG");
    for hidden in [".git/config.txt", ".venv/lib/guide.md", "guide/.cache/deep/tiles.md", "guide/.draft.md"] {
        desk.write(&format!("My Docs/{hidden}"), "hidden");
    }
    File::create(desk.path("My Docs/huge.md")).unwrap().set_len(200 << 20).unwrap();
    symlink("/etc/passwd", desk.path("My Docs/secrets.txt")).unwrap();
    let added = desk.add("My Docs").unwrap();
    assert_eq!((added.pack.id.as_str(), added.pack.vendor.as_deref()), ("my-docs", Some("aurora")));
    assert_eq!(documents(&added), [".claude/skills/tune.md", "guide/tiles.md", "page.html"]);
    let skipped: Vec<String> = added.skipped.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(skipped.join("\n"), @"
    huge.md: 209715200 bytes, and at most 16777216 are read
    latin.txt: not UTF-8, at line 1, byte 3
    picture.png: not a kind of document that can be read
    secrets.txt: a link
    ");
    assert_eq!(desk.left(), ["my-docs"]);
    let copied = fs::metadata(desk.home.folder().join("my-docs/documents/page.html")).unwrap().modified().unwrap();
    assert_eq!(copied, fs::metadata(desk.path("My Docs/page.html")).unwrap().modified().unwrap());
}

#[test]
fn a_pack_is_installed_as_it_was_written() {
    let desk = Desk::new();
    desk.write("pack/pack.toml", MANIFEST);
    desk.write("pack/entries/tiles.md", ENTRY);
    desk.write("pack/documents/a.rst", "Aurora\n======\n");
    desk.write("pack/entries/._tiles.md", b"\x00\x05\x16\x07");
    desk.write("pack/README.md", "Not part of it.");
    let added = desk.add("pack").unwrap();
    assert_eq!((added.pack.id.as_str(), added.pack.entries.len(), documents(&added)), ("aurora", 1, vec!["a.rst"]));
    assert!(!desk.home.folder().join("aurora/README.md").exists());
    assert!(matches!(desk.add("pack").unwrap_err(), HomeError::AlreadyThere(id) if id == "aurora"));
    assert!(matches!(desk.add_as("pack", Some("borealis")).unwrap_err(), HomeError::OtherId { .. }));
}

#[test]
fn what_its_author_should_correct_is_told_where_the_author_has_it() {
    let desk = Desk::new();
    let text = "Tiles of sixteen by sixteen halves are loaded by one instruction when the row stride is a multiple of sixteen bytes, and otherwise by \
                two, which halves the bandwidth that a kernel reaches. Pad rows to such a stride.";
    desk.write("pack/pack.toml", MANIFEST);
    desk.write("pack/entries/rows.md", ENTRY.replace("Always.", text));
    desk.write("pack/entries/tiles.md", ENTRY.replace("Tiles are", "Rows are").replace("Always.", text));
    let problems: Vec<String> = desk.add("pack").unwrap().problems.iter().map(ToString::to_string).collect();
    let source = format!("{}/", desk.folder.path().display());
    assert_eq!(
        problems.join("\n").replace(&source, ""),
        "pack/entries/tiles.md: says nearly the same as pack/entries/rows.md: 100 % of it; keep one of them"
    );
}

#[test]
fn a_broken_pack_is_refused_with_the_places_in_the_source() {
    let desk = Desk::new();
    desk.write("pack/pack.toml", MANIFEST);
    desk.write("pack/entries/tiles.md", ENTRY.replace("constraint", "rule"));
    desk.write("pack/entries/bytes.md", b"+++\n\xff\n");
    insta::assert_snapshot!(desk.refused("pack"), @"
    the pack pack cannot be read:
      pack/entries/bytes.md:2: not UTF-8, at byte 4
      pack/entries/tiles.md:3: unknown variant `rule`, expected one of `constraint`, `guidance`, `hardware`, `pattern`, `pitfall`, `error`, `api`, `example`, `lesson`, `document`
    ");
}

#[test]
fn archives_are_unpacked() {
    let desk = Desk::new();
    zip(&desk.path("docs-1.2.zip"), &[("docs/a.md", b"# A\n"), ("docs/b/c.py", b"x = 1\n"), ("docs/d.exe", b"MZ")]);
    assert_eq!(documents(&desk.add("docs-1.2.zip").unwrap()), ["a.md", "b/c.py"]);
    tar_gz(&desk.path("pack.tar.gz"), &[("p/pack.toml", MANIFEST.as_bytes()), ("p/entries/tiles.md", ENTRY.as_bytes())]);
    assert_eq!(desk.add("pack.tar.gz").unwrap().pack.id, "aurora");
    let mut left = desk.left();
    left.sort();
    assert_eq!(left, ["aurora", "docs-1-2"]);
}

#[test]
fn archives_that_reach_out_are_refused_whole() {
    let desk = Desk::new();
    zip(&desk.path("up.zip"), &[("a.md", b"# A\n"), ("../../evil.md", b"x")]);
    assert_eq!(desk.refused("up.zip"), "up.zip: ../../evil.md: leads out of the archive; nothing was unpacked");
    zip(&desk.path("root.zip"), &[("/etc/evil.md", b"x")]);
    assert_eq!(desk.refused("root.zip"), "root.zip: /etc/evil.md: is an absolute path; nothing was unpacked");
    zip(&desk.path("windows.zip"), &[("..\\evil.md", b"x")]);
    assert_eq!(desk.refused("windows.zip"), "windows.zip: ../evil.md: leads out of the archive; nothing was unpacked");
    tar_gz(&desk.path("up.tgz"), &[("a.md", b"# A\n"), ("x/../../evil.md", b"x")]);
    assert_eq!(desk.refused("up.tgz"), "up.tgz: x/../../evil.md: leads out of the archive; nothing was unpacked");
    let mut tar = tar::Builder::new(File::create(desk.path("link.tar")).unwrap());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    tar.append_link(&mut header, "docs", "/etc").unwrap();
    tar.finish().unwrap();
    drop(tar);
    assert_eq!(desk.refused("link.tar"), "link.tar: docs: is a link that leads out of the archive; nothing was unpacked");
    let mut links = zip::ZipWriter::new(File::create(desk.path("link.zip")).unwrap());
    links.add_symlink("docs/a.md", "../../../etc/passwd", zip::write::SimpleFileOptions::default()).unwrap();
    links.finish().unwrap();
    assert_eq!(desk.refused("link.zip"), "link.zip: docs/a.md: is a link that leads out of the archive; nothing was unpacked");
    assert!(!desk.path("evil.md").exists());
}

#[test]
fn an_archive_that_swells_is_cut_at_what_a_document_may_have() {
    let desk = Desk::new();
    let zeros = vec![b'a'; 40 << 20];
    zip(&desk.path("bomb.zip"), &[("bomb.md", &zeros), ("other.bin", &zeros)]);
    assert!(fs::metadata(desk.path("bomb.zip")).unwrap().len() < 1 << 20);
    insta::assert_snapshot!(desk.refused("bomb.zip"), @"
    bomb.zip: no document that can be read
      bomb.md: 16777217 bytes, and at most 16777216 are read
    ");
}

#[test]
fn what_is_no_archive_says_so() {
    let desk = Desk::new();
    desk.write("a.zip", "no zip");
    desk.write("a.tgz", "no gzip");
    desk.write("a.bin", "nothing");
    assert!(desk.refused("a.zip").starts_with("a.zip: no archive that can be read: "));
    assert!(desk.refused("a.tgz").starts_with("a.tgz: no archive that can be read: "));
    assert!(desk.refused("a.bin").ends_with("a.bin: neither a folder, an archive, a document nor a git address"));
    assert!(desk.refused("missing").starts_with("missing: No such file"));
}

#[test]
fn one_document_is_enough() {
    let desk = Desk::new();
    desk.write("Aurora Manual.md", "# Aurora\n");
    let added = desk.add("Aurora Manual.md").unwrap();
    assert_eq!((added.pack.id.as_str(), documents(&added)), ("aurora-manual", vec!["Aurora Manual.md"]));
    desk.write("文書.md", "# Text\n");
    assert!(matches!(desk.add("文書.md").unwrap_err(), HomeError::Id(_)));
    assert_eq!(desk.add_as("文書.md", Some("bunsho")).unwrap().pack.id, "bunsho");
}

#[test]
fn a_pack_is_updated_from_where_it_came_and_removed() {
    let desk = Desk::new();
    desk.write("docs/a.md", "# A\n");
    desk.add("docs").unwrap();
    desk.write("docs/b.md", "# B\n");
    fs::remove_file(desk.path("docs/a.md")).unwrap();
    let reader = PdfReader::new("/nowhere");
    let mut seen = 0;
    let added = desk.home.update("docs", &reader, &mut |_| seen += 1).unwrap();
    assert_eq!((documents(&added), seen), (vec!["b.md"], 1));
    assert_eq!(added.pack.vendor.as_deref(), Some("aurora"), "what was said when it was added still holds");
    desk.home.remove("docs").unwrap();
    assert_eq!(desk.left(), Vec::<String>::new());
    let error = desk.home.remove("docs").unwrap_err();
    assert_eq!((error.to_string().as_str(), error.hint().starts_with("none is installed")), ("there is no installed pack `docs`", true));
}

#[test]
fn a_failed_update_leaves_the_pack_as_it_was() {
    let desk = Desk::new();
    desk.write("docs/a.md", "# A\n");
    desk.add("docs").unwrap();
    fs::remove_dir_all(desk.path("docs")).unwrap();
    assert!(desk.home.update("docs", &PdfReader::new("/nowhere"), &mut |_| {}).is_err());
    assert_eq!(desk.home.packs().unwrap()[0].pack.as_ref().unwrap().documents.len(), 1);
}

#[test]
fn what_a_killed_process_left_is_cleared_away_and_never_seen() {
    let desk = Desk::new();
    desk.write("home/packs/.staging-abc/pack/pack.toml", MANIFEST);
    desk.write("home/packs/.staging-abc/pack.toml", MANIFEST);
    desk.write("docs/a.md", "# A\n");
    assert!(desk.home.packs().unwrap().is_empty());
    desk.add("docs").unwrap();
    assert_eq!(desk.left(), ["docs"]);
}

#[test]
fn two_at_once_do_not_mix() {
    let desk = Desk::new();
    desk.write("docs/a.md", "# A\n");
    desk.write("home/packs/.lock", "");
    let lock = File::open(desk.path("home/packs/.lock")).unwrap();
    lock.try_lock().unwrap();
    assert!(matches!(desk.add("docs").unwrap_err(), HomeError::Busy(_)));
    drop(lock);
    desk.add("docs").unwrap();
}

#[test]
fn a_home_that_cannot_be_written_says_so() {
    let desk = Desk::new();
    desk.write("docs/a.md", "# A\n");
    desk.write("home", "a file in the place of the folder");
    let error = desk.add("docs").unwrap_err();
    assert!(matches!(&error, HomeError::Io { path, .. } if path.ends_with("home/packs")), "{error}");
    assert!(error.hint().contains("paths.packs"));
}

#[test]
fn a_source_that_may_not_be_read_does_not_cost_the_others() {
    let desk = Desk::new();
    desk.write("docs/a.md", "# A\n");
    desk.write("docs/closed.md", "# B\n");
    fs::set_permissions(desk.path("docs/closed.md"), fs::Permissions::from_mode(0o000)).unwrap();
    let added = desk.add("docs").unwrap();
    // Root reads everything.
    let is_root = File::open(desk.path("docs/closed.md")).is_ok();
    assert_eq!(added.skipped.len(), usize::from(!is_root));
}

#[test]
fn an_exported_pack_can_be_added_elsewhere() {
    let desk = Desk::new();
    desk.write("pack/pack.toml", MANIFEST);
    desk.write("pack/entries/tiles.md", ENTRY);
    desk.write("pack/documents/guide/a.md", "# A\n");
    desk.add("pack").unwrap();
    desk.home.export("aurora", &desk.path("aurora.tar.gz")).unwrap();
    let before = fs::read(desk.path("aurora.tar.gz")).unwrap();
    assert!(desk.home.export("aurora", &desk.path("aurora.tar.gz")).is_err(), "an archive that is there stays");
    assert_eq!(fs::read(desk.path("aurora.tar.gz")).unwrap(), before);
    desk.home.remove("aurora").unwrap();
    let added = desk.add("aurora.tar.gz").unwrap();
    assert_eq!((added.pack.entries.len(), documents(&added)), (1, vec!["guide/a.md"]));
    export_built_in("triton", &desk.path("triton.tar.gz")).unwrap().unwrap();
    assert!(matches!(desk.add("triton.tar.gz").unwrap_err(), HomeError::BuiltIn(id) if id == "triton"));
    assert!(export_built_in("no-such-pack", &desk.path("x.tar.gz")).is_none());
}

#[test]
fn a_git_checkout_is_cloned_without_its_history() {
    let desk = Desk::new();
    desk.write("repo/a.md", "# A\n");
    let git = |args: &[&str]| {
        let status = std::process::Command::new("git").args(args).current_dir(desk.path("repo")).env("HOME", desk.folder.path()).status();
        assert!(status.unwrap().success(), "{args:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "-m", "first"]);
    let origin = Origin { source: format!("file://{}", desk.path("repo").display()), ..Origin::default() };
    let added = desk.home.add(&origin, &PdfReader::new("/nowhere"), &mut |_| {}).unwrap();
    assert_eq!((added.pack.id.as_str(), documents(&added)), ("repo", vec!["a.md"]));
    let origin = Origin { source: format!("file://{}", desk.path("missing").display()), ..Origin::default() };
    let error = desk.home.add(&origin, &PdfReader::new("/nowhere"), &mut |_| {}).unwrap_err();
    assert!(matches!(error, HomeError::Git { .. }), "{error}");
}
