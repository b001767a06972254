//! Config maps, whose keys are configurations of the device plugin or of mig-parted.

use crate::cluster::config::source::Source;
use crate::cluster::config::{mig_parted, plugin};
use crate::cluster::facts::{NodeWords, Origin, Severity};
use crate::cluster::recognise::{Kind, recognise};
use crate::cluster::text::without_mark;
use crate::cluster::tree::{Tree, parse};

/// Reads every key that holds a configuration; others, such as certificates, are passed over.
pub(in crate::cluster) fn read(file: &str, map: &Tree, words: &mut NodeWords) {
    for (key, value) in map.get("data").map_or(&[][..], Tree::entries) {
        let Some(text) = value.text() else { continue };
        let text = without_mark(text);
        let kind = recognise(text);
        if !matches!(kind, Some(Kind::PluginConfig | Kind::MigPartedConfig)) {
            continue;
        }
        // A block is said to begin on its first line that is not blank; the lines of JSON are unknown.
        let blank = text.lines().take_while(|it| it.trim().is_empty()).count();
        let above = value.line.and_then(|it| it.checked_sub(1 + blank as u64));
        let source = Source { file, above, key: Some(key) };
        let (documents, cut) = parse(text);
        if let Some(cut) = cut {
            let origin = match above {
                Some(_) => source.at(cut.line),
                None => Origin::new(file, None),
            };
            words.remark(origin, Severity::Refused, source.named(cut.cause));
        }
        for tree in &documents {
            match kind {
                Some(Kind::MigPartedConfig) => mig_parted::of_tree(source, tree, words),
                _ => plugin::of_tree(source, tree, words),
            }
        }
    }
}
