use crate::Desk;

fn help(args: &[&str]) -> String {
    let said = Desk::new().run(args);
    assert_eq!((said.code, said.stderr.as_str()), (0, ""));
    said.stdout
}

#[test]
fn the_program() {
    insta::assert_snapshot!(help(&["--help"]));
}

#[test]
fn optimize() {
    insta::assert_snapshot!(help(&["optimize", "--help"]));
}

#[test]
fn resume() {
    insta::assert_snapshot!(help(&["resume", "-h"]));
}

#[test]
fn evaluate() {
    insta::assert_snapshot!(help(&["evaluate", "--help"]));
}

#[test]
fn compile() {
    insta::assert_snapshot!(help(&["compile", "--help"]));
}

#[test]
fn profile() {
    insta::assert_snapshot!(help(&["profile", "--help"]));
}

#[test]
fn knowledge() {
    insta::assert_snapshot!(help(&["knowledge", "--help"]));
    insta::assert_snapshot!(help(&["knowledge", "add", "--help"]));
    insta::assert_snapshot!(help(&["knowledge", "search", "--help"]));
    insta::assert_snapshot!(help(&["knowledge", "lessons", "--help"]));
    insta::assert_snapshot!(help(&["knowledge", "index", "--help"]));
}

#[test]
fn serve() {
    insta::assert_snapshot!(help(&["serve", "--help"]));
}

#[test]
fn every_verb_explains_itself_and_the_hidden_one_is_hidden() {
    let top = help(&["--help"]);
    for verb in
        ["optimize", "resume", "runs", "report", "evaluate", "compile", "profile", "knowledge", "serve", "doctor", "config", "completions"]
    {
        assert!(top.contains(&format!("  {verb} ")), "{verb}");
        assert!(help(&[verb, "--help"]).contains("Usage:"), "{verb}");
    }
    assert!(!top.contains("__sandbox") && !top.contains("__read-pdf"));
}
