use crate::report::diagnosis::*;
use crate::report::specimen::case::{diagnosis, experiment};
use crate::report::specimen::quarrel::quarrel;
#[test]
fn dump() {
    let world = quarrel();
    let d = diagnosis();
    let report = report(&DiagnosisInput {
        diagnosis: &d,
        outline: &world.outline,
        tool_version: "0.1.0",
        command: "cotenant diagnose r --victim chat --around 09:07",
    });
    std::fs::write("/tmp/rep-d.html", crate::report::render::html::page(&report)).unwrap();
    std::fs::write("/tmp/rep-d.txt", crate::report::render::text::text(&report, 80, false))
        .unwrap();
    let e = experiment_report(&experiment(), "0.1.0", "cotenant diagnose r --experiment x.csv");
    std::fs::write("/tmp/rep-e.html", crate::report::render::html::page(&e)).unwrap();
    std::fs::write("/tmp/rep-e.txt", crate::report::render::text::text(&e, 80, false)).unwrap();
    let f = picture(&d);
    for (theme, name) in [
        (crate::report::plot::theme::Theme::Light, "light"),
        (crate::report::plot::theme::Theme::Dark, "dark"),
    ] {
        let png = crate::report::plot::render(
            &f,
            f.natural_size(),
            theme,
            crate::report::plot::Format::Png { scale: 2 },
        )
        .unwrap();
        std::fs::write(format!("/tmp/rep-picture-{name}.png"), png).unwrap();
    }
}
