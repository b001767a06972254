//! What a file is, when presets of the mapping importer count as well.

use crate::import::mapping::{Mapping, MappingImporter, PRESETS, preset};
use crate::import::{Importer, Likeness, recognise};

/// What the start of a file turned out to be.
pub enum Recognised {
    /// A format of [`crate::import::IMPORTERS`].
    Format(&'static dyn Importer),
    /// A table that a preset describes.
    Preset(Box<MappingImporter>),
    /// A table that several presets describe; their ids. The user has to choose.
    Ambiguous(Vec<&'static str>),
    /// Nothing that we read.
    Unknown,
}

/// The importer or preset that fits the start of a file best.
///
/// A preset whose columns are all in the header goes before a format that is not sure, and the
/// preset that names more columns before one that names fewer. `file_name` only decides between
/// presets whose files have the same columns.
pub fn identify(head: &[u8], file_name: &str) -> Recognised {
    let best = recognise(head);
    if let Some(importer) = best.filter(|it| it.recognise(head) == Likeness::Sure) {
        return Recognised::Format(importer);
    }
    let mut fitting = fitting_presets(head);
    if fitting.len() > 1 {
        let is_named = |it: &Mapping| it.file_name_hint().is_some_and(|it| file_name.contains(it));
        let named: Vec<_> = fitting.iter().filter(|it| is_named(&it.1)).cloned().collect();
        if named.len() == 1 {
            fitting = named;
        }
    }
    match (fitting.pop(), best) {
        (Some((_, mapping)), _) if fitting.is_empty() => {
            Recognised::Preset(Box::new(MappingImporter { mapping }))
        }
        (Some((last, _)), _) => {
            Recognised::Ambiguous(fitting.iter().map(|it| it.0).chain([last]).collect())
        }
        (None, Some(importer)) => Recognised::Format(importer),
        (None, None) => Recognised::Unknown,
    }
}

/// The presets whose columns are all in the header, as far as they name most columns.
fn fitting_presets(head: &[u8]) -> Vec<(&'static str, Mapping)> {
    let mut most = 0;
    let mut fitting = Vec::new();
    for (id, _) in PRESETS {
        let Some(mapping) = preset(id) else { continue };
        let Some(columns) = mapping.fit(head) else { continue };
        if columns > most {
            most = columns;
            fitting.clear();
        }
        if columns == most {
            fitting.push((*id, mapping));
        }
    }
    fitting
}
