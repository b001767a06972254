//! Pairs of tenants that `cotenant serve` compared: how much longer they were busy at once from one scrape to the next.

use crate::domain::contended::{ContendedSpan, OTHER_TENANT, PairSeconds};
use crate::domain::ident::{GpuId, TenantId};
use crate::domain::shape_families::TENANT;
use crate::domain::sink::Fact;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::import::error::ImportError;
use crate::import::prometheus_text::line::Labels;
use crate::import::prometheus_text::owner::{Card, card};
use crate::import::run::ImportRun;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Intervals that are kept of one GPU; more are joined two by two, which loses no sum.
const MOST_PARTS: usize = 480;
/// Sums of seconds may lose their last digits on the way through text.
const ROUNDING: f64 = 1e-6;

/// Two tenants, the first by name first.
type Pair = (TenantId, TenantId);

/// Seconds by pair.
type Sums = BTreeMap<Pair, f64>;

/// What one scrape says about pairs.
#[derive(Debug, Default)]
pub(crate) struct ScrapedPairs {
    sums: BTreeMap<Card, Sums>,
    /// When the exporter of a host began, seconds since the Unix epoch.
    began_s: BTreeMap<Option<String>, f64>,
}

impl ScrapedPairs {
    /// Takes the sum of a pair; the error is what the labels should have held.
    pub(crate) fn take(&mut self, labels: &Labels<'_>, value: f64) -> Result<(), &'static str> {
        let card = card(labels);
        if card.is_nameless() {
            return Err("a label that names the GPU");
        }
        let first = labels.any(&["exported_tenant", TENANT]).map(TenantId::new);
        let second = labels.any(&["exported_other_tenant", OTHER_TENANT]).map(TenantId::new);
        let Some((first, second)) = first.zip(second) else {
            return Err("labels `tenant` and `other_tenant`");
        };
        if value < 0.0 {
            return Err("seconds, which are not negative");
        }
        if value.is_finite() {
            let pair = (first.clone().min(second.clone()), first.max(second));
            self.sums.entry(card).or_default().insert(pair, value);
        }
        Ok(())
    }

    /// Takes in what else the same scrape says.
    pub(crate) fn join(&mut self, other: Self) {
        self.began_s.extend(other.began_s);
        for (card, sums) in other.sums {
            self.sums.entry(card).or_default().extend(sums);
        }
    }

    /// Notes which cards it shows, so that no pair of theirs means none so far.
    pub(crate) fn shows<'a>(&mut self, cards: impl Iterator<Item = &'a Card>) {
        for card in cards {
            if !self.sums.contains_key(card) {
                self.sums.insert(card.clone(), Sums::new());
            }
        }
    }

    /// Takes when an exporter began.
    pub(crate) fn began(&mut self, labels: &Labels<'_>, seconds: f64) {
        if seconds.is_finite() {
            self.began_s.insert(card(labels).host, seconds);
        }
    }
}

/// What grew from one scrape to the next.
#[derive(Debug, Clone)]
struct Part {
    span: TimeSpan,
    sums: Sums,
}

/// What is known of the pairs of one GPU.
#[derive(Debug, Default)]
struct Followed {
    before: Option<(Timestamp, Sums)>,
    parts: Vec<Part>,
}

/// The pairs of a file.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    followed: BTreeMap<Card, Followed>,
    /// Scrapes of a text that lists one series after the other, until all of them are there.
    waiting: BTreeMap<Timestamp, ScrapedPairs>,
}

impl Pairs {
    /// Takes one scrape.
    pub(crate) fn settle(&mut self, at: Timestamp, scraped: ScrapedPairs) {
        for (card, now) in scraped.sums {
            let began_s = scraped.began_s.get(&card.host).copied();
            self.followed.entry(card).or_default().take(at, now, began_s);
        }
    }

    /// Keeps what one scrape says until all of its series are there.
    pub(crate) fn wait(&mut self, at: Timestamp, scraped: ScrapedPairs) {
        self.waiting.entry(at).or_default().join(scraped);
    }

    /// Gives every interval to the recording; `place` says which GPU a card is.
    ///
    /// Of two servers that scraped one exporter the fuller one counts, and the other where it has nothing.
    pub(crate) fn report(
        mut self,
        run: &mut ImportRun<'_>,
        mut place: impl FnMut(&Card, &mut ImportRun<'_>) -> Result<Option<GpuId>, ImportError>,
    ) -> Result<(), ImportError> {
        for (at, scraped) in std::mem::take(&mut self.waiting) {
            self.settle(at, scraped);
        }
        let mut by_gpu: BTreeMap<GpuId, Vec<Vec<Part>>> = BTreeMap::new();
        for (card, followed) in self.followed {
            // Nobody was ever busy beside anybody, or nobody counted it.
            if followed.parts.iter().all(|it| it.sums.is_empty()) {
                continue;
            }
            if let Some(gpu) = place(&card, run)? {
                by_gpu.entry(gpu).or_default().push(followed.parts);
            }
        }
        for (gpu, all) in by_gpu {
            for Part { span, sums } in united(all) {
                let pair = |((first, second), seconds)| PairSeconds { first, second, seconds };
                let pairs = sums.into_iter().map(pair).collect();
                run.fact(Fact::Contended(ContendedSpan { gpu: gpu.clone(), span, pairs }))?;
            }
        }
        Ok(())
    }
}

impl Followed {
    fn take(&mut self, at: Timestamp, mut now: Sums, began_s: Option<f64>) {
        let Some((then, before)) = &self.before else {
            self.before = Some((at, now));
            return;
        };
        let Some(whole) = TimeSpan::new(*then, at) else { return };
        let began = began_s.map(|it| Timestamp::from_micros((it * 1e6) as i64));
        let later = began.filter(|it| whole.contains(*it) && *it > whole.from());
        // An exporter drops no pair while it runs: one that is gone was lost on the way if it still is the same exporter.
        let is_same = began.is_some() && later.is_none();
        let is_anew = later.is_some() || before.iter().any(|it| has_fallen(&now, it, is_same));
        if !is_anew {
            for (pair, seconds) in before {
                now.entry(pair.clone()).or_insert(*seconds);
            }
        }
        // What began anew counted from zero; what is new in the list counted from zero as well.
        let base =
            |pair: &Pair| if is_anew { 0.0 } else { before.get(pair).copied().unwrap_or(0.0) };
        let grown = now.iter().map(|it| (it.0.clone(), it.1 - base(it.0)));
        let sums = grown.filter(|it| it.1 > ROUNDING).collect();
        let span = later.and_then(|it| TimeSpan::new(it, at)).unwrap_or(whole);
        self.parts.push(Part { span, sums });
        self.before = Some((at, now));
        if self.parts.len() > MOST_PARTS {
            self.parts = joined(std::mem::take(&mut self.parts));
        }
    }
}

/// Whether a sum that was there before is less now, or gone where that means anything.
fn has_fallen(now: &Sums, (pair, before): (&Pair, &f64), may_be_gone: bool) -> bool {
    let is_less = |it: &f64| *it < before - ROUNDING * before.max(1.0);
    now.get(pair).map_or(!may_be_gone, is_less)
}

/// Neighbours become one, two by two, where no time lies between them.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::with_capacity(parts.len() / 2 + 1);
    let mut may_join = false;
    for part in parts {
        match joined.last_mut().filter(|it| may_join && it.span.until() == part.span.from()) {
            Some(last) => {
                last.span = last.span.hull(part.span);
                part.sums.into_iter().for_each(|it| *last.sums.entry(it.0).or_default() += it.1);
                may_join = false;
            }
            None => {
                joined.push(part);
                may_join = true;
            }
        }
    }
    joined
}

/// One list of several about one GPU, in which no time counts twice.
fn united(mut all: Vec<Vec<Part>>) -> Vec<Part> {
    all.sort_by_key(|it| Reverse(it.len()));
    let mut all = all.into_iter();
    let mut united = all.next().unwrap_or_default();
    for others in all {
        let is_new = |it: &Part| united.iter().all(|own| own.span.overlap(it.span).is_none());
        let new: Vec<Part> = others.into_iter().filter(is_new).collect();
        united.extend(new);
    }
    united.sort_by_key(|it| it.span);
    united
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::collector::Collector;
    use crate::domain::source::SourceId;
    use crate::import::prometheus_text::PrometheusText;
    use crate::import::{ImportOptions, import};

    /// A page with the sums of pairs, as an exporter that began at `began_s` shows it at `at_s`.
    fn page(at_s: i64, began_s: i64, pairs: &[(&str, &str, f64)]) -> String {
        let mut text = format!("cotenant_gpu_info{{hw_id=\"GPU-1\",hw_index=\"0\"}} 1 {at_s}\n");
        text += &format!("cotenant_power_watts{{hw_id=\"GPU-1\",hw_index=\"0\"}} 90 {at_s}\n");
        text += &format!("cotenant_start_time_seconds {began_s} {at_s}\n");
        for (first, second, seconds) in pairs {
            text += &format!(
                "cotenant_contended_seconds_total{{hw_id=\"GPU-1\",hw_index=\"0\",tenant=\"{first}\",other_tenant=\"{second}\"}} {seconds} {at_s}\n"
            );
        }
        text + "# EOF\n"
    }

    /// From, until, and seconds by pair.
    type Told = (i64, i64, Vec<(String, f64)>);

    fn spans(text: &str) -> Vec<Told> {
        let mut collector = Collector::new();
        let options = ImportOptions::default();
        let mut input = text.as_bytes();
        let summary =
            import(&PrometheusText, &mut input, "a", &options, SourceId(0), &mut collector)
                .unwrap();
        assert_eq!(summary.rejections.count(), 0, "{:?}", summary.rejections.first());
        let seconds = |it: Timestamp| it.as_micros() / 1_000_000;
        let found = collector.into_recording().outline.contended;
        let one = |it: &ContendedSpan| {
            let pairs =
                it.pairs.iter().map(|it| (format!("{} {}", it.first, it.second), it.seconds));
            (seconds(it.span.from()), seconds(it.span.until()), pairs.collect())
        };
        found.iter().map(one).collect()
    }

    fn pair(seconds: f64) -> Vec<(String, f64)> {
        vec![("a b".to_owned(), seconds)]
    }

    const T: i64 = 1_767_225_600;

    #[test]
    fn a_pair_that_appears_between_two_scrapes_counted_from_zero() {
        let text = page(T, T - 60, &[]) + &page(T + 15, T - 60, &[("b", "a", 4.0)]);
        assert_eq!(
            spans(&(text + &page(T + 30, T - 60, &[("b", "a", 4.5)]))),
            [(T + 15, T + 30, pair(0.5)),],
            "a card that no shape and no pair tells of was not known to be compared"
        );
        let text = page(T, T - 60, &[("c", "d", 1.0)]);
        let text = text + &page(T + 15, T - 60, &[("c", "d", 1.0), ("a", "b", 4.0)]);
        assert_eq!(spans(&text), [(T, T + 15, pair(4.0))]);
    }

    #[test]
    fn a_missed_scrape_loses_nothing() {
        let text =
            page(T, T - 60, &[("a", "b", 2.0)]) + &page(T + 600, T - 60, &[("a", "b", 32.0)]);
        assert_eq!(spans(&text), [(T, T + 600, pair(30.0))]);
    }

    #[test]
    fn a_restart_loses_only_what_was_not_scraped_whether_the_sum_fell_or_not() {
        let before =
            page(T, T - 60, &[("a", "b", 2.0)]) + &page(T + 15, T - 60, &[("a", "b", 3.0)]);
        for after in [1.0, 9.0] {
            let text = before.clone() + &page(T + 30, T + 20, &[("a", "b", after)]);
            let found = spans(&(text + &page(T + 45, T + 20, &[("a", "b", after + 0.5)])));
            let expected = [
                (T, T + 15, pair(1.0)),
                (T + 20, T + 30, pair(after)),
                (T + 30, T + 45, pair(0.5)),
            ];
            assert_eq!(found, expected, "{after}");
        }
        let silent = before + &page(T + 30, T - 60, &[("a", "b", 0.5)]);
        assert_eq!(spans(&silent)[1], (T + 15, T + 30, pair(0.5)), "nobody says when it began");
    }

    #[test]
    fn a_dump_that_lists_one_series_after_the_other_tells_the_same() {
        let pages = [("a", "b", 2.0), ("a", "b", 5.0)];
        let line = |second: &str, at: i64, value: f64| {
            format!(
                "cotenant_contended_seconds_total{{hw_id=\"GPU-1\",tenant=\"a\",other_tenant=\"{second}\"}} {value} {at}\n"
            )
        };
        let mut text = String::new();
        for second in ["b", "c"] {
            for (place, it) in pages.iter().enumerate() {
                text += &line(second, T + 15 * place as i64, it.2);
            }
        }
        text += &format!("cotenant_power_watts{{hw_id=\"GPU-1\"}} 90 {T}\n");
        let both = vec![("a b".to_owned(), 3.0), ("a c".to_owned(), 3.0)];
        assert_eq!(spans(&text), [(T, T + 15, both)]);
    }

    #[test]
    fn many_intervals_are_joined_and_no_second_is_lost() {
        let pages: String =
            (0..1500).map(|it| page(T + 15 * it, T - 60, &[("a", "b", it as f64)])).collect();
        let found = spans(&pages);
        assert!(found.len() <= MOST_PARTS, "{}", found.len());
        let all: f64 = found.iter().flat_map(|it| &it.2).map(|it| it.1).sum();
        assert!((all - 1499.0).abs() < 1e-6, "{all}");
    }
}
