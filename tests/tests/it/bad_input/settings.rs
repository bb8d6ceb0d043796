//! Settings files.

use super::{Desk, error};

/// Tries to begin a run under this settings file.
fn said(desk: &Desk, toml: &str) -> String {
    desk.write("kernelwright.toml", toml);
    let said = desk.said(&mut desk.optimize("replay:nowhere"));
    assert!(!desk.path().join("runs").exists(), "nothing is left behind");
    error(&said, 2).to_owned()
}

#[test]
fn settings_that_cannot_be_used() {
    let desk = Desk::new();
    insta::assert_snapshot!(said(&desk, "[budget]\nevaluation = 3\n"), @r"
    error: there is no setting `budget.evaluation`
      where: DESK/kernelwright.toml:2
      hint: did you mean `budget.evaluations`?
    ");
    insta::assert_snapshot!(said(&desk, "[budget]\nevaluations = \"many\"\n"), @r#"
    error: `budget.evaluations` has to be a whole number of 1 or more, not "many"
      where: DESK/kernelwright.toml:2
      hint: `kernelwright config show` prints every setting with its value and where it comes from
    "#);
    insta::assert_snapshot!(said(&desk, "[servers.mine]\nidle_timeout = \"1s\"\n"), @r"
    error: `servers.mine` has to be a server with a command, not one without
      where: DESK/kernelwright.toml:1
      hint: `kernelwright config show` prints every setting with its value and where it comes from
    ");
    let error = said(&desk, "[budget\n");
    assert!(error.starts_with("error: not a settings file: ") && error.contains("\n  where: DESK/kernelwright.toml:1"), "{error}");
}
