//! The exporter keeps the shape: what 15 s scrapes bring back is what ten samples a second say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod scraped_world;

use cotenant::recommender::suitability::SharingWord;
use scraped_world::{findings, profiles, scenario, three_ways, words};

const SCALES: [&str; 5] =
    ["steady-30", "bursty-30-3ms", "bursty-30-30ms", "bursty-30-300ms", "bursty-30-3s"];

#[test]
fn scrapes_every_15_s_give_the_verdict_of_every_sample_and_plain_gauges_do_not() {
    let mut plain_right = 0;
    for name in SCALES {
        let ways = three_ways(&cotenant_scenario::shipped(name).unwrap());
        let (full, scraped) = (words(&ways.full), words(&ways.scraped));
        assert_eq!(full["GPU 0"], scraped["GPU 0"], "{name}");
        assert_ne!(full["GPU 0"], SharingWord::CannotTell, "{name}");
        plain_right += u32::from(words(&ways.plain).get("GPU 0") == full.get("GPU 0"));

        let (full, scraped) = (&profiles(&ways.full)["GPU 0"], &profiles(&ways.scraped)["GPU 0"]);
        // The first scrape has nothing before it, so 15 of 600 s are missing.
        assert!((full.mean_ratio - scraped.mean_ratio).abs() < 0.02, "{name}");
        let cv = |it: &cotenant::analysis::findings::BurstProfile| {
            it.standard_deviation_ratio / it.mean_ratio
        };
        assert!(
            (cv(full) / cv(scraped) - 1.0).abs() < 0.05,
            "{name}: {} {}",
            cv(full),
            cv(scraped)
        );
        assert!((full.duty.at_95_pct - scraped.duty.at_95_pct).abs() < 0.02, "{name}");
        assert_eq!(full.resolution.verdict, scraped.resolution.verdict, "{name}");
        let (full, scraped) = (full.bursts.as_ref(), scraped.bursts.as_ref());
        assert_eq!(full.is_some(), scraped.is_some(), "{name}");
        if let (Some(full), Some(scraped)) = (full, scraped) {
            let middle =
                |it: &cotenant::analysis::findings::Bursts| it.burst_lengths.p50_s.unwrap();
            let ratio = middle(full) / middle(scraped);
            assert!((0.7..1.4).contains(&ratio), "{name}: {} {}", middle(full), middle(scraped));
        }
    }
    assert_eq!(plain_right, 0, "plain gauges at 15 s cannot tell any of the five");
}

#[test]
fn what_was_counted_says_who_counted_and_what_it_cannot_know() {
    let ways = three_ways(&cotenant_scenario::shipped("bursty-30-3s").unwrap());
    let profile = &profiles(&ways.scraped)["GPU 0"];
    assert!(
        profile.resolution.sentence.starts_with("seen by the exporter every 0.1 s: resolved"),
        "{}",
        profile.resolution.sentence
    );
    assert_eq!((profile.period, profile.allan_slope), (None, None));
    let spots = &ways.scraped.outline.blind_spots;
    assert!(
        spots.iter().any(|it| it.detail.contains("what came first within a part")),
        "{spots:?}"
    );
    let together = &findings(&ways.scraped).devices[0].co_activations;
    assert!(together.is_empty(), "who was busy at the same time was not kept: {together:?}");
}

#[test]
fn verdicts_agree_in_generated_scenarios() {
    let (mut agree, mut all) = (0, 0);
    for seed in 1..=12 {
        let ways = three_ways(&scenario(seed));
        let (full, scraped) = (words(&ways.full), words(&ways.scraped));
        all += 1;
        agree += u32::from(full.get("GPU 0") == scraped.get("GPU 0"));
    }
    assert!(agree >= all - 1, "{agree} of {all}; `cargo bench --bench exporter` has all 200");
}
