//! A small server of a few pages: one request for each connection, bounded in size, time and number.
//!
//! `httparse` reads the head. There is no body, no password and no TLS: whoever needs those puts a
//! proxy in front.

use crate::sampler::clock::{Clock, HostClock};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Longest head of a request, bytes.
const MOST_HEAD: usize = 8 << 10;
/// Most headers of a request.
const MOST_HEADERS: usize = 64;
/// Connections at once; one more is told to come back.
const MOST_CONNECTIONS: usize = 16;
/// How long a request may take to arrive, and its answer to be taken, microseconds each.
const PATIENCE_US: i64 = 5_000_000;
/// Stack of a thread that answers.
const STACK_BYTES: usize = 256 << 10;
/// How long nothing is accepted after the system refused to, such as for want of descriptors.
const REST: Duration = Duration::from_millis(100);

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl Answer {
    /// Plain text with this status.
    pub(crate) fn plain(status: &'static str, body: &str) -> Self {
        let content_type = "text/plain; charset=utf-8";
        Self { status, content_type, body: format!("{body}\n") }
    }
}

/// A request, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// `GET` or `HEAD`.
    pub(crate) method: String,
    /// Path without a query.
    pub(crate) path: String,
    /// Header `Accept`; empty where there is none.
    pub(crate) accept: String,
}

/// Answers requests about paths.
pub(crate) type Pages = dyn Fn(&Request) -> Answer + Send + Sync;

/// How many requests were refused before a page was asked.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    open: AtomicUsize,
    refused: AtomicU64,
}

impl Gate {
    /// Requests refused: too large, too slow, too many at once, or not understood.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

/// Answers at a listener from now on, each connection in a thread of its own; never ends.
pub(crate) fn answer_all(listener: &TcpListener, gate: &Arc<Gate>, pages: &Arc<Pages>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            std::thread::sleep(REST);
            continue;
        };
        if gate.open.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
            gate.refused.fetch_add(1, Ordering::Relaxed);
            // Whoever does not take these few bytes at once goes without.
            let _ = stream.set_nonblocking(true);
            let full = Answer::plain("503 Service Unavailable", "too many requests at once");
            let _ = (&stream).write_all(&bytes_of(&full, false));
            gate.open.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let (held, pages) = (Arc::clone(gate), Arc::clone(pages));
        let work = move || {
            if !answer(&stream, pages.as_ref()) {
                held.refused.fetch_add(1, Ordering::Relaxed);
            }
            held.open.fetch_sub(1, Ordering::AcqRel);
        };
        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
        if builder.name("http".to_owned()).spawn(work).is_err() {
            gate.open.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Answers one connection; `false` when the request was refused before a page was asked.
fn answer(stream: &TcpStream, pages: &Pages) -> bool {
    let (answer, is_head, is_understood) = match request(stream) {
        Ok(request) => match request.method.as_str() {
            "GET" | "HEAD" => (pages(&request), request.method == "HEAD", true),
            _ => (Answer::plain("405 Method Not Allowed", "only GET and HEAD"), false, false),
        },
        Err(Some(refusal)) => (refusal, false, false),
        Err(None) => return false,
    };
    send(stream, &bytes_of(&answer, is_head));
    is_understood
}

/// Reads the head of a request; the error is what to say, `None` where nobody listens.
fn request(mut stream: &TcpStream) -> Result<Request, Option<Answer>> {
    let late = || Some(Answer::plain("408 Request Timeout", "the request took too long"));
    let bad = || Some(Answer::plain("400 Bad Request", "this is no request of HTTP/1"));
    let end_us = HostClock.now().monotonic_us + PATIENCE_US;
    let mut head = [0_u8; MOST_HEAD];
    let mut length = 0;
    loop {
        let left = left(end_us).ok_or_else(late)?;
        stream.set_read_timeout(Some(left)).map_err(|_| None)?;
        match stream.read(&mut head[length..]) {
            Ok(0) => return Err(None),
            Ok(read) => length += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Err(late());
            }
            Err(_) => return Err(None),
        }
        match parsed(&head[..length]) {
            Ok(Some(request)) => return Ok(request),
            Ok(None) if length < MOST_HEAD => {}
            Ok(None) => {
                let text = "the head of the request is too long";
                return Err(Some(Answer::plain("431 Request Header Fields Too Large", text)));
            }
            Err(()) => return Err(bad()),
        }
    }
}

/// A request, once its head is whole.
fn parsed(head: &[u8]) -> Result<Option<Request>, ()> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    if request.parse(head).map_err(|_| ())?.is_partial() {
        return Ok(None);
    }
    let (Some(method), Some(target)) = (request.method, request.path) else { return Err(()) };
    let path = target.split(['?', '#']).next().unwrap_or("/");
    let accepts = request.headers.iter().filter(|it| it.name.eq_ignore_ascii_case("accept"));
    let accepts: Vec<String> =
        accepts.map(|it| String::from_utf8_lossy(it.value).into_owned()).collect();
    let accept = accepts.join(",");
    Ok(Some(Request { method: method.to_owned(), path: path.to_owned(), accept }))
}

fn bytes_of(answer: &Answer, is_head: bool) -> Vec<u8> {
    let Answer { status, content_type, body } = answer;
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{allow}Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut bytes = head.into_bytes();
    if !is_head {
        bytes.extend_from_slice(body.as_bytes());
    }
    bytes
}

/// Sends what there is, for as long as it is taken.
fn send(mut stream: &TcpStream, mut bytes: &[u8]) {
    let end_us = HostClock.now().monotonic_us + PATIENCE_US;
    while !bytes.is_empty() {
        let Some(left) = left(end_us) else { return };
        if stream.set_write_timeout(Some(left)).is_err() {
            return;
        }
        match stream.write(bytes) {
            Ok(0) => return,
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

fn left(end_us: i64) -> Option<Duration> {
    let left_us = u64::try_from(end_us - HostClock.now().monotonic_us).ok()?;
    (left_us > 0).then(|| Duration::from_micros(left_us))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_once_its_head_is_whole() {
        let head =
            b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\nAccept: text/plain\r\naccept: */*\r\n\r\n";
        let request = parsed(head).unwrap().unwrap();
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/metrics"));
        assert_eq!(request.accept, "text/plain,*/*");
        for end in 0..head.len() {
            assert_eq!(parsed(&head[..end]), Ok(None), "{end}");
        }
        assert_eq!(parsed(b"\x16\x03\x01\x02\x00\x01"), Err(()));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(MOST_HEADERS + 1));
        assert_eq!(parsed(many.as_bytes()), Err(()));
    }

    #[test]
    fn an_answer_to_head_has_no_body_and_a_refused_method_names_the_others() {
        let answer = Answer::plain("405 Method Not Allowed", "no");
        let text = String::from_utf8(bytes_of(&answer, true)).unwrap();
        assert!(text.contains("Allow: GET, HEAD\r\n") && text.ends_with("\r\n\r\n"), "{text}");
        assert!(text.contains("Content-Length: 3\r\n"));
    }
}
