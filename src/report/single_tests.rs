//! Single figures: words stay apart at every size that is not refused, and files are whole.

use crate::domain::time::Timestamp;
use crate::report::Report;
use crate::report::compare::figure_of;
use crate::report::compare::tests::comparison;
use crate::report::diagnosis::picture;
use crate::report::figure::{
    Figure, GpuBar, GpuBarsFigure, MemoryStackFigure, SeriesColour, SlowdownGroup, SlowdownRow,
    SlowdownsFigure, StackLayer, Tile, TileKind, TilePanel, TilesFigure, Whisker,
};
use crate::report::plot::theme::Theme;
use crate::report::plot::{FileKind, NamedFigure, PlotError, figures, single, text_extent};
use crate::report::specimen::case::diagnosis;
use crate::report::specimen::quarrel::quarrel;
use crate::report::specimen::{HOSTILE, crowd, specimen};

const SIZES: [(u32, u32); 10] = [
    (480, 270),
    (600, 600),
    (640, 360),
    (800, 450),
    (1000, 400),
    (1280, 720),
    (720, 1280),
    (1920, 1080),
    (2560, 1080),
    (3840, 2160),
];

fn tenant(name: &str, factor: f64) -> SlowdownRow {
    let whisker = |it: f64| Some(Whisker { value: it, low: it * 0.9, high: it * 1.4 });
    SlowdownRow {
        name: name.to_owned(),
        p50: whisker(factor),
        p99: whisker(2.0 * factor),
        is_at_least: false,
        note: String::new(),
    }
}

/// Pictures of whatif, of plans and of memory, with names as they are in use.
fn others() -> Vec<Figure> {
    let names = ["chat-7f9c6d5b8-x2x4q", "nightly-batch-embedding", "b"];
    let rows: Vec<SlowdownRow> = names.iter().map(|it| tenant(it, 1.7)).collect();
    let group = |name: &str| SlowdownGroup { name: name.to_owned(), rows: rows.clone() };
    let tiles = |count: usize| -> Vec<Tile> {
        let kind = |it: usize| TileKind::ALL[it % TileKind::ALL.len()].0;
        (0..count).map(|it| Tile { kind: kind(it), tenants: it % 5 }).collect()
    };
    let panel = |name: &str, count| TilePanel { name: name.to_owned(), tiles: tiles(count) };
    let bar = |name: &str| GpuBar {
        name: name.to_owned(),
        base: 40.0,
        more: 7.0,
        note: "47 GPUs, 7 more than now".to_owned(),
    };
    let layer = |name: &&str| StackLayer {
        name: (*name).to_owned(),
        colour: SeriesColour::Resident(0),
        bytes: (0..60).map(|it| Some(1e9 * f64::from(it % 9 + 1))).collect(),
    };
    vec![
        Figure::Slowdowns(SlowdownsFigure {
            groups: vec![group("time slicing"), group("MPS")],
            limit: Some((1.5, "objective: p99 of at most 1.5x".to_owned())),
        }),
        Figure::Tiles(TilesFigure { panels: vec![panel("now", 64), panel("planned", 40)] }),
        Figure::GpuBars(GpuBarsFigure {
            rows: vec![bar("small servers on A100-SXM4-80GB"), bar("training")],
            limit: Some((64.0, "64 there are".to_owned())),
        }),
        Figure::MemoryStack(MemoryStackFigure {
            from: Timestamp::from_micros(1_795_856_400_000_000),
            bin_s: 10.0,
            layers: names.iter().map(layer).collect(),
            low_bytes: vec![Some(1e9); 60],
            room_bytes: Some(6e10),
            moments: vec![Timestamp::from_micros(1_795_856_600_000_000)],
        }),
    ]
}

/// Words of an SVG with the box that they take: left, top, right, bottom, in pixels.
fn words_of(svg: &str) -> Vec<(String, [f64; 4])> {
    let value = |tag: &str, name: &str| -> Option<String> {
        let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
        let length = tag[start..].find('"')?;
        Some(tag[start..start + length].to_owned())
    };
    let mut found = Vec::new();
    for part in svg.split("<text").skip(1) {
        let (tag, rest) = part.split_once('>').unwrap();
        let tag = format!(" {tag}");
        let number = |name: &str| value(&tag, name).and_then(|it| it.parse::<f64>().ok());
        let shown = rest.split("</text>").next().unwrap();
        let shown = shown.rsplit_once("</title>").map_or(shown, |it| it.1);
        let text = ["&lt;", "&gt;", "&amp;", "&quot;", "&apos;"]
            .iter()
            .zip(["<", ">", "&", "\"", "'"])
            .fold(shown.to_owned(), |it, (code, letter)| it.replace(code, letter));
        let em = number("font-size").unwrap() / 4.0;
        let (x, y) = (number("x").unwrap() / 4.0, number("y").unwrap() / 4.0);
        let width = text_extent(&text, em);
        let before = match value(&tag, "text-anchor").as_deref() {
            Some("end") => width,
            Some("middle") => width / 2.0,
            _ => 0.0,
        };
        let (up, down) = (0.72 * em, 0.2 * em);
        let is_turned = value(&tag, "transform").is_some_and(|it| it.contains("rotate"));
        let edges = match is_turned {
            false => [x - before, y - up, x - before + width, y + down],
            true => [x - up, y - width + before, x + down, y + before],
        };
        found.push((text, edges));
    }
    found
}

/// Complaints about words that meet or leave the sheet.
fn collisions(svg: &str, (width, height): (u32, u32)) -> Vec<String> {
    let words = words_of(svg);
    let mut complaints = Vec::new();
    for (text, [left, top, right, bottom]) in &words {
        if *left < 0.0 || *top < 0.0 || *right > f64::from(width) || *bottom > f64::from(height) {
            complaints.push(format!("`{text}` leaves the sheet: {left} {top} {right} {bottom}"));
        }
    }
    assert!(!words.is_empty(), "a picture without a word");
    for (place, (text, mine)) in words.iter().enumerate() {
        for (other, theirs) in &words[..place] {
            let meets =
                |low: usize, high: usize| mine[low] < theirs[high] && theirs[low] < mine[high];
            if meets(0, 2) && meets(1, 3) {
                complaints.push(format!("`{text}` meets `{other}`: {mine:?} {theirs:?}"));
            }
        }
    }
    complaints
}

#[test]
fn words_that_meet_or_leave_the_sheet_are_noticed() {
    let text = |x: u32, y: u32, word: &str| {
        format!("<text x=\"{x}\" y=\"{y}\" font-size=\"48\" fill=\"#000\">{word}</text>")
    };
    let apart = [text(40, 80, "one"), text(40, 160, "two")].concat();
    assert_eq!(collisions(&apart, (200, 100)), [""; 0]);
    let meeting = [text(40, 80, "one"), text(60, 90, "two")].concat();
    assert_eq!(collisions(&meeting, (200, 100)).len(), 1);
    assert_eq!(collisions(&text(780, 80, "over the edge"), (200, 100)).len(), 1);
}

fn named<'a>(id: &'a str, figure: &'a Figure) -> NamedFigure<'a> {
    NamedFigure { id, figure, caption: "What to see", alt: "What it shows" }
}

fn svg_of(named: &NamedFigure<'_>, size: Option<(u32, u32)>) -> Result<String, PlotError> {
    single(named, size, Theme::Light, FileKind::Svg).map(|it| String::from_utf8(it).unwrap())
}

/// Whether everything that is drawn at these sizes keeps its words apart; returns how often it was refused.
fn check(named: &NamedFigure<'_>) -> usize {
    let mut refused = 0;
    for size in SIZES {
        let svg = match svg_of(named, Some(size)) {
            Ok(svg) => svg,
            Err(PlotError::TooSmall { least_width, least_height, .. }) => {
                refused += 1;
                let least = (least_width, least_height);
                let svg = svg_of(named, Some(least)).unwrap();
                assert_eq!(collisions(&svg, least), [""; 0], "{} at its least {least:?}", named.id);
                continue;
            }
            Err(other) => panic!("{}: {other}", named.id),
        };
        assert_eq!(collisions(&svg, size), [""; 0], "{} at {size:?}", named.id);
    }
    refused
}

fn reports() -> Vec<Report> {
    vec![specimen().report(), quarrel().report(), crowd(2, 8).report()]
}

#[test]
fn words_of_a_figure_stay_apart_at_every_size_that_is_not_refused() {
    for report in reports() {
        for named in figures(&report) {
            check(&named);
        }
    }
    let changes = figure_of(&comparison("chat-7f9c6d5b8-x2x4q"));
    check(&named("changes", &changes));
    let suspects = picture(&diagnosis());
    check(&named("suspects", &suspects));
    for figure in others() {
        check(&named(&format!("{figure:?}")[..10], &figure));
    }
}

#[test]
fn every_figure_fits_a_usual_slide_and_most_fit_a_small_one() {
    for report in reports() {
        for named in figures(&report) {
            let slide = svg_of(&named, Some((1920, 1080)));
            assert!(
                slide.is_ok() || matches!(named.figure, Figure::DutyBars(it) if it.len() > 20),
                "{} {slide:?}",
                named.id
            );
        }
    }
    let world = specimen().report();
    let small = figures(&world).iter().filter(|it| svg_of(it, Some((480, 270))).is_ok()).count();
    assert!(small * 3 >= figures(&world).len() * 2, "{small} of {}", figures(&world).len());
}

#[test]
fn a_size_without_room_is_refused_with_the_least_one_which_is_taken() {
    let report = specimen().report();
    let it = figures(&report).into_iter().find(|it| it.id.starts_with("timeline-")).unwrap();
    let refused = svg_of(&it, Some((300, 100))).unwrap_err();
    let PlotError::TooSmall { least_width, least_height, .. } = refused else { panic!() };
    assert!(refused.to_string().contains(&format!("{least_width}x{least_height}")), "{refused}");
    assert!(svg_of(&it, Some((least_width, least_height))).is_ok());
    assert!(svg_of(&it, Some((least_width - 2, least_height))).is_err());
}

#[test]
fn a_png_has_exactly_the_size_that_was_asked_for_and_the_same_bytes_each_time() {
    let report = specimen().report();
    let it = figures(&report)[0];
    for size in [(481, 271), (960, 540)] {
        let draw = || single(&it, Some(size), Theme::Dark, FileKind::Png).unwrap();
        let bytes = draw();
        let mut header = [0_u32; 2];
        for (place, value) in header.iter_mut().enumerate() {
            let at = 16 + 4 * place;
            *value = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        }
        assert_eq!(header, [size.0, size.1]);
        assert_eq!(bytes, draw());
    }
}

#[test]
fn a_single_svg_says_what_it_shows_and_a_hostile_caption_stays_text() {
    let report = specimen().report();
    let mut it = figures(&report)[0];
    it.caption = HOSTILE;
    let svg = svg_of(&it, None).unwrap();
    assert!(!svg.contains("<script") && !svg.contains(['\u{1b}', '\u{202e}']), "{}", &svg[..600]);
    assert!(
        svg.contains("<title id=\"title\">&lt;script&gt;") && svg.contains("<desc id=\"desc\">")
    );
}
