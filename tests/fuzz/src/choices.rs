//! Bytes of the fuzzer as choices, numbers and texts; at their end everything is zero or empty.

/// Bytes that are used up choice by choice.
#[derive(Debug)]
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    /// Choices from these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        *first
    }

    /// A number from the next four bytes.
    pub fn number(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// One of these; there has to be one.
    pub fn one<'b, T>(&mut self, of: &'b [T]) -> &'b T {
        &of[usize::from(self.byte()) % of.len()]
    }

    /// The text up to the next zero byte.
    pub fn text(&mut self) -> String {
        let end = self.bytes.iter().position(|it| *it == 0).unwrap_or(self.bytes.len());
        let (text, rest) = self.bytes.split_at(end);
        self.bytes = rest.get(1..).unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }

    /// Everything that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }
}
