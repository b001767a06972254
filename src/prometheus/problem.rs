//! Why a server gave no answer, and what to do about it.

use crate::domain::invisible::is_invisible;
use std::time::Duration;

/// Words by which servers say that a question asks for too much at once.
///
/// Prometheus, Thanos, Mimir and VictoriaMetrics, in this order.
const TOO_MUCH: [&str; 7] = [
    "exceeded maximum resolution",
    "too many samples",
    "exceeded series limit",
    "limit exceeded",
    "exceeds the limit",
    "maximum points",
    "too many points",
];

/// Why a server gave no answer; no message holds an address, a header or a password.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Problem {
    /// What was given as an address or a header is none.
    #[error("{0}")]
    Given(String),
    /// There is no connection.
    #[error("cannot connect: {0}")]
    Connection(String),
    /// Its name leads nowhere.
    #[error("no host is called `{name}`, as far as this one can find out")]
    Unresolved {
        /// The name.
        name: String,
        /// Whether it was found before, so that it may be found again.
        was_reached: bool,
    },
    /// It answers, but not as Prometheus does; what it sent instead.
    #[error("it is no API of Prometheus: {0}")]
    Foreign(&'static str),
    /// The answer took too long.
    #[error("no whole answer within {0:?}")]
    Slow(Duration),
    /// The answer broke off, or is none.
    #[error("a broken answer: {0}")]
    Broken(String),
    /// The certificate is not trusted.
    #[error("its certificate is not trusted: {0}")]
    Certificate(String),
    /// It wants another token or password.
    #[error("it refuses with status {0}: a token or password is missing or wrong")]
    Unauthorised(u16),
    /// It points somewhere else.
    #[error("it points to {0}")]
    Redirect(String),
    /// It asks for less at once.
    #[error("it finds the question too big: {0}")]
    TooMuch(String),
    /// It is busy or down; the pause that it asks for, if it does.
    #[error("it answers with status {status}: {said}")]
    Busy {
        /// Status.
        status: u16,
        /// What it said, cut short.
        said: String,
        /// Pause that it asks for.
        pause: Option<Duration>,
    },
    /// It refuses for another reason.
    #[error("it refuses with status {status}: {said}")]
    Refused {
        /// Status.
        status: u16,
        /// What it said, cut short.
        said: String,
    },
    /// The caller could not keep an answer.
    #[error("cannot keep an answer: {0}")]
    Shelf(String),
    /// There is nothing to ask for.
    #[error("it has no metric that is read: {0}")]
    Nothing(String),
    /// It was there, and then part after part stayed out.
    #[error("{done} of {all} parts came over, then it stayed out: {last}")]
    StayedOut {
        /// Parts that are kept.
        done: usize,
        /// All parts.
        all: usize,
        /// The last reason.
        last: Box<Problem>,
    },
}

impl Problem {
    /// What an answer with this status and text is.
    pub(crate) fn of_status(status: u16, said: &str, pause: Option<Duration>) -> Self {
        let said: String = said.chars().filter(|it| !is_invisible(*it)).take(200).collect();
        let lower = said.to_ascii_lowercase();
        let is_too_much = TOO_MUCH.iter().any(|it| lower.contains(it));
        match status {
            401 | 403 | 407 => Self::Unauthorised(status),
            413 | 414 => Self::TooMuch(said),
            400..=599 if is_too_much && status != 429 => Self::TooMuch(said),
            429 | 500 | 502..=504 => Self::Busy { status, said, pause },
            _ => Self::Refused { status, said },
        }
    }

    /// Whether asking again may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Unresolved { was_reached, .. } => *was_reached,
            Self::Connection(_) | Self::Slow(_) | Self::Broken(_) | Self::Busy { .. } => true,
            _ => false,
        }
    }

    /// Whether asking for less may help.
    pub fn is_too_much(&self) -> bool {
        matches!(self, Self::TooMuch(_) | Self::Slow(_))
    }

    /// What the user can do about it; printed after `help:`.
    pub fn remedy(&self) -> String {
        match self {
            Self::Given(_) => "give it as http://HOST:PORT or https://HOST/PREFIX",
            Self::Connection(_) => {
                "check the address and whether the server runs; in Kubernetes: kubectl port-forward service/prometheus 9090"
            }
            Self::Unresolved { .. } => {
                "check how the name is spelt; a name of a Kubernetes service is known inside the cluster only: kubectl port-forward service/prometheus 9090, then http://localhost:9090"
            }
            Self::Foreign(_) => {
                "open the address with /api/v1/labels behind it in a browser: a page to log in needs a token (COTENANT_PROMETHEUS_TOKEN or --token-file); a page of Prometheus, Grafana or a proxy needs the address in front of /api/v1, such as http://HOST:9090 or https://HOST/prometheus"
            }
            Self::Slow(_) => "give it more time with --timeout, or ask for less with --selector",
            Self::Broken(_) => "look at what stands between here and the server, such as a proxy",
            Self::Certificate(_) => "name the authority that signed it: --ca-file FILE",
            Self::Unauthorised(_) => {
                "give a token in COTENANT_PROMETHEUS_TOKEN or --token-file, or user:password in --basic-auth-file"
            }
            Self::Redirect(_) => {
                "give that address if it is the server; if it is a page to log in, give a token"
            }
            Self::TooMuch(_) => "narrow down with --selector, or ask for a shorter time",
            Self::Busy { .. } => "try again later; what came over is kept",
            Self::Refused { .. } => {
                "check that the address ends before /api/v1, and the selector, for example --selector 'namespace=\"ml\"'"
            }
            Self::Shelf(_) => "make room on the disk; what came over is kept",
            Self::Nothing(_) => {
                "check --selector, --from and --to, and that dcgm-exporter or the like is scraped"
            }
            Self::StayedOut { .. } => {
                "run the same command again: it goes on where it stopped; --partial takes what there is"
            }
        }
        .to_owned()
    }
}
