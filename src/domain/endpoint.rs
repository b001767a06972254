//! Where a service shows its metrics: a URL, its password kept apart.

use crate::domain::secrets::masked_url;
use std::fmt;

/// Where servers show their metrics unless they say otherwise.
const USUAL_PATH: &str = "/metrics";

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// An address that is asked over http or https.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The address without user, password and fragment.
    url: String,
    /// Header that opens it.
    authorization: Option<String>,
}

/// Never shows the password.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Endpoint {
    /// Reads an address; `Err` is the sentence that says what it lacks.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        Self::parse_at(text, USUAL_PATH)
    }

    /// Reads an address; one without a path gets this one.
    pub(crate) fn parse_at(text: &str, usual_path: &str) -> Result<Self, &'static str> {
        let (scheme, rest) =
            text.split_once("://").ok_or("the address does not begin with http:// or https://")?;
        let scheme = scheme.to_ascii_lowercase();
        if scheme != "http" && scheme != "https" {
            return Err("only http:// and https:// can be asked");
        }
        let (authority, path) = match rest.find(['/', '?']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let is_port = |it: &str| it.parse::<u16>().is_ok();
        let port = match host.rsplit_once(':') {
            Some((name, _)) if name.starts_with('[') && !name.ends_with(']') => None,
            Some((_, port)) => Some(port),
            None => None,
        };
        if host.is_empty() || host.starts_with(':') {
            return Err("the address names no host");
        }
        if text.contains(char::is_whitespace) || port.is_some_and(|it| !is_port(it)) {
            return Err("the address is none: a blank in it, or a port that is no number");
        }
        let path = match path {
            "" => usual_path.to_owned(),
            path if path.starts_with('?') => format!("{usual_path}{path}"),
            path => path.to_owned(),
        };
        let authorization = user.map(|it| basic(&unescaped(it)));
        Ok(Self { url: format!("{scheme}://{host}{path}"), authorization })
    }

    /// The address to ask.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Header `Authorization`, where the address had a user.
    pub(crate) fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// The address for people and recordings: a query may hold a key, so it is left out.
    pub(crate) fn shown(&self) -> String {
        masked_url(&self.url).unwrap_or_default()
    }
}

/// Header `Authorization` of `user:password`.
pub(crate) fn basic(user_and_password: &[u8]) -> String {
    format!("Basic {}", base64(user_and_password))
}

/// Bytes with every `%41` taken for what it stands for.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let code = match (first, behind) {
            (b'%', [high, low, ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|it| u8::from_str_radix(it, 16).ok()),
            _ => None,
        };
        bytes.push(code.unwrap_or(*first));
        rest = behind.get(if code.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    bytes
}

/// Source: RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let at = |it: usize| u32::from(chunk.get(it).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_goes_into_the_header_and_nowhere_else() {
        let endpoint = Endpoint::parse("https://me:p%40ss@host:9/m?key=k").unwrap();
        assert_eq!(endpoint.url(), "https://host:9/m?key=k");
        assert_eq!(endpoint.authorization(), Some("Basic bWU6cEBzcw=="));
        assert_eq!(endpoint.shown(), "https://host:9/m?…");
        assert_eq!(format!("{endpoint:?}"), "https://host:9/m?…");
    }

    #[test]
    fn the_usual_path_is_understood() {
        for text in ["http://host:8000", "HTTP://host:8000", "http://host:8000/metrics"] {
            assert_eq!(Endpoint::parse(text).unwrap().url(), "http://host:8000/metrics");
        }
        assert_eq!(Endpoint::parse("http://[::1]:8000/m").unwrap().url(), "http://[::1]:8000/m");
        assert_eq!(Endpoint::parse("http://[::1]").unwrap().url(), "http://[::1]/metrics");
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["host:8000", "ftp://host", "http://", "http://:80", "http://a b", "http://a:x"]
        {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn base64_is_that_of_the_standard() {
        for (plain, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }
}
