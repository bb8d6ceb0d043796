//! A problem as its own candidate: whatever is not `correct` then, or not 1x as fast, says something about the evaluator or the problem.

/// The candidate file that does what the problem does.
#[must_use]
pub fn identity(problem: &str) -> String {
    let defines = |head: &str| problem.lines().any(|line| line.strip_prefix(head).is_some_and(|rest| rest.starts_with(['(', ':', ' '])));
    let end = if defines("class Model") {
        "class ModelNew(Model):\n    pass\n"
    } else if defines("def reference") {
        "kernel = reference\n"
    } else {
        "ModelNew = Model\n"
    };
    format!("{}\n\n\n{end}", problem.trim_end())
}

#[cfg(test)]
mod tests {
    use super::identity;

    #[test]
    fn every_form_of_a_problem_has_its_own_end() {
        let end = |problem: &str| identity(problem).lines().skip(3).collect::<Vec<_>>().join("|");
        assert_eq!(end("class Model(nn.Module): ..."), "class ModelNew(Model):|    pass");
        assert_eq!(end("def reference(x): return x"), "kernel = reference");
        assert_eq!(end("from elsewhere import Model"), "ModelNew = Model");
        assert_eq!(end("class ModelBase: ..."), "ModelNew = Model");
    }
}
