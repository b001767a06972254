//! One request for metrics over http or https, bounded in time and length.

use crate::domain::endpoint::Endpoint;
use crate::sampler::services::target::Settings;
use std::time::Duration;
use ureq::tls::{RootCerts, TlsConfig};

/// Addresses that an answer may point on to, one after the other.
const MOST_REDIRECTS: u32 = 3;

/// Why there was no answer; no variant holds the address, which may have a key in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("no connection: {0}")]
    Connection(String),
    #[error("no answer within {} ms", .0.as_millis())]
    Slow(Duration),
    #[error("its answer is HTTP status {0}")]
    Status(u16),
    #[error("its answer is longer than {0} bytes")]
    TooLong(u64),
    #[error("its answer broke off: {0}")]
    Broken(String),
    #[error("its certificate is not trusted: {0}")]
    Certificate(String),
    #[error("{0}")]
    Meaningless(String),
}

impl FetchError {
    /// What the user can do about it.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Connection(_) => "check that the service runs and that the address is right",
            Self::Slow(_) => "give it more time with --scrape-timeout",
            Self::Status(401 | 403) => {
                "write user and password into the address, as http://USER:PASSWORD@HOST/"
            }
            Self::Status(404) => "check the path; most servers show their metrics under /metrics",
            Self::Status(_) => "look into the log of the service",
            Self::TooLong(_) => {
                "ask for fewer metrics, or point at the service itself instead of at a collector"
            }
            Self::Broken(_) => "look into the log of the service, and of what stands in between",
            Self::Certificate(_) => {
                "add the authority that signed it to the host's trusted certificates"
            }
            Self::Meaningless(_) => {
                "point at Prometheus metrics; #NAME behind the address picks a histogram"
            }
        }
    }
}

/// An answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) body: String,
    /// Header `Date`.
    pub(crate) date: Option<String>,
    /// Whether header `Content-Type` says OpenMetrics.
    pub(crate) is_open_metrics: bool,
}

/// Asks one endpoint again and again over one connection.
#[derive(Debug)]
pub(crate) struct Client {
    agent: ureq::Agent,
    endpoint: Endpoint,
    settings: Settings,
}

impl Client {
    pub(crate) fn new(endpoint: Endpoint, settings: Settings) -> Self {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(settings.timeout))
            .max_redirects(MOST_REDIRECTS)
            // Proxies come from the environment otherwise, and services of this host need none.
            .proxy(None)
            .tls_config(tls)
            .user_agent(concat!("cotenant/", env!("CARGO_PKG_VERSION")))
            .accept("text/plain;version=0.0.4")
            .build();
        Self { agent: config.new_agent(), endpoint, settings }
    }

    /// Asks once.
    pub(crate) fn get(&self) -> Result<Answer, FetchError> {
        let mut request = self.agent.get(self.endpoint.url());
        if let Some(it) = self.endpoint.authorization() {
            request = request.header("Authorization", it);
        }
        let mut response = request.call().map_err(|it| self.error(it))?;
        let header = |name: &str| {
            response.headers().get(name).and_then(|it| it.to_str().ok()).map(str::to_owned)
        };
        let date = header("Date");
        let is_open_metrics =
            header("Content-Type").is_some_and(|it| it.contains("application/openmetrics-text"));
        if header("Content-Encoding").is_some_and(|it| it != "identity") {
            return Err(FetchError::Meaningless("its answer is packed, unasked".to_owned()));
        }
        let body = response.body_mut().with_config().limit(self.settings.most_bytes);
        let bytes = body.read_to_vec().map_err(|it| self.error(it))?;
        Ok(Answer { body: String::from_utf8_lossy(&bytes).into_owned(), date, is_open_metrics })
    }

    fn error(&self, error: ureq::Error) -> FetchError {
        match error {
            ureq::Error::StatusCode(it) => FetchError::Status(it),
            ureq::Error::Timeout(_) => FetchError::Slow(self.settings.timeout),
            ureq::Error::BodyExceedsLimit(it) => FetchError::TooLong(it),
            ureq::Error::HostNotFound => FetchError::Connection("no such host".to_owned()),
            ureq::Error::Tls(it) => FetchError::Certificate(it.to_owned()),
            ureq::Error::Rustls(it) => FetchError::Certificate(it.to_string()),
            ureq::Error::TooManyRedirects => FetchError::Broken("it points on and on".to_owned()),
            ureq::Error::Protocol(_) => FetchError::Broken("it is no HTTP".to_owned()),
            ureq::Error::Io(it) => self.io_error(&it),
            _ => FetchError::Connection("for no reason that was told".to_owned()),
        }
    }

    fn io_error(&self, error: &std::io::Error) -> FetchError {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::TimedOut | ErrorKind::WouldBlock => FetchError::Slow(self.settings.timeout),
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                FetchError::Broken("the connection closed early".to_owned())
            }
            ErrorKind::InvalidData => FetchError::Certificate(error.to_string()),
            kind => FetchError::Connection(kind.to_string()),
        }
    }
}
