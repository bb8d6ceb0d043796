//! What an item is called, from the code before its brace or semicolon.

use super::Dialect;

/// What a brace opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    /// A namespace or module: its items are the file's.
    Scope,
    /// A type or `impl`, read member by member, and what it is called.
    Members(Option<String>),
    /// A function's body, an initialiser: nothing inside is an item.
    Opaque,
}

/// Words before a parenthesis that are not the function's name.
const NOT_FUNCTIONS: [&str; 22] = [
    "__launch_bounds__",
    "__attribute__",
    "__declspec",
    "__align__",
    "__cluster_dims__",
    "__maxnreg__",
    "__block_size__",
    "alignas",
    "decltype",
    "noexcept",
    "requires",
    "explicit",
    "if",
    "while",
    "for",
    "switch",
    "return",
    "sizeof",
    "defined",
    "static_assert",
    "pub",
    "extern",
];

/// What a brace after this code opens.
pub(super) fn block(head: &str, dialect: Dialect) -> Block {
    let head = without_templates(head.trim());
    match dialect {
        Dialect::C => {
            if first_words(head).any(|word| word == "namespace") || head.trim_end() == "extern" {
                Block::Scope
            } else if let Some(name) = type_name(head) {
                Block::Members(Some(name))
            } else {
                Block::Opaque
            }
        }
        Dialect::Rust => {
            let mut words = first_words(head).skip_while(|word| matches!(*word, "pub" | "crate" | "super" | "unsafe" | "default"));
            match words.next() {
                Some("mod") => Block::Scope,
                Some("impl") => Block::Members(impl_name(head)),
                Some("trait") => Block::Members(words.next().map(str::to_owned)),
                _ => Block::Opaque,
            }
        }
    }
}

/// The name of an item with an opaque block.
pub(super) fn called(head: &str, dialect: Dialect) -> Option<String> {
    let head = without_templates(head.trim());
    match dialect {
        Dialect::C => function_name(head).or_else(|| assigned(head)),
        Dialect::Rust => rust_name(head),
    }
}

/// The name in a declaration that ends in a semicolon.
pub(super) fn declared(head: &str, dialect: Dialect) -> Option<String> {
    let head = without_templates(head.trim());
    match dialect {
        Dialect::Rust => rust_name(head),
        Dialect::C if head.starts_with("using ") => assigned(head),
        Dialect::C if head.starts_with("typedef ") => words(head).last().map(str::to_owned),
        Dialect::C => type_name(head).or_else(|| function_name(head)).or_else(|| assigned(head)),
    }
}

/// The macro that a preprocessor line defines.
pub(super) fn define(directive: &str) -> Option<String> {
    let rest = directive.strip_prefix("define")?;
    rest.starts_with([' ', '\t']).then(|| words(rest).next().map(str::to_owned)).flatten()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// The words before anything that only a declaration's later parts have.
fn first_words(text: &str) -> impl Iterator<Item = &str> {
    words(&text[..text.find(['(', '=']).unwrap_or(text.len())])
}

/// Without `template <...>` and attributes at the start.
fn without_templates(head: &str) -> &str {
    let mut head = head.trim_start();
    // Attributes of Rust's items.
    while let Some((_, rest)) = head.strip_prefix("#[").and_then(|rest| rest.split_once(']')) {
        head = rest.trim_start();
    }
    while let Some(rest) = head.strip_prefix("template") {
        let mut depth = 0_i32;
        let end = rest.char_indices().find_map(|(at, sign)| {
            match sign {
                '<' => depth += 1,
                '>' => depth -= 1,
                _ => {}
            }
            (depth == 0 && sign == '>').then_some(at + 1)
        });
        match end {
            Some(end) => head = rest[end..].trim_start(),
            None => break,
        }
    }
    // A visibility label of a class may stand before a member.
    for label in ["public:", "private:", "protected:"] {
        head = head.strip_prefix(label).unwrap_or(head).trim_start();
    }
    head
}

fn type_name(head: &str) -> Option<String> {
    const KEYWORDS: [&str; 4] = ["struct", "class", "union", "enum"];
    // A function that returns or takes a type has a parenthesis before the type's name ends.
    let mut rest = head;
    let mut found = None;
    for _ in 0..6 {
        let word = words(rest).next()?;
        let at = rest.find(word)? + word.len();
        let after = rest[at..].trim_start();
        if KEYWORDS.contains(&word) {
            found = Some(after);
            break;
        }
        if after.starts_with(['(', '=', ':']) && !after.starts_with("::") {
            return None;
        }
        rest = &rest[at..];
    }
    let mut rest = found?;
    loop {
        let word = words(rest).next()?;
        let at = rest.find(word)? + word.len();
        let after = rest[at..].trim_start();
        if matches!(word, "class" | "struct" | "final") {
            rest = &rest[at..];
        } else if after.starts_with('(') {
            // An attribute such as `alignas(16)`.
            rest = &after[after.find(')')? + 1..];
        } else if after.starts_with(|next: char| next.is_alphabetic() || next == '_') && !after.starts_with("final") {
            // A macro before the name, or a variable of a type that was named: the latter only in declarations.
            rest = &rest[at..];
        } else {
            return Some(word.to_owned());
        }
    }
}

/// The word before the first parenthesis that is a function's, with what qualifies it.
fn function_name(head: &str) -> Option<String> {
    let mut from = 0;
    while let Some(open) = head[from..].find('(').map(|at| from + at) {
        let before = head[..open].trim_end();
        let start = before.rfind(|c: char| !c.is_alphanumeric() && c != '_' && c != ':' && c != '~').map_or(0, |at| at + 1);
        let name = before[start..].trim_start_matches(':');
        if let Some(at) = before.find("operator").filter(|_| before.len() - before.find("operator").unwrap_or(0) < 14) {
            return Some(before[at..].replace(' ', ""));
        }
        if !name.is_empty() && !NOT_FUNCTIONS.contains(&name) && name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '~') {
            return Some(name.to_owned());
        }
        // Behind the parenthesis that was no parameter list.
        let mut depth = 0_i32;
        let end = head[open..].char_indices().find_map(|(at, sign)| {
            depth += i32::from(sign == '(') - i32::from(sign == ')');
            (depth == 0).then_some(open + at + 1)
        });
        from = end?;
    }
    None
}

/// The word before `=`, without array sizes.
fn assigned(head: &str) -> Option<String> {
    let before = head.split('=').next().filter(|before| before.len() < head.len())?;
    let before = before.split('[').next()?;
    words(before).last().map(str::to_owned)
}

fn rust_name(head: &str) -> Option<String> {
    const KEYWORDS: [&str; 9] = ["fn", "struct", "enum", "union", "type", "const", "static", "macro_rules", "use"];
    let mut words = words(head);
    while let Some(word) = words.next() {
        if KEYWORDS.contains(&word) {
            return match words.next()? {
                // `const fn`, `const unsafe fn`, `static mut`.
                "fn" | "mut" => words.next().map(str::to_owned),
                "unsafe" | "extern" => words.find(|word| *word != "fn").map(str::to_owned),
                _ if word == "use" => None,
                name => Some(name.to_owned()),
            };
        }
    }
    None
}

/// `impl Trait for Type`: the type.
fn impl_name(head: &str) -> Option<String> {
    let rest = head.split(" where ").next()?;
    let subject = rest.rsplit(" for ").next()?;
    let subject = if subject.len() == rest.len() { subject.split_once("impl")?.1 } else { subject };
    let subject = subject.trim();
    // Its own parameters come before the type.
    let subject = subject.strip_prefix('<').and_then(|rest| rest.split_once('>')).map_or(subject, |(_, rest)| rest);
    words(subject).next().map(str::to_owned)
}
