//! Answers of the HTTP API of Prometheus, read series by series: no answer is in memory as a whole.
//!
//! Also read: lists of answers, answers one after the other, and the lines that VictoriaMetrics
//! exports, whose values and stamps stand in two lists.

use crate::domain::time::Timestamp;
use crate::import::error::ImportError;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;

/// Farthest stamp that is believed, in seconds from the epoch: the year 5138.
const LATEST_S: f64 = 1e11;

/// Values of one set of labels; a value that is no number is a NaN.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RawSeries {
    /// Labels, the name of the metric as `__name__` among them.
    pub(crate) labels: BTreeMap<String, String>,
    /// Stamps and values in the order of the answer.
    pub(crate) samples: Vec<(Timestamp, f64)>,
    /// The first value or stamp that is no number.
    pub(crate) odd: Option<String>,
    /// Whether it holds native histograms, which are not read.
    pub(crate) has_native_histograms: bool,
    loose: Vec<f64>,
}

/// What a downloader noted between answers, in an object of its own: `{"cotenant": {…}}`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Remark {
    /// What stands before it is complete: it need not wait for what follows.
    pub(crate) is_slice_end: bool,
    /// Milliseconds between the points at which the server evaluated what follows; 0 for raw samples.
    pub(crate) step_ms: Option<u64>,
    /// Something that could not be got.
    pub(crate) hole: Option<Hole>,
}

/// A stretch of time that the server did not give.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Hole {
    /// What was asked for.
    pub(crate) names: String,
    /// First millisecond since the epoch.
    pub(crate) from_ms: i64,
    /// First millisecond after it.
    pub(crate) until_ms: i64,
    /// Why, in one sentence.
    pub(crate) reason: String,
}

/// A part of the input.
#[derive(Debug, PartialEq)]
pub(crate) enum Piece {
    /// One series.
    Series(RawSeries),
    /// What the server said instead of an answer.
    Refusal(String),
    /// What the server warned of.
    Warning(String),
    /// A remark of a downloader.
    Remark(Remark),
    /// The end of one answer.
    End,
}

type Take<'t> = dyn FnMut(Piece) -> Result<(), ImportError> + 't;

/// Why reading ended early.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The JSON ends early or is none.
    Json(serde_json::Error),
    /// Who takes the pieces has failed.
    Taker(ImportError),
}

/// Reads every answer and gives its parts away at once.
pub(crate) fn read(input: &mut dyn BufRead, take: &mut Take<'_>) -> Result<(), Broken> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    let start = input.fill_buf().map_err(|it| Broken::Json(serde_json::Error::io(it)))?;
    if start.starts_with(BYTE_ORDER_MARK) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    let mut json = serde_json::Deserializer::from_reader(input);
    let mut reading = Reading { take, failure: None };
    loop {
        match json.end() {
            Ok(()) => return Ok(()),
            Err(error) if error.is_io() => return Err(Broken::Json(error)),
            Err(_) => {}
        }
        let outcome = Node(&mut reading).deserialize(&mut json);
        if let Some(failure) = reading.failure.take() {
            return Err(Broken::Taker(failure));
        }
        outcome.map_err(Broken::Json)?;
        (reading.take)(Piece::End).map_err(Broken::Taker)?;
    }
}

struct Reading<'r, 't> {
    take: &'r mut Take<'t>,
    failure: Option<ImportError>,
}

impl Reading<'_, '_> {
    fn give<E: Error>(&mut self, piece: Piece) -> Result<(), E> {
        (self.take)(piece).map_err(|failure| {
            self.failure = Some(failure);
            E::custom("nobody takes it")
        })
    }
}

/// Any part of an answer.
struct Node<'n, 'r, 't>(&'n mut Reading<'r, 't>);

impl<'de> DeserializeSeed<'de> for Node<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer of Prometheus")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while all.next_element_seed(Node(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut series = RawSeries::default();
        let mut stamps: Vec<f64> = Vec::new();
        let mut is_series = false;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "metric" => {
                    series.labels = map.next_value()?;
                    is_series = true;
                }
                "value" => map.next_value_seed(Sample(&mut series))?,
                "values" => map.next_value_seed(Samples(&mut series))?,
                "timestamps" => stamps = map.next_value()?,
                "histogram" | "histograms" => {
                    map.next_value::<IgnoredAny>()?;
                    series.has_native_histograms = true;
                }
                "data" | "result" => map.next_value_seed(Node(&mut *self.0))?,
                "error" => self.0.give(Piece::Refusal(map.next_value()?))?,
                "warnings" => {
                    for warning in map.next_value::<Vec<String>>()? {
                        self.0.give(Piece::Warning(warning))?;
                    }
                }
                "cotenant" => self.0.give(Piece::Remark(map.next_value()?))?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if is_series {
            series.join(&stamps);
            self.0.give(Piece::Series(series))?;
        }
        Ok(())
    }
}

impl RawSeries {
    fn push(&mut self, seconds: f64, value: f64) {
        // Stamps count milliseconds, so this is exact.
        match seconds.abs() < LATEST_S {
            true => {
                let millis = (seconds * 1000.0).round() as i64;
                self.samples.push((Timestamp::from_micros(millis.saturating_mul(1000)), value));
            }
            false => self.note_odd(&seconds.to_string()),
        }
    }

    fn note_odd(&mut self, text: &str) {
        self.odd.get_or_insert_with(|| text.chars().take(60).collect());
    }

    /// Brings values and stamps of two lists together; stamps count milliseconds.
    fn join(&mut self, stamps: &[f64]) {
        for (millis, value) in stamps.iter().zip(std::mem::take(&mut self.loose)) {
            self.push(millis / 1000.0, value);
        }
    }
}

/// A list of samples.
struct Samples<'s>(&'s mut RawSeries);

impl<'de> DeserializeSeed<'de> for Samples<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Samples<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of stamps and values")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while all.next_element_seed(Sample(&mut *self.0))?.is_some() {}
        Ok(())
    }
}

/// A stamp and a value, or a value alone.
struct Sample<'s>(&'s mut RawSeries);

impl<'de> DeserializeSeed<'de> for Sample<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sample<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a stamp and a value")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.0.loose.push(value);
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.visit_f64(f64::NAN)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let value = number(text, self.0);
        self.visit_f64(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<(), A::Error> {
        let Some(seconds) = pair.next_element::<f64>()? else { return Ok(()) };
        let value = pair.next_element_seed(Number(&mut *self.0))?;
        while pair.next_element::<IgnoredAny>()?.is_some() {}
        self.0.push(seconds, value.unwrap_or(f64::NAN));
        Ok(())
    }
}

/// A number as text, as the API writes it, or as a number.
struct Number<'s>(&'s mut RawSeries);

impl<'de> DeserializeSeed<'de> for Number<'_> {
    type Value = f64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<f64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Number<'_> {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_unit<E: Error>(self) -> Result<f64, E> {
        Ok(f64::NAN)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        Ok(number(text, self.0))
    }
}

/// A number as Prometheus writes it; a NaN, and a note, for anything else.
fn number(text: &str, series: &mut RawSeries) -> f64 {
    text.parse().unwrap_or_else(|_| {
        series.note_odd(text);
        f64::NAN
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> (Vec<Piece>, bool) {
        let mut all = Vec::new();
        let outcome = read(&mut text.as_bytes(), &mut |piece| {
            all.push(piece);
            Ok(())
        });
        (all, outcome.is_ok())
    }

    fn samples(piece: &Piece) -> Vec<(i64, String)> {
        let Piece::Series(series) = piece else { panic!("{piece:?}") };
        let text = |it: &(Timestamp, f64)| (it.0.as_micros() / 1000, it.1.to_string());
        series.samples.iter().map(text).collect()
    }

    #[test]
    fn ranges_and_instants_are_read_to_the_millisecond() {
        let text = r#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"__name__":"a","gpu":"0"},"values":[[1767225600.123,"5"],[1767225615.123,"NaN"]]}]}}
            {"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"a"},"value":[1767225600,"+Inf"]}]}}"#;
        let (all, is_whole) = pieces(text);
        assert!(is_whole);
        let first = [(1_767_225_600_123, "5".to_owned()), (1_767_225_615_123, "NaN".to_owned())];
        assert_eq!(samples(&all[0]), first);
        assert_eq!(samples(&all[2]), [(1_767_225_600_000, "inf".to_owned())]);
    }

    #[test]
    fn an_answer_that_is_cut_short_gives_the_series_before_the_cut() {
        let text =
            r#"{"data":{"result":[{"metric":{"__name__":"a"},"values":[[1,"2"]]},{"metric":{"__na"#;
        let (all, is_whole) = pieces(text);
        assert!(!is_whole && all.len() == 1 && samples(&all[0]).len() == 1);
    }

    #[test]
    fn values_and_stamps_in_two_lists_are_brought_together() {
        let text =
            r#"{"metric":{"__name__":"a"},"values":[1,null,2.5],"timestamps":[1000,2000,3000]}"#;
        let found: Vec<i64> = samples(&pieces(text).0[0]).iter().map(|it| it.0).collect();
        assert_eq!(found, [1000, 2000, 3000]);
    }

    #[test]
    fn refusals_and_remarks_are_told_apart_from_answers() {
        let text = r#"{"status":"error","errorType":"bad_data","error":"exceeded maximum resolution"}
            {"cotenant":{"hole":{"names":"a","from_ms":1,"until_ms":2,"reason":"r"}}} 7 "x" [null]"#;
        let (all, is_whole) = pieces(text);
        assert!(is_whole);
        assert_eq!(all[0], Piece::Refusal("exceeded maximum resolution".to_owned()));
        assert!(matches!(&all[2], Piece::Remark(it) if it.hole.as_ref().unwrap().until_ms == 2));
    }
}
