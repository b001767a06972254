//! `cotenant serve`: the shapes of this host's GPUs for a Prometheus, until somebody ends it.

use crate::cli::error::CliError;
use crate::cli::progress::Live;
use crate::cli::record::{ROOT, Screen, chosen, counted, ends_on_signals, host_name, unreachable};
use crate::cli::record_services_args::resolver;
use crate::cli::serve_args::ServeArgs;
use crate::cli::serve_http::{Answer, Gate, Request, answer_all};
use crate::domain::ident::Subject;
use crate::domain::metric::Metric;
use crate::domain::sink::{Fact, Sink, SinkError};
use crate::domain::source::SourceId;
use crate::domain::time::Timestamp;
use crate::domain::units::Seconds;
use crate::exporter::{Exposition, Format, Limits, Own};
use crate::sampler::clock::{Clock, HostClock, own_cpu_us};
use crate::sampler::nvml::Library;
use crate::sampler::services;
use crate::sampler::source::GpuHost;
use crate::sampler::{Audience, Notice, Plan, Status};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the sampler fills and pages show.
#[derive(Debug, Default)]
struct Shared {
    exposition: Mutex<Exposition>,
    status: Mutex<Status>,
    scrapes: AtomicU64,
    start_s: f64,
}

pub(crate) fn run(arguments: &ServeArgs) -> Result<u8, CliError> {
    let addresses = addresses(&arguments.listen)?;
    if addresses.iter().any(|it| !it.ip().is_loopback()) && !arguments.allow_remote {
        return Err(CliError::usage(
            format!("{} can be reached by other hosts, and there is no password", arguments.listen),
            "listen at 127.0.0.1 behind a proxy, or add --allow-remote where the network is trusted",
        ));
    }
    let mut tenants = resolver(arguments.tenants.as_deref(), Path::new(ROOT))?;
    let library = Library::open(arguments.nvml_library.as_deref())?;
    let gpus = chosen(&library, &arguments.gpu)?;
    let is_over = ends_on_signals()?;
    let listener = TcpListener::bind(addresses.as_slice())
        .map_err(|it| cannot_listen(&arguments.listen, &it))?;
    let address = match listener.local_addr() {
        Ok(it) => it.to_string(),
        Err(_) => arguments.listen.clone(),
    };
    let plan = Plan {
        unreachable: unreachable(&library, &arguments.gpu),
        gpus,
        interval_us: arguments.interval.as_micros(),
        duration_us: None,
        budget: arguments.budget,
        first_source: SourceId(0),
        root: PathBuf::from(ROOT),
        host_name: host_name(),
    };
    let limits =
        Limits { tenants: arguments.most_tenants as usize, pairs: arguments.most_pairs as usize };
    let shared = Arc::new(Shared {
        exposition: Mutex::new(Exposition::new(limits)),
        start_s: HostClock.now().realtime_us as f64 / 1e6,
        ..Shared::default()
    });
    start_pages(listener, &shared)?;
    let screen = Screen { live: Live::new(), is_over };
    screen.live.info(format!(
        "serving {} every {} at http://{address}/metrics; Ctrl-C ends it",
        counted(plan.gpus.len(), "GPU"),
        Seconds(arguments.interval.as_seconds()),
    ));
    let clock: Arc<dyn Clock> = Arc::new(HostClock);
    let host: Arc<dyn GpuHost> = Arc::new(library);
    let (_sender, events) = services::channel();
    let mut sink = CountingSink { shared: Arc::clone(&shared) };
    let mut audience = Watched { screen, shared };
    let outcome =
        crate::sampler::run(&host, &clock, &plan, &mut tenants, &events, &mut sink, &mut audience);
    audience.screen.live.end();
    outcome.map_err(CliError::from).map(|_| 0)
}

/// The addresses behind what the user named, those of IPv4 first.
fn addresses(listen: &str) -> Result<Vec<SocketAddr>, CliError> {
    let refused = |problem: String| {
        let remedy = "give ADDRESS:PORT, such as 127.0.0.1:9835, localhost:9835 or [::1]:9835";
        CliError::usage(format!("cannot listen at `{listen}`: {problem}"), remedy)
    };
    let is_whole = listen.rsplit_once(':').is_some_and(|it| {
        !it.0.is_empty()
            && it.1.parse::<u16>().is_ok()
            && (!it.0.contains(':') || it.0.ends_with(']'))
    });
    if !is_whole {
        return Err(refused("it is no address with a port".to_owned()));
    }
    let found = listen.to_socket_addrs().map_err(|_| refused("no host is called so".to_owned()))?;
    let mut found: Vec<SocketAddr> = found.collect();
    found.sort_by_key(SocketAddr::is_ipv6);
    match found.is_empty() {
        true => Err(refused("no host is called so".to_owned())),
        false => Ok(found),
    }
}

/// What is wrong with an address that cannot be had, and what to do about that.
fn cannot_listen(listen: &str, error: &std::io::Error) -> CliError {
    let (problem, remedy) = match error.kind() {
        ErrorKind::AddrInUse => (
            "another program listens there".to_owned(),
            "choose another port with --listen, or end what listens there",
        ),
        ErrorKind::AddrNotAvailable => (
            "this host has no such address".to_owned(),
            "give one of its own (`ip address` lists them), or 0.0.0.0 for all, with --allow-remote",
        ),
        ErrorKind::PermissionDenied => {
            ("this user may not listen at that port".to_owned(), "choose a port of 1024 or above")
        }
        _ => (error.to_string(), "choose another address or port with --listen"),
    };
    CliError::usage(format!("cannot listen at {listen}: {problem}"), remedy)
}

/// Starts to answer; what is asked for before the first look is not ready.
fn start_pages(listener: TcpListener, shared: &Arc<Shared>) -> Result<(), CliError> {
    let gate = Arc::new(Gate::default());
    let (held, counted) = (Arc::clone(shared), Arc::clone(&gate));
    let pages: Arc<crate::cli::serve_http::Pages> =
        Arc::new(move |request: &Request| page(request, &held, &counted));
    let work = move || answer_all(&listener, &gate, &pages);
    let thread = std::thread::Builder::new().name("listen".to_owned()).spawn(work);
    thread.map(|_| ()).map_err(|it| CliError::failed("cannot start the server", &it))
}

fn page(request: &Request, shared: &Shared, gate: &Gate) -> Answer {
    match request.path.as_str() {
        "/metrics" => {
            let format = Format::accepted(&request.accept);
            shared.scrapes.fetch_add(1, Ordering::Relaxed);
            let own = own(shared, gate);
            let mut exposition = held(&shared.exposition);
            exposition.set_own(own);
            let body = exposition.render(format);
            Answer { status: "200 OK", content_type: format.content_type(), body }
        }
        "/-/healthy" => Answer::plain("200 OK", "healthy"),
        "/-/ready" if held(&shared.exposition).is_ready() => Answer::plain("200 OK", "ready"),
        "/-/ready" => Answer::plain("503 Service Unavailable", "no GPU was looked at yet"),
        "/" => Answer {
            status: "200 OK",
            content_type: "text/html; charset=utf-8",
            body: INDEX.to_owned(),
        },
        _ => Answer::plain("404 Not Found", "there is /metrics, /-/ready and /-/healthy"),
    }
}

const INDEX: &str = "<!doctype html><html lang=\"en\"><title>cotenant</title><h1>cotenant serve</h1><ul><li><a href=\"/metrics\">/metrics</a>: the shapes of this host's GPUs</li><li><a href=\"/-/ready\">/-/ready</a>: whether a GPU was looked at</li><li><a href=\"/-/healthy\">/-/healthy</a></li></ul></html>\n";

fn own(shared: &Shared, gate: &Gate) -> Own {
    let status = *held(&shared.status);
    Own {
        start_s: shared.start_s,
        gpus: status.gpus,
        looks: status.looks,
        missed: status.missed,
        cpu_s: own_cpu_us() as f64 / 1e6,
        memory_bytes: status.memory_bytes,
        scrapes: shared.scrapes.load(Ordering::Relaxed),
        refused: gate.refused(),
    }
}

/// What a lock guards; a thread that ended while it held it left nothing half done.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The exposition as the sink of the sampler.
struct CountingSink {
    shared: Arc<Shared>,
}

impl Sink for CountingSink {
    fn row(
        &mut self,
        at: Timestamp,
        subject: &Subject,
        source: SourceId,
        readings: &[(Metric, f64)],
    ) -> Result<(), SinkError> {
        held(&self.shared.exposition).row(at, subject, source, readings)
    }

    fn fact(&mut self, fact: Fact) -> Result<(), SinkError> {
        held(&self.shared.exposition).fact(fact)
    }
}

/// The terminal, and what pages say about the exporter itself.
struct Watched {
    screen: Screen,
    shared: Arc<Shared>,
}

impl Audience for Watched {
    fn notice(&mut self, notice: &Notice) {
        self.screen.notice(notice);
    }

    fn status(&mut self, status: &Status) {
        *held(&self.shared.status) = *status;
        self.screen.status(status);
    }

    fn is_over(&mut self) -> bool {
        self.screen.is_over()
    }
}
