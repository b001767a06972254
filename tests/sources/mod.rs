//! The files of the repository as the tests of its rules see them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One file of `src/`.
#[derive(Debug)]
pub(crate) struct Source {
    /// Path from the root of the repository, with `/`.
    pub(crate) path: String,
    /// Path of the module, for example `import::mapping::unit`; `main`, or empty for the crate itself.
    pub(crate) module: String,
    /// Whether the whole file is compiled for tests only.
    pub(crate) is_test: bool,
    /// The code without comments, strings and the tests at the end.
    pub(crate) code: String,
    /// The code without comments and strings.
    pub(crate) with_tests: String,
}

/// Every file of `src/`.
pub(crate) fn all_sources() -> Vec<Source> {
    let root = root();
    let mut paths = Vec::new();
    collect(&root.join("src"), &mut paths);
    let texts: Vec<(String, String)> = paths
        .iter()
        .filter(|it| it.extension().is_some_and(|it| it == "rs"))
        .filter_map(|it| Some((relative(&root, it), std::fs::read_to_string(it).ok()?)))
        .collect();
    let test_modules: BTreeSet<String> =
        texts.iter().flat_map(|(path, text)| test_modules(&module_of(path), text)).collect();
    texts
        .into_iter()
        .map(|(path, text)| {
            let module = module_of(&path);
            let is_test = test_modules.iter().any(|it| is_inside(&module, &[it]));
            Source {
                is_test,
                code: blanked(without_tests(&text)),
                with_tests: blanked(&text),
                module,
                path,
            }
        })
        .collect()
}

/// Every text of the repository that is not built or generated elsewhere, with its path.
pub(crate) fn tracked_texts() -> Vec<(String, String)> {
    let root = root();
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths
        .iter()
        .filter_map(|it| Some((relative(&root, it), std::fs::read_to_string(it).ok()?)))
        .collect()
}

/// Whether a module is one of these, or lies below one of them.
pub(crate) fn is_inside(module: &str, places: &[&str]) -> bool {
    places.iter().any(|place| {
        module.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

/// Code with comments, strings and characters replaced by blanks; line numbers stay.
pub(crate) fn blanked(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < characters.len() {
        let length = literal_length(&characters[at..]);
        if length == 0 {
            code.push(characters[at]);
            at += 1;
            continue;
        }
        let literal = &characters[at..at + length];
        code.extend(literal.iter().map(|it| if *it == '\n' { '\n' } else { ' ' }));
        at += length;
    }
    code
}

/// Length of the comment, string or character that begins here; 0 when none does.
fn literal_length(rest: &[char]) -> usize {
    match rest {
        ['/', '/', ..] => rest.iter().position(|it| *it == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => {
            let end = rest.windows(2).skip(2).position(|it| it == ['*', '/']);
            end.map_or(rest.len(), |it| it + 4)
        }
        ['r', '"' | '#', ..] => raw_string_length(rest),
        ['"', ..] => string_length(rest),
        ['\'', '\\', _, ..] => {
            rest.iter().skip(3).position(|it| *it == '\'').map_or(rest.len(), |it| it + 4)
        }
        ['\'', _, '\'', ..] => 3,
        _ => 0,
    }
}

fn string_length(rest: &[char]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// Length of `r"…"` or `r#"…"#`; 0 when it is something else, for example `r#type`.
fn raw_string_length(rest: &[char]) -> usize {
    let hashes = rest[1..].iter().take_while(|it| **it == '#').count();
    if rest.get(1 + hashes) != Some(&'"') {
        return 0;
    }
    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
    let body = 2 + hashes;
    let found = rest[body..].windows(end.len()).position(|it| it == end);
    found.map_or(rest.len(), |it| body + it + end.len())
}

/// The text up to the tests that stand at its end: a module of its own behind `#[cfg(test)]`.
fn without_tests(text: &str) -> &str {
    let mark = "#[cfg(test)]\nmod ";
    let is_inline = |at: &usize| {
        let declared = text[at + mark.len()..].lines().next().unwrap_or_default();
        declared.trim_end().ends_with('{')
    };
    let start = text.match_indices(mark).map(|it| it.0).find(is_inline);
    start.map_or(text, |it| &text[..it])
}

/// Modules that a file declares for tests only: `#[cfg(test)]` before `mod name;`.
fn test_modules(module: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut names = Vec::new();
    for pair in lines.windows(2).filter(|it| it[0] == "#[cfg(test)]") {
        let declared = pair[1].rsplit_once("mod ").and_then(|it| it.1.strip_suffix(';'));
        if let Some(name) = declared {
            let prefix = if module.is_empty() { String::new() } else { format!("{module}::") };
            names.push(format!("{prefix}{name}"));
        }
    }
    names
}

fn module_of(path: &str) -> String {
    let path = path.trim_start_matches("src/").trim_end_matches(".rs");
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path == "lib" { String::new() } else { path.replace('/', "::") }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn relative(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// Files below a folder, in order; what is built, and the history, are left out.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|it| it.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
        match path.is_dir() {
            true if name == "target" || name == ".git" => {}
            true => collect(&path, files),
            false if name == ".git" => {}
            false => files.push(path),
        }
    }
}
