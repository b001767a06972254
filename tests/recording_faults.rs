//! `cotenant record` against what a host does to it: disks, folders, other recorders, signals, drivers.
//!
//! `docs/SAMPLER.md` lists every test of this file by its name.

#![allow(clippy::print_stderr, reason = "skipped tests say so")]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use support::recorder::{
    Ended, command, end, endless, expect_nothing_lost, lost_s, names, program, recorder, run,
    signal, wait_for_begin, wait_until, whole,
};

/// What a recording may lose when it cannot go on, seconds.
const LOST_S: f64 = 1.0;
/// A disk that a recording fills within seconds.
const QUICK: &[&str] = &["--interval", "20ms"];

/// A small disk of its own, seen by nobody else; gone with the test.
struct Disk {
    keeper: Child,
    path: PathBuf,
}

impl Disk {
    /// `None`, with a visible word, where nobody may mount.
    fn of(kilobytes: u32, place: &Path) -> Option<Self> {
        let script = format!(
            "mount -t tmpfs -o size={kilobytes}k,mode=777 none \"$0\" && echo mounted && exec cat"
        );
        for namespaces in ["-m", "-rm"] {
            let mut unshare = Command::new("unshare");
            unshare.args([namespaces, "sh", "-c", &script]).arg(place);
            unshare.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
            let Ok(mut keeper) = unshare.spawn() else { continue };
            let mut word = [0; 8];
            let mut stdout = keeper.stdout.take().expect("a pipe");
            if std::io::Read::read_exact(&mut stdout, &mut word).is_ok() {
                let seen = Path::new("/proc").join(keeper.id().to_string()).join("root");
                let path = seen.join(place.strip_prefix("/").expect("a whole path"));
                return Some(Self { keeper, path });
            }
            let _ = keeper.wait();
        }
        eprintln!("skipped: nothing can be mounted here, so no disk was filled");
        None
    }

    /// Takes so much room.
    fn take(&self, kilobytes: usize) -> PathBuf {
        let ballast = self.path.join("ballast");
        std::fs::write(&ballast, vec![0_u8; kilobytes << 10]).expect("there is room");
        ballast
    }

    /// Records onto the disk until that fails.
    fn fill(&self, folder: &Path, arguments: &[&str]) -> Ended {
        let mut command = recorder(folder, &[], &[QUICK, arguments].concat());
        command.arg("-o").arg(self.path.join("r"));
        run(command)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

/// The recording is there but for its end, and goes on once there is room.
fn expect_goes_on(folder: &Path, recording: &Path, ended: &Ended) {
    let before = whole(recording);
    let lost = lost_s(&before, ended.at_us);
    eprintln!("lost {lost:.2} s");
    assert!(lost < LOST_S, "lost {lost} s");
    let half = names(recording).into_iter().find(|it| it.ends_with(".tmp"));
    assert_eq!(half, None, "half a segment takes room");
    let mut again = recorder(folder, &[], &["--append", "--duration", "1s", "-o"]);
    again.arg(recording);
    run(again).expect_code(0);
    let after = whole(recording);
    expect_nothing_lost(&before, &after);
    assert!(after.outline.readings > before.outline.readings, "it goes on");
    assert!(names(recording).iter().all(|it| it.ends_with(".parquet")), "{:?}", names(recording));
}

/// Both parts of the message about a full disk.
fn expect_full(ended: &Ended, what: &str) {
    ended.expect_code(1).expect(&format!("{what}: writing failed")).expect("help: free some space");
    ended.expect("No space left on device (os error 28)");
}

#[test]
fn full_disk() {
    let root = tempfile::tempdir().expect("a folder");
    let Some(disk) = Disk::of(260, root.path()) else { return };
    let ballast = disk.take(212);
    let ended = disk.fill(root.path(), &[]);
    expect_full(&ended, "r/journal-000000.bin");
    std::fs::remove_file(ballast).expect("it is there");
    expect_goes_on(root.path(), &disk.path.join("r"), &ended);
}

#[test]
fn full_disk_at_rotation() {
    let root = tempfile::tempdir().expect("a folder");
    let Some(disk) = Disk::of(260, root.path()) else { return };
    // There is room for the journal, but not for the segment beside it.
    let ballast = disk.take(156);
    let ended = disk.fill(root.path(), &["--rotate-size", "64KB"]);
    expect_full(&ended, "r/segment-000000.parquet");
    // Going on would need the same room.
    expect_full(&disk.fill(root.path(), &["--append"]), "r/segment-000000.parquet");
    std::fs::remove_file(ballast).expect("it is there");
    expect_goes_on(root.path(), &disk.path.join("r"), &ended);
}

#[test]
fn full_disk_at_the_end() {
    let root = tempfile::tempdir().expect("a folder");
    let Some(disk) = Disk::of(260, root.path()) else { return };
    let ballast = disk.take(180);
    let ended = disk.fill(root.path(), &["--duration", "2s"]);
    expect_full(&ended, "r/segment-000000.parquet");
    std::fs::remove_file(ballast).expect("it is there");
    expect_goes_on(root.path(), &disk.path.join("r"), &ended);
}

#[test]
fn full_disk_from_the_start() {
    let root = tempfile::tempdir().expect("a folder");
    let Some(disk) = Disk::of(200, root.path()) else { return };
    let ballast = disk.take(200);
    expect_full(&disk.fill(root.path(), &["--duration", "1s"]), "r/writer.lock");
    std::fs::remove_file(ballast).expect("it is there");
    // Nothing is left that the next would have to go on with.
    disk.fill(root.path(), &["--duration", "1s"]).expect_code(0);
    whole(&disk.path.join("r"));
}

/// A limit on the size of files stands for a quota; whoever sets it may let its signal pass or not.
#[test]
fn file_size_limit() {
    let root = tempfile::tempdir().expect("a folder");
    let begin = |name: &str, script: &str| {
        let folder = root.path().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        let arguments = [&["-o", "r"], QUICK].concat();
        let child = recorder(&folder, &["sh", "-c", script, "sh"], &arguments).spawn();
        (folder, child.expect("the program starts"))
    };
    let limited = [
        begin("passes", "ulimit -f 96; exec \"$@\""),
        begin("ignored", "trap '' XFSZ; ulimit -f 96; exec \"$@\""),
    ];
    for (folder, ended) in limited.map(|(folder, child)| (folder, end(child))) {
        ended.expect_code(1).expect("r/journal-000000.bin: writing failed: File too large");
        ended.expect("help: raise the limit on the size of a file");
        expect_goes_on(&folder, &folder.join("r"), &ended);
    }
}

/// Somebody who is not root, with what they need to run the program.
struct Somebody {
    before: Vec<&'static str>,
    program: PathBuf,
}

/// `None`, with a visible word, where root cannot become anybody else.
fn somebody(folder: &Path) -> Option<Somebody> {
    let is_fine = |words: &[&str]| command(words).status().is_ok_and(|it| it.success());
    if !is_fine(&["sh", "-c", "test $(id -u) = 0"]) {
        return Some(Somebody { before: Vec::new(), program: program() });
    }
    let before = vec!["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    if !is_fine(&[&before[..], &["true"]].concat()) {
        eprintln!("skipped: root cannot become somebody else here");
        return None;
    }
    open_to_all(folder);
    let mut program = program();
    if !is_fine(&[&before[..], &["test", "-x", &program.to_string_lossy()]].concat()) {
        let copy = folder.join("cotenant");
        std::fs::copy(&program, &copy).expect("there is room");
        program = copy;
    }
    Some(Somebody { before, program })
}

fn permit(path: &Path, mode: u32) {
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
    std::fs::set_permissions(path, permissions).expect("it is ours");
}

fn open_to_all(folder: &Path) {
    permit(folder, 0o755);
}

impl Somebody {
    fn run(&self, folder: &Path, library: &Path, arguments: &[&str]) -> Ended {
        let words = self.before.iter().map(PathBuf::from).chain([self.program.clone()]);
        let mut command = command(words);
        command.args(arguments).arg("--nvml-library").arg(library);
        // A plan beside the library needs no word; without one there is no driver.
        command.current_dir(folder).env_remove("COTENANT_NVML_SIM");
        run(command)
    }
}

#[test]
fn read_only_folder() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    let Some(somebody) = somebody(folder) else { return };
    let staged = cotenant_nvml_sim::stage(folder, support::recorder::TWO_GPUS).expect("staged");
    let record = |arguments: &[&str]| {
        let arguments = [&["record", "--duration", "1s", "-o"], arguments].concat();
        somebody.run(folder, &staged.library, &arguments)
    };
    let help = "Permission denied (os error 13)\nhelp: check the path, its permissions";
    std::fs::create_dir(folder.join("closed")).expect("a folder");
    permit(&folder.join("closed"), 0o555);
    record(&["closed"]).expect_code(1).expect("closed/writer.lock: creating failed").expect(help);
    record(&["closed/r"])
        .expect_code(1)
        .expect("closed/r: creating the folder failed")
        .expect(help);
    // A recording that somebody else made is not gone on with, and stays as it was.
    end(endless(folder, &["--duration", "1s"])).expect_code(0);
    permit(&folder.join("r"), 0o555);
    let before = names(&folder.join("r"));
    record(&["r", "--append"]).expect_code(1).expect("r/writer.lock: creating failed").expect(help);
    assert_eq!(names(&folder.join("r")), before);
    permit(&folder.join("r"), 0o755);
    whole(&folder.join("r"));
}

#[test]
fn wrong_place() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    std::fs::write(folder.join("notes.txt"), "hello").expect("a file");
    std::fs::create_dir(folder.join("photos")).expect("a folder");
    std::fs::write(folder.join("photos/one.jpg"), "not really").expect("a file");
    let record = |arguments: &[&str]| {
        run(recorder(folder, &[], &[&["--duration", "1s", "-o"], arguments].concat()))
    };
    let help = "help: choose another folder with -o, or go on with a recording";
    for arguments in [&["notes.txt"][..], &["notes.txt", "--append"], &["photos"]] {
        record(arguments).expect_code(2).expect(": exists already").expect(help);
    }
    record(&["photos", "--append"]).expect_code(2).expect("which is no segment").expect(help);
    record(&["notes.txt/r"]).expect_code(1).expect("notes.txt/r: creating the folder failed");
    assert_eq!(names(folder), ["notes.txt", "photos", "plan.toml"]);
    assert_eq!(names(&folder.join("photos")), ["one.jpg"]);
    assert_eq!(std::fs::read(folder.join("notes.txt")).expect("a file"), b"hello");
    // Folders above the recording are made.
    record(&["new/and/deep/r"]).expect_code(0);
    whole(&folder.join("new/and/deep/r"));
}

#[test]
fn folder_removed() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    let child = endless(folder, &[]);
    wait_for_begin(folder);
    std::fs::remove_dir_all(folder.join("r")).expect("it can be removed");
    let ended = end(child);
    ended
        .expect_code(1)
        .expect("r/journal-000000.bin: was removed or moved while")
        .expect("help: ");
    assert!(!folder.join("r").exists(), "nothing is made anew");
    end(endless(folder, &["--duration", "1s"])).expect_code(0);
}

#[test]
fn folder_moved() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    let child = endless(folder, &[]);
    wait_for_begin(folder);
    std::fs::rename(folder.join("r"), folder.join("elsewhere")).expect("it can be moved");
    let ended = end(child);
    ended
        .expect_code(1)
        .expect("r/journal-000000.bin: was removed or moved while")
        .expect("help: ");
    assert!(!folder.join("r").exists(), "nothing is made anew");
    let lost = lost_s(&whole(&folder.join("elsewhere")), ended.at_us);
    assert!(lost < LOST_S, "lost {lost} s");
}

#[test]
fn second_recorder() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    let first = endless(folder, &[]);
    wait_for_begin(folder);
    let held = format!("r: is being written by another program (pid {})\nhelp: end", first.id());
    end(endless(folder, &["--append"])).expect_code(2).expect(&held);
    end(endless(folder, &[])).expect_code(2).expect("r: exists already");
    let before = whole(&folder.join("r"));
    wait_until("the first goes on", || {
        whole(&folder.join("r")).outline.readings > before.outline.readings
    });
    signal(&first, "-TERM");
    end(first).expect_code(0);
    assert_eq!(names(&folder.join("r")), ["segment-000000.parquet"], "nothing else is left");
    let after = whole(&folder.join("r"));
    expect_nothing_lost(&before, &after);
    // Without --append what stands there is not touched; with it the recording grows.
    end(endless(folder, &[])).expect_code(2).expect("with --append");
    let added = end(endless(folder, &["--append", "--duration", "1s"]));
    let grown = whole(&folder.join("r"));
    expect_nothing_lost(&after, &grown);
    let all = grown.outline.readings;
    added.expect_code(0).expect(&format!("added to r, which now holds: {all} readings"));
}

#[test]
fn stale_lock() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    let mut killed = endless(folder, &[]);
    wait_for_begin(folder);
    killed.kill().expect("it lives");
    killed.wait().expect("it ends");
    let lock = folder.join("r/writer.lock");
    assert_eq!(std::fs::read_to_string(&lock).expect("a lock"), killed.id().to_string());
    let before = whole(&folder.join("r"));
    // Even the number of a program that lives blocks nobody, for numbers are used again.
    std::fs::write(&lock, std::process::id().to_string()).expect("a lock");
    end(endless(folder, &["--append", "--duration", "1s"])).expect_code(0);
    assert!(!lock.exists());
    expect_nothing_lost(&before, &whole(&folder.join("r")));
}

/// Whether this program, and whatever it starts, ignores the end of its terminal.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("a state");
    let mask = status.lines().find_map(|it| it.strip_prefix("SigIgn:")).expect("a mask");
    u64::from_str_radix(mask.trim(), 16).expect("a number") & 1 == 1
}

#[test]
fn signals() {
    let root = tempfile::tempdir().expect("a folder");
    let begin = |name: &'static str| {
        let folder = root.path().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        let child = endless(&folder, &[]);
        (name, folder, child)
    };
    // Below `nohup` a recorder goes on without a terminal, see `nohup`.
    let names_of =
        if ignores_hangup() { &["-INT", "-TERM"][..] } else { &["-INT", "-TERM", "-HUP"] };
    for (name, folder, child) in names_of.iter().map(|it| begin(it)) {
        wait_for_begin(&folder);
        let before = whole(&folder.join("r"));
        signal(&child, name);
        end(child).expect_code(0).expect("wrote r: ");
        assert_eq!(names(&folder.join("r")), ["segment-000000.parquet"], "{name}");
        expect_nothing_lost(&before, &whole(&folder.join("r")));
    }
}

/// A driver that never answers again makes the recorder wait, so that a second signal is needed.
#[test]
fn second_signal() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    let hang = "[[fault]]\ncall = \"nvmlDeviceGetTemperature\"\ngpu = 0\nhang = true\nfrom_s = 1\n";
    let plan = format!("{}{hang}", support::recorder::TWO_GPUS);
    std::fs::write(folder.join("plan.toml"), plan).expect("a plan");
    let child = endless(folder, &[]);
    wait_for_begin(folder);
    std::thread::sleep(Duration::from_secs(2));
    let before = whole(&folder.join("r"));
    signal(&child, "-INT");
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-INT");
    end(child).expect_code(1);
    expect_nothing_lost(&before, &whole(&folder.join("r")));
}

#[test]
fn nohup() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    let before = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"];
    let child = recorder(folder, &before, &["-o", "r"]).spawn().expect("the program starts");
    wait_for_begin(folder);
    signal(&child, "-HUP");
    let seen = whole(&folder.join("r")).outline.readings;
    wait_until("it goes on", || whole(&folder.join("r")).outline.readings > seen + 100);
    signal(&child, "-TERM");
    end(child).expect_code(0);
}

#[test]
fn duration() {
    let root = tempfile::tempdir().expect("a folder");
    end(endless(root.path(), &["--duration", "2s"])).expect_code(0);
    let recording = whole(&root.path().join("r"));
    let seconds = recording.outline.span.expect("samples").seconds();
    assert!((1.5..4.0).contains(&seconds), "{seconds} s");
}

/// Whether a driver of NVIDIA runs here, or something stands where one would.
#[test]
fn deaf_standard_error() {
    let root = tempfile::tempdir().expect("a folder");
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    // The pipe is full, so whoever writes into it waits for ever.
    std::io::Write::write_all(&mut writer, &[b' '; 65_536]).expect("room for so much");
    let nobody = "chat=http://127.0.0.1:1/metrics";
    let mut command =
        recorder(root.path(), &[], &["-o", "r", "--duration", "3s", "--scrape", nobody]);
    let child = command.stderr(writer).spawn().expect("the program starts");
    wait_for_begin(root.path());
    end(child).expect_code(0);
    drop(reader);
    let seconds = whole(&root.path().join("r")).outline.span.expect("samples").seconds();
    assert!(seconds > 2.0, "{seconds} s");
}

#[test]
fn stopped_for_a_while() {
    let root = tempfile::tempdir().expect("a folder");
    let child = endless(root.path(), &[]);
    wait_for_begin(root.path());
    signal(&child, "-STOP");
    std::thread::sleep(std::time::Duration::from_secs(4));
    signal(&child, "-CONT");
    std::thread::sleep(std::time::Duration::from_secs(1));
    signal(&child, "-INT");
    end(child).expect_code(0);
    let spots = whole(&root.path().join("r")).outline.blind_spots;
    let said = spots.iter().filter(|it| it.detail.contains("the recorder was held up"));
    let lengths: Vec<f64> = said.filter_map(|it| it.span).map(|it| it.seconds()).collect();
    assert!(
        lengths.len() == 2 && lengths.iter().all(|it| *it > 2.5),
        "one for each GPU: {lengths:?}"
    );
}

#[test]
fn all_gpus_lost() {
    let root = tempfile::tempdir().expect("a folder");
    let plan = "[[gpu]]\n[[fault]]\nkind = \"gpu_lost\"\ngpu = 0\n";
    std::fs::write(root.path().join("plan.toml"), plan).expect("a plan");
    end(endless(root.path(), &["--duration", "1s"]))
        .expect_code(5)
        .expect("no GPU could be looked at");
    assert!(!root.path().join("r").exists(), "nothing is in the way of the next");
}

fn has_driver() -> bool {
    ["/proc/driver/nvidia", "/dev/nvidiactl", "/dev/dxg"].iter().any(|it| Path::new(it).exists())
}

#[test]
fn no_library() {
    let root = tempfile::tempdir().expect("a folder");
    let mut command = command([program()]);
    command.args(["record", "--duration", "1s", "-o", "r"]).current_dir(root.path());
    let ended = run(command);
    if has_driver() || !ended.stderr.contains("cannot load") {
        eprintln!("skipped: this host has the driver's library");
        return;
    }
    ended.expect_code(5).expect("libnvidia-ml.so.1").expect("help: install the NVIDIA driver");
    assert!(names(root.path()).is_empty(), "nothing is begun");
}

/// NVIDIA's own library, as Debian packs it, unpacked below `folder`; never kept.
///
/// `None`, with a visible word, where it cannot be had.
fn real_library(folder: &Path) -> Option<PathBuf> {
    let script = r#"
        set -eu; cd "$0"; umask 022
        keyring=/usr/share/keyrings/debian-archive-keyring.gpg
        test -e "$keyring"; command -v dpkg-deb >/dev/null
        test "$(dpkg --print-architecture)" = amd64
        . /etc/os-release
        mkdir -p lists/partial cache/archives/partial unpacked
        echo "deb [signed-by=$keyring] http://deb.debian.org/debian $VERSION_CODENAME non-free" >s.list
        get() {
            timeout 60 apt-get -q -o Dir::Etc::sourcelist="$0/s.list" -o Dir::Etc::sourceparts=/dev/null \
                -o Dir::State::lists="$0/lists" -o Dir::Cache="$0/cache" -o APT::Sandbox::User=root \
                -o Acquire::Retries=0 -o Acquire::http::Timeout=10 "$@"
        }
        get update; get download libnvidia-ml1
        dpkg-deb -x libnvidia-ml1_*.deb unpacked
        cp unpacked/usr/lib/x86_64-linux-gnu/nvidia/current/libnvidia-ml.so.1 .
    "#;
    let ended = run({
        let mut command = command(["sh", "-c", script]);
        command.arg(folder);
        command
    });
    if ended.code != Some(0) {
        eprintln!("skipped: libnvidia-ml1 cannot be had from Debian here: {}", ended.stderr.trim());
        return None;
    }
    Some(folder.join("libnvidia-ml.so.1"))
}

/// As root the library would make device files of a driver that is not there.
#[test]
fn library_without_driver() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path();
    if has_driver() {
        eprintln!("skipped: this host has a driver");
        return;
    }
    let Some(somebody) = somebody(folder) else { return };
    let Some(library) = real_library(folder) else { return };
    std::fs::create_dir(folder.join("open")).expect("a folder");
    permit(&folder.join("open"), 0o777);
    let run = |arguments: &[&str]| somebody.run(&folder.join("open"), &library, arguments);
    let ended = run(&["record", "--duration", "1s", "-o", "r"]);
    ended.expect_code(5).expect("the driver is not loaded (NVML code 9)");
    ended.expect("help: load the driver with `modprobe nvidia`");
    assert!(names(&folder.join("open")).is_empty(), "nothing is begun");
    let doctor = run(&["doctor", "-o", "json"]);
    doctor.expect_code(2);
    let document: serde_json::Value = serde_json::from_str(&doctor.stdout).expect("JSON");
    let check = &document["checks"][0];
    assert_eq!((&check["id"], &check["verdict"]), (&"library".into(), &"fail".into()), "{check}");
    let says = |key: &str, part: &str| {
        assert!(check[key].as_str().is_some_and(|it| it.contains(part)), "{key}: {check}");
    };
    says("finding", "does not start: the driver is not loaded");
    says("fix", "modprobe nvidia");
    assert!(!has_driver(), "no device files were made");
}

/// Names of the tests of a source that are always run, as the page spells them.
fn tests_of(source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().collect();
    let is_run = |it: &&[&str]| it[1] == "#[test]" && !it[0].starts_with("#[ignore");
    let name = |it: &[&str]| Some(it[2].strip_prefix("fn ")?.split('(').next()?.replace('_', "-"));
    let names = lines.windows(3).filter(is_run).filter_map(name);
    names.filter(|it| !it.starts_with("the-page-")).collect()
}

#[test]
fn the_page_lists_every_fault_of_the_host() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/SAMPLER.md");
    let page = std::fs::read_to_string(page).expect("docs/SAMPLER.md is there");
    let section = page.split("### Of the host\n").nth(1).expect("a section");
    let rows = section.split("\n## ").next().unwrap_or_default().lines();
    let rows = rows.filter_map(|it| it.strip_prefix("| `")?.split('`').next());
    let listed: Vec<&str> = rows.collect();
    let sources = [
        include_str!("recording_faults.rs"),
        include_str!("recording_kills.rs"),
        include_str!("clock_jumps.rs"),
    ];
    let tests: Vec<String> = sources.into_iter().flat_map(tests_of).collect();
    assert_eq!(listed, tests, "docs/SAMPLER.md and the tests differ");
}
