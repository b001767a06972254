//! Opens what a command was given: a recording, or foreign logs that become one on the way.

use crate::cli::args::ForeignArgs;
use crate::cli::error::CliError;
use crate::cli::one_host::OneHost;
use crate::cli::output;
use crate::cli::progress::Counted;
use crate::cli::spool::{InputFile, gather};
use crate::import::error::ImportError;
use crate::import::identify::{Recognised, identify};
use crate::import::join::Joined;
use crate::import::mapping::{Mapping, MappingImporter, PRESETS, preset};
use crate::import::run::ImportSummary;
use crate::import::{ImportOptions, Importer, Likeness};
use crate::storage::error::StorageError;
use crate::storage::{Mode, RecordingWriter, StoredRecording};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What to do when there is no place for temporary files.
pub(crate) const ELSEWHERE: &str = "set TMPDIR to a folder with room that you may write to";

/// A recording that a command reads, with the temporary files that it may lie in.
pub(crate) struct Input {
    pub(crate) recording: StoredRecording,
    _temporary: Option<tempfile::TempDir>,
    _inputs: Vec<InputFile>,
}

/// Opens a recording, or imports foreign logs into a temporary one; very many processes are few, in line.
pub(crate) fn open(paths: &[PathBuf], foreign: &ForeignArgs) -> Result<Input, CliError> {
    let it = open_each(paths, foreign)?;
    Ok(Input { recording: it.recording.with_processes_in_line(), ..it })
}

/// The same with every process by itself.
pub(crate) fn open_each(paths: &[PathBuf], foreign: &ForeignArgs) -> Result<Input, CliError> {
    let inputs = gather(paths)?;
    if let [input] = inputs.as_slice()
        && is_recording(input)?
    {
        return Ok(Input { recording: stored(input)?, _temporary: None, _inputs: inputs });
    }
    for input in &inputs {
        if is_recording(input)? {
            return Err(CliError::usage(
                format!(
                    "{}: is a recording and cannot be read together with others",
                    input.shown().display()
                ),
                "give one recording, or several foreign logs",
            ));
        }
    }
    let temporary = tempfile::tempdir().map_err(|it| {
        CliError::failed("cannot make a temporary folder", &it).try_this(ELSEWHERE)
    })?;
    let folder = temporary.path().join("recording");
    let mut writer = RecordingWriter::open(&folder, Mode::Create)?;
    let outcome = import_into(&inputs, foreign, &mut writer);
    writer.finish()?;
    outcome?.iter().for_each(report_summary);
    let recording = StoredRecording::open(&folder)?;
    Ok(Input { recording, _temporary: Some(temporary), _inputs: inputs })
}

/// Opens a recording; a folder around one gets a hint.
fn stored(input: &InputFile) -> Result<StoredRecording, CliError> {
    let inside = input.path().join("recording");
    StoredRecording::open(input.path()).map_err(|error| match error {
        StorageError::NotARecording { .. } if StoredRecording::open(&inside).is_ok() => {
            let remedy = format!("give the recording inside it: {}", inside.display());
            CliError::usage(error.to_string(), remedy)
        }
        _ => error.into(),
    })
}

/// Whether an input is a recording: a folder, or a Parquet file.
fn is_recording(input: &InputFile) -> Result<bool, CliError> {
    let path = input.path();
    let failed = |it: std::io::Error| CliError::file(input.shown(), "opening", &it);
    if std::fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(true);
    }
    let mut magic = Vec::new();
    File::open(path).and_then(|it| it.take(4).read_to_end(&mut magic)).map_err(failed)?;
    Ok(magic == b"PAR1")
}

/// One foreign file, recognised and not yet read.
struct Candidate<'a> {
    input: &'a InputFile,
    importer: Chosen,
}

/// Imports files that belong together, those that describe GPUs first; returns one summary for each.
///
/// A file without samples is only a warning as long as another one has some.
pub(crate) fn import_into(
    inputs: &[InputFile],
    foreign: &ForeignArgs,
    writer: &mut RecordingWriter,
) -> Result<Vec<ImportSummary>, CliError> {
    let options = options_of(foreign);
    let mut candidates: Vec<Candidate<'_>> = inputs
        .iter()
        .map(|it| candidate(it, foreign, inputs.len() == 1))
        .collect::<Result<_, _>>()?;
    candidates.sort_by_key(|it| crate::import::reading_order(it.importer.as_dyn().id()));
    let mut summaries = Vec::new();
    let mut empty = Vec::new();
    let first_source = writer.next_source().0;
    let mut watched = OneHost::new(writer, inputs.len());
    let mut sink = Joined::new(&mut watched);
    for (number, candidate) in (first_source..).zip(&candidates) {
        let mut input = reader(candidate.input)?.1;
        let source = crate::domain::source::SourceId(number);
        let importer = candidate.importer.as_dyn();
        let outcome = crate::import::import(
            importer,
            &mut input,
            &candidate.input.name,
            &options,
            source,
            &mut sink,
        );
        match outcome {
            Ok(summary) => summaries.push(summary),
            Err(error @ ImportError::Empty { .. }) => empty.push(error),
            Err(error) => return Err(error.into()),
        }
    }
    match empty.pop() {
        Some(error) if summaries.is_empty() => Err(error.into()),
        last => {
            empty.iter().chain(&last).for_each(|it| output::warning(&it.to_string()));
            Ok(summaries)
        }
    }
}

/// What the command line says about foreign files.
pub(crate) fn options_of(foreign: &ForeignArgs) -> ImportOptions {
    ImportOptions {
        time_zone: foreign.timezone.clone(),
        start: foreign.start,
        interval: foreign.interval,
        fields: foreign.fields.clone(),
        gpu: foreign.gpu.clone(),
    }
}

/// Tells the user what was read, rejected and assumed.
pub(crate) fn report_summary(summary: &ImportSummary) {
    output::info(&format!(
        "{}: {} rows, {} readings ({})",
        summary.file, summary.rows, summary.readings, summary.format
    ));
    let count = summary.rejections.count();
    if count > 0 {
        let first: Vec<String> =
            summary.rejections.first().iter().map(|it| format!("  {it}")).collect();
        let what = if count == 1 { "cell or row was" } else { "cells or rows were" };
        output::warning(&format!("{count} {what} left out:\n{}", first.join("\n")));
    }
    summary.warnings.iter().for_each(|it| output::warning(it));
}

/// The importer that was found, or made from a mapping file.
enum Chosen {
    Listed(&'static dyn Importer),
    Made(Box<MappingImporter>),
}

impl Chosen {
    fn as_dyn(&self) -> &dyn Importer {
        match self {
            Self::Listed(it) => *it,
            Self::Made(it) => it.as_ref(),
        }
    }
}

/// Chooses the importer of one file.
///
/// A mapping is for tables: beside others, a log that is surely in a format of its own keeps that format.
fn candidate<'a>(
    input: &'a InputFile,
    foreign: &ForeignArgs,
    is_alone: bool,
) -> Result<Candidate<'a>, CliError> {
    let importer = match (&foreign.format, &foreign.mapping) {
        (Some(format), _) => Chosen::Listed(by_format(format)?),
        (None, Some(mapping)) => {
            let own = if is_alone { None } else { sure_format(&reader(input)?.0) };
            match own {
                Some(importer) => Chosen::Listed(importer),
                None => Chosen::Made(Box::new(by_mapping(mapping)?)),
            }
        }
        (None, None) => {
            let (head, _) = reader(input)?;
            by_content(&head, &input.name)?
        }
    };
    Ok(Candidate { input, importer })
}

fn sure_format(head: &[u8]) -> Option<&'static dyn Importer> {
    crate::import::recognise(head).filter(|it| it.recognise(head) == Likeness::Sure)
}

fn by_format(format: &str) -> Result<&'static dyn Importer, CliError> {
    let known: Vec<&str> = crate::import::IMPORTERS.iter().map(|it| it.id()).collect();
    crate::import::by_id(format).ok_or_else(|| {
        CliError::usage(
            format!("no format is called `{format}`"),
            format!("formats: {}", known.join(", ")),
        )
    })
}

/// A preset of this id, or else a mapping file.
pub(crate) fn by_mapping(mapping: &str) -> Result<MappingImporter, CliError> {
    if let Some(mapping) = preset(mapping) {
        return Ok(MappingImporter { mapping });
    }
    let path = Path::new(mapping);
    let text = std::fs::read_to_string(path).map_err(|it| {
        let presets: Vec<&str> = PRESETS.iter().map(|it| it.0).collect();
        CliError::usage(
            format!("no preset is called `{mapping}`, and the mapping file cannot be read: {it}"),
            format!("presets: {}", presets.join(", ")),
        )
    })?;
    match Mapping::from_toml(&text) {
        Ok(mapping) => Ok(MappingImporter { mapping }),
        Err(error) => Err(CliError::usage(format!("{}: {error}", path.display()), error.remedy())),
    }
}

fn by_content(head: &[u8], name: &str) -> Result<Chosen, CliError> {
    if head.is_empty() {
        return Err(ImportError::Empty { file: name.to_owned() }.into());
    }
    match identify(head, name) {
        Recognised::Format(importer) => Ok(Chosen::Listed(importer)),
        Recognised::Preset(importer) => Ok(Chosen::Made(importer)),
        Recognised::Ambiguous(presets) => Err(CliError::usage(
            format!("{name}: several presets describe such columns: {}", presets.join(", ")),
            "choose one: --mapping PRESET",
        )),
        Recognised::Unknown => Err(unknown(head, name)),
    }
}

fn unknown(head: &[u8], name: &str) -> CliError {
    match crate::import::refusal::explain_file(head, name) {
        Some((what, remedy)) => CliError::usage(format!("{name}: is {what}"), remedy),
        None => CliError::usage(
            format!("{name}: is in no format that is known here"),
            "name the format with --format, or describe the columns in a mapping file: --mapping FILE",
        ),
    }
}

/// The first 64 KiB of a file for recognition, and a reader from its start.
fn reader(input: &InputFile) -> Result<(Vec<u8>, Box<dyn std::io::BufRead>), CliError> {
    let failed = |it: std::io::Error| CliError::file(input.shown(), "reading", &it);
    let file = File::open(input.path()).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    let counted = Counted::new(file, length, &input.name);
    let plain = crate::import::text::decompress::decompressed(Box::new(counted)).map_err(failed)?;
    crate::import::text::decompress::head(plain).map_err(failed)
}
