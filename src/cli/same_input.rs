//! Whether two inputs are the same: by place, or byte by byte.

use crate::cli::error::CliError;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes that are compared at a time.
const PIECE: usize = 1 << 16;

/// Whether the inputs before and after are the same files, or hold the same bytes under the same names.
///
/// Errors: a file that cannot be read.
pub(crate) fn is_same(before: &[PathBuf], after: &[PathBuf]) -> Result<bool, CliError> {
    let place = |it: &PathBuf| it.canonicalize().ok();
    let places = |all: &[PathBuf]| all.iter().map(place).collect::<Option<Vec<PathBuf>>>();
    match places(before).zip(places(after)) {
        Some((one, other)) if one == other => return Ok(true),
        Some(_) if before.len() == after.len() => {}
        // Standard input has no place, and is read but once.
        _ => return Ok(false),
    }
    for (one, other) in before.iter().zip(after) {
        if !are_equal(one, other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two files, or all files of two folders, hold the same bytes.
fn are_equal(one: &Path, other: &Path) -> Result<bool, CliError> {
    let (first, second) = (files(one)?, files(other)?);
    let name = |it: &PathBuf, of: &Path| it.strip_prefix(of).map(Path::to_path_buf).ok();
    let is_paired = first.len() == second.len()
        && first.iter().zip(&second).all(|(a, b)| name(a, one) == name(b, other));
    if !is_paired {
        return Ok(false);
    }
    for (a, b) in first.iter().zip(&second) {
        if size(a)? != size(b)? {
            return Ok(false);
        }
    }
    for (a, b) in first.iter().zip(&second) {
        if !hold_the_same(a, b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> CliError + '_ {
    move |it| CliError::file(path, "reading", &it)
}

/// The file itself, or every file of a folder, in the order of their names.
fn files(path: &Path) -> Result<Vec<PathBuf>, CliError> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed(path))? {
        found.extend(files(&entry.map_err(failed(path))?.path())?);
    }
    found.sort();
    Ok(found)
}

fn size(path: &Path) -> Result<u64, CliError> {
    Ok(std::fs::metadata(path).map_err(failed(path))?.len())
}

fn hold_the_same(one: &Path, other: &Path) -> Result<bool, CliError> {
    let mut first = File::open(one).map_err(failed(one))?;
    let mut second = File::open(other).map_err(failed(other))?;
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    loop {
        mine.clear();
        theirs.clear();
        first.by_ref().take(PIECE as u64).read_to_end(&mut mine).map_err(failed(one))?;
        second.by_ref().take(PIECE as u64).read_to_end(&mut theirs).map_err(failed(other))?;
        if mine != theirs {
            return Ok(false);
        }
        if mine.is_empty() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_same_and_one_byte_more_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        for name in ["a", "b"] {
            std::fs::create_dir(place(name)).unwrap();
            std::fs::write(place(name).join("one"), vec![7_u8; PIECE + 3]).unwrap();
        }
        let same = |one: &str, other: &str| is_same(&[place(one)], &[place(other)]).unwrap();
        assert!(same("a", "a") && same("a", "b"));
        let mut changed = vec![7_u8; PIECE + 3];
        changed[PIECE + 1] = 8;
        std::fs::write(place("b").join("one"), changed).unwrap();
        assert!(!same("a", "b"));
        std::fs::write(place("b").join("one"), vec![7_u8; PIECE + 3]).unwrap();
        std::fs::write(place("b").join("two"), []).unwrap();
        assert!(!same("a", "b"));
        assert!(!is_same(&[PathBuf::from("-")], &[place("a")]).unwrap());
    }
}
