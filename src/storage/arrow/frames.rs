//! Frames of a stream, each checked before anything decodes it.
//!
//! The decoder believes the lengths that stand in a frame: one wrong byte, and it asks for petabytes and the program ends.
//! Here a frame is held as a whole, and what it says of its parts has to lie in it.

use polars_arrow_format::ipc::planus::ReadAsRoot;
use polars_arrow_format::ipc::{MessageHeaderRef, MessageRef, RecordBatchRef};
use std::io::{Error, ErrorKind, Read, Seek, SeekFrom};

/// Begins a frame since version 0.15 of the format; the length of the head follows.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Longest head, bytes: a hundred thousand columns have less.
const LONGEST_HEAD: u64 = 64 << 20;
/// Longest body, bytes: a batch of so much is no batch.
const LONGEST_BODY: u64 = 4 << 30;

/// A pipe of frames that can be asked where it is and moved forward, as the decoder wants it.
pub(crate) struct Frames {
    input: Box<dyn Read>,
    /// The frame that is given out.
    frame: Vec<u8>,
    /// Bytes of it that were given out.
    given: usize,
    /// Bytes that were given out of all frames.
    at: u64,
}

impl Frames {
    pub(crate) fn new(input: Box<dyn Read>) -> Self {
        Self { input, frame: Vec::new(), given: 0, at: 0 }
    }

    /// Reads the next frame; none is left where it is empty.
    fn next(&mut self) -> std::io::Result<()> {
        self.frame.clear();
        self.given = 0;
        if self.append(4)? < 4 {
            return Ok(());
        }
        let is_continued = self.frame == CONTINUATION;
        if is_continued && self.append(4)? < 4 {
            return Err(short("its length"));
        }
        let tail: [u8; 4] = self.frame[self.frame.len() - 4..].try_into().map_err(Error::other)?;
        let length =
            u64::try_from(i32::from_le_bytes(tail)).map_err(|_| damaged("a length below zero"))?;
        if length == 0 {
            return Ok(());
        }
        if length > LONGEST_HEAD {
            return Err(damaged(&format!("a head of {length} bytes")));
        }
        let begin = self.frame.len();
        if self.append(length)? < length {
            return Err(short("its head"));
        }
        let body = body_length(&self.frame[begin..])?;
        if self.append(body)? < body {
            return Err(short("its body"));
        }
        Ok(())
    }

    /// Reads so many more bytes of the frame; how many there were.
    fn append(&mut self, count: u64) -> std::io::Result<u64> {
        let read = self.input.by_ref().take(count).read_to_end(&mut self.frame)?;
        Ok(read as u64)
    }
}

impl Read for Frames {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.given == self.frame.len() {
            self.next()?;
        }
        let rest = &self.frame[self.given..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.given += count;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Frames {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let SeekFrom::Current(step) = to else {
            return Err(ErrorKind::Unsupported.into());
        };
        let step = u64::try_from(step).map_err(|_| ErrorKind::Unsupported)?;
        let passed = std::io::copy(&mut self.by_ref().take(step), &mut std::io::sink())?;
        match passed == step {
            true => Ok(self.at),
            false => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Length of the body that follows a head.
///
/// Errors: the head is none, or says that something lies outside of that body.
fn body_length(head: &[u8]) -> std::io::Result<u64> {
    let read = || -> Result<(u64, bool), polars_arrow_format::ipc::planus::Error> {
        let message = MessageRef::read_as_root(head)?;
        let body = u64::try_from(message.body_length()?).unwrap_or(u64::MAX);
        let batch = match message.header()? {
            Some(MessageHeaderRef::RecordBatch(it)) => Some(it),
            Some(MessageHeaderRef::DictionaryBatch(it)) => it.data()?,
            _ => None,
        };
        Ok((body, batch.map_or(Ok(true), |it| lies_in(it, body))?))
    };
    match read() {
        Err(error) => Err(damaged(&format!("a head that is none: {error}"))),
        Ok((body, _)) if body > LONGEST_BODY => Err(damaged("a body of more than 4 GiB")),
        Ok((_, false)) => Err(damaged("parts that do not lie in it")),
        Ok((body, true)) => Ok(body),
    }
}

/// Whether all that a batch says of its parts may lie in a body of so many bytes.
fn lies_in(
    batch: RecordBatchRef<'_>,
    body: u64,
) -> Result<bool, polars_arrow_format::ipc::planus::Error> {
    // A row is at least one bit of one column.
    let most_rows = body.saturating_mul(8);
    let fits = |it: i64, most: u64| u64::try_from(it).is_ok_and(|it| it <= most);
    let mut is_inside = fits(batch.length()?, most_rows);
    for node in batch.nodes()?.iter().flat_map(|it| it.iter()) {
        is_inside &= fits(node.length(), most_rows) && fits(node.null_count(), most_rows);
    }
    let mut buffers = 0;
    for it in batch.buffers()?.iter().flat_map(|it| it.iter()) {
        buffers += 1;
        is_inside &= fits(it.length(), body) && fits(it.offset(), body);
        is_inside &= fits(it.offset().saturating_add(it.length()), body);
    }
    for it in batch.variadic_buffer_counts()?.iter().flat_map(|it| it.iter()) {
        is_inside &= fits(it, buffers);
    }
    Ok(is_inside)
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("a frame has {what}"))
}

fn short(what: &str) -> Error {
    Error::new(
        ErrorKind::UnexpectedEof,
        format!("it ends in the middle of a frame, before the end of {what}"),
    )
}

#[cfg(test)]
mod tests {
    use crate::storage::arrow::{DeviceStream, StreamError, TableStream};
    use crate::storage::findings::{KeptColumn, KeptTable};

    /// Twice two rows of two GPUs.
    fn stream() -> Vec<u8> {
        let words = |it: [&str; 2]| KeptColumn::Text(it.map(|it| Some(it.to_owned())).to_vec());
        let table = KeptTable {
            kind: String::new(),
            columns: vec![
                ("gpu".to_owned(), words(["GPU-1", "GPU-2"])),
                ("power_mw".to_owned(), KeptColumn::Number(vec![Some(1.5), None])),
                ("time".to_owned(), KeptColumn::Whole(vec![Some(1), Some(2)])),
            ],
        };
        let mut bytes = Vec::new();
        let mut stream = TableStream::open(&mut bytes, &table).expect("a schema");
        stream.write(&table).expect("a batch");
        stream.write(&table).expect("a batch");
        stream.finish().expect("an end");
        bytes
    }

    /// Devices of a stream.
    fn devices(bytes: &[u8]) -> Result<usize, StreamError> {
        let input = Box::new(std::io::Cursor::new(bytes.to_vec()));
        let mut stream = DeviceStream::open(input, (None, None), &|_| true)?;
        let mut count = 0;
        while stream.next_device()?.is_some() {
            while stream.more()?.is_some() {}
            count += 1;
        }
        Ok(count)
    }

    #[test]
    fn a_damaged_byte_anywhere_in_a_stream_is_told_or_changes_a_value() {
        let good = stream();
        assert_eq!(devices(&good).expect("a good stream"), 4);
        let mut refused = 0;
        for place in 0..good.len() {
            for wrong in [0, 0x7f, 0xff, good[place] ^ 1] {
                let mut bytes = good.clone();
                bytes[place] = wrong;
                refused += usize::from(devices(&bytes).is_err());
            }
            assert!(devices(&good[..place]).is_err(), "cut after {place} bytes");
        }
        assert!(refused > good.len() / 2, "{refused} of {}", good.len());
    }

    #[test]
    fn lengths_that_lie_outside_of_a_frame_are_never_believed() {
        let good = stream();
        // The lengths of buffers stand in heads as eight bytes each: a high one makes petabytes.
        let told = (0..good.len()).filter_map(|place| {
            let mut bytes = good.clone();
            bytes[place] = 0x70;
            devices(&bytes).err().map(|it| it.to_string())
        });
        assert!(told.into_iter().any(|it| it.contains("parts that do not lie in it")));
    }
}
