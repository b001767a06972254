//! What holds for every report, whatever it is about.

use crate::analysis::findings::{Duty, Findings, LengthBin, ScaleValue, TimelineBin};
use crate::domain::metric::Metric;
use crate::domain::outline::Outline;
use crate::domain::time::{TimeSpan, Timestamp};
use crate::report::block::{Block, Cell, Mark, Table, VerdictCard};
use crate::report::figure::{
    Axis, CvCurve, DutyBar, Figure, HistogramPanel, MatrixCell, MatrixFigure, MemoryBar,
    MemoryStackFigure, RowSeries, SeriesColour, SlowdownGroup, SlowdownRow, SlowdownsFigure,
    StackLayer, SuspectLane, SuspectsFigure, TimelineFigure, TimelineRow, Whisker,
};
use crate::report::plot::theme::Theme;
use crate::report::plot::{Format, PlotError, figures, render};
use crate::report::render::html::{page, page_without_script};
use crate::report::render::text::text;
use crate::report::sections::SECTIONS;
use crate::report::specimen::{Specimen, crowd, specimen};
use std::collections::BTreeSet;
use unicode_width::UnicodeWidthStr;

/// All blocks, the folded ones included.
fn every_block(blocks: &[Block]) -> Vec<&Block> {
    let mut all = Vec::new();
    for block in blocks {
        all.push(block);
        if let Block::Details { blocks, .. } = block {
            all.extend(every_block(blocks));
        }
    }
    all
}

fn tables(blocks: &[Block]) -> Vec<&Table> {
    let table = |it: &&Block| matches!(it, Block::Table(_));
    let all = every_block(blocks).into_iter().filter(table);
    all.filter_map(|it| if let Block::Table(table) = it { Some(table) } else { None }).collect()
}

fn cards(blocks: &[Block]) -> Vec<&VerdictCard> {
    let all = every_block(blocks).into_iter();
    all.filter_map(|it| if let Block::Verdict(card) = it { Some(card) } else { None }).collect()
}

fn nothing() -> Specimen {
    Specimen {
        outline: Outline::default(),
        findings: Findings::default(),
        suitability: Vec::new(),
        settings: Vec::new(),
    }
}

#[test]
fn section_ids_are_unique_and_in_kebab_case() {
    let ids: BTreeSet<&str> = SECTIONS.iter().map(|it| it.id()).collect();
    assert_eq!(ids.len(), SECTIONS.len());
    assert!(ids.iter().all(|it| it.bytes().all(|it| it.is_ascii_lowercase() || it == b'-')));
}

#[test]
fn the_verdict_comes_before_everything_else() {
    let report = specimen().report();
    let Block::Lead(lead) = &report.blocks[1] else { panic!("{:?}", report.blocks[1]) };
    assert_eq!(
        lead,
        "Of 3 GPUs, 1 is to be shared by time slicing, 1 should not be shared (its 2 tenants need a GPU each) and 1 cannot be decided about yet."
    );
    let lines = text(&report, 80, false);
    let verdict = lines.find("What to do with each GPU").unwrap();
    assert!(verdict < lines.find("What happened when").unwrap());
}

#[test]
fn what_was_not_measured_is_never_a_number() {
    let report = specimen().report();
    let is_number =
        |it: &&Cell| matches!(it, Cell::Number { .. } | Cell::Quantity(_) | Cell::Measure { .. });
    let unread = Cell::Name("gpu2".to_owned());
    let mut rows = 0;
    for row in tables(&report.blocks).iter().flat_map(|it| &it.rows) {
        if row.first() == Some(&unread) {
            rows += 1;
            assert!(!row.iter().any(|it| is_number(&it)), "{row:?}");
        }
    }
    assert!(rows > 0, "the device stands in a table");
    let mut alone = specimen();
    alone.findings.devices.drain(..2);
    let blocks = alone.report().blocks;
    let card = cards(&blocks).into_iter().find(|it| it.name == "gpu2").unwrap();
    assert!(card.facts.iter().all(|it| matches!(it.1, Cell::Missing(_))), "{:?}", card.facts);
    assert!(card.glance.is_none());
    for shown in [page_without_script(&report), text(&report, 80, false)] {
        assert!(!shown.contains("NaN") && !shown.contains("inf "), "a broken number is shown");
    }
}

#[test]
fn a_hostile_name_is_shown_as_it_reads_and_does_nothing() {
    let report = specimen().report();
    let html = page_without_script(&report);
    assert!(!html.contains("<script"), "markup in a name stays text");
    assert!(html.contains("&lt;script&gt;"), "the name can still be read");
    for shown in [html, text(&report, 80, false)] {
        let is_control = |it: char| it.is_control() && it != '\n';
        assert!(!shown.contains(is_control), "no control character survives");
        assert!(!shown.contains('\u{202e}'), "no line can be turned around");
    }
    for it in figures(&report) {
        let svg = render(it.figure, it.figure.natural_size(), Theme::Light, Format::Svg).unwrap();
        assert!(!String::from_utf8(svg).unwrap().contains("<script"), "{}", it.id);
    }
}

#[test]
fn a_name_of_ten_thousand_letters_leaves_the_page_small() {
    let mut world = specimen();
    world.findings.devices[1].subjects[1].label.push_str(&"x".repeat(10_000));
    let report = world.report();
    assert!(page(&report).len() < 700_000);
    assert!(!text(&report, 80, false).contains(&"x".repeat(100)));
}

/// Noise with every digit used: what is hardest to tell shortly.
fn noisy(bins: &[TimelineBin], length_s: f64, top: f64, seed: u64) -> Vec<TimelineBin> {
    let start = bins.first().map_or(Timestamp::from_micros(0), |it| it.at);
    let mut state = seed;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31) * top
    };
    let bin = |place: i64| {
        let mut values = [next(), next(), next()];
        values.sort_by(f64::total_cmp);
        let at = start.plus_micros((place as f64 * length_s * 1e6) as i64);
        TimelineBin { at, low: values[0], mean: values[1], high: values[2] }
    };
    (0..900).map(bin).collect()
}

#[test]
fn eight_devices_with_full_timelines_stay_below_five_megabytes() {
    let mut world = crowd(8, 8);
    let bin_s = 7.0 * 86_400.0 / 900.0;
    for (device, found) in world.findings.devices.iter_mut().enumerate() {
        for (place, subject) in found.subjects.iter_mut().enumerate() {
            for timeline in &mut subject.timelines {
                let top = if timeline.metric == Metric::FramebufferUsed { 8e10 } else { 100.0 };
                let seed = (device * 100 + place) as u64;
                timeline.bins = noisy(&timeline.bins, bin_s, top, seed);
                timeline.bin_s = bin_s;
            }
        }
    }
    let html = page(&world.report());
    let timelines = html.matches("id=\"timeline-gpu").count();
    assert!(timelines >= 8, "{timelines}");
    assert!(html.len() < 5_000_000, "{}", html.len());
    assert!(html.len() > 1_000_000, "the timelines are there: {}", html.len());
}

#[test]
fn the_page_loads_nothing_and_runs_nothing_but_its_own_script() {
    let report = specimen().report();
    let html = page(&report);
    for forbidden in ["http:", "https:", "src=", "url(", "@import", "<link", "onload", "fetch("] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    assert_eq!(html.matches("<script").count(), 1);
    assert!(!page_without_script(&report).contains("<script"));
    assert!(html.contains("default-src 'none'"));
}

#[test]
fn the_page_takes_every_hue_of_its_pictures_from_the_style() {
    let html = page(&specimen().report());
    assert!(html.contains("var(--plot-ink)"));
    for fixed in ["fill=\"#", "stroke=\"#"] {
        assert!(!html.contains(fixed), "a fixed hue would be lost on dark ground");
    }
}

#[test]
fn no_line_of_text_is_wider_than_asked_for() {
    let mut world = specimen();
    world.findings.devices[0].subjects[1].label =
        "推論サーバー、とても長い名前のプロセス".to_owned();
    for (world, widths) in [(world, [40, 80, 120]), (crowd(3, 4), [60, 80, 100])] {
        let report = world.report();
        for width in widths {
            for line in text(&report, width, false).lines() {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn colour_changes_the_look_of_the_text_and_not_the_words() {
    let report = specimen().report();
    let (plain, mut coloured) = (text(&report, 80, false), text(&report, 80, true));
    assert!(!plain.contains('\u{1b}'));
    assert!(coloured.contains("\u{1b}[1;31m"), "what is not to be shared is red");
    while let Some(start) = coloured.find('\u{1b}') {
        let end = start + coloured[start..].find('m').unwrap();
        coloured.replace_range(start..=end, "");
    }
    assert_eq!(coloured, plain);
}

#[test]
fn the_same_results_give_the_same_bytes() {
    let (first, second) = (specimen().report(), specimen().report());
    assert_eq!(page(&first), page(&second));
    assert_eq!(text(&first, 80, true), text(&second, 80, true));
    let it = figures(&first)[0];
    let png = || render(it.figure, (300, 200), Theme::Dark, Format::Png { scale: 1 }).unwrap();
    assert_eq!(png(), png());
}

#[test]
fn anchors_and_names_of_pictures_are_unique_even_for_devices_of_one_name() {
    let mut world = crowd(4, 1);
    for device in &mut world.findings.devices {
        device.label = "GPU 0".to_owned();
    }
    let report = world.report();
    let mut anchors = BTreeSet::new();
    for block in every_block(&report.blocks) {
        if let Block::Heading { anchor: id, .. } | Block::Figure { id, .. } = block {
            assert!(anchors.insert(id.clone()), "{id} stands twice");
        }
    }
}

#[test]
fn a_crowd_stays_readable_and_nobody_is_lost() {
    let report = crowd(9, 20).report();
    let drawn = figures(&report);
    let first = drawn.iter().find(|it| it.id.starts_with("timeline-")).unwrap();
    assert!(first.caption.contains("15 more are in the tables"), "{}", first.caption);
    let Figure::Timeline(timeline) = first.figure else { panic!("{:?}", first.id) };
    assert!(timeline.rows.len() <= 7, "device, five loads and memory");
    let levels = |it: &&&Table| it.caption.starts_with("Level and rhythm");
    for table in tables(&report.blocks).iter().filter(levels) {
        assert_eq!(table.rows.len(), 21, "{}", table.caption);
    }
    let folded =
        |it: &&Block| matches!(it, Block::Details { summary, .. } if summary.ends_with("timeline"));
    let all = every_block(&report.blocks);
    assert_eq!(all.into_iter().filter(folded).count(), 6, "all but three devices are folded");
    assert!(cards(&report.blocks).is_empty(), "a table takes the place of nine cards");
}

#[test]
fn a_recording_without_anything_still_becomes_a_report() {
    let report = nothing().report();
    assert!(page(&report).contains("No GPU was found in this recording"));
    assert!(text(&report, 80, false).contains("No GPU was found in this recording"));
    assert!(figures(&report).is_empty());
}

#[test]
fn a_load_on_no_known_gpu_is_shown_as_well() {
    let mut world = specimen();
    let lost = world.findings.devices[0].subjects.remove(1);
    world.findings.unplaced.push(lost);
    let report = world.report();
    assert!(figures(&report).iter().any(|it| it.id == "timeline-no-known-gpu"));
    assert!(cards(&report.blocks).iter().all(|it| it.name != "Loads on no known GPU"));
}

#[test]
fn a_report_explains_the_terms_that_it_uses_and_no_others() {
    let terms = |world: &Specimen| -> Vec<String> {
        let blocks = world.report().blocks;
        let term = |it: Block| if let Block::Term { term, .. } = it { Some(term) } else { None };
        blocks.into_iter().filter_map(term).collect()
    };
    assert!(terms(&specimen()).contains(&"Demand CV".to_owned()));
    assert!(!terms(&nothing()).contains(&"Demand CV".to_owned()));
}

#[test]
fn a_png_has_the_size_that_was_asked_for_and_is_not_blank() {
    let report = specimen().report();
    let it = figures(&report).into_iter().find(|it| it.id == "duty-gpu-1").unwrap();
    for (scale, size) in [(1, (500, 160)), (2, (320, 120))] {
        let png = render(it.figure, size, Theme::Light, Format::Png { scale }).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((frame.width, frame.height), (size.0 * scale, size.1 * scale));
        let hues: BTreeSet<&[u8]> = pixels.chunks_exact(3).collect();
        assert!(hues.len() > 20, "only {} hues", hues.len());
        assert!(hues.contains([0xD5, 0x5E, 0x00].as_slice()), "the share of full load is there");
    }
}

/// Whether every tag is closed by its own name, attributes are quoted and nothing else is left.
fn is_well_formed(svg: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        if rest[..start].contains('>') {
            return false;
        }
        let Some(end) = rest[start..].find('>').map(|it| it + start) else { return false };
        let tag = &rest[start + 1..end];
        if !tag.matches('"').count().is_multiple_of(2) || tag.contains('<') {
            return false;
        }
        let name = |it: &'_ str| it.split([' ', '/']).next().unwrap_or_default().len();
        if let Some(closed) = tag.strip_prefix('/') {
            if open.pop() != Some(closed) {
                return false;
            }
        } else if !tag.ends_with('/') {
            open.push(&tag[..name(tag)]);
        }
        rest = &rest[end + 1..];
    }
    open.is_empty() && rest.trim().is_empty()
}

#[test]
fn every_svg_is_well_formed() {
    assert!(!is_well_formed("<svg><text>a</svg>") && !is_well_formed("<svg><a b=\"></a></svg>"));
    let report = specimen().report();
    for it in figures(&report) {
        for theme in [Theme::Light, Theme::Dark] {
            let svg = render(it.figure, it.figure.natural_size(), theme, Format::Svg).unwrap();
            let svg = String::from_utf8(svg).unwrap();
            assert!(svg.starts_with("<svg xmlns=") && is_well_formed(&svg), "{}", it.id);
        }
    }
}

/// One figure of each kind whose every number is this one.
fn extreme(value: f64) -> Vec<Figure> {
    let at = Timestamp::from_micros(1_000_000);
    let span = TimeSpan::covering(at, at);
    let bin = TimelineBin { at, low: value, mean: value, high: value };
    let colour = SeriesColour::Resident(99);
    let name = "a".repeat(300);
    let series = RowSeries {
        mean: None,
        name: name.clone(),
        colour,
        shows_range: true,
        bin_s: value.abs(),
        bins: vec![bin; 3],
    };
    let row = |axis| TimelineRow {
        name: name.clone(),
        axis,
        top: value,
        limit: Some((value, name.clone())),
        series: vec![series.clone()],
    };
    let duty = Duty { at_5_pct: value, at_50_pct: value, at_95_pct: value };
    let point = ScaleValue { scale_s: value, value };
    let length = LengthBin {
        from_s: value,
        until_s: value * 2.0,
        count: u64::MAX / 2,
        time_ratio: value,
        height_ratio: Some(value),
    };
    vec![
        Figure::Timeline(TimelineFigure {
            span,
            rows: vec![row(Axis::Percent), row(Axis::Bytes)],
            phases: vec![(name.clone(), span)],
        }),
        Figure::Strip { span, series: series.clone() },
        Figure::DutyBars(vec![DutyBar { name: name.clone(), duty, mean_ratio: value }]),
        Figure::DemandCv(vec![CvCurve { name: name.clone(), colour, points: vec![point; 2] }]),
        Figure::BurstHistogram(vec![HistogramPanel {
            name: name.clone(),
            colour,
            bins: vec![length],
            p50_s: Some(value),
            window_s: value,
        }]),
        Figure::MemoryBars {
            bars: vec![MemoryBar {
                name: name.clone(),
                colour,
                median_bytes: value,
                peak_bytes: value,
            }],
            total_bytes: Some(value),
        },
        extreme_stack(&name, colour, value),
        Figure::Matrix(extreme_matrix(&name)),
        Figure::Suspects(extreme_suspects(&name, value)),
        Figure::Slowdowns(extreme_slowdowns(&name, value)),
    ]
}

/// Tenants whose every number is this one, and one without any.
fn extreme_slowdowns(name: &str, value: f64) -> SlowdownsFigure {
    let point = Some(Whisker { value, low: value, high: 2.0 * value });
    let row = |p50, p99, is_at_least| SlowdownRow {
        name: name.to_owned(),
        p50,
        p99,
        is_at_least,
        note: name.to_owned(),
    };
    let rows = vec![row(point, point, false), row(point, point, true), row(None, None, false)];
    let groups = vec![SlowdownGroup { name: name.to_owned(), rows }];
    SlowdownsFigure { groups, limit: Some((value, name.to_owned())) }
}

/// A stack of three bins whose every number is this one.
fn extreme_stack(name: &str, colour: SeriesColour, value: f64) -> Figure {
    Figure::MemoryStack(MemoryStackFigure {
        from: Timestamp::from_micros(1_000_000),
        bin_s: value,
        layers: vec![StackLayer { name: name.to_owned(), colour, bytes: vec![Some(value); 3] }],
        low_bytes: vec![Some(value); 3],
        room_bytes: Some(value),
        moments: vec![Timestamp::from_micros(i64::MAX)],
    })
}

/// A victim and a suspect whose every number is this one.
fn extreme_suspects(name: &str, value: f64) -> SuspectsFigure {
    let at = Timestamp::from_micros(1_000_000);
    let span = TimeSpan::covering(at, at);
    SuspectsFigure {
        span,
        victim: name.to_owned(),
        metric: Metric::LatencyP99,
        bin_s: value,
        values: vec![Some(value), None, Some(value * 100.0)],
        window: Some(span),
        lanes: vec![SuspectLane {
            name: name.to_owned(),
            colour: SeriesColour::Resident(99),
            activity: vec![Some(value), None],
            bursts: vec![span],
            is_guilty: true,
        }],
    }
}

/// More rows than columns, and words that fit nowhere.
fn extreme_matrix(name: &str) -> MatrixFigure {
    let cell = MatrixCell { mark: Mark::Firm, value: name.to_owned(), note: name.to_owned() };
    MatrixFigure {
        suspects: vec![name.to_owned(); 3],
        victims: vec!["b".to_owned(); 7],
        cells: vec![vec![Some(cell), None]; 3],
    }
}

#[test]
fn no_number_can_break_a_picture() {
    for value in [0.0, -1.0, 1e-300, 1e300, f64::NAN, f64::INFINITY] {
        for figure in extreme(value) {
            for size in [(60, 60), figure.natural_size()] {
                let svg = render(&figure, size, Theme::Light, Format::Svg);
                assert!(svg.is_ok(), "{value} {figure:?} {svg:?}");
            }
        }
    }
}

#[test]
fn a_size_without_room_is_refused() {
    let figure = &extreme(0.5)[0];
    let refused = render(figure, (10, 400), Theme::Light, Format::Svg);
    assert!(matches!(refused, Err(PlotError::Size { width: 10, height: 400 })), "{refused:?}");
}
