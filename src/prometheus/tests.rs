//! A server that plays a Prometheus over the loopback, and everything that can go wrong on the way.

use crate::prometheus::{
    Client, Order, Outcome, Part, Problem, Settings, Shelf, download, gives_raw_samples, names,
};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MINUTE_MS: i64 = 60_000;
const FROM_MS: i64 = 1_767_225_600_000;

/// What happens to one request instead of an answer.
enum Fault {
    Status(u16, &'static str),
    Close,
    CutShort,
    Silence,
}

/// Decides about a request, by its number from 0 and its head.
type Decide = Box<dyn FnMut(usize, &str) -> Option<Fault> + Send>;

/// A Prometheus with one series for each name, a sample every 15 s.
struct Fake {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Fake {
    fn new(decide: impl FnMut(usize, &str) -> Option<Fault> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (seen, mut decide): (_, Decide) = (heads.clone(), Box::new(decide));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = serve(stream, &seen, &mut decide);
            }
        });
        Self { url, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    fn client(&self, settings: Settings) -> Client {
        Client::new(&self.url, settings).unwrap()
    }
}

fn serve(
    mut stream: TcpStream,
    heads: &Mutex<Vec<String>>,
    decide: &mut Decide,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let number = heads.lock().unwrap().len();
    heads.lock().unwrap().push(head.clone());
    let (status, body, length) = match decide(number, &head) {
        Some(Fault::Close) => return Ok(()),
        Some(Fault::Silence) => {
            std::thread::sleep(Duration::from_millis(600));
            return Ok(());
        }
        Some(Fault::Status(status, body)) => (status, body.to_owned(), body.len()),
        Some(Fault::CutShort) => {
            let body = answer(&head);
            let half = body[..body.len() / 2].to_owned();
            (200, half, body.len() / 2)
        }
        None => {
            let body = answer(&head);
            let length = body.len();
            (200, body, length)
        }
    };
    let location =
        if status / 100 == 3 { "Location: https://me:pw@login.example/x?t=1\r\n" } else { "" };
    write!(
        stream,
        "HTTP/1.1 {status} X\r\n{location}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

fn parameter(head: &str, key: &str) -> Option<String> {
    let query = head.split_whitespace().nth(1)?.split_once('?')?.1;
    let value = query.split('&').find_map(|it| it.strip_prefix(&format!("{key}=")))?;
    let value =
        value.replace("%7B", "{").replace("%7D", "}").replace("%5B", "[").replace("%5D", "]");
    Some(value.replace("%22", "\"").replace("%3D", "="))
}

fn answer(head: &str) -> String {
    if head.contains("__name__/values") {
        return r#"{"status":"success","data":["a","b","up"]}"#.to_owned();
    }
    let millis = |key: &str| {
        parameter(head, key).map(|it| (it.parse::<f64>().unwrap() * 1000.0).round() as i64)
    };
    let query = parameter(head, "query").unwrap();
    let (first, last, step) = match (millis("time"), query.rsplit_once('[')) {
        (Some(time), Some((_, range))) => {
            let range: i64 = range.trim_end_matches("ms]").parse().unwrap();
            (time - range + 1, time, 15_000)
        }
        _ => (millis("start").unwrap(), millis("end").unwrap(), millis("step").unwrap()),
    };
    let name = query.split(['[', '{']).next().unwrap();
    let stamps = (first..=last).filter(|it| (it - FROM_MS) % step == 0);
    let samples: Vec<String> =
        stamps.map(|it| format!("[{}.{:03},\"1\"]", it / 1000, it % 1000)).collect();
    format!(
        r#"{{"status":"success","data":{{"resultType":"matrix","result":[{{"metric":{{"__name__":"{name}"}},"values":[{}]}}]}}}}"#,
        samples.join(",")
    )
}

/// A shelf in memory.
#[derive(Default)]
struct Memory {
    kept: BTreeMap<Part, String>,
    whole: BTreeSet<Part>,
    holes: Vec<(Part, String)>,
    pauses: Vec<Duration>,
}

impl Shelf for Memory {
    fn has(&self, part: &Part) -> bool {
        self.whole.contains(part)
    }

    fn put(&mut self, part: &Part, body: &str, is_whole: bool) -> std::io::Result<()> {
        self.kept.insert(part.clone(), body.to_owned());
        self.whole.extend(is_whole.then(|| part.clone()));
        Ok(())
    }

    fn hole(&mut self, part: &Part, _: &str, reason: &str) -> std::io::Result<()> {
        self.holes.push((part.clone(), reason.to_owned()));
        Ok(())
    }

    fn pause(&mut self, length: Duration, _: &Problem) {
        self.pauses.push(length);
    }

    fn progress(&mut self, _: usize, _: usize) {}
}

impl Memory {
    /// Stamps of a metric in milliseconds, in the order in which they are kept.
    fn stamps(&self, name: usize) -> Vec<i64> {
        let bodies = self.kept.iter().filter(|it| it.0.name == name).map(|it| it.1.as_str());
        let mut stamps = Vec::new();
        for line in bodies.flat_map(str::lines) {
            let answer: serde_json::Value = serde_json::from_str(line).unwrap();
            let values = answer["data"]["result"][0]["values"].as_array().unwrap();
            stamps
                .extend(values.iter().map(|it| (it[0].as_f64().unwrap() * 1000.0).round() as i64));
        }
        stamps
    }
}

fn order(step_ms: Option<u64>) -> Order {
    Order {
        names: vec!["a".to_owned(), "b".to_owned()],
        selector: String::new(),
        from_ms: FROM_MS,
        until_ms: FROM_MS + 60 * MINUTE_MS,
        step_ms,
        part_ms: 20 * MINUTE_MS,
    }
}

fn quick() -> Settings {
    Settings { timeout: Duration::from_millis(300), retries: 2, ..Settings::default() }
}

fn get(fake: &Fake, shelf: &mut Memory) -> Result<Outcome, Problem> {
    download(&fake.client(quick()), &order(None), false, shelf)
}

fn all_stamps() -> Vec<i64> {
    (0..240).map(|it| FROM_MS + 15_000 * it).collect()
}

#[test]
fn every_sample_comes_over_exactly_once() {
    for step in [None, Some(15_000)] {
        let (fake, mut shelf) = (Fake::new(|_, _| None), Memory::default());
        let outcome = download(&fake.client(quick()), &order(step), false, &mut shelf).unwrap();
        assert_eq!(outcome, Outcome { kept: 6, holes: 0, asked: 6 });
        assert_eq!((shelf.stamps(0), shelf.stamps(1)), (all_stamps(), all_stamps()));
    }
}

#[test]
fn the_list_of_names_is_narrowed_down_by_the_selector() {
    let fake = Fake::new(|_, _| None);
    let client = fake.client(quick());
    let order = Order { selector: "ns=\"ml\"".to_owned(), ..order(None) };
    assert_eq!(names(&client, &order, &mut |_, _| {}).unwrap(), ["a", "b", "up"]);
    assert_eq!(parameter(&fake.heads()[0], "match[]"), Some("{ns=\"ml\"}".to_owned()));
    assert_eq!(gives_raw_samples(&client, &order, &mut |_, _| {}), Ok(true));
}

#[test]
fn what_the_server_finds_too_big_is_halved() {
    let refusal = r#"{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)"}"#;
    let fake = Fake::new(move |_, head| {
        let is_long = head.contains("%5B1200000ms") || head.contains("%5B600000ms");
        is_long.then_some(Fault::Status(400, refusal))
    });
    let mut shelf = Memory::default();
    let outcome = get(&fake, &mut shelf).unwrap();
    assert_eq!((outcome.kept, outcome.holes), (6, 0));
    assert_eq!(shelf.stamps(0), all_stamps());
}

#[test]
fn a_restart_in_the_middle_costs_a_pause_and_nothing_else() {
    let fake = Fake::new(|number, _| match number {
        2 => Some(Fault::Close),
        3 => Some(Fault::Status(503, "Service Unavailable")),
        6 => Some(Fault::CutShort),
        8 => Some(Fault::Status(429, "slow down")),
        _ => None,
    });
    let mut shelf = Memory::default();
    assert_eq!(get(&fake, &mut shelf).unwrap().holes, 0);
    assert_eq!((shelf.stamps(0), shelf.stamps(1)), (all_stamps(), all_stamps()));
    assert_eq!(shelf.pauses.len(), 4);
    assert_eq!(shelf.pauses[1], 2 * shelf.pauses[0]);
}

#[test]
fn a_broken_download_goes_on_where_it_stopped() {
    let fake = Fake::new(|number, _| (number >= 3).then_some(Fault::Close));
    let mut shelf = Memory::default();
    let problem = get(&fake, &mut shelf).unwrap_err();
    let Problem::StayedOut { done: 3, all: 6, .. } = &problem else { panic!("{problem:?}") };
    assert!(problem.remedy().contains("same command"));
    let back = Fake::new(|_, _| None);
    let outcome = get(&back, &mut shelf).unwrap();
    assert_eq!(outcome, Outcome { kept: 6, holes: 0, asked: 3 });
    assert_eq!((shelf.stamps(0), shelf.stamps(1)), (all_stamps(), all_stamps()));
}

#[test]
fn one_part_that_stays_out_is_a_hole_with_its_reason() {
    let is_third = |head: &str| {
        parameter(head, "time").unwrap().starts_with("1767226799") && head.contains("query=b")
    };
    let fake = Fake::new(move |_, head| {
        is_third(head).then_some(Fault::Status(500, "{\"error\":\"block is gone\"}"))
    });
    let mut shelf = Memory::default();
    let outcome = get(&fake, &mut shelf).unwrap();
    assert_eq!((outcome.kept, outcome.holes), (5, 1));
    let (part, reason) = &shelf.holes[0];
    assert_eq!((part.name, part.from_ms), (1, FROM_MS));
    assert!(reason.contains("block is gone"), "{reason}");
}

#[test]
fn a_server_that_is_gone_ends_in_holes_where_the_user_wants_what_there_is() {
    let fake = Fake::new(|number, _| (number >= 1).then_some(Fault::Close));
    let mut shelf = Memory::default();
    let outcome = download(&fake.client(quick()), &order(None), true, &mut shelf).unwrap();
    assert_eq!((outcome.kept, outcome.holes), (1, 5));
}

#[test]
fn a_server_that_is_slow_is_asked_for_less_and_then_left_alone() {
    let fake = Fake::new(|_, head| head.contains("query=a").then_some(Fault::Silence));
    let order = Order { until_ms: FROM_MS + 4 * MINUTE_MS, part_ms: 4 * MINUTE_MS, ..order(None) };
    let mut shelf = Memory::default();
    let outcome = download(&fake.client(quick()), &order, false, &mut shelf).unwrap();
    assert_eq!((outcome.kept, outcome.holes), (1, 1));
    assert!(shelf.holes.iter().all(|it| it.1.contains("no whole answer")));
}

#[test]
fn a_wrong_token_ends_it_at_once_and_shows_nowhere() {
    let fake =
        Fake::new(|_, head| (!head.contains("Bearer right")).then_some(Fault::Status(401, "who?")));
    let mut shelf = Memory::default();
    let wrong = quick().with_token("zqsecretqz");
    assert!(!format!("{wrong:?}").contains("zqsecret"));
    let problem = download(&fake.client(wrong), &order(None), false, &mut shelf).unwrap_err();
    assert_eq!((problem.clone(), fake.heads().len()), (Problem::Unauthorised(401), 1));
    assert!(!format!("{problem} {problem:?} {}", problem.remedy()).contains("zqsecret"));
    let right = quick().with_token("right\n");
    assert_eq!(download(&fake.client(right), &order(None), false, &mut shelf).unwrap().kept, 6);
}

#[test]
fn passwords_and_headers_go_with_every_question() {
    let fake = Fake::new(|_, _| None);
    let headers = vec![("X-Scope-OrgID".to_owned(), "team".to_owned())];
    let settings = Settings { headers, ..quick().with_basic("me:p@ss\n") };
    names(&fake.client(settings), &order(None), &mut |_, _| {}).unwrap();
    let head = fake.heads()[0].to_ascii_lowercase();
    assert!(head.contains("x-scope-orgid: team") && head.contains("basic bwu6cebzcw=="), "{head}");
}

#[test]
fn a_redirect_is_named_and_not_followed() {
    let fake = Fake::new(|_, _| Some(Fault::Status(302, "")));
    let problem = get(&fake, &mut Memory::default()).unwrap_err();
    assert_eq!(problem, Problem::Redirect("https://…@login.example/x?…".to_owned()));
    assert_eq!(fake.heads().len(), 1);
}

#[test]
fn what_is_no_answer_of_prometheus_is_said_to_be_none() {
    for (body, words) in [
        ("\n<!DOCTYPE html><html>log in</html>", "a web page"),
        ("plain", "no JSON"),
        ("{\"a\":1}", "JSON of another kind"),
    ] {
        let fake = Fake::new(move |_, _| Some(Fault::Status(200, body)));
        let problem = get(&fake, &mut Memory::default()).unwrap_err();
        let told = problem.to_string();
        assert!(told.contains(words) && told.contains("no API of Prometheus"), "{told}");
        assert!(!told.contains("200"), "{told}");
        let remedy = problem.remedy();
        assert!(remedy.contains("--token-file") && remedy.contains("/api/v1"), "{remedy}");
    }
}

#[test]
fn a_name_that_leads_nowhere_is_said_at_once() {
    let client = Client::new("http://no-such-host.invalid:9090/x", quick()).unwrap();
    let mut pauses = 0;
    let problem = names(&client, &order(None), &mut |_, _| pauses += 1).unwrap_err();
    let name = "no-such-host.invalid".to_owned();
    assert_eq!((&problem, pauses), (&Problem::Unresolved { name, was_reached: false }, 0));
    assert!(!problem.is_transient() && problem.remedy().contains("port-forward"));
    let again = Problem::Unresolved { name: "a".to_owned(), was_reached: true };
    assert!(again.is_transient(), "a name that was found before may be found again");
}

#[test]
fn what_is_no_address_header_or_certificate_is_refused() {
    let settings = |headers: Vec<(String, String)>| Settings { headers, ..Settings::default() };
    for url in ["host:9090", "ftp://host", "http://host/?x=1"] {
        assert!(Client::new(url, settings(Vec::new())).is_err(), "{url}");
    }
    let bad = vec![("X".to_owned(), "a\r\nHost: evil".to_owned())];
    assert!(Client::new("http://host", settings(bad)).is_err());
    let pem = Settings { authorities: Some(b"nothing".to_vec()), ..Settings::default() };
    assert!(Client::new("http://host", pem).is_err());
}
