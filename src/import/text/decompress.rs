//! Files as people keep them become plain UTF-8 text: gzip, zstd, byte order marks, UTF-16.
//!
//! Everything is recognised by content, never by the file's name, and streamed.

use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, BufReader, Cursor, Read};

/// How much of a file's start [`head`] hands out, in bytes.
pub const HEAD_BYTES: u64 = 64 * 1024;

/// Bytes that go through a buffer at once.
const CHUNK: usize = 64 * 1024;

/// The text of a file, whatever it is wrapped in.
///
/// Gzip (with any number of members) and zstd (with any number of frames) are unpacked, a UTF-8
/// byte order mark is dropped, and UTF-16 with a byte order mark, as PowerShell writes it when
/// the output of `nvidia-smi` is redirected, becomes UTF-8.
///
/// Errors: the first bytes cannot be read, or they are those of an archive that is not read here.
/// A file that is cut off or damaged later fails where it is read.
pub fn decompressed(input: Box<dyn Read>) -> io::Result<Box<dyn BufRead>> {
    let (start, rest) = sniff(input)?;
    let packed = BufReader::with_capacity(CHUNK, rest);
    let plain: Box<dyn Read> = match start.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(packed)),
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
            Box::new(zstd::stream::read::Decoder::with_buffer(packed)?)
        }
        [b'B', b'Z', b'h', ..] => return Err(unread("bzip2")),
        [0xfd, b'7', b'z', b'X'] => return Err(unread("xz")),
        [b'P', b'K', 3, 4] => return Err(unread("zip")),
        _ => return as_utf8(Box::new(packed)),
    };
    as_utf8(plain)
}

/// The first 64 KiB of a text for recognition, and a reader that still begins at the start.
///
/// An error after the first byte is not lost: the reader meets it at the same place.
///
/// Errors: not even one byte could be read.
pub fn head(mut input: Box<dyn BufRead>) -> io::Result<(Vec<u8>, Box<dyn BufRead>)> {
    let mut head = Vec::new();
    let outcome = Read::take(&mut input, HEAD_BYTES).read_to_end(&mut head);
    let start = Cursor::new(head.clone());
    match outcome {
        Ok(_) => Ok((head, Box::new(start.chain(input)))),
        Err(error) if head.is_empty() => Err(error),
        Err(error) => {
            let failing = BufReader::new(Failing(Some(error)));
            Ok((head, Box::new(start.chain(failing))))
        }
    }
}

fn unread(kind: &str) -> io::Error {
    let advice = format!("is packed with {kind}; unpack it first, gzip and zstd are read directly");
    io::Error::new(io::ErrorKind::Unsupported, advice)
}

/// Up to four bytes, and the whole again.
fn sniff(mut input: Box<dyn Read>) -> io::Result<(Vec<u8>, Box<dyn Read>)> {
    let mut start = Vec::with_capacity(4);
    Read::take(&mut input, 4).read_to_end(&mut start)?;
    let whole = Cursor::new(start.clone()).chain(input);
    Ok((start, Box::new(whole)))
}

fn as_utf8(input: Box<dyn Read>) -> io::Result<Box<dyn BufRead>> {
    let (start, whole) = sniff(input)?;
    let marked = |length: usize| -> io::Result<Box<dyn Read>> {
        let mut whole = whole;
        let mut mark = [0; 3];
        whole.read_exact(&mut mark[..length])?;
        Ok(whole)
    };
    let text: Box<dyn Read> = match start.as_slice() {
        [0xef, 0xbb, 0xbf, ..] => marked(3)?,
        [0xff, 0xfe, ..] => Box::new(Utf16::new(marked(2)?, u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Box::new(Utf16::new(marked(2)?, u16::from_be_bytes)),
        _ => marked(0)?,
    };
    Ok(Box::new(BufReader::with_capacity(CHUNK, text)))
}

/// A reader that fails once with the error that was met before.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// UTF-16 read as UTF-8; a broken surrogate becomes U+FFFD.
struct Utf16 {
    input: Box<dyn Read>,
    unit: fn([u8; 2]) -> u16,
    odd_byte: Option<u8>,
    high_surrogate: Option<u16>,
    text: Vec<u8>,
    given: usize,
}

impl Utf16 {
    fn new(input: Box<dyn Read>, unit: fn([u8; 2]) -> u16) -> Self {
        Self { input, unit, odd_byte: None, high_surrogate: None, text: Vec::new(), given: 0 }
    }

    /// Decodes the next chunk; leaves no text only at the end of the input.
    fn refill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.given = 0;
        let mut chunk = [0; 4096];
        while self.text.is_empty() {
            let length = match self.input.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                outcome => outcome?,
            };
            if length == 0 {
                if self.odd_byte.take().is_some() || self.high_surrogate.take().is_some() {
                    self.push('\u{fffd}');
                }
                return Ok(());
            }
            for byte in &chunk[..length] {
                match self.odd_byte.take() {
                    None => self.odd_byte = Some(*byte),
                    Some(first) => self.take_unit((self.unit)([first, *byte])),
                }
            }
        }
        Ok(())
    }

    fn take_unit(&mut self, unit: u16) {
        if let Some(high) = self.high_surrogate.take() {
            if let Some(Ok(pair)) = char::decode_utf16([high, unit]).next() {
                return self.push(pair);
            }
            self.push('\u{fffd}');
        }
        if (0xd800..0xdc00).contains(&unit) {
            self.high_surrogate = Some(unit);
        } else {
            self.push(char::from_u32(u32::from(unit)).unwrap_or('\u{fffd}'));
        }
    }

    fn push(&mut self, character: char) {
        let mut encoded = [0; 4];
        self.text.extend_from_slice(character.encode_utf8(&mut encoded).as_bytes());
    }
}

impl Read for Utf16 {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.given == self.text.len() {
            self.refill()?;
        }
        let ready = &self.text[self.given..];
        let length = ready.len().min(out.len());
        out[..length].copy_from_slice(&ready[..length]);
        self.given += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn text_of(bytes: Vec<u8>) -> String {
        let mut text = String::new();
        decompressed(Box::new(Cursor::new(bytes))).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    fn gz(text: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text).unwrap();
        packer.finish().unwrap()
    }

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let marked = format!("\u{feff}{text}");
        marked.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn plain_text_stays_as_it_is_even_when_it_is_short_or_empty() {
        for text in ["", "a", "gpu,util\n0,1\n"] {
            assert_eq!(text_of(text.into()), text);
        }
    }

    #[test]
    fn a_gzip_file_of_several_members_is_read_to_its_end() {
        assert_eq!(text_of([gz(b"one\n"), gz(b"two\n")].concat()), "one\ntwo\n");
    }

    #[test]
    fn a_zstd_file_of_several_frames_is_read_to_its_end() {
        let frame = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
        assert_eq!(text_of([frame(b"one\n"), frame(b"two\n")].concat()), "one\ntwo\n");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_column() {
        assert_eq!(text_of(b"\xef\xbb\xbftimestamp\n".to_vec()), "timestamp\n");
        assert_eq!(text_of(gz(b"\xef\xbb\xbftimestamp\n")), "timestamp\n");
    }

    #[test]
    fn what_powershell_redirected_as_utf_16_becomes_utf_8() {
        let text = "name\r\nNVIDIA® 🙂 GPU\r\n".repeat(1000);
        assert_eq!(text_of(utf16(&text, u16::to_le_bytes)), text);
        assert_eq!(text_of(utf16(&text, u16::to_be_bytes)), text);
        assert_eq!(text_of(gz(&utf16(&text, u16::to_le_bytes))), text);
    }

    #[test]
    fn broken_utf_16_costs_one_character_and_no_more() {
        let units =
            |units: &[u16]| -> Vec<u8> { units.iter().flat_map(|it| it.to_le_bytes()).collect() };
        assert_eq!(text_of(units(&[0xfeff, 0xd83d, 0x41])), "\u{fffd}A");
        assert_eq!(text_of(units(&[0xfeff, 0x41, 0xd83d])), "A\u{fffd}");
        assert_eq!(text_of(units(&[0xfeff, 0xde42, 0x41])), "\u{fffd}A");
        let mut odd = units(&[0xfeff, 0x41]);
        odd.push(0x42);
        assert_eq!(text_of(odd), "A\u{fffd}");
    }

    #[test]
    fn an_archive_that_cannot_be_read_says_what_to_do() {
        let error = decompressed(Box::new(Cursor::new(b"PK\x03\x04rest".to_vec()))).err().unwrap();
        assert!(error.to_string().contains("unpack it first"), "{error}");
    }

    #[test]
    fn the_head_is_not_lost_for_the_reader_behind_it() {
        let text = "x".repeat(100_000);
        let whole = decompressed(Box::new(Cursor::new(text.clone().into_bytes()))).unwrap();
        let (head, mut reader) = head(whole).unwrap();
        assert_eq!(head.len() as u64, HEAD_BYTES);
        let mut again = String::new();
        reader.read_to_string(&mut again).unwrap();
        assert_eq!(again, text);
    }

    #[test]
    fn a_file_that_is_cut_off_gives_what_it_has_and_then_the_error() {
        let packed = gz(&(0..9999).flat_map(|it: u32| it.to_le_bytes()).collect::<Vec<u8>>());
        let cut = packed[..packed.len() / 2].to_vec();
        let (head, mut reader) = head(decompressed(Box::new(Cursor::new(cut))).unwrap()).unwrap();
        let mut again = Vec::new();
        assert!(reader.read_to_end(&mut again).is_err());
        assert!(again.len() >= head.len() && !head.is_empty());
    }
}
