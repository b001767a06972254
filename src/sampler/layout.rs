//! MIG instances over time: a number that comes back is another instance.

use crate::domain::ident::{GpuId, MigInstanceId};
use crate::sampler::source::FoundInstance;
use std::collections::BTreeMap;

#[derive(Debug)]
struct Standing {
    uuid: String,
    generation: u32,
    is_there: bool,
}

/// Which instances a GPU has.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    known: BTreeMap<u32, Standing>,
}

/// How a layout differs from the one before.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Instances that are new.
    pub(crate) appeared: Vec<MigInstanceId>,
    /// Numbers of instances that are gone or were made again.
    pub(crate) gone: Vec<u32>,
}

impl Layout {
    /// Takes in what is there now.
    pub(crate) fn update(&mut self, gpu: &GpuId, found: &[FoundInstance]) -> Change {
        let mut change = Change::default();
        for (number, standing) in &mut self.known {
            let is_there =
                found.iter().any(|it| it.gpu_instance == *number && it.uuid == standing.uuid);
            if standing.is_there && !is_there {
                change.gone.push(*number);
            }
            standing.is_there = is_there;
        }
        for it in found {
            let number = it.gpu_instance;
            let generation = match self.known.get(&number) {
                Some(known) if known.is_there => continue,
                Some(known) if known.uuid == it.uuid => known.generation,
                Some(known) => known.generation + 1,
                None => 0,
            };
            let standing = Standing { uuid: it.uuid.clone(), generation, is_there: true };
            self.known.insert(number, standing);
            change.appeared.push(id(gpu, number, generation));
        }
        change
    }

    /// The instance that has this number now.
    pub(crate) fn instance(&self, gpu: &GpuId, number: u32) -> Option<MigInstanceId> {
        let standing = self.known.get(&number).filter(|it| it.is_there)?;
        Some(id(gpu, number, standing.generation))
    }

    /// Numbers of the instances that are there.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.known.iter().filter(|it| it.1.is_there).map(|it| *it.0).collect()
    }
}

/// Subjects are GPU instances: compute instances inside share their memory and counters.
fn id(gpu: &GpuId, gpu_instance: u32, generation: u32) -> MigInstanceId {
    MigInstanceId { gpu: gpu.clone(), gpu_instance, compute_instance: None, generation }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(uuid: &str, gpu_instance: u32) -> FoundInstance {
        FoundInstance { uuid: uuid.to_owned(), gpu_instance, profile: None, replies: Vec::new() }
    }

    #[test]
    fn an_instance_that_is_made_again_under_its_number_is_of_the_next_generation() {
        let gpu = GpuId::from_index(0);
        let mut layout = Layout::default();
        assert_eq!(layout.update(&gpu, &[found("a", 1), found("b", 2)]).appeared.len(), 2);
        assert_eq!(layout.update(&gpu, &[found("a", 1), found("b", 2)]), Change::default());
        assert_eq!(layout.update(&gpu, &[found("b", 2)]).gone, [1]);
        assert_eq!(layout.numbers(), [2]);
        let change = layout.update(&gpu, &[found("c", 1), found("b", 2)]);
        assert_eq!(change.appeared[0].generation, 1);
        assert_eq!(layout.instance(&gpu, 1).unwrap().generation, 1);
    }
}
