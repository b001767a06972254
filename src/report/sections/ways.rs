//! What each way to share would do to the tenants of each device.

use crate::report::ReportInput;
use crate::report::block::Block;
use crate::report::recommend::predicted;
use crate::report::sections::{Section, device_heading, gathered, title};
use crate::report::view::{UNFOLDED_DEVICES, devices};

/// Predictions.
pub(super) struct Ways;

impl Section for Ways {
    fn id(&self) -> &'static str {
        "ways"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let verdicts = input.recommendation.verdicts;
        let views = devices(input);
        let drawn = views.iter().zip(&input.findings.devices).filter_map(|(view, device)| {
            let verdict = verdicts.iter().find(|it| it.gpu == device.gpu)?;
            let mut blocks = predicted::blocks(verdict, &view.slug);
            if blocks.is_empty() {
                return None;
            }
            blocks.insert(0, device_heading(self, &view.slug, &view.name));
            Some((format!("{}: what each way would do", view.name), blocks))
        });
        let parts: Vec<(String, Vec<Block>)> = drawn.collect();
        if parts.is_empty() {
            return Vec::new();
        }
        let mut blocks = vec![title(self, "What each way to share would do")];
        blocks.extend(gathered(parts, UNFOLDED_DEVICES));
        blocks
    }
}
