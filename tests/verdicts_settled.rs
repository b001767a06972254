//! What a verdict advises settles it: the advised knowledge is applied, and the answer changes.

mod verdict_world;

use cotenant::colocation::demand::{Demand, Spread};
use cotenant::colocation::memory::MemoryDemand;
use cotenant::colocation::range::Range;
use cotenant::domain::mig_geometry::BOARDS;
use cotenant::recommender::configuration::configuration;
use cotenant::recommender::decide::decide;
use cotenant::recommender::mechanism::MechanismId;
use cotenant::recommender::policy::Policy;
use cotenant::recommender::reason::{ReasonKind, Weight};
use cotenant::recommender::shape::LoadShape;
use cotenant::recommender::situation::{Current, MigAbility, Situation, Tenant};
use cotenant::recommender::verdict::{Outcome, Verdict};
use cotenant::report::recommend::Recommendation;
use cotenant::stats::staircase::Staircase;
use verdict_world::situation;

const GIB: f64 = 1_073_741_824.0;

/// Situations that wait for something: board and tenants.
const WAITING: [(&str, &str); 9] = [
    ("H100", "one: batch, team a, unseen; other: batch, team a, unseen"),
    ("H100", "one: batch, team a, unseen, 6 GB; other: batch, team a, steady 10 %, 6 GB"),
    ("H100", "one: unseen; other: unseen; third: unseen"),
    (
        "H100",
        "one: batch, team a, steady 10 %, SMs 20 %; other: batch, team a, steady 10 %, SMs 20 %",
    ),
    ("L40S", "2 x job: batch, team a, steady 60 %, SMs unknown, 9 GB"),
    ("L40S", "2 x job: batch, team a, steady 10 %, 9 GB + 5 GB every 60s, memory every 15s"),
    ("unknown", "one: batch, team a, steady 10 %, 9 GB; other: batch, team b, steady 10 %, 9 GB"),
    ("unknown", "one: batch, team a, unseen; other: batch, team b, unseen"),
    ("H100", "only: batch, team a, unseen"),
];

fn demand(name: &str) -> Demand {
    let spread = Spread::Lognormal(0.3);
    Demand::bursts(name, 0.05, (0.004, spread), 80.0).expect("work").wide(0.1, 0.05)
}

/// Applies what an advice says is to be learnt, with a result that is good for sharing.
fn learn(situation: &mut Situation, advice: &str, policy: &Policy) {
    let memory = |it: &Tenant| MemoryDemand::of(&it.name, &[&[2.0 * GIB; 36_000]], 0.1);
    for it in &mut situation.tenants {
        if advice.contains("memory of each process") {
            it.memory = memory(it);
        }
        let is_activity = advice.contains("utilisation of")
            || advice.contains("activity of each MIG instance")
            || advice.contains("interval");
        if is_activity && it.demand.is_none() {
            let demand = demand(&it.name);
            it.shape = Some(LoadShape::of_demand(&demand, policy));
            it.demand = Some(demand);
        }
        if advice.contains("SM activity")
            && let Some(demand) = &mut it.demand
        {
            demand.width = Range::exact(0.1);
            demand.bandwidth = Range::exact(0.05);
            demand.assumptions.clear();
            it.shape = Some(LoadShape::of_demand(demand, policy));
        }
    }
    if advice.contains("nvidia-smi mig -lgip") {
        let board = BOARDS.iter().find(|it| it.name == "A100-80GB").expect("a board");
        situation.device.mig = MigAbility::Board(Box::new(board.clone()));
    }
}

fn what(verdict: &Verdict) -> (Outcome, Option<MechanismId>) {
    (verdict.outcome, verdict.mechanism())
}

#[test]
fn what_is_advised_changes_the_answer_when_it_is_learnt() {
    let policy = Policy::default();
    for is_mig in [None, Some(true)] {
        for (board, tenants) in WAITING {
            if is_mig.is_some() && board == "L40S" {
                continue;
            }
            let mut asked = situation(board, tenants, &policy);
            asked.now.is_mig = is_mig;
            let before = decide(&asked, &policy);
            assert_eq!(before.outcome, Outcome::NotEnoughEvidence, "{board}: {tenants}");
            let advice = before.measurement.as_ref().expect("something to do");
            learn(&mut asked, &advice.measurement.sentence, &policy);
            let then = decide(&asked, &policy);
            assert_ne!(what(&then), what(&before), "{board}: {tenants}: {advice:?}");
            assert_eq!(then.mechanism(), advice.would_allow, "{board}: {tenants}: {advice:?}");
        }
    }
}

#[test]
fn under_mig_nobody_is_told_to_record_what_the_driver_does_not_count() {
    let policy = Policy::default();
    let mut asked = situation("H100", "one: unseen; other: unseen", &policy);
    asked.now.is_mig = Some(true);
    let advice = decide(&asked, &policy).measurement.expect("something to do").measurement;
    assert!(!advice.sentence.contains("utilisation of each process"), "{advice:?}");
    assert!(advice.sentence.contains("each MIG instance"), "{advice:?}");
}

#[test]
fn a_device_whose_mode_is_on_can_be_cut_whatever_its_name_says() {
    let policy = Policy::default();
    let told = |board: &str| {
        let tenants =
            "one: batch, team a, steady 10 %, 9 GB; other: batch, team b, steady 10 %, 9 GB";
        let mut asked = situation(board, tenants, &policy);
        asked.now.is_mig = Some(true);
        let found = decide(&asked, &policy);
        let mig = found.rejected.into_iter().find(|it| it.mechanism == MechanismId::Mig);
        mig.expect("MIG is weighed").reason
    };
    for board in ["unknown", "L40S"] {
        let reason = told(board);
        assert!(reason.starts_with("MIG is on, and which profiles"), "{board}: {reason}");
    }
}

#[test]
fn memory_that_was_seen_once_is_told_with_its_size() {
    let policy = Policy::default();
    let mut asked = situation("H100", "one: unseen; other: unseen", &policy);
    for it in &mut asked.tenants {
        it.memory = Some(MemoryDemand::glimpsed(&it.name, 3.0 * GIB, 1));
    }
    let found = decide(&asked, &policy);
    let all = || found.rejected.iter().flat_map(|it| &it.reasons);
    let once: Vec<&str> =
        all().filter(|it| it.kind == ReasonKind::Memory).map(|it| it.sentence.as_str()).collect();
    let wanted = "`one` held 3.0 GiB, `other` held 3.0 GiB, in one sample: what they hold at other times is not known";
    assert!(!once.is_empty() && once.iter().all(|it| *it == wanted), "{once:?}");
    // Less than what is there even at once: it is refused, and not because nothing was seen.
    for it in &mut asked.tenants {
        it.memory.as_mut().expect("seen").stairs =
            Staircase { samples: 1, ..Staircase::constant(90.0 * GIB) };
    }
    let found = decide(&asked, &policy);
    let mig = found.rejected.iter().find(|it| it.mechanism == MechanismId::Mig).expect("MIG");
    assert!(mig.reasons.iter().any(|it| it.weight == Weight::Refuses), "{mig:?}");
}

fn nameless(board: &str, tenants: &str) -> (Verdict, Verdict) {
    let policy = Policy::default();
    let mut asked = situation(board, tenants, &policy);
    let named = decide(&asked, &policy);
    asked.now = Current { is_anonymous: true, ..asked.now };
    (named, decide(&asked, &policy))
}

fn lead(verdicts: &[Verdict]) -> String {
    Recommendation {
        title: "",
        verdicts,
        together: None,
        configuration: &configuration(&[]),
        extent: None,
        notes: &[],
        tool_version: "",
        command: "",
    }
    .headline()
}

#[test]
fn nothing_stands_on_one_tenant_where_nobody_knows_who_was_on_it() {
    for (board, tenants) in [
        ("H100", "x: batch, steady 10 %, SMs 10 %, 8 GB"),
        ("L40S", "x: batch, steady 10 %, 8 GB"),
        ("H100", "x: unseen"),
    ] {
        let (named, unnamed) = nameless(board, tenants);
        assert!(unnamed.confidence.value() < named.confidence.value(), "{board}");
        let reasons = unnamed.lowered_by.iter().map(|it| it.sentence.as_str());
        let said = reasons.filter(|it| it.starts_with("nobody knows who was on it")).count();
        assert_eq!(said, 1, "{board}: {:?}", unnamed.lowered_by);
        assert!(unnamed.measurement.is_some(), "{board}: who is on it can be recorded");
        let one = lead(std::slice::from_ref(&unnamed));
        assert!(
            one.starts_with("Nobody knows who was on GPU 0: no process was recorded."),
            "{one}"
        );
        assert!(!one.contains("its one tenant"), "{one}");
        let several = lead(&[unnamed.clone(), unnamed, named]);
        assert!(several.contains("Nobody knows who was on 2 of them"), "{several}");
    }
}

#[test]
fn a_device_each_is_not_held_against_ways_that_are_ruled_out() {
    let policy = Policy::default();
    for (board, tenants) in WAITING {
        let found = decide(&situation(board, tenants, &policy), &policy);
        let own = found.rejected.iter().find(|it| it.mechanism == MechanismId::Exclusive);
        let reason = &own.expect("it is weighed").reason;
        assert!(!reason.contains("another way"), "{reason}");
        let is_open = |it: &&cotenant::recommender::verdict::Rejected| {
            it.reasons.first().is_some_and(|it| it.weight == Weight::Open)
        };
        let open = found.rejected.iter().filter(is_open);
        let titles = [
            (MechanismId::Mig, "MIG"),
            (MechanismId::Mps, "MPS"),
            (MechanismId::TimeSlicing, "Time slicing"),
        ];
        for it in open {
            let title = titles.iter().find(|own| own.0 == it.mechanism).expect("a title").1;
            assert!(reason.contains(title), "{title}: {reason}");
        }
    }
}

#[test]
fn a_doubt_names_what_would_lift_it_and_that_does() {
    let tenants = "3 x etl: batch, steady 20 %, SMs 30 %, 6 GB";
    let usual = Policy::default();
    let sure = decide(&situation("H100", tenants, &usual), &usual).confidence.value();
    let policy = Policy { least_confidence: 1.05 * sure, ..usual };
    let mut asked = situation("H100", tenants, &policy);
    let before = decide(&asked, &policy);
    assert_eq!(before.outcome, Outcome::NotEnoughEvidence, "{before:?}");
    let advice = before.measurement.expect("something to do").measurement.sentence;
    assert!(advice.contains("trust_domain"), "{advice}");
    for it in &mut asked.tenants {
        it.policy.trust_domain = Some("one".to_owned());
    }
    let then = decide(&asked, &policy);
    assert_eq!(then.outcome, Outcome::Share, "{advice}: {:?}", then.lowered_by);
}
