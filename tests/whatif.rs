//! What if they shared: scenarios of known shape, profiles, verdicts and refusals.

mod support;

use serde_json::Value;
use support::{Workbench, number};

/// Two tenants from plain numbers.
const PROFILES: &str = "\
[[tenant]]
name = \"chat\"
requests_per_s = 10
service_ms = 15
service_spread = 0.2
host_ms = 3
width = 0.5
bandwidth = 0.3
memory_mib = 20000
power_w = 200

[[tenant]]
name = \"train\"
on_s = 2
off_s = 6
width = 0.8
bandwidth = 0.4
memory_mib = 30000
power_w = 300
";

/// What `whatif -o json` answers.
fn asked(bench: &Workbench, arguments: &[&str]) -> Value {
    let answer = bench.run(&[&["whatif", "-o", "json"], arguments].concat());
    assert!(matches!(answer.code(), 0 | 3 | 4), "code {}: {}", answer.code(), answer.stderr());
    serde_json::from_str(&answer.stdout()).expect("the result is JSON")
}

/// The row of a way to share and a tenant.
fn row<'a>(document: &'a Value, mechanism: &str, tenant: &str) -> &'a Value {
    let rows = document["rows"].as_array().expect("rows are a list");
    rows.iter()
        .find(|it| it["mechanism"] == mechanism && it["tenant"] == tenant)
        .unwrap_or_else(|| panic!("no row of {tenant} under {mechanism}: {rows:?}"))
}

fn with_profiles() -> Workbench {
    let bench = Workbench::new();
    bench.file("tenants.toml", PROFILES);
    bench
}

/// A chat service of plain numbers beside the load of a scenario.
const CHAT: &str =
    "[[tenant]]\nname = \"chat\"\nrequests_per_s = 5\nservice_ms = 20\nhost_ms = 0\n";

#[test]
fn equal_means_of_different_shape_cost_a_neighbour_a_different_p99() {
    let bench = Workbench::new();
    bench.file("chat.toml", CHAT);
    let p99 = |scenario: &str| {
        let recording = bench.play(scenario);
        let document = asked(&bench, &[&recording, "--profiles", "chat.toml"]);
        let load = &document["tenants"][0];
        assert_eq!(load["was_alone"], true, "{load}");
        assert!((number(load, "/busy_ratio") - 0.3).abs() < 0.02, "{load}");
        let chat = row(&document, "time_slicing", "chat");
        ["/slowdown_p50", "/slowdown_p99_low", "/slowdown_p99", "/slowdown_p99_high"]
            .map(|it| number(chat, it))
    };
    let (short, long) = (p99("bursty-30-3ms"), p99("bursty-30-3s"));
    // A request of 20 ms averages over bursts of 3 ms, and falls wholly into one of 3 s, or not at all.
    assert!(long[0] < short[0] && long[2] > 1.3 * short[2], "short {short:?}, long {long:?}");
    assert!(long[1] > short[3], "the intervals lie apart: short {short:?}, long {long:?}");
    assert!((1.8..2.6).contains(&long[2]), "two in turns: {long:?}");
}

#[test]
fn two_recordings_of_one_tenant_name_are_told_apart() {
    let bench = Workbench::new();
    let (short, long) = (bench.play("bursty-30-3ms"), bench.play("bursty-30-3s"));
    let document = asked(&bench, &[&short, &format!("{long}#tenant"), "--mechanism", "mps"]);
    let names: Vec<&str> = document["tenants"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["tenant"].as_str())
        .collect();
    assert_eq!(names, ["tenant (bursty-30-3ms)", "tenant (bursty-30-3s)"]);
}

#[test]
fn a_tenant_that_had_company_is_said_to_have_had_it() {
    let bench = Workbench::new();
    let recording = bench.play("aggressor");
    let (chat, batch) = (format!("{recording}#chat"), format!("{recording}#batch"));
    let document = asked(&bench, &[&chat, &batch, "--as-recorded"]);
    for tenant in document["tenants"].as_array().unwrap() {
        assert_eq!(tenant["was_alone"], false, "{tenant}");
        assert!(tenant["assumptions"].to_string().contains("co_profiled"), "{tenant}");
    }
    assert_eq!(document["tenants"][0]["has_requests"], true);
    let chat = row(&document, "time_slicing", "chat");
    assert!(number(chat, "/latency_p99_s") > 0.02, "{chat}");
    assert!(number(&document, "/memory/capacity_bytes") > 8e10);
}

#[test]
fn numbers_stand_in_their_intervals_and_nobody_gains_by_sharing() {
    let bench = with_profiles();
    let document = asked(&bench, &["--profiles", "tenants.toml", "--gpu-model", "H100"]);
    assert_eq!(document["schema_version"], 1);
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 8);
    for it in rows {
        for level in ["slowdown_p50", "slowdown_p99", "throughput_ratio"] {
            let [low, middle, high] =
                [format!("/{level}_low"), format!("/{level}"), format!("/{level}_high")]
                    .map(|key| number(it, &key));
            assert!(low <= middle && middle <= high, "{level}: {it}");
            let is_share = level == "throughput_ratio";
            assert!(if is_share { (0.0..=1.0).contains(&low) } else { low >= 1.0 }, "{it}");
        }
        assert!(number(it, "/slowdown_p99_high") < 100.0, "{it}");
        assert_eq!((number(it, "/p_out_of_memory"), &it["refused"]), (0.0, &Value::Null));
    }
    let exclusive = row(&document, "exclusive", "chat");
    assert!((number(exclusive, "/slowdown_p99") - 1.0).abs() < 1e-9, "{exclusive}");
    let memory = number(&document, "/memory/together_bytes");
    assert!((memory - 50_000.0 * 1_048_576.0).abs() < 1.0);
    assert_eq!(row(&document, "mig", "chat")["slice"].as_str().map(str::len), Some(2));
}

/// Chance of `chat` and of `train` to run out of memory within a day under a way to share.
fn chances(document: &Value, mechanism: &str) -> [f64; 2] {
    ["chat", "train"].map(|it| number(row(document, mechanism, it), "/p_out_of_memory"))
}

#[test]
fn growth_to_a_configured_limit_runs_out_where_memory_is_shared_and_a_cap_fails_its_own_tenant() {
    let bench = with_profiles();
    let base = ["--profiles", "tenants.toml", "--gpu-model", "H100"];
    let grown = asked(&bench, &[&base[..], &["--memory-limit", "chat=55GiB"]].concat());
    assert_eq!(chances(&grown, "time_slicing"), [1.0, 1.0]);
    assert_eq!(chances(&grown, "mps"), [1.0, 1.0]);
    assert_eq!(chances(&grown, "exclusive"), [0.0, 0.0]);
    assert_eq!(chances(&grown, "mig")[0], 1.0, "55 GiB fit into no instance beside another");
    assert!(grown["headline"].as_str().unwrap().contains("memory runs out under"), "{grown}");
    let capped =
        [&base[..], &["--memory-limit", "chat=55GiB", "--mps-memory", "chat=40GiB"]].concat();
    let capped = asked(&bench, &capped);
    assert_eq!(chances(&capped, "mps")[1], 0.0, "the cap protects the neighbour");
    assert_eq!(chances(&capped, "time_slicing"), [1.0, 1.0], "a cap is one of MPS only");
}

#[test]
fn peaks_that_were_recorded_to_meet_are_forecast_to_meet() {
    let bench = Workbench::new();
    let recording = bench.play("memory-collision");
    let document = asked(&bench, &[&recording]);
    let rows = document["rows"].as_array().unwrap();
    let of = |mechanism: &str| -> Vec<f64> {
        let own = rows.iter().filter(|it| it["mechanism"] == mechanism);
        own.filter_map(|it| it["p_out_of_memory"].as_f64()).collect()
    };
    assert!(
        of("time_slicing").iter().all(|it| *it > 0.9) && of("time_slicing").len() >= 2,
        "{rows:?}"
    );
    assert!(of("exclusive").iter().all(|it| *it == 0.0), "{rows:?}");
    let answer = bench.run(&["whatif", &recording]);
    answer.expect_code(0);
    assert!(answer.stdout().contains("memory runs out under"), "{}", answer.stdout());
}

#[test]
fn sizes_without_a_unit_and_tenants_that_nobody_has_are_refused() {
    let bench = with_profiles();
    for (option, value) in [
        ("--memory-limit", "chat=55"),
        ("--memory-limit", "chad=5GiB"),
        ("--mps-memory", "chat=-1GiB"),
    ] {
        let answer = bench.run(&["whatif", "--profiles", "tenants.toml", option, value]);
        answer.expect_code(2);
        assert!(answer.stderr().contains(value.split('=').next().unwrap()), "{}", answer.stderr());
    }
}

#[test]
fn an_objective_is_met_missed_or_open_by_its_interval_and_ends_with_four_when_missed() {
    let bench = with_profiles();
    let base = ["--profiles", "tenants.toml", "--mechanism", "time-slicing", "--fail-on", "missed"];
    let keeping = |slo: &str, code: i32| {
        let answer = bench.run(&[&["whatif", "-o", "json", "--slo", slo], &base[..]].concat());
        answer.expect_code(code);
        let document: Value = serde_json::from_str(&answer.stdout()).unwrap();
        assert_eq!(row(&document, "time_slicing", "train")["slo"], Value::Null);
        row(&document, "time_slicing", "chat")["slo"].clone()
    };
    assert_eq!(keeping("p99=10s", 0), "met");
    assert_eq!(keeping("p99=1ms", 4), "missed");
    assert_eq!(keeping("p99=1x", 4), "missed");
    let document = asked(&bench, &["--profiles", "tenants.toml", "--mechanism", "time-slicing"]);
    let middle = number(row(&document, "time_slicing", "chat"), "/latency_p99_s");
    assert_eq!(keeping(&format!("p99={}us", (middle * 1e6).round()), 0), "cannot_tell");
    let answer = bench.run(&["whatif", "--profiles", "tenants.toml", "--slo", "p99=10s"]);
    answer.expect_code(0);
    assert!(answer.stdout().contains("keep a p99 of at most 10.0 s"), "{}", answer.stdout());
}

#[test]
fn what_cannot_be_predicted_is_refused_with_what_would_help() {
    let bench = Workbench::new();
    bench.file(
        "full.toml",
        "[[tenant]]\nname = \"a\"\nrequests_per_s = 40\nservice_ms = 20\n\
         [[tenant]]\nname = \"b\"\nrequests_per_s = 40\nservice_ms = 20\n",
    );
    let document = asked(
        &bench,
        &["--profiles", "full.toml", "--mechanism", "time-slicing", "--slo", "p99=1s"],
    );
    let both = row(&document, "time_slicing", "a");
    assert!(both["refused"].as_str().unwrap().contains("queue would grow"), "{both}");
    assert!(both["remedy"].is_string() && both["slowdown_p99"] == Value::Null, "{both}");
    assert_eq!(both["slo"], "missed");
    bench.run(&["whatif", "--profiles", "full.toml", "--mechanism", "time-slicing"]).expect_code(3);
    bench.file(
        "idle.csv",
        "timestamp, index, utilization.gpu [%]\n".to_owned()
            + &(0..60)
                .map(|it| format!("2026/01/31 12:00:{it:02}.000, 0, 0 %\n"))
                .collect::<String>(),
    );
    bench.file("chat.toml", CHAT);
    let document = asked(&bench, &["idle.csv", "--profiles", "chat.toml"]);
    let idle = row(&document, "time_slicing", "idle");
    assert!(idle["refused"].as_str().unwrap().contains("never worked"), "{idle}");
}

#[test]
fn wrong_usage_ends_with_two_and_says_what_to_do() {
    let bench = with_profiles();
    let recording = bench.play("aggressor");
    let chat = format!("{recording}#chat");
    bench.file("odd.toml", "[[tenant]]\nname = \"a\"\nrequest_per_s = 1\n");
    bench.file("learn.csv", "a,b\n");
    let profiles = ["--profiles", "tenants.toml"];
    let cases: Vec<(Vec<&str>, &str)> = vec![
        (vec![], "TENANT"),
        (vec![&chat], "sharing takes two tenants"),
        (vec![&chat, "--profiles", "odd.toml"], "did you mean `requests_per_s`?"),
        (vec!["aggressor/recording#chta"], "tenants: chat"),
        ([&profiles[..], &["--slice", "chat=5g"]].concat(), "no MIG slice"),
        (
            [&profiles[..], &["--slice", "chat=4g", "--slice", "train=4g"]].concat(),
            "cannot stand beside",
        ),
        ([&profiles[..], &["--slice", "cht=3g"]].concat(), "did you mean `chat`?"),
        ([&profiles[..], &["--gpu-model", "H1000"]].concat(), "A100-40"),
        ([&profiles[..], &["--gpu-model", "T4", "--mechanism", "mig"]].concat(), "cannot be cut"),
        ([&profiles[..], &["--slo", "p99=0.5x"]].concat(), "at least 1x"),
        ([&profiles[..], &["--fail-on", "missed"]].concat(), "--slo"),
        ([&profiles[..], &["--power-cap", "300"]].concat(), "--idle-power"),
        ([&profiles[..], &["--power-cap", "50", "--idle-power", "60"]].concat(), "not above"),
        ([&profiles[..], &["--as-recorded"]].concat(), "never recorded"),
        ([&profiles[..], &["--learn", "learn.csv"]].concat(), "header"),
        ([&profiles[..], &["--out", "tenants.toml"]].concat(), "is an input"),
    ];
    for (arguments, part) in cases {
        bench.run(&[&["whatif"], &arguments[..]].concat()).expect_code(2).expect_stderr(part);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let bench = with_profiles();
    let result = |threads: &str| {
        let answer =
            bench.run(&["whatif", "--profiles", "tenants.toml", "-o", "csv", "--threads", threads]);
        answer.expect_code(0);
        answer.stdout()
    };
    let one = result("1");
    assert_eq!(one, result("2"));
    assert_eq!(one.lines().count(), 9, "{one}");
}

#[test]
fn settings_change_what_they_are_about() {
    let bench = with_profiles();
    let p99 = |options: &[&str], mechanism: &str, tenant: &str| {
        let document = asked(&bench, &[&["--profiles", "tenants.toml"], options].concat());
        number(row(&document, mechanism, tenant), "/slowdown_p99")
    };
    let way = ["--mechanism", "mps"];
    let free = p99(&way, "mps", "chat");
    let narrow = p99(&[&way[..], &["--mps-percentage", "chat=20"]].concat(), "mps", "chat");
    assert!(narrow > 1.5 * free, "{narrow} {free}");
    let slice = |it: &str| p99(&["--mechanism", "mig", "--slice", it], "mig", "chat");
    assert!(slice("chat=1g") > 1.3 * slice("chat=4g"));
    let capped = ["--power-cap", "300", "--idle-power", "60"];
    assert!(p99(&[&way[..], &capped].concat(), "mps", "chat") > free);
    let exact = ["--mechanism", "time-slicing", "--quantum", "2ms", "--switch", "200us"];
    let document = asked(&bench, &[&["--profiles", "tenants.toml"], &exact[..]].concat());
    assert_eq!(number(&document, "/ways/0/quantum_s/low"), 0.002);
    assert!(document["made"].to_string().contains("as given"), "{}", document["made"]);
}

#[test]
fn measured_co_locations_stand_beside_the_replay() {
    let bench = with_profiles();
    bench.file(
        "learn.csv",
        "gpu,mechanism,tenant,other,tenant_util,tenant_mem_util,other_util,other_mem_util,slowdown\n\
         H100,mps,chat,train,0.15,0.1,0.25,0.2,1.2\nH100,mps,train,chat,0.25,0.2,0.15,0.1,1.1\n",
    );
    let document = asked(&bench, &["--profiles", "tenants.toml", "--learn", "learn.csv"]);
    let learned = document["learned"].as_array().unwrap();
    assert_eq!(learned.len(), 2);
    assert!(learned.iter().all(|it| it["mechanism"] == "mps" && it["tenants_known"] == 2));
    assert!(number(&learned[0], "/learned_slowdown/expected") > 1.0);
}

#[test]
fn text_keeps_within_eighty_columns_and_hostile_names_steer_no_terminal() {
    let bench = Workbench::new();
    bench.file(
        "odd.toml",
        CHAT.to_owned()
            + "[[tenant]]\nname = \"=evil\\u001b[2J\\u202e\"\nduty = 0.2\nburst_s = 0.5\n",
    );
    for form in ["table", "csv", "html", "svg"] {
        let text = bench.run(&["whatif", "--profiles", "odd.toml", "-o", form]).stdout();
        assert!(
            text.contains("evil") && !text.contains('\u{1b}') && !text.contains('\u{202e}')
                || form == "csv",
            "{form}: {text}"
        );
        assert!(!text.contains('\u{1b}'), "{form}");
        assert!(form != "csv" || text.contains("'=evil"), "{text}");
        let widest = text.lines().map(|it| it.chars().count()).max().unwrap_or(0);
        assert!(form != "table" || widest <= 80, "{text}");
    }
}

#[test]
fn the_text_of_a_known_answer_stays_as_it_is() {
    let bench = with_profiles();
    let answer = bench.run(&[
        "whatif",
        "--profiles",
        "tenants.toml",
        "--slo",
        "p99=1.5x",
        "--gpu-model",
        "H100",
    ]);
    answer.expect_code(0);
    insta::assert_snapshot!("answer", answer.stdout());
}

#[test]
fn a_picture_and_a_page_are_written_by_their_ending() {
    let bench = with_profiles();
    for (file, start) in [
        ("a.png", &b"\x89PNG"[..]),
        ("a.svg", b"<svg"),
        ("a.html", b"<!DOCTYPE html>"),
        ("a.json", b"{"),
    ] {
        bench.run(&["whatif", "--profiles", "tenants.toml", "--out", file]).expect_code(0);
        let bytes = std::fs::read(bench.path(file)).unwrap();
        assert!(bytes.starts_with(start), "{file}: {:?}", &bytes[..20]);
    }
}
