//! The parts of a page that are not its text.

/// Elements whose content nobody reads.
const ELEMENTS: [&str; 17] = [
    "script", "style", "noscript", "template", "nav", "footer", "svg", "form", "button", "select", "iframe", "object", "dialog", "canvas",
    "audio", "video", "textarea",
];

/// What documentation generators call navigation, line numbers and links to headings.
const CLASSES: [&str; 22] = [
    "headerlink",
    "header-anchor",
    "anchor-link",
    "hash-link",
    "anchorjs-link",
    "sphinxsidebar",
    "sidebar",
    "bd-sidebar",
    "sidebar-drawer",
    "toc-drawer",
    "wy-nav-side",
    "wy-breadcrumbs",
    "breadcrumb",
    "breadcrumbs",
    "related",
    "navbar",
    "toctree-wrapper",
    "table-of-contents",
    "linenos",
    "lineno",
    "skip-link",
    "skip-to-content-link",
];

/// Elements that have no end tag.
const VOID: [&str; 13] = ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

/// Whether the walk is inside such a part.
#[derive(Debug, Default)]
pub(super) struct Skip {
    /// The element that began it, and how many of its name are open.
    inside: Option<(String, usize)>,
}

impl Skip {
    /// A start tag; says whether it counts.
    pub(super) fn start(&mut self, name: &str, attribute: impl Fn(&str) -> Option<String>) -> bool {
        if let Some((element, open)) = &mut self.inside {
            *open += usize::from(element == name);
            return false;
        }
        let by_class = || attribute("class").is_some_and(|class| class.split_whitespace().any(|word| CLASSES.contains(&word)));
        let by_role = || attribute("role").is_some_and(|role| matches!(role.as_str(), "navigation" | "search" | "contentinfo"));
        if !VOID.contains(&name) && (ELEMENTS.contains(&name) || by_role() || by_class()) {
            self.inside = Some((name.to_owned(), 1));
            return false;
        }
        true
    }

    /// An end tag; says whether it counts.
    pub(super) fn end(&mut self, name: &str) -> bool {
        let Some((element, open)) = &mut self.inside else { return true };
        if element == name {
            *open -= 1;
            if *open == 0 {
                self.inside = None;
            }
        }
        false
    }

    pub(super) fn is_on(&self) -> bool {
        self.inside.is_some()
    }
}
