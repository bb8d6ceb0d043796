//! From the address a person gives to the one that is asked, and to the one that is shown.

use reqwest::Url;

use crate::{ModelError, secret::is_secret_name};

/// Names in a query whose values are secret, beside those that say so: signed and function addresses.
const SECRET_PARAMETERS: [&str; 3] = ["code", "sig", "signature"];

/// Where a model is asked.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// The whole URL of the endpoint. It holds no key: one in it is refused.
    pub(crate) url: Url,
    /// The same without query, for messages.
    pub(crate) shown: String,
}

impl Address {
    /// Completes a base address: `suffix` is the endpoint's path after the version, e.g. `/chat/completions`.
    ///
    /// A path that ends with the suffix is taken as it is; one with a version in it, or a named deployment, gets the suffix; any other gets
    /// `/v1` first.
    pub(crate) fn complete(base: &str, suffix: &str) -> Result<Self, ModelError> {
        let base = base.trim();
        let bad = |reason: &str| ModelError::BadAddress { url: without_secrets(base), reason: reason.to_owned() };
        let mut url = Url::parse(base).map_err(|error| bad(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad("it must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("it holds a password; name a key's environment variable or file instead"));
        }
        if url.query_pairs().any(|(name, _)| is_secret_name(&name) || SECRET_PARAMETERS.contains(&&*name.to_ascii_lowercase())) {
            return Err(bad("its query holds a key; name a header with the key's environment variable or file instead"));
        }
        let path = url.path().trim_end_matches('/').to_owned();
        let path = if path.ends_with(suffix) {
            path
        } else if path.split('/').any(|segment| is_version(segment) || segment == "deployments") {
            format!("{path}{suffix}")
        } else {
            format!("{path}/v1{suffix}")
        };
        url.set_path(&path);
        url.set_fragment(None);
        let mut shown = url.clone();
        shown.set_query(None);
        Ok(Self { shown: shown.to_string(), url })
    }

    /// Whether the server is this machine.
    pub(crate) fn is_loopback(&self) -> bool {
        match self.url.host_str() {
            Some("localhost") => true,
            Some(host) => host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()),
            None => false,
        }
    }

    /// Whether a key sent there could be read on the way.
    pub(crate) fn is_readable_by_others(&self) -> bool {
        self.url.scheme() == "http" && !self.is_loopback()
    }
}

fn is_version(segment: &str) -> bool {
    let mut chars = segment.chars();
    chars.next() == Some('v') && chars.next().is_some_and(|c| c.is_ascii_digit())
}

/// An address that may hold anything, for people to read: without user, password, query and fragment.
#[must_use]
pub fn without_secrets(text: &str) -> String {
    let text = text.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| (scheme, rest));
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}://{rest}") }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[track_caller]
    fn check(base: &str, expect: &str) {
        let got = match Address::complete(base, "/chat/completions") {
            Ok(address) => address.url.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expect);
    }

    #[test]
    fn any_usual_form_of_a_base_address_will_do() {
        check("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions");
        check("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions");
        check("https://api.openai.com", "https://api.openai.com/v1/chat/completions");
        check(" http://127.0.0.1:8801// ", "http://127.0.0.1:8801/v1/chat/completions");
        check("https://openrouter.ai/api", "https://openrouter.ai/api/v1/chat/completions");
        check(
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
        );
        check("https://open.bigmodel.cn/api/paas/v4", "https://open.bigmodel.cn/api/paas/v4/chat/completions");
        check("https://api.perplexity.ai/chat/completions", "https://api.perplexity.ai/chat/completions");
        check(
            "https://x.openai.azure.com/openai/deployments/kernels?api-version=2026-01-01",
            "https://x.openai.azure.com/openai/deployments/kernels/chat/completions?api-version=2026-01-01",
        );
    }

    #[test]
    fn an_address_that_is_none_or_holds_a_secret_is_refused_without_showing_it() {
        check("api.openai.com/v1", "the model's address \"api.openai.com/v1\" cannot be used: relative URL without a base");
        check("ftp://host", "the model's address \"ftp://host\" cannot be used: it must begin with http:// or https://");
        check(
            "https://me:hunter2@host/v1",
            "the model's address \"https://host/v1\" cannot be used: it holds a password; name a key's environment variable or file instead",
        );
        check(
            "https://host/v1?sig=abcdef",
            "the model's address \"https://host/v1\" cannot be used: its query holds a key; name a header with the key's environment variable or file instead",
        );
        check(
            "https://host/v1?key=abcdef",
            "the model's address \"https://host/v1\" cannot be used: its query holds a key; name a header with the key's environment variable or file instead",
        );
    }

    #[test]
    fn what_is_shown_has_no_query() {
        let address = Address::complete("https://host/v1?region=eu", "/messages").unwrap();
        assert_eq!(address.shown, "https://host/v1/messages");
    }

    #[test]
    fn this_machine_is_told_from_others() {
        let others = |base: &str| Address::complete(base, "/messages").unwrap().is_readable_by_others();
        assert!(others("http://10.0.0.1:8000"));
        assert!(
            !others("https://10.0.0.1") && !others("http://[::1]:80") && !others("http://localhost:80") && !others("http://127.0.0.1:80")
        );
    }
}
