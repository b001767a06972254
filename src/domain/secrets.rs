//! Texts that must not be told, and what stands for them.

/// What stands for a text that must not be told.
pub(crate) const MASK: &str = "…";

/// A URL, or a text that ends in one, without user, password and query; `None` for anything else.
pub fn masked_url(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    // A password may hold any sign that nobody escaped, so everything up to the last @ goes.
    let (user, rest) = match rest.rsplit_once('@') {
        Some((_, behind)) => (format!("{MASK}@"), behind),
        None => (String::new(), rest),
    };
    let end = rest.find(['?', '#']);
    let address = end.and_then(|it| rest.get(..it)).unwrap_or(rest);
    let query = if end.is_some() { format!("?{MASK}") } else { String::new() };
    Some(format!("{scheme}://{user}{address}{query}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_url_is_shown_without_what_opens_it() {
        let shown = |text: &str| masked_url(text).unwrap();
        assert_eq!(shown("http://host:8000/metrics"), "http://host:8000/metrics");
        assert_eq!(shown("chat=http://u:p@host/m?t=p#x"), "chat=http://…@host/m?…");
        assert_eq!(shown("https://u:p/p@p@host/m"), "https://…@host/m");
        assert_eq!(masked_url("host:8000"), None);
    }

    proptest! {
        #[test]
        fn a_password_never_shows(password in "[a-zA-Z0-9:/@?#%]{1,12}", path in "(/m)?") {
            let secret = format!("zq{password}qz");
            let shown = masked_url(&format!("http://me:{secret}@host{path}")).unwrap();
            prop_assert!(!shown.contains("zq") && shown.contains("host"), "{}", shown);
        }
    }
}
