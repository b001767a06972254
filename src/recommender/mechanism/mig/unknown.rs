//! A device of which nobody knows whether it has MIG, with memory that no board could cut to fit.

use crate::domain::mig_geometry::BOARDS;
use crate::domain::mig_geometry::MigBoard;
use crate::recommender::layout::{Applicant, assign};
use crate::recommender::mechanism::Case;
use crate::recommender::reason::{Reason, ReasonKind, gib};
use crate::recommender::situation::Tenant;

/// By how much a part may be larger than the table says for memory of this size, as a share.
const SLACK: f64 = 0.02;

/// Why no board with MIG, scaled to the memory of this one, holds the tenants; `None` where one might.
pub(super) fn never_fits(case: &Case<'_>) -> Option<Reason> {
    let tenants = &case.situation.tenants;
    let total = case.situation.device.total_mib?;
    let boards = || BOARDS.iter().filter(|it| it.memory_slices > 0);
    let most = boards().map(|it| it.compute_slices).max()?;
    let told = |sentence: String| Some(Reason::refuses(ReasonKind::NoMig, sentence));
    let model = case.situation.device.model.as_deref().unwrap_or("this model of GPU");
    let can = match case.situation.now.is_mig {
        Some(true) => format!("{model} is cut by MIG, but"),
        _ => format!("whether {model} can be cut or not:"),
    };
    if tenants.len() > most as usize {
        return told(format!(
            "{can} no board takes more than {most} instances, and they are {}",
            tenants.len()
        ));
    }
    let largest = boards()
        .flat_map(|board| parts(board, total).into_iter().map(|it| it.1))
        .fold(0.0, f64::max);
    let need = |it: &Tenant| it.needed_mib(case.policy).unwrap_or(0.0);
    if let Some(it) = tenants.iter().find(|it| need(it) > largest) {
        return told(format!(
            "{can} `{}` needs {}, and no part of a board with {} has more than {}",
            it.name,
            gib(need(it)),
            gib(total),
            gib(largest)
        ));
    }
    let holds = |board: &MigBoard| {
        let parts = parts(board, total);
        let applicant = |tenant: &Tenant| {
            let fitting = parts.iter().filter(|it| need(tenant) <= it.1);
            Applicant { options: fitting.map(|it| (it.0, it.1)).collect(), seat: None }
        };
        let applicants: Vec<Applicant> = tenants.iter().map(applicant).collect();
        assign(board, &applicants, &[]).is_some()
    };
    match boards().any(holds) {
        true => None,
        false => told(format!(
            "{can} no layout of any board with {} holds what they need, {} together",
            gib(total),
            gib(tenants.iter().map(need).sum())
        )),
    }
}

/// Plain profiles of a board but the whole of it, with the memory that each would have on a device of another size, MiB.
fn parts(board: &MigBoard, total_mib: f64) -> Vec<(usize, f64)> {
    let whole = board.whole();
    let all = whole.and_then(|it| board.profiles[it].memory_mib);
    let Some(all) = all.filter(|it| *it > 0) else { return Vec::new() };
    let scale = total_mib * (1.0 + SLACK) / all as f64;
    (0..board.profiles.len())
        .filter(|it| board.profiles[*it].is_plain() && Some(*it) != whole)
        .filter_map(|it| Some((it, board.profiles[it].memory_mib? as f64 * scale)))
        .collect()
}
