//! What a host and its cluster say of themselves: files of /proc and cgroups, tables of nvidia-smi, answers of Kubernetes.

#![no_main]

use cotenant::cluster::recognise::{Kind, recognise};
use cotenant::cluster::resource::is_profile;
use cotenant::cluster::{read, read_as, strict};
use cotenant::domain::ident::{GpuId, ProcessKey};
use cotenant::sampler::tenants::{Resolver, Rules, Tenants};
use cotenant_fuzz::{Choices, inside};
use libfuzzer_sys::fuzz_target;
use std::path::Path;

/// Files of a host that are read, in the order of the texts of an input.
const HOST_FILES: [&str; 9] = [
    "proc/7/stat",
    "proc/7/cgroup",
    "proc/7/cmdline",
    "proc/7/status",
    "proc/7/environ",
    "proc/stat",
    "etc/passwd",
    "var/lib/docker/containers/0123456789ab0123456789ab0123456789ab0123456789ab0123456789ab0123/config.v2.json",
    "var/log/pods/ml_chat-0_0123abcd-0123-0123-0123-0123456789ab/server/0.log",
];

const RULES: &str = "
[[rule]]
tenant = \"x\"
environment = { NAME = \"a*\" }
";

fuzz_target!(|bytes: &[u8]| {
    let mut choices = Choices::new(bytes);
    let kind = choices.byte();
    match usize::from(kind) % (Kind::ALL.len() + 3) {
        0 | 1 => host(&mut choices),
        2 => words(&String::from_utf8_lossy(choices.rest())),
        other => {
            let text = String::from_utf8_lossy(choices.rest()).into_owned();
            merged(read_as(Kind::ALL[other - 3], "file", &text).ok());
        }
    }
});

fn words(text: &str) {
    let _ = (recognise(text), is_profile(text));
    if let Err(error) = strict("file", text) {
        assert!(!error.to_string().is_empty() && !error.remedy().is_empty());
    }
    match read("file", text) {
        Ok(words) => merged(Some(words)),
        Err(error) => assert!(!error.to_string().is_empty() && !error.remedy().is_empty()),
    }
}

/// Joins what was read with itself, and asks what it says.
fn merged(words: Option<cotenant::cluster::facts::NodeWords>) {
    let Some(words) = words else { return };
    let mut all = words.clone();
    all.merge(words);
    for it in &all.processes {
        let _ = (all.device_of(it), all.gpu(&it.gpu));
    }
    for it in &all.mig_devices {
        let _ = all.instance_of(it);
    }
    for it in &all.assignments {
        let _ = (all.assigned_device(it), all.assigned_gpu(it));
    }
    let _ = all.unseen_instances().count();
}

/// Texts that an escape separates, for they hold zero bytes themselves.
fn host(choices: &mut Choices<'_>) {
    let root = inside("host");
    let bytes = choices.rest();
    let mut texts = bytes.split(|it| *it == 0x1b);
    for file in HOST_FILES {
        write(&root.join(file), texts.next().unwrap_or_default());
    }
    let rules = Rules::from_toml(&String::from_utf8_lossy(texts.next().unwrap_or_default()));
    let rules = rules.or_else(|_| Rules::from_toml(RULES)).unwrap_or_default();
    let mut resolver = Resolver::new(&root, rules).with_commands();
    for (pid, started) in [(7, None), (8, None)] {
        let process = ProcessKey { pid, started };
        let described = resolver.describe(&GpuId::from_index(0), process);
        let steers = |it: &str| it.chars().any(cotenant::domain::invisible::is_invisible);
        assert!(!described.name.as_deref().is_some_and(steers), "{:?}", described.name);
        assert!(!described.tenant.as_ref().is_some_and(|it| steers(it.as_str())));
    }
    let _ = resolver.blind_spots();
}

fn write(path: &Path, bytes: &[u8]) {
    let folder = path.parent().expect("a folder");
    std::fs::create_dir_all(folder).expect("a folder can be made");
    std::fs::write(path, bytes).expect("a file can be written");
}
