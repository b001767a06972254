//! Patterns of names: `*` stands for any letters, `?` for one.

/// Whether the whole text is what the pattern describes; capital letters count.
pub fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut read) = (0, 0);
    // Where the last `*` stands, and what it has swallowed so far.
    let mut star: Option<(usize, usize)> = None;
    while read < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, read));
                at += 1;
            }
            Some(it) if *it == '?' || *it == text[read] => {
                at += 1;
                read += 1;
            }
            _ => match star {
                Some((place, swallowed)) => {
                    star = Some((place, swallowed + 1));
                    at = place + 1;
                    read = swallowed + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|it| *it == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stars_and_question_marks_stand_for_letters() {
        for (pattern, text) in
            [("chat", "chat"), ("chat-*", "chat-"), ("*", ""), ("a*b*c", "aXbbYc"), ("?é*", "xé")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("chat", "chat-0"), ("", "a"), ("a?", "a"), ("a*c", "acb")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    /// The definition, letter by letter.
    fn defined(pattern: &[char], text: &[char]) -> bool {
        match (pattern, text) {
            ([], []) => true,
            (['*', rest @ ..], _) => {
                defined(rest, text) || !text.is_empty() && defined(pattern, &text[1..])
            }
            (['?', rest @ ..], [_, more @ ..]) => defined(rest, more),
            ([one, rest @ ..], [other, more @ ..]) => one == other && defined(rest, more),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn patterns_mean_what_their_definition_says(
            pattern in "[ab*?]{0,8}", text in "[ab]{0,10}",
        ) {
            let letters = |it: &str| it.chars().collect::<Vec<char>>();
            let expected = defined(&letters(&pattern), &letters(&text));
            prop_assert_eq!(matches(&pattern, &text), expected);
        }
    }
}
