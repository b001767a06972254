//! What holds for text in every width: nothing too wide, nothing squeezed, nothing lost.

use crate::domain::outline::Outline;
use crate::report::Report;
use crate::report::block::{Align, Block, Cell, Column, Table};
use crate::report::render::text::{Look, sheet};
use crate::report::specimen::quarrel::quarrel;
use crate::report::specimen::{case, crowd, specimen};
use std::collections::BTreeMap;
use unicode_width::UnicodeWidthStr;

const WIDTHS: [usize; 4] = [60, 80, 100, 120];

const REASON: &str = "Full use in bursts longer than a request takes 17.5 % of the time: it decides \
                      a neighbour's p99, whatever the mean says";

fn column(title: &str, align: Align) -> Column {
    Column { title: title.to_owned(), align }
}

/// A table as reports have them: names, short words, a sentence and a number.
fn loads() -> Report {
    let row = |name: &str| {
        let text = |it: &str| Cell::Text(it.to_owned());
        vec![
            Cell::Name(name.to_owned()),
            text("GPU 0"),
            text("shares with care"),
            text(REASON),
            Cell::Quantity("0.88".to_owned()),
            Cell::Missing("nothing was measured".to_owned()),
        ]
    };
    let columns = [
        ("Load", Align::Left),
        ("On", Align::Left),
        ("Verdict", Align::Left),
        ("First reason", Align::Left),
        ("Confidence", Align::Right),
        ("Of the time", Align::Right),
    ];
    let table = Table {
        caption: "Each load by itself".to_owned(),
        columns: columns.iter().map(|it| column(it.0, it.1)).collect(),
        rows: ["embed (pid 41000)", "batch (pid 41051)"].map(row).to_vec(),
    };
    Report { title: "t".to_owned(), subtitle: "s".to_owned(), blocks: vec![Block::Table(table)] }
}

/// The most words of `sentence` that stand one below the other, each alone in its part of a line.
fn longest_stack(text: &str, sentence: &str) -> usize {
    let words: Vec<&str> = sentence.split(' ').collect();
    let (mut longest, mut run) = (0, 0);
    for line in text.lines() {
        // Cells of a line are two spaces apart at least.
        let cells = line.split("  ").map(str::trim).filter(|it| !it.is_empty());
        let is_single = cells.into_iter().any(|it| words.contains(&it) && !it.contains(' '));
        run = if is_single { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[test]
fn a_sentence_never_becomes_a_column_of_single_words() {
    for width in WIDTHS {
        let shown = sheet(&loads(), Look::plain(width));
        assert!(longest_stack(&shown, REASON) <= 1, "{width}:\n{shown}");
        let flat: Vec<&str> = shown.split_whitespace().collect();
        assert!(
            width == 120 || flat.join(" ").contains(REASON),
            "{width}: the sentence is whole\n{shown}"
        );
    }
}

#[test]
fn a_heading_never_stacks_up_and_no_line_is_too_wide() {
    for report in [loads(), specimen().report(), crowd(3, 4).report()] {
        for width in WIDTHS {
            let shown = sheet(&report, Look::plain(width));
            assert!(longest_stack(&shown, "Of the time") <= 1, "{width}:\n{shown}");
            assert!(longest_stack(&shown, "Minimum detectable effect") <= 1, "{width}");
            for line in shown.lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }
}

/// Every number of a text with how often it stands there.
fn numbers(text: &str) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    for number in text.split(|it: char| !it.is_ascii_digit() && it != '.' && it != ',') {
        let number = number.trim_matches(['.', ',']);
        if number.contains(|it: char| it.is_ascii_digit()) {
            *found.entry(number).or_insert(0) += 1;
        }
    }
    found
}

#[test]
fn nothing_is_cut_inside_a_number_however_narrow_it_is() {
    let diagnosis = crate::report::diagnosis::report(&crate::report::diagnosis::DiagnosisInput {
        diagnosis: &case::diagnosis(),
        outline: &Outline::default(),
        tool_version: "0.1.0",
        command: "",
    });
    let reports =
        [loads(), specimen().report(), crowd(3, 4).report(), quarrel().report(), diagnosis];
    for report in reports {
        let wide = sheet(&report, Look::plain(200));
        let wanted = numbers(&wide);
        for width in [40, 44, 50, 60] {
            let narrow = sheet(&report, Look::plain(width));
            let shown = numbers(&narrow);
            for number in shown.keys() {
                assert!(
                    wanted.contains_key(number),
                    "{width}: a part of a number, {number}\n{narrow}"
                );
            }
            for (number, times) in &wanted {
                let found = shown.get(number).copied().unwrap_or(0);
                assert!(found >= *times, "{width}: {number} {found} of {times} times\n{narrow}");
            }
            assert!(narrow.lines().all(|it| it.width() <= width), "{width}");
        }
    }
}

#[test]
fn the_table_of_loads_reads_well_in_eighty_columns() {
    insta::assert_snapshot!(sheet(&loads(), Look::plain(80)), @r"
    t
    s

      Each load by itself
                                                              Of the
      Load               On     Verdict           Confidence    time
          First reason
      embed (pid 41000)  GPU 0  shares with care        0.88       —
          Full use in bursts longer than a request takes 17.5 % of the time: it
          decides a neighbour's p99, whatever the mean says
      batch (pid 41051)  GPU 0  shares with care        0.88       —
          Full use in bursts longer than a request takes 17.5 % of the time: it
          decides a neighbour's p99, whatever the mean says
      — stands for no value: nothing was measured.
    ");
}

#[test]
fn what_is_folded_is_one_line_and_comes_back_in_full() {
    let inside = vec![Block::Text("the proof".to_owned()), loads().blocks[0].clone()];
    let fold = |name: &str| Block::Details { summary: name.to_owned(), blocks: inside.clone() };
    let term = |it: &str| Block::Term { term: it.to_owned(), meaning: "a long story".to_owned() };
    let blocks = vec![
        Block::Lead("first".to_owned()),
        fold("Evidence"),
        fold("Pairs"),
        term("Burst"),
        term("Gap"),
    ];
    let report = Report { title: "t".to_owned(), subtitle: "s".to_owned(), blocks };
    let folded = sheet(&report, Look::plain(80).folded());
    assert!(folded.contains("… Evidence; Pairs (2 tables; --full shows all)"), "{folded}");
    assert!(folded.contains("… Burst, Gap; `cotenant explain TERM` tells"), "{folded}");
    assert!(!folded.contains("the proof") && !folded.contains("a long story"));
    let full = sheet(&report, Look::plain(80));
    assert_eq!(full.matches("the proof").count(), 2);
    assert_eq!(full.matches("a long story").count(), 2);
    assert!(!full.contains("--full"));
}

#[test]
fn ascii_says_the_same_in_lines_of_the_same_width() {
    for report in [loads(), specimen().report()] {
        for width in WIDTHS {
            let look = Look { is_ascii: true, ..Look::plain(width) };
            let shown = sheet(&report, look);
            assert!(shown.is_ascii(), "{width}");
            assert!(shown.lines().all(|it| it.len() <= width), "{width}");
        }
    }
    let shown = sheet(&specimen().report(), Look { is_ascii: true, ..Look::plain(80) });
    assert!(
        shown.contains("* exclusive")
            && shown.contains("+ time slicing")
            && shown.contains("? not enough"),
        "marks stay apart: {shown}"
    );
}

#[test]
fn colour_takes_no_room_and_carries_nothing_alone() {
    let report = specimen().report();
    let coloured = sheet(&report, Look { has_colour: true, ..Look::plain(80) }.folded());
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        bare.push_str(before);
        rest = after.split_once('m').expect("a sequence ends").1;
    }
    bare.push_str(rest);
    assert_eq!(bare, sheet(&report, Look::plain(80).folded()));
}

#[test]
fn hostile_names_do_nothing_to_a_terminal() {
    let mut world = specimen();
    let hostile = format!("\u{1b}[2J\u{202e}evil\r\n\u{7}{}", "y".repeat(10_000));
    world.findings.devices[1].subjects[1].label = hostile;
    let report = world.report();
    for look in
        [Look::plain(80), Look::plain(60).folded(), Look { is_ascii: true, ..Look::plain(80) }]
    {
        let shown = sheet(&report, look);
        assert!(!shown.contains(|it: char| it.is_control() && it != '\n'));
        assert!(!shown.contains('\u{202e}') && !shown.contains(&"y".repeat(100)));
        assert!(shown.lines().all(|it| it.width() <= look.width));
    }
}

#[test]
fn verdicts_show_the_shape_of_each_load() {
    let shown = sheet(&specimen().report(), Look::plain(80));
    let has_shape = |line: &str| line.contains(['▂', '▃', '▄', '▅', '▆', '▇']);
    assert!(shown.lines().any(|it| has_shape(it) && it.contains("shares well")), "{shown}");
}
