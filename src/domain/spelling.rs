//! The nearest word that exists to one that a person wrote.

/// `did you mean …?`, or the whole choice where nothing is near.
pub fn suggestion(found: &str, known: &[&str]) -> String {
    let nearest = known.iter().min_by_key(|it| distance(found, it));
    match nearest {
        Some(it) if distance(found, it) <= 1 + it.chars().count() / 3 => {
            format!("did you mean `{it}`?")
        }
        _ => format!("choose one of {}", known.join(", ")),
    }
}

/// The key that a file has and its reader does not know, with what may have been meant, from serde's message.
///
/// `None` where the message is about something else.
pub fn unknown_key(message: &str) -> Option<(String, String)> {
    let is_about_keys = message.contains("unknown field") || message.contains("unknown variant");
    let mut quoted = message.split('`').skip(1).step_by(2);
    let found = quoted.next().filter(|_| is_about_keys)?;
    let known: Vec<&str> = quoted.collect();
    Some((found.to_owned(), suggestion(found, &known)))
}

/// Letters to insert, drop or replace until one text is the other.
///
/// Source: V. Levenshtein, Soviet Physics Doklady 10 (1966), 707–710.
pub fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().flat_map(char::to_lowercase).collect();
    let mut costs: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.chars().flat_map(char::to_lowercase).enumerate() {
        let mut diagonal = costs[0];
        costs[0] = row + 1;
        for (column, wanted) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *wanted);
            diagonal = costs[column + 1];
            costs[column + 1] = replaced.min(diagonal + 1).min(costs[column] + 1);
        }
    }
    costs[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_two_words_counts_single_letters() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("Power", "power"), 0);
    }

    #[test]
    fn a_message_of_serde_gives_the_key_and_its_neighbour() {
        let (found, advice) =
            unknown_key("unknown field `colum`, expected `unit` or `column`").unwrap();
        assert_eq!((found.as_str(), advice.as_str()), ("colum", "did you mean `column`?"));
        assert_eq!(unknown_key("invalid type: `a`"), None);
    }

    #[test]
    fn a_near_word_is_suggested_and_else_the_whole_choice() {
        assert_eq!(suggestion("colum", &["unit", "column"]), "did you mean `column`?");
        assert_eq!(suggestion("qqqqqq", &["unit", "column"]), "choose one of unit, column");
    }
}
