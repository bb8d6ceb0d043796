//! Whether a text can be Python at all, without a Python: strings and brackets close, indentation is consistent, and something is
//! defined. The evaluator is what decides whether a kernel works.

/// What is being scanned.
enum Inside {
    Code,
    /// A string, by its closing quotes and the line it began on.
    Text(&'static str, u32),
}

/// The first line, counted from 1, that rules Python out, and why.
pub(crate) fn first_fault(source: &str) -> Option<(u32, &'static str)> {
    let mut inside = Inside::Code;
    let mut brackets: Vec<(char, u32)> = Vec::new();
    let mut indents = [false; 2];
    let mut defines = false;
    for (line, number) in source.lines().zip(1..) {
        if matches!(inside, Inside::Code) && brackets.is_empty() {
            defines |= ["def ", "class ", "async def "].iter().any(|start| line.starts_with(start));
            let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            if !line.trim().is_empty() {
                indents[0] |= indent.contains(' ');
                indents[1] |= indent.contains('\t');
                if indents == [true; 2] {
                    return Some((number, "indented with both tabs and spaces"));
                }
            }
        }
        if let Err(fault) = scan_line(line, number, &mut inside, &mut brackets) {
            return Some((number, fault));
        }
    }
    match (inside, brackets.last()) {
        (Inside::Text(_, line), _) => Some((line, "the string that begins here never ends")),
        (Inside::Code, Some((_, line))) => Some((*line, "the bracket that opens here never closes")),
        (Inside::Code, None) if !defines => Some((1, "no function or class is defined")),
        (Inside::Code, None) => None,
    }
}

fn scan_line(line: &str, number: u32, inside: &mut Inside, brackets: &mut Vec<(char, u32)>) -> Result<(), &'static str> {
    let mut rest = line;
    loop {
        match inside {
            Inside::Text(quotes, _) => {
                let quotes: &'static str = quotes;
                match end_of_text(rest, quotes) {
                    Some(end) => {
                        rest = &rest[end..];
                        *inside = Inside::Code;
                    }
                    None if quotes.len() == 3 || rest.ends_with('\\') => return Ok(()),
                    None => return Err("a string does not end on its line"),
                }
            }
            Inside::Code => {
                let Some((at, character)) = rest.char_indices().find(|(_, c)| "#'\"()[]{}".contains(*c)) else { return Ok(()) };
                let from = &rest[at..];
                match character {
                    '#' => return Ok(()),
                    '\'' | '"' => {
                        let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| from.starts_with(quotes)).unwrap_or("\"");
                        *inside = Inside::Text(quotes, number);
                        rest = &from[quotes.len()..];
                        continue;
                    }
                    '(' | '[' | '{' => brackets.push((character, number)),
                    closing => {
                        let opening = match closing {
                            ')' => '(',
                            ']' => '[',
                            _ => '{',
                        };
                        if brackets.pop().map(|(open, _)| open) != Some(opening) {
                            return Err("a bracket closes that was not opened");
                        }
                    }
                }
                rest = &from[1..];
            }
        }
    }
}

/// Where the string ends, behind its closing quotes. Backslashes protect the next character, in raw strings as well.
fn end_of_text(text: &str, quotes: &str) -> Option<usize> {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if text[at..].starts_with(quotes) {
            return Some(at + quotes.len());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: Option<(u32, &str)>) {
        assert_eq!(first_fault(source), expected, "{source}");
    }

    #[test]
    fn kernels_pass() {
        check("import torch\n\ndef f(x):\n    \"\"\"It's (fine.\n    \"\"\"\n    return x[\"a(\"] + (1,\n      2)  # :-)\n", None);
        check("class ModelNew:\n    source = r'''\nvoid f() { /* \" */ }\n'''\n", None);
    }

    #[test]
    fn what_cannot_be_python_is_found_on_its_line() {
        check("def f():\n    return (1\n", Some((2, "the bracket that opens here never closes")));
        check("def f():\n    return 1)\n", Some((2, "a bracket closes that was not opened")));
        check("def f():\n    '''text\n", Some((2, "the string that begins here never ends")));
        check("def f():\n    return 'x\n", Some((2, "a string does not end on its line")));
        check("def f():\n    if x:\n\treturn 1\n", Some((3, "indented with both tabs and spaces")));
        check("print(1)\n", Some((1, "no function or class is defined")));
    }
}
