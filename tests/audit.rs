//! `cotenant audit` as users see it: files in, findings and exit codes out.

mod node_scenes;
mod support;

use cotenant::storage::{Mode, RecordingWriter};
use node_scenes::{Held, USUAL, files, hold};
use serde_json::Value;
use support::{Answer, Workbench};

/// A workbench with the files of a scene, and their names without the policy.
fn scene(name: &str) -> (Workbench, Vec<String>) {
    let bench = Workbench::new();
    let mut names = Vec::new();
    for (name, text) in files(name) {
        bench.file(&name, text);
        names.push(name);
    }
    names.retain(|it| it != "policy.toml");
    (bench, names)
}

/// Runs an audit with all files of a scene and more arguments.
fn audit(bench: &Workbench, names: &[String], more: &[&str]) -> Answer {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    bench.run(&[&["audit"], more, &["--node"], &names].concat())
}

fn document(answer: &Answer) -> Value {
    serde_json::from_str(&answer.stdout()).unwrap_or_else(|it| panic!("{it}: {}", answer.stderr()))
}

fn record(bench: &Workbench, tenants: &[Held]) {
    let mut writer = RecordingWriter::open(&bench.path("rec"), Mode::Create).expect("a place");
    hold(&mut writer, tenants);
    writer.finish().expect("written");
}

/// Titles of the findings of one check that weigh something.
fn titles<'a>(document: &'a Value, check: &str) -> Vec<&'a str> {
    let all = document["findings"].as_array().expect("findings are a list");
    let mine = all.iter().filter(|it| it["check"] == check && it["severity"] != "not_checked");
    mine.filter_map(|it| it["title"].as_str()).collect()
}

#[test]
fn a_node_in_order_passes_with_its_recording_and_its_plan() {
    let (bench, names) = scene("clean");
    record(&bench, USUAL);
    let more = ["rec", "--policy", "policy.toml", "--expect", "mig-parted.yaml#serving-mix"];
    let answer = audit(&bench, &names, &[&more[..], &["--fail-on", "note"]].concat());
    answer.expect_code(0);
    let text = answer.stdout();
    assert!(text.contains("Nothing was found by 11 checks."), "{text}");
    // A table that is too wide goes on below, with the place again, or with what is long below its row.
    let lines: Vec<&str> = text.lines().collect();
    let seat = lines.iter().position(|it| it.contains("GPU 0 instance 2 ")).expect("its seat");
    let seat = lines[seat..lines.len().min(seat + 3)].join("\n");
    for part in ["3g.40gb", "serving/chat-0", "4101", "33000 of 40448 MiB"] {
        assert!(seat.contains(part), "{seat}\n\n{text}");
    }
    assert!(text.lines().all(|it| it.chars().count() <= 80), "{text}");
}

#[test]
fn what_was_recorded_decides_whether_profiles_fit() {
    let (bench, names) = scene("clean");
    record(
        &bench,
        &[("serving/embed-0/main", Some(9), 17_166.0), ("serving/chat-0/main", Some(2), 17_166.0)],
    );
    let more = ["rec", "--policy", "policy.toml", "-o", "json", "--fail-on", "problem"];
    let answer = audit(&bench, &names, &more);
    answer.expect_code(4);
    let document = document(&answer);
    let found = titles(&document, "profiles-fit");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("more than the 9984 MiB") && found[1].contains("1g.20gb would do"));
    assert_eq!((&document["problems"], &document["warnings"]), (&1.into(), &1.into()));
    assert_eq!(document["headline"], "1 problem and 1 warning; 1 check could not be made.");
}

#[test]
fn the_exit_code_says_what_was_asked_about() {
    let (bench, names) = scene("made-by-hand");
    let policy = ["--policy", "policy.toml"];
    let with =
        |word: &str| audit(&bench, &names, &[&policy[..], &["--fail-on", word]].concat()).code();
    assert_eq!(audit(&bench, &names, &policy).code(), 0, "nothing was asked about");
    assert_eq!((with("problem"), with("warning"), with("note")), (0, 4, 4));
    let bench = Workbench::new();
    bench.file("log.txt", "No GPU instances found: Not Found\n");
    let answer = bench.run(&["audit", "--node", "log.txt"]);
    answer.expect_code(3);
    assert!(answer.stdout().contains("Nothing could be checked"), "{}", answer.stdout());
}

#[test]
fn every_form_says_the_same_and_no_input_is_written_over() {
    let (bench, names) = scene("wrong-seats");
    let policy = ["--policy", "policy.toml"];
    let json = document(&audit(&bench, &names, &[&policy[..], &["-o", "json"]].concat()));
    let csv = audit(&bench, &names, &[&policy[..], &["-o", "csv"]].concat()).stdout();
    let all = json["findings"].as_array().expect("a list").len();
    assert!(
        all >= 4
            && csv.lines().next() == Some("check,severity,about_kind,about,title,evidence,remedy")
    );
    for title in titles(&json, "pods-seated") {
        assert!(csv.contains(title), "{title}");
    }
    audit(&bench, &names, &[&policy[..], &["--out", "page.html"]].concat()).expect_code(0);
    let page = std::fs::read_to_string(bench.path("page.html")).expect("a page");
    assert!(page.contains("<html") && page.contains("asked for 2g.20gb"));
    for input in ["policy.toml", "node.json", "mig-parted.yaml"] {
        let more = ["--expect", "mig-parted.yaml#serving-mix", "--out", input];
        audit(&bench, &names, &[&policy[..], &more].concat()).expect_code(2);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_with_its_line_and_what_to_give() {
    let bench = Workbench::new();
    let refused = |name: &str, content: &[u8], part: &str| {
        bench.file(name, content);
        bench
            .run(&["audit", "--node", name])
            .expect_code(2)
            .expect_stderr(part)
            .expect_stderr("help:");
    };
    refused("empty.txt", b"", "empty.txt: is empty");
    refused("blank.json", b"\xef\xbb\xbf \n", "blank.json: is empty");
    refused("binary", b"GPU 0: x\n\xff\xfe\x00\x01", "binary:2: is no text in UTF-8");
    refused("diary.txt", b"dear diary\n", "in no known format; the file begins with `dear diary`");
    refused(
        "log.csv",
        b"timestamp, index, utilization.gpu [%]\n2026/01/01 00:00:00.000, 0, 3 %\n",
        "in no known format",
    );
    refused("broken.yaml", b"version: v1\nmig-configs:\n  a: [\n", "broken.yaml:");
    bench
        .run(&["audit", "--node", "absent.txt"])
        .expect_code(2)
        .expect_stderr("absent.txt: cannot be read");
    bench.run(&["audit", "--node", "."]).expect_code(2).expect_stderr("cannot be read");
    bench.file("cut.json", b"{\"apiVersion\": \"v1\", \"kind\": ");
    let cut = bench.run(&["audit", "--node", "cut.json"]);
    cut.expect_code(3);
    assert!(cut.stdout().contains("cut.json:1 could not be read: the file ends early"));
    bench.run(&["audit"]).expect_code(2).expect_stderr("--node");
}

#[test]
fn a_plan_or_a_policy_that_is_wrong_is_told_with_its_line() {
    let (bench, names) = scene("clean");
    let refused = |more: &[&str], part: &str| {
        audit(&bench, &names, more).expect_code(2).expect_stderr(part).expect_stderr("help:");
    };
    refused(&["--expect", "mig-parted.yaml#other"], "holds no layout `other`");
    refused(&["--expect", "node.json"], "holds no layout of mig-parted");
    bench.file("two.yaml", "version: v1\nmig-configs:\n  a:\n    - devices: all\n      mig-enabled: false\n  b:\n    - devices: all\n      mig-enabled: false\n");
    refused(&["--expect", "two.yaml"], "it holds a, b");
    bench.file("odd.yaml", "version: v1\nmig-configs:\n  a:\n    - devices: all\n      mig-enabled: true\n      mig-device: {}\n");
    refused(&["--expect", "odd.yaml"], "odd.yaml:6: unknown field `mig-device`");
    bench.file("odd.toml", "\n[[tenant]]\nname = \"a\"\ntrust = \"b\"\n");
    refused(&["--policy", "odd.toml"], "odd.toml: policy, line 4: there is no `trust` here");
    audit(&bench, &names, &["--expect", "mig-parted.yaml"]).expect_code(0);
}

#[test]
fn a_file_that_ends_early_is_audited_as_far_as_it_goes() {
    let (bench, names) = scene("clean");
    let pods = files("clean")["pods.json"].clone();
    bench.file("pods.json", &pods[..2 * pods.len() / 3]);
    let answer = audit(&bench, &names, &["--policy", "policy.toml", "-o", "json"]);
    answer.expect_code(0);
    let document = document(&answer);
    assert!(document["findings"].to_string().contains("a part of pods.json:"));
    assert_eq!(document["problems"], 0, "{}", document["findings"]);
}

#[test]
fn hostile_names_stay_harmless() {
    let (bench, names) = scene("wrong-seats");
    let call = |name: &str| {
        for file in ["pods.json", "pod-resources.json"] {
            bench.file(file, files("wrong-seats")[file].replace("rank-0", name));
        }
    };
    call("x; rm -rf ~");
    let json = document(&audit(&bench, &names, &["-o", "json"]));
    let text = json["findings"].to_string();
    assert!(text.contains("kubectl delete pod -n serving 'x; rm -rf ~'"), "{text}");
    call("x; rm -rf ~\\u001b[2J` <b>=1");
    for form in ["table", "html", "csv"] {
        let shown = audit(&bench, &names, &["-o", form]).stdout();
        assert!(!shown.contains('\u{1b}') && shown.contains("rm -rf"), "{form}: {shown}");
        assert!(form != "html" || !shown.contains("<b>"), "{shown}");
    }
    let json = document(&audit(&bench, &names, &["-o", "json"]));
    let remedies: Vec<&str> = json["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|it| it["remedy"].as_str())
        .collect();
    assert!(remedies.iter().all(|it| !it.contains("rm -rf")), "{remedies:?}");
}

#[test]
fn the_real_mig_capture_shows_which_process_sits_on_which_instance() {
    let Some(folder) = support::real("smi-captures/linux-x86_64__nvidia-h100-mig__590.48.01")
    else {
        return;
    };
    let bench = Workbench::new();
    let [table, query] = ["load_table.txt", "load_q.txt"].map(|it| folder.join(it));
    let (table, query) = (table.to_string_lossy(), query.to_string_lossy());
    let answer = bench.run(&["audit", "-o", "json", "--fail-on", "note", "--node", &table, &query]);
    answer.expect_code(0);
    let document = document(&answer);
    let seats = document["seats"].as_array().expect("seats are a list");
    let pids = |seat: &Value| -> Vec<u64> {
        let all = seat["processes"].as_array().expect("a list").iter();
        all.filter_map(|it| it["pid"].as_u64()).collect()
    };
    let taken: Vec<(&str, Vec<u64>)> =
        seats.iter().map(|it| (it["place"].as_str().expect("a name"), pids(it))).collect();
    assert_eq!(
        taken,
        [
            ("GPU 0 instance 2 (3g.40gb)", vec![21180, 21181, 21198]),
            ("GPU 0 instance 3 (2g.20gb)", vec![]),
            ("GPU 0 instance 9 (1g.10gb)", vec![]),
            ("GPU 0 instance 10 (1g.10gb)", vec![]),
        ]
    );
    let memory: Vec<Option<u64>> = seats.iter().map(|it| it["memory_total_mib"].as_u64()).collect();
    assert_eq!(memory, [Some(40448), Some(20096), Some(9984), Some(9984)]);
}

#[test]
fn every_real_capture_can_be_audited_and_raises_no_alarm() {
    let Some(captures) = support::real("smi-captures") else { return };
    let mut folders: Vec<_> =
        std::fs::read_dir(captures).expect("captures").flatten().map(|it| it.path()).collect();
    folders.retain(|it| it.join("load_q.txt").exists());
    folders.sort();
    assert!(folders.len() >= 6, "{folders:?}");
    let bench = Workbench::new();
    for folder in folders {
        for state in ["idle", "load"] {
            let [table, query] = ["table", "q"].map(|it| folder.join(format!("{state}_{it}.txt")));
            let (table, query) = (table.to_string_lossy(), query.to_string_lossy());
            let answer = bench.run(&["audit", "-o", "json", "--node", &table, &query]);
            let document = document(&answer);
            assert_eq!(document["problems"], 0, "{folder:?} {state}: {}", document["findings"]);
        }
    }
}
