//! A small table as a stream of Arrow: the schema first, then a batch whenever rows are ready.

use crate::storage::arrow::StreamError;
use crate::storage::findings::{KeptColumn, KeptTable};
use polars_arrow::array::{Array, PrimitiveArray, Utf8Array};
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field};
use polars_arrow::io::ipc::write::{StreamWriter, WriteOptions};
use polars_arrow::record_batch::RecordBatchT;
use std::io::Write;
use std::sync::Arc;

/// A table under way: rows go out as they come.
pub struct TableStream<W: Write> {
    writer: StreamWriter<Prompt<W>>,
    schema: Arc<ArrowSchema>,
}

impl<W: Write> std::fmt::Debug for TableStream<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TableStream({} columns)", self.schema.len())
    }
}

impl<W: Write> TableStream<W> {
    /// Writes the schema of such tables; rows of the given one are not written.
    pub fn open(output: W, form: &KeptTable) -> Result<Self, StreamError> {
        let field = |(name, column): &(String, KeptColumn)| {
            let dtype = match column {
                KeptColumn::Text(_) => ArrowDataType::Utf8,
                KeptColumn::Number(_) => ArrowDataType::Float64,
                KeptColumn::Whole(_) => ArrowDataType::Int64,
            };
            (name.as_str().into(), Field::new(name.as_str().into(), dtype, true))
        };
        let schema: Arc<ArrowSchema> = Arc::new(form.columns.iter().map(field).collect());
        let mut writer = StreamWriter::new(Prompt(output), WriteOptions { compression: None });
        writer.start(&schema, None).map_err(|it| StreamError::Write(it.to_string()))?;
        Ok(Self { writer, schema })
    }

    /// Writes rows, all the way.
    pub fn write(&mut self, table: &KeptTable) -> Result<(), StreamError> {
        let arrays: Vec<Box<dyn Array>> = table.columns.iter().map(|it| array(&it.1)).collect();
        let height = arrays.first().map_or(0, |it| it.len());
        RecordBatchT::try_new(height, Arc::clone(&self.schema), arrays)
            .and_then(|it| self.writer.write(&it, None))
            .map_err(|it| StreamError::Write(it.to_string()))
    }

    /// Writes the end mark.
    pub fn finish(mut self) -> Result<(), StreamError> {
        self.writer.finish().map_err(|it| StreamError::Write(it.to_string()))
    }
}

fn array(column: &KeptColumn) -> Box<dyn Array> {
    match column {
        KeptColumn::Text(it) => {
            Utf8Array::<i32>::from_iter(it.iter().map(Option::as_deref)).boxed()
        }
        KeptColumn::Number(it) => it.iter().copied().collect::<PrimitiveArray<f64>>().boxed(),
        KeptColumn::Whole(it) => it.iter().copied().collect::<PrimitiveArray<i64>>().boxed(),
    }
}

/// Hands on at once what it is given: whoever reads waits for a device, and not for a full buffer.
#[derive(Debug)]
struct Prompt<W>(W);

impl<W: Write> Write for Prompt<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write_all(bytes)?;
        self.0.flush()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}
