//! A folder of its own for each process that fuzzes.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();

/// The folder; `TMPDIR` says where it lies, and memory is the best place for it.
pub fn folder() -> &'static Path {
    FOLDER.get_or_init(|| tempfile::tempdir().expect("a temporary folder can be made")).path()
}

/// A place in the folder where nothing stands.
pub fn inside(name: &str) -> PathBuf {
    let path = folder().join(name);
    if path.is_dir() {
        std::fs::remove_dir_all(&path).expect("what a target wrote can be removed");
    } else if path.exists() {
        std::fs::remove_file(&path).expect("what a target wrote can be removed");
    }
    path
}
