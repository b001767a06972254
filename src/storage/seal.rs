//! Sums over the bytes of a Parquet file, so that damage is found before the file is decoded.
//!
//! A decoder of Parquet that meets a damaged byte may ask for any amount of memory. What does not have the
//! sums that were written with it is therefore never decoded. The seal lies between the data and the footer:
//! readers go to places that the footer names, and never come by.
//!
//! ```text
//! data | seal: a mark, the sum of the data, the sum of what follows | footer | its length | PAR1
//! ```

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Begins a seal; the number is its version.
const MARK: [u8; 8] = *b"cotnsl01";
/// Mark and two sums.
const SEAL_BYTES: u64 = 16;
/// Ends every Parquet file.
const PARQUET: &[u8; 4] = b"PAR1";
/// Length of the footer and the mark of Parquet.
const ENDING_BYTES: u64 = 8;
/// Bytes that are read at once.
const CHUNK: usize = 64 * 1024;

/// How a footer says that there is a seal; it stands at the end of what is kept in the footer.
const SAYS_SEALED: &[u8] = br#""is_sealed":true"#;
/// How a footer says who wrote the file.
const WRITER: &[u8] = b"Polars";
/// Key of the footer of a table of findings: with our writer's name it says that there is a seal, too.
pub(crate) const FINDINGS_KEY: &str = "cotenant_findings";
/// Bytes at the end of a file in which all of that stands.
const LAST_BYTES: u64 = 1 << 20;

/// Why the bytes of a file are not decoded.
const FOOTER_DIFFERS: &str = "its footer is not the one that was written";
/// Why the bytes of a file are not decoded.
pub(crate) const DATA_DIFFER: &str = "its data are not those that were written";
/// Why the bytes of a file are not decoded.
const NO_SEAL: &str = "its seal is gone, so that nobody knows what else is";

/// What a file says about its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seal {
    /// Bytes before it.
    data_bytes: u64,
    data_sum: u32,
}

impl Seal {
    /// Whether the data are those that were written; reads all of them.
    pub(crate) fn fits(&self, file: &mut File) -> io::Result<bool> {
        file.seek(SeekFrom::Start(0))?;
        Ok(sum(file, self.data_bytes)? == Some(self.data_sum))
    }
}

/// What the end of a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The footer is the one that was written.
    Whole(Seal),
    /// It is another.
    Damaged,
    /// There is no seal: another program wrote the file, or it is no Parquet at all.
    Unsealed,
}

/// Puts the seal into a Parquet file that was just written.
pub(crate) fn seal(file: &mut (impl Read + Write + Seek)) -> io::Result<()> {
    let Some(tail_at) = tail_at(file)? else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not end as Parquet does"));
    };
    file.seek(SeekFrom::Start(0))?;
    let data_sum = sum(file, tail_at)?.unwrap_or_default();
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(tail_at))?;
    file.read_to_end(&mut tail)?;
    let tail_sum = sum(&mut tail.as_slice(), tail.len() as u64)?.unwrap_or_default();
    file.seek(SeekFrom::Start(tail_at))?;
    let parts = [&MARK[..], &data_sum.to_le_bytes(), &tail_sum.to_le_bytes(), &tail];
    file.write_all(&parts.concat())
}

/// Looks at the end of a file; its data are left alone.
pub(crate) fn ending(file: &mut File) -> io::Result<Ending> {
    let Some(tail_at) = tail_at(file)? else { return Ok(Ending::Unsealed) };
    let Some(data_bytes) = tail_at.checked_sub(SEAL_BYTES) else { return Ok(Ending::Unsealed) };
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(data_bytes))?;
    let (mut mark, mut data_sum, mut tail_sum) = (MARK, [0; 4], [0; 4]);
    file.read_exact(&mut mark)?;
    if mark != MARK {
        return Ok(Ending::Unsealed);
    }
    file.read_exact(&mut data_sum)?;
    file.read_exact(&mut tail_sum)?;
    let is_whole = sum(file, length - tail_at)? == Some(u32::from_le_bytes(tail_sum));
    let seal = Seal { data_bytes, data_sum: u32::from_le_bytes(data_sum) };
    Ok(if is_whole { Ending::Whole(seal) } else { Ending::Damaged })
}

/// The seal of a file, before anything of it is decoded; `None` where another program wrote it. The inner error says why its
/// footer must not be decoded.
pub(crate) fn checked(file: &mut File) -> io::Result<Result<Option<Seal>, &'static str>> {
    Ok(match ending(file)? {
        Ending::Whole(seal) => Ok(Some(seal)),
        Ending::Damaged => Err(FOOTER_DIFFERS),
        Ending::Unsealed if was_sealed(file)? => Err(NO_SEAL),
        Ending::Unsealed => Ok(None),
    })
}

/// Whether a file does not end as Parquet does.
pub(crate) fn is_cut(file: &mut File) -> io::Result<bool> {
    Ok(tail_at(file)?.is_none())
}

/// Whether the end of a file without a seal says that one was written with it.
///
/// It is looked for in the bytes: a decoder of footers that meets damage panics. Another program that rewrites a segment
/// takes over what its footer says, and signs with its own name.
fn was_sealed(file: &mut File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
    let mut last = Vec::new();
    Read::by_ref(file).take(LAST_BYTES).read_to_end(&mut last)?;
    let says = |it: &[u8]| last.windows(it.len()).any(|window| window == it);
    let is_ours = says(SAYS_SEALED) || says(FINDINGS_KEY.as_bytes());
    Ok(says(&MARK) || is_ours && says(WRITER))
}

/// Where the footer begins; `None` where the file does not end as Parquet does.
fn tail_at(file: &mut (impl Read + Seek)) -> io::Result<Option<u64>> {
    let length = file.seek(SeekFrom::End(0))?;
    let Some(ending_at) = length.checked_sub(ENDING_BYTES) else { return Ok(None) };
    file.seek(SeekFrom::Start(ending_at))?;
    let (mut footer_bytes, mut mark) = ([0; 4], [0; 4]);
    file.read_exact(&mut footer_bytes)?;
    file.read_exact(&mut mark)?;
    let tail_at = ending_at.checked_sub(u64::from(u32::from_le_bytes(footer_bytes)));
    Ok(tail_at.filter(|_| mark == *PARQUET))
}

/// The CRC-32 of so many bytes; `None`: there are fewer. It guards against damage, not against malice.
fn sum(input: &mut impl Read, length: u64) -> io::Result<Option<u32>> {
    let mut input = input.take(length);
    let mut sum = crc32fast::Hasher::new();
    let mut seen = 0;
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = fill(&mut input, &mut chunk)?;
        seen += count as u64;
        sum.update(&chunk[..count]);
        if count < CHUNK {
            return Ok((seen == length).then(|| sum.finalize()));
        }
    }
}

/// Fills a buffer as far as there are bytes.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn sealed() -> Vec<u8> {
        let mut file = file(b"PAR1 some data footer\x06\0\0\0PAR1");
        seal(&mut file).unwrap();
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn no_byte_of_a_sealed_file_changes_unseen() {
        let whole = sealed();
        let Ending::Whole(seal) = ending(&mut file(&whole)).unwrap() else { panic!("it is whole") };
        assert!(seal.fits(&mut file(&whole)).unwrap());
        for place in 0..whole.len() {
            for change in [1, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[place] ^= change;
                let is_seen = match ending(&mut file(&damaged)).unwrap() {
                    Ending::Whole(seal) => !seal.fits(&mut file(&damaged)).unwrap(),
                    Ending::Damaged | Ending::Unsealed => true,
                };
                assert!(is_seen, "byte {place}");
            }
        }
    }

    #[test]
    fn what_is_cut_or_no_parquet_has_no_seal() {
        let whole = sealed();
        for length in 0..whole.len() {
            assert_eq!(ending(&mut file(&whole[..length])).unwrap(), Ending::Unsealed);
        }
        assert!(seal(&mut file(b"something else")).is_err());
    }
}
