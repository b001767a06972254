//! Files that nobody here can import: what they are, and what to record instead.

use crate::import::text::lines::head_lines;

/// What a file is, and what to do about it.
pub type Explanation = (&'static str, &'static str);

/// What a table or text that shows one instant should have been.
const RECORD_SAMPLES: &str = "it shows one instant, not a time series; record `nvidia-smi --query-gpu=index,uuid,timestamp,utilization.gpu,utilization.memory,memory.used,power.draw --format=csv -lms 500` and, for processes, `nvidia-smi pmon -s um -o DT`";
/// What to do with a table that sums up runs.
const RUNS: &str = "import the log that was recorded meanwhile, and look at each run in it with --window START..END";
/// What to do with bytes that are no text.
const UNPACK: &str = "unpack it, or export the data as csv or text";
/// What to do when the recording holds an error message.
const FIX_THE_DRIVER: &str =
    "correct that on the machine (`nvidia-smi` must work there), then record again";

/// Binary formats, by their first bytes.
const MAGIC: &[(&[u8], Explanation)] = &[
    (
        b"PAR1",
        ("a Parquet file", "if cotenant wrote it, analyse it directly; otherwise export it as csv"),
    ),
    (b"\x1f\x8b", ("data packed with gzip", UNPACK)),
    (b"\x28\xb5\x2f\xfd", ("data packed with zstd", UNPACK)),
    (b"PK\x03\x04", ("a zip archive", UNPACK)),
    (b"BZh", ("data packed with bzip2", UNPACK)),
    (b"\xfd7zXZ", ("data packed with xz", UNPACK)),
    (b"\x89HDF", ("an HDF5 file", UNPACK)),
    (
        b"\xff\xfe",
        (
            "text in UTF-16, as PowerShell's `>` writes it",
            "write it as UTF-8: … | Out-File -Encoding utf8 FILE",
        ),
    ),
    (b"\xfe\xff", ("text in UTF-16", "convert it to UTF-8")),
];

/// What reports of Nsight Systems end in: their content has no mark of its own.
const NSIGHT_REPORTS: [&str; 3] = [".nsys-rep", ".qdrep", ".qdstrm"];
/// What they are.
const NSIGHT_REPORT: Explanation = (
    "a report of Nsight Systems",
    "export it, and import the result: nsys export --type sqlite REPORT.nsys-rep",
);

/// Texts, by a part of one of their first lines.
const TEXTS: &[(&str, Explanation)] = &[
    ("NVIDIA-SMI has failed", ("an error message of nvidia-smi", FIX_THE_DRIVER)),
    ("Failed to initialize NVML", ("an error message of nvidia-smi", FIX_THE_DRIVER)),
    ("No devices were found", ("an error message of nvidia-smi", FIX_THE_DRIVER)),
    ("+-----------------------", ("a table of nvidia-smi", RECORD_SAMPLES)),
    ("GPU util rate", ("a print-out of NVML's process utilisation", RECORD_SAMPLES)),
];

/// Explains a file of this name that no importer recognises, from its first bytes.
///
/// `None` when it is nothing known; then only its name can be reported.
pub fn explain_file(head: &[u8], name: &str) -> Option<Explanation> {
    let is_report = NSIGHT_REPORTS.iter().any(|it| name.to_ascii_lowercase().ends_with(it));
    if is_report && !head.is_empty() { Some(NSIGHT_REPORT) } else { explain(head) }
}

/// Explains a file that no importer recognises, from its first bytes.
///
/// `None` when it is nothing known; then only its name can be reported.
pub fn explain(head: &[u8]) -> Option<Explanation> {
    if head.is_empty() {
        return Some(("an empty file", "record again; the tool that wrote it was stopped early"));
    }
    if let Some((_, it)) = MAGIC.iter().find(|it| head.starts_with(it.0)) {
        return Some(*it);
    }
    if head.contains(&0) {
        return Some(("binary data", UNPACK));
    }
    let lines = head_lines(head);
    let lines = || lines.iter().map(|it| it.trim()).filter(|it| !it.is_empty()).take(20);
    let first = lines().next().unwrap_or_default();
    if let Some(it) = markup(first) {
        return Some(it);
    }
    if ["start_timestamp", "end_timestamp"].iter().all(|it| first.contains(it)) {
        return Some(("a table of runs with a start and an end each, not of samples", RUNS));
    }
    if first.starts_with("GPU 0: ") && first.contains("(UUID: ") {
        return Some(("the list of GPUs that `nvidia-smi -L` prints", RECORD_SAMPLES));
    }
    TEXTS.iter().find(|it| lines().any(|line| line.contains(it.0))).map(|it| it.1)
}

/// Formats that their first character gives away.
fn markup(first: &str) -> Option<Explanation> {
    let lower = first.to_ascii_lowercase();
    if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        return Some(("an HTML page", "save the data behind the page, not the page"));
    }
    if lower.starts_with("<?xml") {
        return Some(("XML, and not that of `nvidia-smi -q -x`", RECORD_SAMPLES));
    }
    if first.starts_with('{') || first.starts_with('[') {
        let remedy = "a summary holds no samples; import the log that was recorded beside it";
        return Some(("JSON that holds no series known here", remedy));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn what(head: &str) -> &'static str {
        explain(head.as_bytes()).map_or("nothing known", |it| it.0)
    }

    #[test]
    fn what_is_no_time_series_is_called_by_its_name() {
        let table = "+-----------------------------+\n| GPU instances: |\n";
        assert_eq!(what(table), "a table of nvidia-smi");
        assert!(what("GPU 0: Some Board (UUID: GPU-1)\n").contains("nvidia-smi -L"));
        assert!(what("Device 0, GPU util rate 0, Memory util Rate 0\n").contains("NVML"));
        assert!(
            what("Failed to initialize NVML: Driver/library version mismatch\n").contains("error")
        );
        assert!(what("{\n  \"throughput\": 3\n}").contains("JSON"));
        assert!(what("<!DOCTYPE html>").contains("HTML"));
        assert_eq!(what("some,other,csv\n1,2,3\n"), "nothing known");
        assert!(what(",start_timestamp,end_timestamp,latency\n").contains("table of runs"));
        assert_eq!(what(""), "an empty file");
        assert!(what("<?xml version=\"1.0\"?>\n<svg/>").contains("not that of"));
    }

    #[test]
    fn a_report_of_nsight_systems_is_told_by_its_name_and_how_to_export_it() {
        for name in ["a.nsys-rep", "A.QDREP", "a.qdstrm"] {
            let (what, remedy) = explain_file(b"\x01\0\x02binary", name).unwrap();
            assert!(
                what.contains("Nsight") && remedy.contains("nsys export --type sqlite"),
                "{name}"
            );
        }
        assert_eq!(explain_file(b"a\0b", "a.bin").unwrap().0, "binary data");
        assert_eq!(explain_file(b"", "a.nsys-rep").unwrap().0, "an empty file");
    }

    #[test]
    fn packed_and_binary_data_is_never_read_as_text() {
        for (head, name) in [
            (&b"PAR1\x15\x04"[..], "Parquet"),
            (b"\x1f\x8b\x08", "gzip"),
            (b"\xff\xfet\0", "UTF-16"),
            (b"ab\0cd", "binary"),
        ] {
            assert!(explain(head).unwrap().0.contains(name), "{name}");
        }
    }
}
