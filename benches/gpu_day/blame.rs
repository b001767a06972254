//! Who is named for the victim's slowness, and who for memory that ran out, beside who did it.

use crate::ask::{ask, digits, number, word};
use crate::page::{Outcome, Part};
use crate::results::{Arm, Results, is_inside};
use crate::sample::mean;
use serde_json::Value;

/// Words that name somebody.
const NAMES: [&str; 2] = ["confirmed", "likely"];

/// `diagnose` on every arm with a culprit, or with somebody who must not be named.
pub(crate) fn influences(results: &Results) -> Part {
    let mut part = Part::new(
        "Who slowed the victim",
        "`diagnose` on the recording of each arm. Effect: how much slower the victim is in the bursts of the suspect, told, and as the request log has it. Kept: a culprit is confirmed or likely and stands first; an innocent is neither.",
        &[
            "suspect",
            "did it",
            "verdict",
            "rank",
            "bins",
            "bursts",
            "effect told",
            "effect in the log",
            "reasons",
        ],
    );
    for arm in &results.arms {
        let culprit = arm.truth["culprit"].as_str();
        let innocent = arm.names("innocent");
        if culprit.is_none() && innocent.is_empty() {
            continue;
        }
        let Some(recording) = arm.recording() else { continue };
        let path = recording.display().to_string();
        let answer = ask(&["diagnose", &path, "--victim", "victim"].map(str::to_owned));
        for (role, is_guilty) in
            culprit.map(|it| (it, true)).into_iter().chain(innocent.iter().map(|it| (*it, false)))
        {
            suspect(&mut part, arm, &answer, role, is_guilty);
        }
    }
    part
}

fn suspect(
    part: &mut Part,
    arm: &Arm,
    answer: &Result<Value, String>,
    role: &str,
    is_guilty: bool,
) {
    let did_it = if is_guilty { "yes" } else { "no" }.to_owned();
    let found = answer.as_ref().ok().and_then(|it| {
        let suspects = it["suspects"].as_array()?;
        suspects.iter().find(|it| it["suspect"] == role).cloned()
    });
    let Some(found) = found else {
        let why = answer.as_ref().map_or_else(Clone::clone, |it| word(&it["headline"]).to_owned());
        let cells =
            [vec![role.to_owned(), did_it, "not a suspect".to_owned()], vec![String::new(); 5]];
        let outcome = if is_guilty { Outcome::Missed } else { Outcome::Kept };
        part.claim(&arm.name, [cells.concat(), vec![why]].concat(), outcome);
        return;
    };
    let influence = &found["influence"];
    let verdict = word(&influence["verdict"]);
    let is_named = NAMES.contains(&verdict);
    let is_first = found["rank"] == 1;
    let outcome = match (is_guilty, verdict) {
        (_, "cannot_tell") => Outcome::CannotTell,
        (true, _) => Outcome::of(is_named && is_first),
        (false, _) => Outcome::of(!is_named),
    };
    let reasons = influence["reasons"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let codes: Vec<&str> = reasons.filter_map(|it| it.split(':').next()).collect();
    let cells = vec![
        role.to_owned(),
        did_it,
        verdict.to_owned(),
        found["rank"].to_string(),
        influence["bins"].to_string(),
        influence["bursts"].to_string(),
        digits(number(influence, "/effect_ratio"), 2),
        if role == "neighbour" { digits(effect(arm), 2) } else { "—".to_owned() },
        codes.join(", "),
    ];
    part.claim(&arm.name, cells, outcome);
}

/// By how much requests that arrived while the neighbour was there took longer than others.
fn effect(arm: &Arm) -> Option<f64> {
    let has_blocks = arm.part("neighbour")?["block_s"].is_number();
    let spells = if has_blocks { arm.present() } else { arm.spells() };
    let requests = arm.requests("victim");
    let of = |inside: bool| {
        let those = requests.iter().filter(|it| is_inside(&spells, it.arrival_s) == inside);
        mean(those.map(|it| it.latency_s))
    };
    Some(of(true)? / of(false)? - 1.0)
}

/// Who is named when memory ran out.
pub(crate) fn memory(results: &Results) -> Part {
    let mut part = Part::new(
        "Who had taken the memory",
        "`analyze` on the arm in which two tenants ask for what only one can have. Kept: the one that failed is known, and the one that had grown is named.",
        &["failed", "told", "had grown", "named", "confidence"],
    );
    for arm in results.arms.iter().filter(|it| it.truth["grew"].is_string()) {
        let Some(recording) = arm.recording() else { continue };
        let answer = ask(&["analyze".to_owned(), recording.display().to_string()]);
        let (failed, grew) = (word(&arm.truth["failed"]), word(&arm.truth["grew"]));
        let moments =
            answer.as_ref().ok().map(|it| it["devices"][0]["memory"][0]["out_of_memory"].clone());
        let moments = moments.as_ref().and_then(Value::as_array).cloned().unwrap_or_default();
        let moment = moments.iter().find(|it| it["failed"] == failed).or(moments.first());
        let named = moment.map(|it| it["named"].to_string()).unwrap_or_default();
        let told = moment.map_or("nothing", |it| word(&it["failed"]));
        let confidence = moment.and_then(|it| number(it, "/confidence"));
        let cells = [failed, told, grew, &named, &digits(confidence, 2)].map(str::to_owned);
        let is_kept = told == failed && named == format!("[\"{grew}\"]");
        part.claim(&arm.name, cells.to_vec(), Outcome::of(is_kept));
    }
    part
}
