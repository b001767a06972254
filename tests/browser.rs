//! The page of a report in a real browser, opened from a file as a reader opens it.
//!
//! A probe (`tests/browser_probes/*.js`) is added to a copy of the page, whose policy is widened
//! for it; it writes its answers into the page, and `--dump-dom` brings them back. Where there is
//! no Chromium, or no npm for axe-core, the tests say that they were skipped.
#![allow(clippy::print_stderr, reason = "skipped tests say so")]

mod support;

use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use support::Workbench;

/// What the browser is called by those who ship it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A start takes seconds; on a machine that builds meanwhile, a minute.
const PATIENCE: Duration = Duration::from_secs(180);

/// Virtual time that a page gets for its script, in milliseconds.
const BUDGET: &str = "--virtual-time-budget=20000";

/// The browser; `None`, with a visible word, where there is none.
fn browser() -> Option<&'static str> {
    static FOUND: OnceLock<Option<&'static str>> = OnceLock::new();
    let answers = |it: &&&str| {
        let run = Command::new(**it).arg("--version").stderr(Stdio::null()).output();
        run.is_ok_and(|it| it.status.success())
    };
    let found = *FOUND.get_or_init(|| NAMES.iter().find(answers).copied());
    if found.is_none() {
        eprintln!("skipped: no Chromium here ({})", NAMES.join(", "));
    }
    found
}

/// The report of the demo, made once.
fn demo() -> String {
    static MADE: OnceLock<String> = OnceLock::new();
    let make = || {
        let bench = Workbench::new();
        bench.run(&["demo", "-o", "demo"]).expect_code(0);
        std::fs::read_to_string(bench.path("demo/report.html")).expect("the demo has a report")
    };
    MADE.get_or_init(make).clone()
}

/// Standard output and standard error of one start of the browser.
fn start(browser: &str, bench: &Workbench, page: &Path, options: &[&str]) -> (String, String) {
    // One at a time: two of them on a small machine only wait for each other.
    static ONE: Mutex<()> = Mutex::new(());
    let _turn = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (out, err) = (bench.path("out"), bench.path("err"));
    let mut child = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
        .args(["--disable-dev-shm-usage", "--disable-sync", "--disable-extensions"])
        // Nothing that the browser itself wants to know leaves the machine either.
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0"])
        .arg(format!("--user-data-dir={}", bench.path("profile").display()))
        .args(options)
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null())
        .stdout(File::create(&out).expect("a file can be made"))
        .stderr(File::create(&err).expect("a file can be made"))
        .spawn()
        .expect("the browser starts");
    let since = Instant::now();
    while child.try_wait().expect("the browser can be watched").is_none() {
        if since.elapsed() > PATIENCE {
            child.kill().expect("the browser can be ended");
            child.wait().expect("the browser ends");
            panic!("the browser took more than {PATIENCE:?}: {options:?}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let read =
        |it: PathBuf| String::from_utf8_lossy(&std::fs::read(it).expect("a file")).into_owned();
    (read(out), read(err))
}

/// What the page wrote to the console.
fn console(stderr: &str) -> Vec<&str> {
    stderr.lines().filter(|it| it.contains("CONSOLE")).collect()
}

/// The page with a probe in it, and with the policy that lets the probe run.
fn probed(page: &str, scripts: &[&str]) -> String {
    let (before, policy) = page.split_once("script-src '").expect("the policy names the script");
    let (_, after) = policy.split_once('\'').expect("the policy has an end");
    let scripts = scripts.iter().map(|it| it.replace("</script", "<\\/script"));
    let scripts: String = scripts.map(|it| format!("<script>{it}</script>")).collect();
    let harness = "<script>addEventListener('load', async () => { const answers = {}; \
        try { await probe(answers); } catch (error) { answers.error = String(error.stack); } \
        const note = document.createElement('pre'); note.id = 'answers'; \
        note.textContent = encodeURIComponent(JSON.stringify(answers)); document.body.append(note); });</script>";
    let page = format!("{before}script-src 'unsafe-inline'{after}");
    page.replacen("</body>", &format!("{scripts}{harness}</body>"), 1)
}

/// The answers of a probe to a page on a screen that is so many pixels wide: inside a frame, as no
/// window of a browser is as narrow as a telephone.
fn ask_narrow(browser: &str, page: &str, scripts: &[&str], width: u32) -> Value {
    let tell = "new MutationObserver(() => { const note = document.getElementById('answers'); \
        if (note) parent.postMessage(note.textContent, '*'); }).observe(document, { childList: true, subtree: true });";
    let page = probed(page, &[&[tell], scripts].concat());
    let bench = Workbench::new();
    bench.file("inside.html", page);
    let outside = bench.file(
        "outside.html",
        format!(
            "<!doctype html><iframe src='inside.html' style='width:{width}px;height:844px;border:0'></iframe><script>\
             addEventListener('message', it => {{ const note = document.createElement('pre'); note.id = 'answers'; \
             note.textContent = it.data; document.body.append(note); }});</script>"
        ),
    );
    let options = ["--dump-dom", BUDGET, "--blink-settings=preferredColorScheme=0"];
    let (dom, stderr) = start(browser, &bench, &outside, &options);
    answers(&dom, &stderr)
}

/// The answers of a probe to a page.
fn ask(browser: &str, page: &str, scripts: &[&str], options: &[&str]) -> Value {
    let bench = Workbench::new();
    let copy = bench.file("copy.html", probed(page, scripts));
    let (dom, stderr) = start(browser, &bench, &copy, &[&["--dump-dom", BUDGET], options].concat());
    answers(&dom, &stderr)
}

/// What a probe wrote into the page.
fn answers(dom: &str, stderr: &str) -> Value {
    let found = dom.rsplit_once("<pre id=\"answers\">").and_then(|it| it.1.split_once("</pre>"));
    let (text, _) = found.unwrap_or_else(|| panic!("no answers: {:?}", console(stderr)));
    let answers: Value = serde_json::from_slice(&decoded(text)).expect("the answers are JSON");
    assert_eq!(answers["error"], Value::Null, "{answers:#}");
    answers
}

/// Percent signs and two digits back into bytes.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('%');
    bytes.extend(parts.next().unwrap_or_default().bytes());
    for part in parts {
        let (code, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(code, 16).expect("two digits"));
        bytes.extend(rest.bytes());
    }
    bytes
}

fn words<'a>(answers: &'a Value, key: &str) -> &'a str {
    answers[key].as_str().unwrap_or_else(|| panic!("{key}: {}", answers[key]))
}

fn list(answers: &Value, key: &str) -> Vec<String> {
    let items = answers[key].as_array().unwrap_or_else(|| panic!("{key}: {}", answers[key]));
    items.iter().map(|it| it.as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_page_opens_from_a_file_without_a_complaint_and_its_policy_lets_its_own_script_run() {
    let Some(browser) = browser() else { return };
    let bench = Workbench::new();
    let page = bench.file("report.html", demo());
    let (dom, stderr) = start(browser, &bench, &page, &["--dump-dom", BUDGET]);
    assert!(console(&stderr).is_empty(), "{:?}", console(&stderr));
    assert!(dom.contains("<div class=\"tools\""), "the script did not run: is its hash right?");
}

#[test]
fn no_address_stands_in_the_page() {
    let page = demo();
    for start in
        ["://", "src=", "srcset=", "url(", "@import", "<link", "<iframe", "<object", "import("]
    {
        assert!(!page.contains(start), "{start}");
    }
    let targets = page.split(" href=\"").skip(1);
    assert!(targets.into_iter().all(|it| it.starts_with('#')), "a link leads out of the page");
}

#[test]
fn a_reader_zooms_reads_and_sorts() {
    let Some(browser) = browser() else { return };
    let script = include_str!("browser_probes/behaviour.js");
    let answers = ask(browser, &demo(), &[script], &["--window-size=1280,900"]);
    let it = |key: &str| words(&answers, key);

    assert_eq!(it("whole"), "09:00:00 to 09:10:00 UTC, 10.0 min");
    assert_eq!(it("zoomed"), "09:02:30 to 09:07:30 UTC, 5.00 min of 10.0 min");
    let instants = list(&answers, "instants");
    assert!(
        instants.contains(&"09:03".to_owned()) && !instants.contains(&"09:01".to_owned()),
        "{instants:?}"
    );
    assert!(it("same").starts_with("09:02:30 to 09:07:30"), "one device, one axis: {}", it("same"));
    assert_eq!(it("other"), it("whole"), "another device stays where it is");
    assert!(
        it("closer").contains("2.50 min of") || it("closer").contains("150 s of"),
        "{}",
        it("closer")
    );
    assert_ne!(it("later"), it("closer"));
    assert!(it("closest").contains("2.67 s of"), "never less than four bins: {}", it("closest"));
    assert_eq!(it("again"), it("whole"));
    assert_eq!(answers["printedMarksAreBack"], true);

    for key in ["read", "pointed"] {
        let read = it(key);
        assert!(
            read.contains("UTC, bin of 667 ms") && read.contains("5 Jan 2026"),
            "{key}: {read}"
        );
        assert!(
            read.contains("GPU 1") && read.contains(" % (") && read.contains("GiB"),
            "{key}: {read}"
        );
    }
    assert_eq!(it("read"), it("spoken"), "what is shown by key is read aloud");
    assert_ne!(it("read"), it("readNext"));
    assert_eq!((&answers["hidden"], &answers["touched"]), (&Value::Bool(true), &Value::Bool(true)));
    assert!(it("dragged").contains(" of 10.0 min"), "{}", it("dragged"));
    assert_ne!(it("dragged"), it("wheeled"));
    assert!(it("spot").contains("at 95 % or more for"), "{}", it("spot"));

    sorts(&answers);
    assert_eq!(it("term"), it("meaning"), "a term says what the glossary says");
    assert_eq!(it("stopped"), "connect-src");
    assert!(list(&answers, "loaded").is_empty(), "{}", answers["loaded"]);
}

/// A column was sorted up, down and back by its values, and what is missing came last.
fn sorts(answers: &Value) {
    let order = list(answers, "order");
    let values =
        |it: &[String]| -> Vec<f64> { it.iter().filter_map(|it| it.parse().ok()).collect() };
    for (key, state, is_up) in [("up", "ascending", true), ("down", "descending", false)] {
        let sorted = list(answers, key);
        let mut wanted = values(&order);
        wanted.sort_by(f64::total_cmp);
        if !is_up {
            wanted.reverse();
        }
        assert!(wanted.len() > 2);
        assert_eq!(values(&sorted), wanted, "{key} {}", answers["column"]);
        assert_eq!(sorted.last().map(String::as_str), Some("missing"), "{key}");
        assert_eq!(answers[format!("{key}State")], state);
    }
    assert_eq!(list(answers, "restored"), order);
    assert_eq!(answers["restoredState"], Value::Null);
}

#[test]
fn a_narrow_dark_screen_shows_everything_without_scrolling_sideways() {
    let Some(browser) = browser() else { return };
    let script = include_str!("browser_probes/narrow_and_dark.js");
    let answers = ask_narrow(browser, &demo(), &[script], 390);
    assert_eq!(answers["isDark"], true, "{answers}");
    let brightness = |key: &str| {
        let text = words(&answers, key);
        let digits =
            text.split(|it: char| !it.is_ascii_digit()).filter_map(|it| it.parse::<u32>().ok());
        digits.take(3).sum::<u32>()
    };
    assert!(brightness("ground") < 120 && brightness("plot") < 150, "{answers}");
    assert!(brightness("ink") > 600, "{answers}");
    assert_eq!(
        (&answers["width"], &answers["scroll"]),
        (&Value::from(390), &Value::from(390)),
        "{answers}"
    );
    for key in ["wide", "sideways", "unhinted", "unnamed"] {
        assert!(list(&answers, key).is_empty(), "{key}: {answers:#}");
    }
    assert!(answers["stacked"].as_u64().is_some_and(|it| it > 0), "{answers:#}");
}

/// A page of every kind, made once: its name and its text.
fn pages() -> &'static [(&'static str, String)] {
    static MADE: OnceLock<Vec<(&'static str, String)>> = OnceLock::new();
    MADE.get_or_init(|| {
        let bench = Workbench::new();
        bench.run(&["demo", "-o", "demo", "--recording-only"]).expect_code(0);
        let (it, instances) = ("demo/recording", bench.play("mig-two-slices"));
        let commands: [(&str, Vec<&str>); 6] = [
            ("instances", vec!["report", &instances, "-o", "page.html"]),
            ("incident", vec!["diagnose", it, "--victim", "chat", "--out", "page.html"]),
            ("verdicts", vec!["recommend", it, "--out", "page.html"]),
            (
                "what-if",
                vec!["whatif", "demo/recording#chat", "demo/recording#batch", "--out", "page.html"],
            ),
            ("fleet", vec!["plan", it, &instances, "--out", "page.html", "--no-keep"]),
            ("comparison", vec!["report", "--compare", it, &instances, "-o", "page.html"]),
        ];
        let page = |(name, arguments): (&'static str, Vec<&str>)| {
            let code = bench.run(&arguments).code();
            assert!([0, 3].contains(&code), "{name}: {code}");
            let page = std::fs::read_to_string(bench.path("page.html")).expect("a page");
            std::fs::remove_file(bench.path("page.html")).expect("it was there");
            (name, page)
        };
        commands.into_iter().map(page).collect()
    })
}

#[test]
fn no_page_of_any_kind_needs_scrolling_sideways_on_a_telephone() {
    let Some(browser) = browser() else { return };
    let script = include_str!("browser_probes/narrow_and_dark.js");
    for (name, page) in pages() {
        let answers = ask_narrow(browser, page, &[script], 390);
        let (width, scroll) = (&answers["width"], &answers["scroll"]);
        assert_eq!((width, scroll), (&Value::from(390), &Value::from(390)), "{name}");
        for key in ["wide", "sideways", "unhinted", "unnamed"] {
            assert!(list(&answers, key).is_empty(), "{name}, {key}: {answers:#}");
        }
        assert!(answers["stacked"].as_u64().is_some_and(|it| it > 0), "{name}: {answers:#}");
    }
}

#[test]
fn the_page_prints() {
    let Some(browser) = browser() else { return };
    let bench = Workbench::new();
    let page = bench.file("report.html", demo());
    let pdf = bench.path("report.pdf");
    let print = format!("--print-to-pdf={}", pdf.display());
    start(browser, &bench, &page, &[&print, "--no-pdf-header-footer", BUDGET]);
    let bytes = std::fs::read(&pdf).expect("a PDF is there");
    let text = String::from_utf8_lossy(&bytes);
    let pages = text.matches("/Type /Page\n").count() + text.matches("/Type /Page ").count();
    assert!(text.starts_with("%PDF") && (5..60).contains(&pages), "{pages} pages");
}

#[test]
fn a_name_that_tries_to_be_more_is_shown_as_text() {
    let Some(browser) = browser() else { return };
    let names = [
        "\"><img src=x onerror=alarms=1>".to_owned(),
        "' onmouseover='alarms=1".to_owned(),
        "evil\u{202e}gpj.exe".to_owned(),
        "\u{1b}[2J\u{1b}[31mred".to_owned(),
        format!("long-{}", "x".repeat(10_000)),
        // The last part of a path is a program's name, so there is no slash in it.
        "<script>alarms=1;".to_owned(),
    ];
    let bench = Workbench::new();
    let looks: Vec<String> = (0..40).map(|second| look(&names, second).to_string()).collect();
    bench.file("gpustat.json", looks.join("\n"));
    let code = bench.run(&["report", "gpustat.json", "-o", "report.html"]).code();
    assert!([0, 3].contains(&code), "{code}");
    let page = std::fs::read_to_string(bench.path("report.html")).expect("a report");
    let script = include_str!("browser_probes/hostile.js");
    let answers = ask(browser, &page, &[script], &["--window-size=1280,900"]);
    assert_eq!(answers["alarms"], 0);
    assert_eq!((&answers["images"], &answers["tipElements"]), (&Value::from(0), &Value::from(0)));
    assert_eq!(answers["scripts"], 3, "the page's own one and the two of this test");
    assert!(answers["scroll"].as_i64().is_some_and(|it| it <= 0), "{}", answers["scroll"]);
    let (text, tip) = (words(&answers, "text"), words(&answers, "tip"));
    assert!(text.contains("<script>alarms=1;"), "the name can be read as it is");
    assert!(tip.contains("<script>alarms=1;"), "{tip}");
    for shown in [text, tip] {
        assert!(!shown.contains(['\u{202e}', '\u{1b}']) && !shown.contains(&"x".repeat(1000)));
    }
}

/// One look of gpustat at a GPU with these programs.
fn look(names: &[String], second: usize) -> Value {
    let process = |(place, name): (usize, &String)| {
        serde_json::json!({
            "username": "eve", "command": name, "full_command": [name],
            "gpu_memory_usage": 500 + 100 * place + second, "pid": 100 + place,
        })
    };
    serde_json::json!({
        "hostname": "node-a",
        "driver_version": "600.10",
        "query_time": format!("2026-07-14T09:00:{second:02}.250000"),
        "gpus": [{
            "index": 0,
            "uuid": "GPU-0a0a0a0a-1b1b-4c4c-8d8d-0e0e0e0e0e0e",
            "name": "NVIDIA L40S",
            "utilization.gpu": (second * 37) % 100,
            "power.draw": 110,
            "enforced.power.limit": 350,
            "memory.used": 9000 + 6 * second,
            "memory.total": 46068,
            "processes": names.iter().enumerate().map(process).collect::<Vec<Value>>(),
        }],
    })
}

#[test]
fn axe_finds_nothing_to_complain_about_in_light_and_dark() {
    let Some(browser) = browser() else { return };
    let bench = Workbench::new();
    let Some(axe) = axe(&bench) else { return };
    let script = include_str!("browser_probes/axe.js");
    let options = ["--window-size=1280,900", "--virtual-time-budget=120000"];
    let answers = ask(browser, &demo(), &[&axe, script], &options);
    for theme in ["light", "dark"] {
        assert!(answers[format!("{theme}Passes")].as_u64().is_some_and(|it| it > 20), "{answers}");
        assert!(list(&answers, theme).is_empty(), "{theme}: {:#}", answers[theme]);
    }
    assert_ne!(answers["lightGround"], answers["darkGround"]);
}

/// The checker, from npm; `None`, with a visible word, where npm or its registry cannot be asked.
fn axe(bench: &Workbench) -> Option<String> {
    let folder = bench.file("package.json", "{}");
    let folder = folder.parent()?;
    let install = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-timeout=20000"])
        .args(["--fetch-retries=0", "axe-core@4"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output();
    let text = std::fs::read_to_string(folder.join("node_modules/axe-core/axe.min.js")).ok();
    if text.is_none() {
        let why = install.map_or_else(
            |it| it.to_string(),
            |it| String::from_utf8_lossy(&it.stderr).into_owned(),
        );
        eprintln!("skipped: no axe-core: {}", why.lines().next().unwrap_or("npm gave nothing"));
    }
    text
}
