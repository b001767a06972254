//! One server, asked over HTTP: time and length are bounded, and what went wrong gets its name.

use crate::domain::endpoint::{Endpoint, basic};
use crate::prometheus::problem::Problem;
use crate::prometheus::query::encoded;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Longest pause that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Longest text of a refusal that is read, in bytes.
const LONGEST_REFUSAL: u64 = 64 << 10;

/// How the system's library says that a name leads nowhere.
const LOOKUP_FAILED: &str = "failed to lookup address";

/// How a server is asked.
#[derive(Clone)]
pub struct Settings {
    /// After this time an answer is given up.
    pub timeout: Duration,
    /// A longer answer is refused, in bytes.
    pub most_bytes: u64,
    /// How often a question is asked again.
    pub retries: u32,
    /// Header `Authorization`; goes before a user in the address.
    pub authorization: Option<String>,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// Certificates of authorities in PEM, instead of those that the host trusts.
    pub authorities: Option<Vec<u8>>,
}

/// Shows no header: they hold tokens.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            most_bytes: 256 << 20,
            retries: 5,
            authorization: None,
            headers: Vec::new(),
            authorities: None,
        }
    }
}

impl Settings {
    /// Opens with a token; blanks and line ends around it are dropped.
    pub fn with_token(self, token: &str) -> Self {
        Self { authorization: Some(format!("Bearer {}", token.trim())), ..self }
    }

    /// Opens with `user:password`; line ends behind it are dropped.
    pub fn with_basic(self, user_and_password: &str) -> Self {
        let text = user_and_password.trim_end_matches(['\r', '\n']);
        Self { authorization: Some(basic(text.as_bytes())), ..self }
    }
}

/// One server.
#[derive(Debug)]
pub struct Client {
    agent: ureq::Agent,
    endpoint: Endpoint,
    settings: Settings,
    /// Whether it ever answered.
    was_reached: AtomicBool,
}

impl Client {
    /// A server at an address, which may have a path in front of `/api/v1`.
    ///
    /// Errors: the address, a header or the certificates are none.
    pub fn new(url: &str, settings: Settings) -> Result<Self, Problem> {
        let given = |it: &str| Problem::Given(it.to_owned());
        let endpoint = Endpoint::parse_at(url, "/").map_err(given)?;
        if endpoint.url().contains('?') {
            return Err(given("the address has a question mark in it"));
        }
        let roots = match &settings.authorities {
            None => RootCerts::PlatformVerifier,
            Some(pem) => RootCerts::from(certificates(pem)?),
        };
        let is_plain =
            |it: &str| !it.is_empty() && it.bytes().all(|it| (b' '..=b'~').contains(&it));
        let given_headers = settings.headers.iter().flat_map(|it| [&it.0, &it.1]);
        if !given_headers.chain(&settings.authorization).all(|it| is_plain(it)) {
            return Err(given("a header or token is empty or holds signs that no header can"));
        }
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(settings.timeout))
            // Headers that open the server must not follow to another one.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .proxy(None)
            .tls_config(TlsConfig::builder().root_certs(roots).build())
            .user_agent(concat!("cotenant/", env!("CARGO_PKG_VERSION")))
            .accept("application/json")
            .build();
        let was_reached = AtomicBool::new(false);
        Ok(Self { agent: config.new_agent(), endpoint, settings, was_reached })
    }

    /// The address for people and recordings, without password.
    pub fn shown(&self) -> String {
        self.endpoint.shown().trim_end_matches('/').to_owned()
    }

    /// Asks, again and again after growing pauses while that may help; gives the body.
    pub fn ask(
        &self,
        path: &str,
        parameters: &[(&str, String)],
        pause: &mut dyn FnMut(Duration, &Problem),
    ) -> Result<String, Problem> {
        let mut failures = 0;
        loop {
            let problem = match self.once(path, parameters) {
                Ok(body) => return Ok(body),
                Err(problem) => problem,
            };
            // What was too slow twice is not faster the third time; less of it may be.
            let most = match problem {
                Problem::Slow(_) => self.settings.retries.min(1),
                _ => self.settings.retries,
            };
            if !problem.is_transient() || failures >= most {
                return Err(problem);
            }
            let asked = match &problem {
                Problem::Busy { pause, .. } => *pause,
                _ => None,
            };
            let growing = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(failures));
            pause(asked.unwrap_or(growing).min(LONGEST_PAUSE), &problem);
            failures += 1;
        }
    }

    fn once(&self, path: &str, parameters: &[(&str, String)]) -> Result<String, Problem> {
        let base = self.endpoint.url().trim_end_matches('/');
        let mut request = self.agent.get(format!("{base}{path}{}", encoded(parameters)));
        let opener = self.settings.authorization.as_deref().or(self.endpoint.authorization());
        if let Some(it) = opener {
            request = request.header("Authorization", it);
        }
        for (name, value) in &self.settings.headers {
            request = request.header(name, value);
        }
        let mut response = request.call().map_err(|it| self.problem(it))?;
        self.was_reached.store(true, Ordering::Relaxed);
        let status = response.status().as_u16();
        let header = |name: &str| {
            response.headers().get(name).and_then(|it| it.to_str().ok()).map(str::to_owned)
        };
        let (location, pause) = (header("Location"), header("Retry-After"));
        if (300..400).contains(&status) {
            let location = location.unwrap_or_default();
            let shown = crate::domain::secrets::masked_url(&location);
            return Err(Problem::Redirect(shown.unwrap_or_else(|| "another place".to_owned())));
        }
        let is_good = (200..300).contains(&status);
        let most = if is_good { self.settings.most_bytes } else { LONGEST_REFUSAL };
        let bytes = response.body_mut().with_config().limit(most).read_to_vec();
        if !is_good {
            let said = refusal(&bytes.unwrap_or_default());
            let pause = pause.and_then(|it| it.trim().parse().ok()).map(Duration::from_secs);
            return Err(Problem::of_status(status, &said, pause));
        }
        let bytes = bytes.map_err(|it| self.problem(it))?;
        whole(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn unresolved(&self) -> Problem {
        let name = host_of(self.endpoint.url()).to_owned();
        Problem::Unresolved { name, was_reached: self.was_reached.load(Ordering::Relaxed) }
    }

    fn problem(&self, error: ureq::Error) -> Problem {
        use std::io::ErrorKind;
        match error {
            ureq::Error::Timeout(_) => Problem::Slow(self.settings.timeout),
            ureq::Error::BodyExceedsLimit(it) => Problem::TooMuch(format!("more than {it} bytes")),
            ureq::Error::HostNotFound => self.unresolved(),
            // The resolver of the system has no kind of its own among the errors.
            ureq::Error::Io(it) if it.to_string().contains(LOOKUP_FAILED) => self.unresolved(),
            ureq::Error::Tls(it) => Problem::Certificate(it.to_owned()),
            ureq::Error::Rustls(it) => Problem::Certificate(it.to_string()),
            ureq::Error::Protocol(_) => Problem::Broken("it is no HTTP".to_owned()),
            ureq::Error::Io(it) => match it.kind() {
                ErrorKind::TimedOut | ErrorKind::WouldBlock => Problem::Slow(self.settings.timeout),
                ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                    Problem::Broken("the connection closed early".to_owned())
                }
                ErrorKind::InvalidData => Problem::Certificate(it.to_string()),
                kind => Problem::Connection(kind.to_string()),
            },
            _ => Problem::Connection("for no reason that was told".to_owned()),
        }
    }
}

/// The host in an address, without user and port.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |it| it.1);
    let host = rest.split(['/', '?']).next().unwrap_or(rest);
    let host = host.rsplit_once('@').map_or(host, |it| it.1);
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|it| it.is_ascii_digit()) => name,
        _ => host,
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, Problem> {
    let certificate = |it: Result<PemItem<'static>, ureq::Error>| match it {
        Ok(PemItem::Certificate(it)) => Some(it),
        _ => None,
    };
    let found: Vec<Certificate<'static>> = parse_pem(pem).filter_map(certificate).collect();
    match found.is_empty() {
        true => {
            Err(Problem::Given("the file of authorities holds no certificate in PEM".to_owned()))
        }
        false => Ok(found),
    }
}

/// The part of an answer that is looked at here.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(default)]
struct Envelope {
    status: String,
    error: String,
}

/// What a refusal says: the field `error` of an answer, else its text.
fn refusal(body: &[u8]) -> String {
    match serde_json::from_slice::<Envelope>(body) {
        Ok(envelope) if !envelope.error.is_empty() => envelope.error,
        _ => String::from_utf8_lossy(body).into_owned(),
    }
}

/// Whether a text begins as HTML does.
fn is_page(body: &str) -> bool {
    let start: String = body.trim_start().chars().take(15).collect::<String>().to_lowercase();
    ["<!doctype html", "<html", "<head", "<!--"].iter().any(|it| start.starts_with(it))
}

/// The body, if it is a whole answer that was successful.
fn whole(body: String) -> Result<String, Problem> {
    match serde_json::from_str::<Envelope>(&body) {
        Ok(it) if it.status == "success" => Ok(body),
        Ok(it) if it.status == "error" => Err(Problem::of_status(422, &it.error, None)),
        Ok(_) => Err(Problem::Foreign("it sends JSON of another kind")),
        Err(error) if error.is_eof() && body.trim_start().starts_with('{') => {
            Err(Problem::Broken("its end is missing".to_owned()))
        }
        Err(_) if is_page(&body) => Err(Problem::Foreign(
            "it sends a web page, perhaps one to log in, or another path is meant",
        )),
        Err(_) => Err(Problem::Foreign("it sends no JSON")),
    }
}
