//! Looking at text eight bytes at a time.

/// One in each byte of a word.
pub(crate) const EACH: u64 = u64::from_le_bytes([1; 8]);

/// The high bit of every byte of a word that is zero.
///
/// Source: H. S. Warren, Hacker's Delight, 2nd edition (2012), section 6-1.
pub(crate) fn zero_bytes(word: u64) -> u64 {
    let low = EACH * 0x7f;
    !(((word & low) + low) | word | low)
}

/// Where a byte stands first; `None` where it does not stand.
pub(crate) fn position_of(byte: u8, text: &[u8]) -> Option<usize> {
    let wanted = EACH * u64::from(byte);
    let (words, rest) = text.as_chunks::<8>();
    for (number, letters) in words.iter().enumerate() {
        let found = zero_bytes(u64::from_le_bytes(*letters) ^ wanted);
        if found != 0 {
            return Some(number * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(|it| *it == byte).map(|it| words.len() * 8 + it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_byte_is_found_where_it_stands_first(text in prop::collection::vec(any::<u8>(), 0..40), byte: u8) {
            prop_assert_eq!(position_of(byte, &text), text.iter().position(|it| *it == byte));
        }
    }
}
