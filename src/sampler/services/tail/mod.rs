//! A tenant's own log, followed while it is written: CSV with a header, or JSON lines.
//!
//! A line is either a row of readings, or one request; requests become readings of each second.

mod columns;
mod file;
mod line;
mod requests;
mod stamp;
mod tell;
#[cfg(test)]
mod tests;

use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::sink::Fact;
use crate::domain::source::{Source, SourceId};
use crate::domain::time::Timestamp;
use crate::sampler::services::clock;
use crate::sampler::services::post::{Post, Reading};
use crate::sampler::services::stop::Stop;
use crate::sampler::services::tail::file::{Follower, Found};
use crate::sampler::services::tail::line::{Entry, Layout};
use crate::sampler::services::tail::requests::{Request, Requests, Row};
use crate::sampler::services::target::{Settings, TailTarget};
use std::time::Duration;

/// Time from one look at the file to the next.
const PAUSE: Duration = Duration::from_millis(250);

/// Follows one file.
#[derive(Debug)]
pub(crate) struct Tail {
    target: TailTarget,
    subject: Subject,
    source: SourceId,
    post: Post,
    follower: Follower,
    layout: Option<Layout>,
    requests: Requests,
    lines: u64,
    /// Lines that could not be read, and the reason of the first.
    bad: u64,
    first_bad: Option<String>,
    is_missing: bool,
    has_source: bool,
    /// Lines whose stamp, or whose zone, was assumed.
    made_stamps: u64,
    assumed_zones: u64,
    /// Lines whose stamp cannot be, and the reason of the first.
    misdated: u64,
    first_misdated: Option<String>,
    /// The first and the last look.
    began: Option<Timestamp>,
    looked: Option<Timestamp>,
    /// Since when there is no file, although there was one.
    gone_since: Option<Timestamp>,
}

impl Tail {
    pub(crate) fn new(
        target: TailTarget,
        source: SourceId,
        settings: Settings,
        post: Post,
    ) -> Self {
        Self {
            subject: target.owner.subject(),
            follower: Follower::new(&target.file),
            target,
            source,
            post,
            layout: None,
            requests: Requests::new(settings.least_requests),
            lines: 0,
            bad: 0,
            first_bad: None,
            is_missing: false,
            has_source: false,
            made_stamps: 0,
            assumed_zones: 0,
            misdated: 0,
            first_misdated: None,
            began: None,
            looked: None,
            gone_since: None,
        }
    }

    /// Follows until it is told to end.
    pub(crate) fn run(mut self, stop: &Stop) {
        while !stop.within(PAUSE) {
            self.look(clock::now());
        }
        self.look(clock::now());
        self.close();
    }

    /// Reads what is new.
    pub(crate) fn look(&mut self, now: Timestamp) {
        self.began.get_or_insert(now);
        self.looked = Some(now);
        let mut found = Vec::new();
        let outcome = self.follower.look(&mut |it| found.push(it));
        match outcome {
            Ok(()) => self.is_missing = false,
            Err(error) if !self.is_missing => {
                self.is_missing = true;
                let text = format!("{}: cannot be read yet: {error}", self.name());
                self.post.notice(text);
            }
            Err(_) => {}
        }
        self.watch_gap(now, !found.is_empty());
        for it in found {
            self.take(it, now);
        }
        let rows = self.requests.close(now);
        self.send(rows);
    }

    fn take(&mut self, found: Found, now: Timestamp) {
        match found {
            Found::First { line, is_new } => {
                self.lines = 1;
                match Layout::of(&line) {
                    Ok(layout) => {
                        let is_data = layout == Layout::Json && is_new;
                        self.layout = Some(layout);
                        self.describe();
                        if is_data {
                            self.line(&line, now);
                        }
                    }
                    Err(problem) => {
                        self.layout = None;
                        self.post.notice(format!("{}: {problem}", self.name()));
                        self.first_bad.get_or_insert(problem);
                    }
                }
            }
            Found::Line(line) if line.trim().is_empty() => self.lines += 1,
            Found::Line(line) => {
                self.lines += 1;
                self.line(&line, now);
            }
            Found::TooLong => self.refuse("a line has no end"),
            Found::BeganAnew => {}
        }
    }

    fn line(&mut self, line: &str, now: Timestamp) {
        let Some(layout) = &self.layout else {
            self.bad += 1;
            return;
        };
        match layout.read(line) {
            Ok(entry) => self.entry(entry, now),
            Err(refused) => self.refuse(&refused.to_string()),
        }
    }

    fn refuse(&mut self, reason: &str) {
        self.bad += 1;
        if self.first_bad.is_none() {
            let text = format!("a line cannot be read: {reason}");
            self.post
                .notice(format!("{}: {text}; such lines are left out and counted", self.name()));
            self.first_bad = Some(text);
        }
    }

    fn entry(&mut self, entry: Entry, now: Timestamp) {
        let stamps = [entry.time, entry.arrival];
        self.assumed_zones += u64::from(stamps.iter().flatten().any(|it| it.is_assumed));
        self.made_stamps += u64::from(stamps.iter().all(Option::is_none));
        let stamp = entry.time.or(entry.arrival);
        if stamp.is_some_and(|it| !self.fits(it, now)) {
            return;
        }
        if entry.is_request() {
            self.requests.take(request(&entry, now), now);
            return;
        }
        let at = stamp.map_or(now, |it| it.at);
        let mut readings = entry.readings;
        let has_mean = readings.iter().any(|it| it.0 == Metric::LatencyMean);
        readings.extend(entry.latency_s.filter(|_| !has_mean).map(|it| (Metric::LatencyMean, it)));
        self.send(vec![(at, readings)]);
    }

    fn send(&mut self, rows: Vec<Row>) {
        for (at, readings) in rows {
            let (subject, source) = (self.subject.clone(), self.source);
            self.post.reading(Reading { at, subject, source, readings });
        }
    }

    fn name(&self) -> String {
        format!("{} ({})", self.target.owner.name, self.file_name())
    }

    fn file_name(&self) -> String {
        let name = self.target.file.file_name();
        name.map(|it| it.to_string_lossy().into_owned()).unwrap_or_default()
    }

    fn describe(&mut self) {
        if self.has_source {
            return;
        }
        self.has_source = true;
        self.post.fact(Fact::Source(Source {
            id: self.source,
            format: "tail".to_owned(),
            tool: "log of the tenant".to_owned(),
            tool_version: None,
            file: Some(self.file_name()),
            asked_interval: None,
            clock: "the tenant's".to_owned(),
            readings: std::collections::BTreeMap::new(),
        }));
    }

    /// Says at the end what was left out or assumed.
    pub(crate) fn close(&mut self) {
        let rows = self.requests.finish();
        self.send(rows);
        self.describe();
        self.tell_refused();
        self.tell_gaps();
        self.tell_assumed();
    }
}

/// A request, with the stamps that follow from the others.
fn request(entry: &Entry, now: Timestamp) -> Request {
    let latency = entry.latency_s.map(|it| (it * 1e6).round() as i64);
    let arrival = entry.arrival.map(|it| it.at);
    let by_arrival = arrival.zip(latency).map(|(at, latency)| at.plus_micros(latency));
    let answered = entry.time.map(|it| it.at).or(by_arrival).or(arrival).unwrap_or(now);
    let arrived = arrival.or_else(|| latency.map(|it| answered.plus_micros(-it)));
    let of_one = |metric| entry.readings.iter().find(|it| it.0 == metric).map(|it| it.1);
    Request {
        answered,
        arrived,
        latency_s: entry.latency_s,
        first_token_s: of_one(Metric::TimeToFirstToken),
        queue_s: of_one(Metric::QueueTime),
        tokens: entry.tokens,
        is_good: entry.is_good,
    }
}
