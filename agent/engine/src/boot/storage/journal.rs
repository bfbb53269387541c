//! Keeps the journal: on disk before the act that it records.

use crate::boot::facts::BootFacts;
use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::ports::Files;
use quake_model::step::WriteFile;
use quake_volumes::{JOURNAL, Journal};

/// More than any journal has.
const LIMIT: u64 = 1 << 16;

/// The journal of this instance.
pub(crate) async fn read<H: Files>(context: &Context<'_, H>) -> Result<Journal, Fault> {
    if let Some(known) = context.know(|knowledge| knowledge.storage.journal.clone()) {
        return Ok(known);
    }
    let instance = context.know(BootFacts::instance)?;
    let looked = context.host.look_file(JOURNAL, LIMIT).await;
    let found =
        looked.map_err(|error| to_fault(Operation::UseFile, error).seen("path", JOURNAL))?;
    let text = found.and_then(|found| found.contents);
    let journal = match Journal::read(text.as_deref(), &instance.instance_id) {
        Some(journal) => journal,
        None => {
            let summary = format!("{JOURNAL} cannot be read; it is begun anew");
            let fault = Fault::new(Code::StorageJournalUnusable, summary).seen("path", JOURNAL);
            context.emitter.emit(Event::Warning { fault });
            context.learn(|knowledge| knowledge.storage.journal_lost = true);
            Journal::new(&instance.instance_id)
        }
    };
    context.learn(|knowledge| knowledge.storage.journal = Some(journal.clone()));
    Ok(journal)
}

/// Changes the journal; returns once it is on disk.
pub(crate) async fn note<H: Files>(
    context: &Context<'_, H>,
    change: impl FnOnce(&mut Journal),
) -> Result<(), Fault> {
    let before = read(context).await?;
    let mut after = before.clone();
    change(&mut after);
    if after == before || context.is_planning() {
        return Ok(());
    }
    let file = WriteFile::plain(JOURNAL, 0o600, after.text());
    let written = context.host.write_file(&file).await;
    written.map_err(|error| to_fault(Operation::UseFile, error).seen("path", JOURNAL))?;
    context.learn(|knowledge| knowledge.storage.journal = Some(after));
    Ok(())
}
