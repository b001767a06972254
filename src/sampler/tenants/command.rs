//! The program of a process, and its arguments without what must not be told.

use crate::domain::secrets::{MASK, masked_url};
use crate::sampler::tenants::host::plain;

/// Words in the name of an option or variable whose value is a secret.
const SECRET_WORDS: [&str; 18] = [
    "token",
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "key",
    "apikey",
    "auth",
    "authorization",
    "credential",
    "credentials",
    "bearer",
    "cookie",
    "dsn",
    "pat",
];

/// Starts of texts that are secrets wherever they stand.
const SECRET_STARTS: [&str; 12] = [
    "hf_",
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "nvapi-",
    "eyJ",
];

/// Name of the program: the last part of its path; what the kernel keeps where there is none.
///
/// A program may write what it likes over its arguments, so only the first word counts.
pub(crate) fn program(arguments: &[String], kept: &str) -> String {
    let first = arguments.first().and_then(|it| it.split_whitespace().next());
    let name = first.and_then(|it| it.trim_end_matches('/').rsplit('/').next());
    plain(name.filter(|it| !it.is_empty()).unwrap_or(kept))
}

/// Program and arguments; values that look like secrets are masked.
pub(crate) fn shown(arguments: &[String], kept: &str) -> String {
    let mut words = vec![program(arguments, kept)];
    if let Some((_, title)) = arguments.first().and_then(|it| it.split_once(char::is_whitespace)) {
        words.push(masked(title));
    }
    let mut is_secret = false;
    for argument in arguments.iter().skip(1) {
        let is_option = argument.starts_with("--") && argument.len() > 2;
        if is_secret && !is_option {
            words.push(MASK.to_owned());
            is_secret = false;
            continue;
        }
        is_secret = is_secret_option(argument);
        words.push(masked(argument));
    }
    plain(&words.join(" "))
}

/// An option whose value is the next argument, and a secret.
fn is_secret_option(argument: &str) -> bool {
    let name = argument.trim_start_matches('-');
    argument.starts_with('-') && !argument.contains(['=', ':']) && is_secret_name(name)
}

/// One argument; of several words, everything from the first secret on is masked.
fn masked(argument: &str) -> String {
    if !argument.contains(char::is_whitespace) {
        return masked_word(argument);
    }
    let mut words = Vec::new();
    for word in argument.split_whitespace() {
        let shown = masked_word(word);
        if shown != word {
            words.push(shown);
            break;
        }
        words.push(shown);
        if is_secret_name(word) {
            words.push(MASK.to_owned());
            break;
        }
    }
    words.join(" ")
}

fn masked_word(word: &str) -> String {
    if let Some(shown) = shown_url(word) {
        return shown;
    }
    if SECRET_STARTS.iter().any(|it| word.starts_with(it)) {
        return MASK.to_owned();
    }
    for sign in ['=', ':'] {
        if let Some((name, value)) = word.split_once(sign) {
            let bare = name.trim_start_matches(['-', '"', '\'', '{', '(']);
            let is_variable = sign == '=' && is_variable(bare);
            let is_secret = is_variable || is_secret_name(bare) || masked_word(value) != value;
            if is_secret && !value.is_empty() {
                return format!("{name}{sign}{MASK}");
            }
        }
    }
    word.to_owned()
}

/// A variable of the environment, such as `HF_TOKEN`.
fn is_variable(name: &str) -> bool {
    name.starts_with(|it: char| it.is_ascii_uppercase())
        && name.bytes().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b'_')
}

/// Whether a name has a word for a secret in it: `--hf-token`, `apiKey`, `DB_PASSWORD`.
fn is_secret_name(name: &str) -> bool {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        if !letter.is_ascii_alphabetic() || letter.is_uppercase() && was_small {
            words.push(String::new());
        }
        was_small = letter.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_ascii_alphabetic()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.iter().any(|it| SECRET_WORDS.contains(&it.as_str()))
}

/// A URL, or an option with one, without what opens it.
fn shown_url(word: &str) -> Option<String> {
    let shown = masked_url(word)?;
    let option = word.split_once("://")?.0.rsplit_once('=').map(|it| it.0);
    let is_secret =
        |it: &str| is_secret_name(it) || is_variable(it.trim_start_matches(['-', '"', '\'']));
    Some(match option.filter(|it| is_secret(it)) {
        Some(name) => format!("{name}={MASK}"),
        None => shown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(arguments: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
        shown(&arguments, "kept")
    }

    #[test]
    fn a_program_is_known_by_the_last_part_of_its_path() {
        let name = |first: &str| program(&[first.to_owned()], "kept");
        assert_eq!(name("/opt/a b/python3"), "a", "only the first word can be trusted");
        assert_eq!(name("/usr/bin/python3"), "python3");
        assert_eq!(name("VLLM::EngineCore"), "VLLM::EngineCore");
        assert_eq!(name("ray::Worker.run(secret)"), "ray::Worker.run(secret)");
        assert_eq!(name(""), "kept");
        assert_eq!(program(&[], "nv_queue"), "nv_queue");
    }

    #[test]
    fn ordinary_arguments_stay() {
        for text in [
            "python train.py --model llama --max-tokens 512 --tokenizer fast --lr=0.1",
            "vllm serve a/b --port 8000 --gpu-memory-utilization 0.4",
            "curl http://localhost:8000/metrics",
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(line(&words), text);
        }
    }

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        for (given, expected) in [
            (vec!["a", "--token=s3", "-x"], "a --token=… -x"),
            (vec!["a", "--password", "s3 s3", "--port", "80"], "a --password … --port 80"),
            (vec!["a", "--use-auth-token", "--port", "80"], "a --use-auth-token --port 80"),
            (vec!["a", "--hfToken", "s3"], "a --hfToken …"),
            (vec!["env", "HF_HOME=s3", "python"], "env HF_HOME=… python"),
            (vec!["a", "api_key=s3", "lr=1"], "a api_key=… lr=1"),
            (vec!["a", "http://u:s3@host/x?sig=s3"], "a http://…@host/x?…"),
            (vec!["a", "--db=postgres://u:s3@db"], "a --db=postgres://…@db"),
            (vec!["a", "--secret-url=http://s3"], "a --secret-url=…"),
            (vec!["a", "-H", "Authorization: Bearer s3"], "a -H Authorization: …"),
            (vec!["a", "-HX-Api-Key:s3"], "a -HX-Api-Key:…"),
            (vec!["sh", "-c", "export A_KEY=s3; run 's3 s3'"], "sh -c export A_KEY=…"),
            (vec!["sh", "-c", "run --password 's3 s3' -x"], "sh -c run --password …"),
            (vec!["a", "hf_s3", "--x=sk-s3"], "a … --x=…"),
            (vec!["proxy: --token s3"], "proxy: --token …"),
        ] {
            let shown = line(&given);
            assert_eq!(shown, expected);
            assert!(!shown.contains("s3"), "{shown}");
        }
    }

    proptest! {
        #[test]
        fn a_value_behind_a_secret_name_never_shows(
            name in "(token|hf-token|API_KEY|dbPassword|client[._-]secret)", value in "[A-Za-z0-9/+]{6,20}",
        ) {
            let value = format!("zz{value}");
            for arguments in [
                vec!["a".to_owned(), format!("--{name}={value}")],
                vec!["a".to_owned(), format!("--{name}"), value.clone()],
                vec!["a".to_owned(), format!("x --{name} {value}")],
                vec!["a".to_owned(), format!("{name}={value}")],
            ] {
                let shown = shown(&arguments, "kept");
                prop_assert!(!shown.contains(&value), "{}", shown);
            }
        }

        #[test]
        fn no_argument_makes_the_mask_panic(arguments in prop::collection::vec(".{0,30}", 0..5)) {
            let _ = shown(&arguments, "kept");
        }
    }
}
