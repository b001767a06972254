//! Real captures, where they lie at hand: what a node says about itself, read into facts.

mod support;

use cotenant::cluster::facts::NodeWords;
use cotenant::cluster::read;
use std::path::Path;

/// The facts of some files of one capture, joined.
fn words_of(folder: &Path, files: &[&str]) -> NodeWords {
    let mut words = NodeWords::default();
    for file in files {
        let text = std::fs::read_to_string(folder.join(file)).expect("the capture is a text");
        words.merge(read(file, &text).unwrap_or_else(|error| panic!("{file}: {error}")));
    }
    words
}

#[test]
fn every_process_of_the_mig_capture_sits_on_the_instance_that_was_burnt() {
    let Some(folder) = support::real("smi-captures/linux-x86_64__nvidia-h100-mig__590.48.01")
    else {
        return;
    };
    for files in [&["load_q.txt"][..], &["load_table.txt"], &["load_table.txt", "load_q.txt"]] {
        let words = words_of(&folder, files);
        assert_eq!(words.remarks, [], "{files:?}");
        let seats: Vec<_> = words
            .processes
            .iter()
            .map(|it| (it.pid, it.gpu_instance, it.compute_instance, it.memory_mib))
            .collect();
        assert_eq!(
            seats,
            [
                (21180, Some(2), Some(0), Some(2296)),
                (21181, Some(2), Some(0), Some(1272)),
                (21198, Some(2), Some(0), Some(7484)),
            ],
            "{files:?}"
        );
        let device = words.device_of(&words.processes[2]).expect("the device is described");
        assert_eq!((device.index, device.multiprocessors), (Some(0), Some(60)));
        assert_eq!(device.memory_total_mib, Some(40448));
        let sizes: Vec<_> = words.mig_devices.iter().map(|it| it.multiprocessors).collect();
        assert_eq!(sizes, [Some(60), Some(32), Some(16), Some(16)]);
        assert_eq!(words.gpus.len(), 1);
        assert_eq!(words.gpus[0].is_mig_on, Some(true));
    }
    let joined = words_of(&folder, &["load_table.txt", "load_q.txt"]);
    assert_eq!(joined.gpus[0].pci_device_id.as_deref(), Some("0x233010DE"));
    assert_eq!(joined.gpus[0].gpu.uuid, None, "the publisher masked it");
}

#[test]
fn every_table_and_query_of_every_capture_can_be_read_and_they_agree() {
    let Some(captures) = support::real("smi-captures") else { return };
    let mut folders: Vec<_> = std::fs::read_dir(captures)
        .expect("captures")
        .map(|it| it.expect("a folder").path())
        .filter(|it| it.join("load_table.txt").exists())
        .collect();
    folders.sort();
    assert!(folders.len() >= 6, "{folders:?}");
    for folder in folders {
        for state in ["idle", "load"] {
            let (table, query) = (format!("{state}_table.txt"), format!("{state}_q.txt"));
            let table_words = words_of(&folder, &[&table]);
            let query_words = words_of(&folder, &[&query]);
            let joined = words_of(&folder, &[&table, &query]);
            let place = folder.join(state);
            assert_eq!(joined.remarks, [], "{place:?}");
            assert_eq!(joined.gpus.len(), query_words.gpus.len(), "{place:?}");
            let modes = |words: &NodeWords| -> Vec<_> {
                words.gpus.iter().map(|it| (it.compute_mode, it.is_mig_on)).collect()
            };
            assert_eq!(modes(&table_words), modes(&query_words), "{place:?}");
            for process in &query_words.processes {
                let listed = table_words
                    .processes
                    .iter()
                    .any(|it| it.pid == process.pid && it.gpu_instance == process.gpu_instance);
                // The table was taken a second before the query.
                let is_new = table_words.processes.len() < query_words.processes.len();
                assert!(listed || is_new, "{place:?}: {process:?}");
            }
        }
    }
}
