use super::*;

fn check(structure: Structure, text: &str, expected: &[(&str, u32, u32)]) {
    let found: Vec<(String, u32, u32)> =
        chunks(structure, text, 0).iter().map(|chunk| (chunk.heading.join(" > "), chunk.start_line, chunk.end_line)).collect();
    let expected: Vec<(String, u32, u32)> = expected.iter().map(|(heading, start, end)| ((*heading).to_owned(), *start, *end)).collect();
    assert_eq!(found, expected, "{text}");
}

/// Enough to make what it stands in too long for one chunk.
fn filler(prefix: &str) -> String {
    format!("{prefix}{}\n", "x".repeat(90)).repeat(12)
}

#[test]
fn markdown_is_cut_at_headings() {
    check(
        Structure::Markdown,
        "Intro.\n\n## One\nText.\n```sh\n## no heading\n```\n### Inner\nMore.\n\nTwo\n---\nEnd.\n",
        &[("", 1, 1), ("One", 3, 7), ("One > Inner", 8, 9), ("Two", 11, 13)],
    );
    check(Structure::Markdown, "---\ntitle: Warps\n---\nText.\n", &[("Warps", 1, 4)]);
    check(Structure::Markdown, "## Outer\n\n### Inner\nText.\n", &[("Outer > Inner", 1, 4)]);
}

#[test]
fn long_sections_are_cut_between_paragraphs_and_not_in_code() {
    let paragraph = "x".repeat(1_500);
    check(Structure::Markdown, &format!("## One\n{paragraph}\n\n{paragraph}\n"), &[("One", 1, 2), ("One", 4, 4)]);
    let code = format!("```\n{}\n{}```\n", filler(""), filler(""));
    check(Structure::Markdown, &format!("## One\n{paragraph}\n\n{code}"), &[("One", 1, 2), ("One", 4, 30)]);
}

#[test]
fn restructured_text_is_cut_at_underlined_titles() {
    check(
        Structure::Rst,
        "=====\nTitle\n=====\n\nText.\n\n.. _label:\n\nPart\n----\n\nMore::\n\n  ====\n\nPiece\n^^^^^\nEnd.\n",
        &[("Title", 1, 5), ("Title > Part", 7, 14), ("Title > Part > Piece", 16, 18)],
    );
}

#[test]
fn python_is_cut_at_functions_with_their_decorators() {
    let filler = filler("    ");
    let text = format!(
        "\"\"\"Doc.\n\ndef no_function():\n\"\"\"\nimport torch\n\n# About it.\n@triton.jit\n@other(\n    1,\n)\ndef kernel(x):\n{filler}    return x\n"
    );
    check(Structure::Python, &text, &[("", 1, 5), ("kernel", 7, 25)]);
}

#[test]
fn long_classes_are_cut_at_methods() {
    let method = |name: &str| format!("    def {name}(self):\n{}\n", filler("        "));
    let text = format!("class Big:\n    \"\"\"Says what.\"\"\"\n\n    size = 3\n\n{}{}", method("one"), method("two"));
    check(Structure::Python, &text, &[("Big", 1, 4), ("Big > one", 6, 18), ("Big > two", 20, 32)]);
}

#[test]
fn tutorials_have_headings_in_comments() {
    let text = format!("# Compute\n# -------\n# Words.\n\nimport a\n\ndef f():\n{}", filler("    "));
    check(Structure::Python, &text, &[("Compute", 1, 5), ("Compute > f", 7, 19)]);
}

#[test]
fn cuda_is_cut_at_kernels_with_their_comments() {
    let body = filler("  ");
    let text = format!(
        "#include <a.h>\n\n/* About\n * it. */\ntemplate <int N>\n__global__ void __launch_bounds__(256) kernel(float* x) {{\n{body}#ifdef A\n  if (a) {{\n#else\n  if (b) {{\n#endif\n  }}\n}}\n\n// The other.\nstatic inline int other() {{ return '{{'; }}\n"
    );
    check(Structure::CFamily, &text, &[("kernel", 1, 25), ("other", 27, 28)]);
}

#[test]
fn namespaces_are_transparent_and_long_types_cut_at_members() {
    let body = filler("    ");
    let text = format!(
        "namespace a {{\nstruct S : B {{\n  int x;\n  void f() {{\n{body}  }}\n  void g() {{\n{body}  }}\n}};\n}} // namespace a\n"
    );
    check(Structure::CFamily, &text, &[("S", 1, 3), ("S > f", 4, 17), ("S > g", 18, 33)]);
}

#[test]
fn raw_strings_and_stray_braces_do_not_swallow_what_follows() {
    let body = filler("  ");
    let text = format!("const char* s = R\"(}}{{{{ \n{{)\";\n\nvoid f() {{\n  MACRO({{)\n{body}}}\n\nvoid g() {{\n{body}}}\n");
    check(Structure::CFamily, &text, &[("s", 1, 2), ("f", 4, 18), ("g", 20, 33)]);
}

#[test]
fn rust_is_cut_at_items() {
    let body = filler("        ");
    let text = format!(
        "//! Module.\n\nuse a::b;\n\n/// Says.\n#[derive(Debug)]\npub struct S<'a> {{ x: &'a str }}\n\nimpl<'a> S<'a> {{\n    fn f() {{\n{body}    }}\n\n    fn g() {{\n{body}    }}\n}}\n"
    );
    check(Structure::Rust, &text, &[("S", 1, 7), ("S > f", 9, 23), ("S > g", 25, 39)]);
}

#[test]
fn short_definitions_share_a_chunk() {
    let text = "#define A 1\n#define B 2\nint f();\nint g();\n";
    let chunks = chunks(Structure::CFamily, text, 0);
    assert_eq!(chunks.len(), 1);
    assert_eq!(chunks[0].symbols, ["A", "B", "f", "g"]);
}

#[test]
fn every_line_that_says_something_is_in_one_chunk() {
    for structure in [Structure::Markdown, Structure::Rst, Structure::Text, Structure::Python, Structure::CFamily, Structure::Rust] {
        for text in [
            "",
            "\n\n",
            "}}}}\n{{{{\n",
            "def\nclass\n@\n\"\"\"\n",
            "#if\n#else\n#endif\n{",
            "R\"(\n",
            "====\n====\n",
            "```\n",
            "/*\n",
            "'\\",
        ] {
            let chunks = chunks(structure, text, 0);
            let mut covered: Vec<u32> = chunks.iter().flat_map(|chunk| chunk.start_line..=chunk.end_line).collect();
            let before = covered.len();
            covered.dedup();
            assert_eq!(covered.len(), before, "{structure:?} {text:?}");
            for (line, number) in text.lines().zip(1..) {
                assert!(covered.contains(&number) || line.trim().is_empty(), "{structure:?} {text:?} line {number}");
            }
        }
    }
}
