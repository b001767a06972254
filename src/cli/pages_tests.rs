//! What a reader copies from the help and from the pages is understood as it stands there.

use crate::cli::args::Cli;
use clap::{CommandFactory, Parser};
use std::path::{Path, PathBuf};

/// Words of a line as a shell tells them apart, up to a comment, a pipe or a redirection.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_with(String::new);
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#') if word.is_none() => break,
            (None, '|' | '>' | '&' | ';') => break,
            _ => word.get_or_insert_with(String::new).push(letter),
        }
    }
    words.extend(word);
    words
}

/// Errors: what the program says of this line.
fn understood(line: &str) -> Result<(), String> {
    let words = words(line);
    match Cli::try_parse_from(&words) {
        Ok(_) => Ok(()),
        Err(error) if !error.use_stderr() => Ok(()),
        Err(error) => Err(format!("{line}\n{error}")),
    }
}

/// Commands in the blocks of a page that a reader would copy into a shell.
fn commands(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_shell = false;
    for line in page.lines() {
        match line.trim().strip_prefix("```") {
            Some(language) => is_shell = matches!(language, "sh" | "bash" | "console"),
            None if is_shell => found.push(line.trim().trim_start_matches("$ ").to_owned()),
            None => {}
        }
    }
    // A line that ends in a backslash goes on in the next one.
    let joined = found.join("\n").replace("\\\n", " ");
    joined.lines().filter(|it| it.starts_with("cotenant ")).map(str::to_owned).collect()
}

#[test]
fn every_example_of_the_help_is_understood_and_every_command_of_the_subject_has_one() {
    let mut program = Cli::command();
    program.build();
    let mut number = 0;
    for command in std::iter::once(&program).chain(program.get_subcommands()) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let has_examples = help.starts_with("Examples:\n");
        assert!(has_examples || command.get_name() == "help", "{}", command.get_name());
        for line in help.lines().filter_map(|it| it.strip_prefix("  ")) {
            // What an example is for stands behind it, far away.
            let line = line.split("   ").next().unwrap_or(line);
            understood(line).unwrap();
            number += 1;
        }
    }
    assert!(number > 30, "{number}");
}

#[test]
fn options_that_no_heading_is_meant_for_stand_under_none() {
    for command in Cli::command().get_subcommands() {
        for name in ["output", "out", "fail_on", "clock_offset", "assume_one_gpu", "from", "last"] {
            let is_of_a_group = command.get_name() == "import"
                || (command.get_name() == "report" && name == "fail_on");
            let option = command.get_arguments().find(|it| it.get_id() == name);
            let heading = option.and_then(|it| it.get_help_heading());
            assert!(
                is_of_a_group || heading.is_none(),
                "{} {name}: {heading:?}",
                command.get_name()
            );
        }
    }
}

#[test]
fn every_command_in_a_page_is_understood() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages: Vec<PathBuf> = vec![root.join("README.md"), root.join("reports/README.md")];
    for entry in std::fs::read_dir(root.join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "md") {
            pages.push(path);
        }
    }
    let (mut number, mut wrong) = (0, Vec::new());
    for page in pages {
        for line in commands(&std::fs::read_to_string(&page).unwrap()) {
            number += 1;
            let problem = understood(&line).err();
            wrong.extend(problem.map(|it| format!("{}: {it}", page.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(number > 25, "{number}");
}

/// The command lines of the containers of a manifest, each a list of words on one line.
fn containers(manifest: &str) -> Vec<String> {
    let lines = manifest.lines().filter_map(|it| it.trim().strip_prefix("command: ["));
    let words = |it: &str| it.trim_end_matches(']').replace(", ", " ").replace('"', "");
    lines.map(|it| words(it).replace("$(NODE_NAME)", "node-1")).collect()
}

#[test]
fn every_command_of_a_manifest_is_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/kubernetes");
    let mut number = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in containers(&text) {
            understood(&line).unwrap();
            number += 1;
        }
    }
    assert_eq!(number, 3);
}
