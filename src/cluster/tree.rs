//! JSON and YAML as one tree, in which each YAML value knows its line.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use std::fmt;
use std::marker::PhantomData;

/// A value and the line on which it begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tree {
    /// From 1; `None` for JSON.
    pub(super) line: Option<u64>,
    pub(super) value: Value,
}

/// What a tree is made of.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// A whole number.
    Whole(i64),
    /// Any other number.
    Number(f64),
    Text(String),
    List(Vec<Tree>),
    Map(Vec<(String, Tree)>),
}

impl Tree {
    const NULL: Self = Self { line: None, value: Value::Null };

    /// The value under a key; `None` also for a null.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let found = self.entries().iter().find(|it| it.0 == key).map(|it| &it.1);
        found.filter(|it| it.value != Value::Null)
    }

    /// The value under the first of several spellings of a key.
    pub(super) fn any(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().find_map(|it| self.get(it))
    }

    /// The value at the end of a path of keys.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |tree, key| tree.get(key))
    }

    /// The text at the end of a path.
    pub(super) fn text_at(&self, path: &[&str]) -> Option<String> {
        self.at(path)?.text().map(str::to_owned)
    }

    /// A text; `None` for anything else.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A scalar as Kubernetes prints it; `None` for lists, maps and null.
    pub(super) fn printed(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) => Some(text.clone()),
            Value::Bool(it) => Some(it.to_string()),
            Value::Whole(it) => Some(it.to_string()),
            Value::Number(it) => Some(it.to_string()),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// A truth value; `None` for anything else.
    pub(super) fn is_true(&self) -> Option<bool> {
        match self.value {
            Value::Bool(it) => Some(it),
            _ => None,
        }
    }

    /// The values of a list; empty for anything else.
    pub(super) fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// The entries of a map in their order; empty for anything else.
    pub(super) fn entries(&self) -> &[(String, Self)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }
}

/// Where and why a text could not be parsed to its end.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Break {
    pub(super) line: Option<u64>,
    pub(super) cause: String,
}

/// The documents of a text; of JSON that ends early or breaks, what stands whole above the break.
pub(super) fn parse(text: &str) -> (Vec<Tree>, Option<Break>) {
    match text.trim_start().starts_with(['{', '[']) {
        true => json(text),
        false => yaml(text),
    }
}

fn json(text: &str) -> (Vec<Tree>, Option<Break>) {
    let mut tree = Tree::NULL;
    let mut reader = serde_json::Deserializer::from_str(text);
    let end = Fill(&mut tree).deserialize(&mut reader).and_then(|()| reader.end());
    let cut = end.err().map(|it| Break {
        line: u64::try_from(it.line()).ok().filter(|it| *it > 0),
        cause: it.to_string(),
    });
    match tree.value {
        Value::Null => (Vec::new(), cut),
        _ => (vec![tree], cut),
    }
}

/// Values in one YAML file, aliases counted where they are used: ten thousand pods have a few million.
const MOST_NODES: usize = 8_000_000;

/// Levels in one YAML file: objects of Kubernetes have about twenty, and each costs stack.
const MOST_DEPTH: usize = 32;

/// Aliases in one YAML file, and values that may stand behind anchors: people write few.
const MOST_ALIASES: usize = 1_000;
const MOST_RECORDED: usize = 50_000;

fn yaml(text: &str) -> (Vec<Tree>, Option<Break>) {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_nodes: MOST_NODES,
            max_events: 2 * MOST_NODES,
            max_depth: MOST_DEPTH,
            max_aliases: MOST_ALIASES,
            max_recorded_anchor_events: MOST_RECORDED,
        },
    };
    match serde_saphyr::from_multiple_with_options::<Lined>(text, options) {
        Ok(documents) => (documents.into_iter().map(Tree::from).collect(), None),
        Err(error) => {
            let line = error.location().map(|it| it.line());
            let cause = error.without_snippet().to_string();
            let cause = cause.lines().next().unwrap_or_default().to_owned();
            (Vec::new(), Some(Break { line, cause }))
        }
    }
}

/// Fills a tree from JSON in place, so that an error leaves what was read: a list loses the element that
/// broke, a map keeps a value that is in part there.
struct Fill<'a>(&'a mut Tree);

impl<'de> DeserializeSeed<'de> for Fill<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Fill<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, it: bool) -> Result<(), E> {
        self.0.value = Value::Bool(it);
        Ok(())
    }

    fn visit_i64<E>(self, it: i64) -> Result<(), E> {
        self.0.value = Value::Whole(it);
        Ok(())
    }

    fn visit_u64<E>(self, it: u64) -> Result<(), E> {
        self.0.value = whole(it);
        Ok(())
    }

    fn visit_f64<E>(self, it: f64) -> Result<(), E> {
        self.0.value = Value::Number(it);
        Ok(())
    }

    fn visit_str<E>(self, it: &str) -> Result<(), E> {
        self.0.value = Value::Text(it.to_owned());
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        self.0.value = Value::List(Vec::new());
        loop {
            let mut item = Tree::NULL;
            match access.next_element_seed(Fill(&mut item))? {
                Some(()) => {
                    if let Value::List(items) = &mut self.0.value {
                        items.push(item);
                    }
                }
                None => return Ok(()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        self.0.value = Value::Map(Vec::new());
        while let Some(key) = access.next_key::<String>()? {
            let mut item = Tree::NULL;
            let end = access.next_value_seed(Fill(&mut item));
            if let Value::Map(entries) = &mut self.0.value {
                entries.push((key, item));
            }
            end?;
        }
        Ok(())
    }
}

/// A number that is too large for the tree is kept as text, never as another number.
fn whole(it: u64) -> Value {
    i64::try_from(it).map_or_else(|_| Value::Text(it.to_string()), Value::Whole)
}

/// A YAML value with its line.
struct Lined(Spanned<Plain>);

/// A YAML value of which the line is known one level up.
struct Plain(Value);

impl From<Lined> for Tree {
    fn from(it: Lined) -> Self {
        Self { line: Some(it.0.referenced.line()).filter(|it| *it > 0), value: it.0.value.0 }
    }
}

impl<'de> Deserialize<'de> for Lined {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Spanned::deserialize(from).map(Self)
    }
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(PlainVisitor(PhantomData))
    }
}

struct PlainVisitor(PhantomData<Plain>);

impl<'de> Visitor<'de> for PlainVisitor {
    type Value = Plain;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Plain, E> {
        Ok(Plain(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Plain, E> {
        Ok(Plain(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Plain, D::Error> {
        Plain::deserialize(from)
    }

    fn visit_bool<E>(self, it: bool) -> Result<Plain, E> {
        Ok(Plain(Value::Bool(it)))
    }

    fn visit_i64<E>(self, it: i64) -> Result<Plain, E> {
        Ok(Plain(Value::Whole(it)))
    }

    fn visit_u64<E>(self, it: u64) -> Result<Plain, E> {
        Ok(Plain(whole(it)))
    }

    fn visit_f64<E>(self, it: f64) -> Result<Plain, E> {
        Ok(Plain(Value::Number(it)))
    }

    fn visit_str<E: Error>(self, it: &str) -> Result<Plain, E> {
        Ok(Plain(Value::Text(it.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Plain, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element::<Lined>()? {
            items.push(item.into());
        }
        Ok(Plain(Value::List(items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Plain, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, item)) = access.next_entry::<String, Lined>()? {
            entries.push((key, item.into()));
        }
        Ok(Plain(Value::Map(entries)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_yaml_knows_its_line() {
        let (documents, cut) = parse("version: v1\n# why\nsharing:\n  mps:\n    replicas: 3\n");
        assert_eq!(cut, None);
        let replicas = documents[0].at(&["sharing", "mps", "replicas"]).expect("it is there");
        assert_eq!((replicas.line, &replicas.value), (Some(5), &Value::Whole(3)));
    }

    #[test]
    fn a_block_in_yaml_begins_on_its_first_line_that_is_not_blank() {
        for (blank, line) in [("", 3), ("\n\n", 5)] {
            let text = format!("data:\n  a: |-\n{blank}    version: v1\n    flags: {{}}\n");
            let (documents, _) = parse(&text);
            let block = documents[0].at(&["data", "a"]).expect("it is there");
            assert_eq!(block.line, Some(line));
            assert_eq!(block.text(), Some(format!("{blank}version: v1\nflags: {{}}").as_str()));
        }
    }

    #[test]
    fn json_that_ends_early_keeps_its_whole_elements() {
        let (documents, cut) = parse("{\"items\": [{\"a\": 1}, {\"a\": [1, 2");
        assert!(cut.is_some());
        let items = documents[0].get("items").expect("the list has begun").items();
        assert_eq!(items.len(), 1, "half an element says nothing for sure");
    }

    #[test]
    fn yaml_that_repeats_a_key_or_multiplies_itself_is_refused() {
        assert_eq!(parse("a: 1\na: 2\n").1.and_then(|it| it.line), Some(2));
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        assert!(parse(&bomb).1.is_some());
        for deep in ["[".repeat(5_000), "{\"a\":".repeat(5_000), "- ".repeat(5_000)] {
            assert!(parse(&deep).1.is_some());
        }
    }
}
