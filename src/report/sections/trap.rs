//! High utilisation that hides idle SMs, where it is there.

use crate::analysis::findings::UtilisationTrap;
use crate::report::ReportInput;
use crate::report::block::Block;
use crate::report::sections::{Section, title};
use crate::report::wording::{name, percent};

/// The utilisation trap.
pub(super) struct Trap;

impl Section for Trap {
    fn id(&self) -> &'static str {
        "utilisation-trap"
    }

    fn build(&self, input: &ReportInput<'_>) -> Vec<Block> {
        let trapped = input.findings.subjects().filter_map(|subject| {
            let trap = subject.whole()?.utilisation_trap?;
            Some(Block::Text(in_words(&name(&subject.label), trap)))
        });
        let trapped: Vec<Block> = trapped.collect();
        if trapped.is_empty() {
            return Vec::new();
        }
        let mut blocks = vec![title(self, "Utilisation that misleads")];
        blocks.extend(trapped);
        blocks.push(Block::Text(
            "GPU utilisation counts the time with at least one kernel, however few SMs it uses. \
             Where SM active is much lower, more work fits on the device than its utilisation says; \
             whether it fits in time or in space decides between time slicing, MPS and MIG."
                .to_owned(),
        ));
        blocks
    }
}

fn in_words(name: &str, trap: UtilisationTrap) -> String {
    format!(
        "{name} counts as {} used, but on average only {} of its SMs are active.",
        percent(trap.gpu_utilization_ratio),
        percent(trap.sm_active_ratio)
    )
}
