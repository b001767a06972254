//! A scripted HTTP server on the loopback, for tests.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What one request gets.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Status 200 and this body, over a connection that stays.
    Body(String),
    /// These bytes as they are; then the connection closes.
    Raw(Vec<u8>),
    /// Nothing; the connection stays open this long.
    Silence(Duration),
    /// A body without end, a little at a time.
    Trickle,
}

/// A server that plays its script, the last reply again and again.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: String,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

impl Server {
    pub(crate) fn playing(script: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = Self { address, requests: Arc::default(), connections: Arc::default() };
        let (requests, connections) = (server.requests.clone(), server.connections.clone());
        let script = Arc::new(Mutex::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                *connections.lock().unwrap() += 1;
                let (script, requests) = (script.clone(), requests.clone());
                std::thread::spawn(move || {
                    let _ = serve(stream, &script, &requests);
                });
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    /// Heads of all requests so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

fn serve(
    mut stream: TcpStream,
    script: &Mutex<Vec<Reply>>,
    requests: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        requests.lock().unwrap().push(head);
        let mut script = script.lock().unwrap();
        let reply = if script.len() > 1 { script.remove(0) } else { script[0].clone() };
        drop(script);
        match reply {
            Reply::Body(body) => {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                stream.write_all(format!("{head}{body}").as_bytes())?;
            }
            Reply::Raw(bytes) => return stream.write_all(&bytes),
            Reply::Silence(length) => std::thread::sleep(length),
            Reply::Trickle => {
                stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n")?;
                loop {
                    stream.write_all(b"a 1\n")?;
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
    }
}
