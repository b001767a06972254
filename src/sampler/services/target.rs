//! What is asked and followed, as people write it: `NAME[@GPU]=URL[#METRIC]` and `NAME[@GPU]=FILE`.

use crate::domain::endpoint::Endpoint;
use crate::domain::ident::{GpuId, Subject, TenantId};
use crate::domain::outline::Device;
use crate::domain::secrets::masked_url;
use crate::domain::source::SourceId;
use crate::sampler::tenants::plain;
use std::path::PathBuf;
use std::time::Duration;

/// How services are asked; the same for all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Time from one scrape to the next.
    pub interval: Duration,
    /// After this time an answer is given up.
    pub timeout: Duration,
    /// A longer answer is refused.
    pub most_bytes: u64,
    /// Fewer requests in an interval give no quantile.
    pub least_requests: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
            most_bytes: 4 << 20,
            least_requests: 10,
        }
    }
}

/// What is wrong with a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetError {
    problem: String,
    advice: &'static str,
}

impl TargetError {
    /// What the user can do about it; printed after `help:`.
    pub fn remedy(&self) -> &str {
        self.advice
    }
}

impl std::fmt::Display for TargetError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for TargetError {}

/// Whom a target is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    pub(crate) name: String,
    /// The GPU as it was written: an index, or a UUID or the start of one.
    gpu: Option<String>,
    /// The GPU as the recording calls it.
    id: Option<GpuId>,
}

impl Owner {
    pub(crate) fn subject(&self) -> Subject {
        Subject::Tenant { gpu: self.id.clone(), tenant: TenantId::new(&self.name) }
    }

    /// As it was written.
    fn shown(&self) -> String {
        match &self.gpu {
            Some(gpu) => format!("{}@{gpu}", self.name),
            None => self.name.clone(),
        }
    }
}

/// A service that shows its metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScrapeTarget {
    pub(crate) owner: Owner,
    pub(crate) endpoint: Endpoint,
    /// The histogram to read, instead of what a preset says.
    pub(crate) metric: Option<String>,
}

/// A file that a tenant writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TailTarget {
    pub(crate) owner: Owner,
    pub(crate) file: PathBuf,
}

const SCRAPE_FORM: &str =
    "write NAME=URL or NAME@GPU=URL, for example chat@0=http://localhost:8000/metrics";
const TAIL_FORM: &str = "write NAME=FILE or NAME@GPU=FILE, for example train@0=steps.csv";

const ANOTHER_NAME: &str = "give one of them another name";

impl std::str::FromStr for ScrapeTarget {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let (owner, url) = owner(text, SCRAPE_FORM)?;
        let (url, metric) = match url.rsplit_once('#') {
            Some((url, metric)) => (url, Some(metric).filter(|it| !it.is_empty())),
            None => (url, None),
        };
        let endpoint = Endpoint::parse(url)
            .map_err(|it| refused(format!("`{}`: {it}", shown(text)), SCRAPE_FORM))?;
        Ok(Self { owner, endpoint, metric: metric.map(str::to_owned) })
    }
}

impl std::str::FromStr for TailTarget {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let (owner, file) = owner(text, TAIL_FORM)?;
        if file.is_empty() {
            return Err(refused(format!("`{text}` names no file"), TAIL_FORM));
        }
        Ok(Self { owner, file: PathBuf::from(file) })
    }
}

fn refused(problem: String, advice: &'static str) -> TargetError {
    TargetError { problem, advice }
}

/// The text without a password.
fn shown(text: &str) -> String {
    masked_url(text).unwrap_or_else(|| match text.rsplit_once('@') {
        Some((_, behind)) if text.contains('=') => format!("…@{behind}"),
        _ => text.to_owned(),
    })
}

fn owner<'a>(text: &'a str, form: &'static str) -> Result<(Owner, &'a str), TargetError> {
    let nameless = || refused(format!("`{}` names no tenant", shown(text)), form);
    let (left, rest) = text.split_once('=').ok_or_else(nameless)?;
    if left.contains("://") {
        return Err(nameless());
    }
    let (name, gpu) = match left.rsplit_once('@') {
        Some((name, gpu)) => (name, Some(gpu.trim())),
        None => (left, None),
    };
    let name = plain(name);
    if name.is_empty() {
        return Err(nameless());
    }
    if gpu == Some("") {
        return Err(refused(format!("`{}` names no GPU after the @", shown(text)), form));
    }
    let index = gpu.and_then(|it| it.parse().ok());
    let id = gpu.map(|it| index.map_or_else(|| GpuId::new(it), GpuId::from_index));
    Ok((Owner { name, gpu: gpu.map(str::to_owned), id }, rest))
}

/// Everything that is asked and followed besides the GPU.
#[derive(Debug, Clone, PartialEq)]
pub struct Targets {
    pub(crate) scrapes: Vec<ScrapeTarget>,
    pub(crate) tails: Vec<TailTarget>,
    pub(crate) settings: Settings,
    pub(crate) first_source: SourceId,
}

impl Targets {
    /// Reads what was given to `--scrape` and `--tail`.
    ///
    /// Errors: what is not of the form, an address that cannot be asked, one tenant twice.
    /// No message repeats a password.
    pub fn parse(
        scrapes: &[String],
        tails: &[String],
        settings: Settings,
    ) -> Result<Self, TargetError> {
        let scrapes: Vec<ScrapeTarget> =
            scrapes.iter().map(|it| it.parse()).collect::<Result<_, _>>()?;
        let tails: Vec<TailTarget> = tails.iter().map(|it| it.parse()).collect::<Result<_, _>>()?;
        refuse_twice(scrapes.iter().map(|it| &it.owner))?;
        refuse_twice(tails.iter().map(|it| &it.owner))?;
        let is_scraped = |it: &&TailTarget| {
            scrapes.iter().any(|scrape| scrape.owner.subject() == it.owner.subject())
        };
        if let Some(both) = tails.iter().find(is_scraped) {
            let problem = format!("`{}` stands in --scrape and in --tail", both.owner.shown());
            return Err(refused(problem, ANOTHER_NAME));
        }
        Ok(Self { scrapes, tails, settings, first_source: SourceId(1) })
    }

    /// Whether there is nothing to ask or follow.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there are; each is a source of the recording.
    pub fn len(&self) -> usize {
        self.scrapes.len() + self.tails.len()
    }

    /// Gives their sources the numbers from this one on; without it they begin at 1.
    pub fn numbered_from(mut self, first: SourceId) -> Self {
        self.first_source = first;
        self
    }

    /// Replaces indices and starts of UUIDs by the names under which the recording has its GPUs.
    ///
    /// Errors: a GPU that is not there, the start of more than one UUID, and two targets that turn
    /// out to be one tenant on one GPU.
    pub fn on_devices(mut self, devices: &[Device]) -> Result<Self, TargetError> {
        let owners = self.scrapes.iter_mut().map(|it| &mut it.owner);
        for owner in owners.chain(self.tails.iter_mut().map(|it| &mut it.owner)) {
            let Some(written) = owner.gpu.clone() else { continue };
            owner.id = Some(device(&written, devices).ok_or_else(|| {
                let problem =
                    format!("`{}` names a GPU that is not here, or several", owner.shown());
                refused(problem, "write its index, or its UUID as `nvidia-smi -L` prints it")
            })?);
        }
        let tails = self.tails.iter().map(|it| &it.owner);
        refuse_twice(self.scrapes.iter().map(|it| &it.owner).chain(tails))?;
        Ok(self)
    }
}

fn device(written: &str, devices: &[Device]) -> Option<GpuId> {
    if let Ok(index) = written.parse::<u32>() {
        return devices.iter().find(|it| it.index == Some(index)).map(|it| it.gpu.clone());
    }
    let begins = |it: &&Device| {
        let name = it.gpu.as_str();
        name.get(..written.len()).is_some_and(|it| it.eq_ignore_ascii_case(written))
    };
    let mut found = devices.iter().filter(begins);
    let first = found.next()?;
    found.next().is_none().then(|| first.gpu.clone())
}

fn refuse_twice<'a>(owners: impl Iterator<Item = &'a Owner>) -> Result<(), TargetError> {
    let mut owners: Vec<&Owner> = owners.collect();
    owners.sort_by_key(|it| it.subject());
    let Some(pair) = owners.windows(2).find(|it| it[0].subject() == it[1].subject()) else {
        return Ok(());
    };
    let (one, other) = (pair[0].shown(), pair[1].shown());
    match one == other {
        true => Err(refused(
            format!("`{one}` stands twice"),
            "give each replica a name of its own, for example chat-a and chat-b",
        )),
        false => {
            let problem = format!("`{one}` and `{other}` are one tenant on one GPU");
            Err(refused(problem, ANOTHER_NAME))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(scrapes: &[&str], tails: &[&str]) -> Result<Targets, TargetError> {
        let all = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        Targets::parse(&all(scrapes), &all(tails), Settings::default())
    }

    #[test]
    fn a_target_names_a_tenant_a_gpu_an_address_and_a_metric() {
        let all = targets(&["chat@0=http://u:p@host:8000/m?a=b#lat_seconds"], &["train=a=b.csv"]);
        let all = all.unwrap();
        let scrape = &all.scrapes[0];
        assert_eq!((scrape.owner.name.as_str(), all.len()), ("chat", 2));
        assert_eq!(scrape.owner.subject().gpu(), Some(&GpuId::new("gpu0")));
        assert_eq!(scrape.endpoint.url(), "http://host:8000/m?a=b");
        assert_eq!(scrape.metric.as_deref(), Some("lat_seconds"));
        assert_eq!(all.tails[0].file, PathBuf::from("a=b.csv"));
        assert_eq!(all.tails[0].owner.subject().gpu(), None);
    }

    #[test]
    fn gpus_get_the_names_of_the_recording() {
        let devices = [("GPU-aa1", 0), ("GPU-aa2", 1)]
            .map(|(name, index)| Device { index: Some(index), ..Device::named(GpuId::new(name)) });
        let on = |gpu: &str| {
            let all = targets(&[&format!("chat@{gpu}=http://h")], &[]).unwrap();
            let all = all.on_devices(&devices)?;
            Ok::<_, TargetError>(all.scrapes[0].owner.subject().gpu().unwrap().to_string())
        };
        assert_eq!(on("1").unwrap(), "GPU-aa2");
        assert_eq!(on("gpu-AA1").unwrap(), "GPU-aa1");
        for wrong in ["2", "GPU-aa", "x"] {
            assert!(on(wrong).unwrap_err().to_string().contains("names a GPU"), "{wrong}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_the_form_and_without_the_password() {
        for text in [
            "http://u:s3@host/?a=b",
            "=http://u:s3@host",
            "chat@=http://u:s3@host",
            "chat=u:s3@host",
            "chat=ftp://u:s3@host",
            "chat=http://u:s3@host:port",
        ] {
            let error = targets(&[text], &[]).unwrap_err();
            assert!(!error.to_string().contains("s3"), "{error}");
            assert!(error.remedy().contains("NAME@GPU=URL"), "{error}");
        }
        assert!(targets(&[], &["train="]).is_err());
        let twice = targets(&["a@0=http://x", "a@0=http://y"], &[]).unwrap_err();
        assert_eq!(twice.to_string(), "`a@0` stands twice");
    }

    #[test]
    fn one_tenant_on_one_gpu_is_one_target() {
        let both = targets(&["chat@0=http://x"], &["chat@0=y.csv"]).unwrap_err();
        assert_eq!(both.to_string(), "`chat@0` stands in --scrape and in --tail");
        assert_eq!(both.remedy(), "give one of them another name");
        assert!(targets(&["chat@0=http://x"], &["chat@1=y.csv"]).is_ok());
        let devices = [Device { index: Some(0), ..Device::named(GpuId::new("GPU-aa1")) }];
        for tail in [&[][..], &["chat@GPU-aa1=y.csv"]] {
            let scrapes = ["chat@0=http://x", "chat@GPU-aa=http://y"];
            let count = 2 - tail.len();
            let all = targets(&scrapes[..count], tail).unwrap();
            let error = all.on_devices(&devices).unwrap_err();
            assert!(error.to_string().contains("are one tenant on one GPU"), "{error}");
        }
    }

    #[test]
    fn names_hold_nothing_that_upsets_a_terminal() {
        let all = targets(&["a\u{202e}b\u{1b}[1m=http://x"], &["c\u{2066}d=y"]).unwrap();
        assert_eq!(all.scrapes[0].owner.name, "a\u{fffd}b\u{fffd}[1m");
        assert_eq!(all.tails[0].owner.name, "c\u{fffd}d");
        assert!(targets(&["a\u{202e}=http://x", "a\u{202d}=http://y"], &[]).is_err());
    }
}
