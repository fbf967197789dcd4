//! `forget`: takes entries out and keeps them from coming back.

use std::collections::BTreeSet;

use clap::Args;

use super::app::{App, fields, ids, one_line};
use super::ui::{count, paint, style};
use crate::error::{Error, Kind, Result};
use crate::model::{Id, Memory, ReviewItem};
use crate::pipeline::by_hand;
use crate::store::Store;
use crate::store::turns::TurnStore;
use crate::text::words;

/// Forget memories; they leave a tombstone and do not come back
///
/// What goes is shown first. History keeps it, so that undo can bring it back.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// Ids, or their first four characters
    #[arg(value_name = "ID", required_unless_present_any = ["session", "query"])]
    ids: Vec<String>,
    /// Everything that came from this conversation, also what waits for review or is in the archive
    #[arg(long, value_name = "SESSION", conflicts_with = "ids")]
    session: Option<String>,
    /// Everything that contains all of these words
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["ids", "session"])]
    query: Option<String>,
}

impl ForgetArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let chosen = self.chosen(app, &store)?;
        let candidates = self.candidates(app, &store)?;
        let turns = self.forget_turns(app, &store)?;
        let nothing = chosen.is_empty() && candidates.is_empty();
        if nothing && turns > 0 {
            if app.ui.wishes.json {
                app.ui.object("forget", fields([("forgotten", ids(&[])), ("turns", turns.into())]));
            }
            return Ok(());
        }
        if nothing {
            return Err(Error::new(Kind::Usage, "nothing matches, so nothing is forgotten").hint("`claude-mem list` shows what there is"));
        }
        if !app.ui.wishes.json {
            for (_, memory) in &chosen {
                app.ui.report(&format!("{} {}", paint(style::BAD, "-"), one_line(&app.ui, memory)));
            }
            for (_, item) in &candidates {
                let waits = paint(style::DIM, "(waits for review)");
                app.ui.report(&format!("{} {}  {} {waits}", paint(style::BAD, "-"), item.id, app.ui.foreign(&item.memory.summary)));
            }
        }
        let parts = [
            (chosen.len(), count(chosen.len(), "memory", "memories")),
            (candidates.len(), count(candidates.len(), "candidate", "candidates")),
        ];
        let number = parts.iter().filter(|(n, _)| *n > 0).map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" and ");
        let gone: Vec<Id> = chosen.iter().map(|(_, m)| m.id.clone()).collect();
        let dropped: Vec<Id> = candidates.iter().map(|(_, item)| item.id.clone()).collect();
        let result = || fields([("forgotten", ids(&gone)), ("candidates", ids(&dropped))]);
        if app.ui.wishes.dry_run {
            app.ui.done("forget", result(), ("forgot", "forget"), &number);
            return Ok(());
        }
        if !app.ui.confirm(&format!("forget {number}?"))? {
            app.ui.unchanged();
            return Ok(());
        }
        let projects: BTreeSet<&String> = chosen.iter().map(|(p, _)| p).chain(candidates.iter().map(|(p, _)| p)).collect();
        for project in projects {
            let mine = || chosen.iter().filter(|(p, _)| p == project).map(|(_, m)| m);
            app.update(&store, project, &mut |snapshot| {
                let mut plan = by_hand::forget(snapshot, mine(), &app.env.now());
                if let Some(session) = &self.session {
                    plan.changes.extend(by_hand::drop_candidates(snapshot, session, &app.env.now()));
                }
                Ok(plan)
            })?;
        }
        let them = if chosen.len() + candidates.len() == 1 { "it" } else { "them" };
        let what = format!("{number}; `claude-mem undo` brings {them} back");
        app.ui.done("forget", result(), ("forgot", "forget"), &what);
        Ok(())
    }

    /// Project and item of what came from the conversation and waits for review.
    fn candidates(&self, app: &App, store: &Store) -> Result<Vec<(String, ReviewItem)>> {
        let Some(session) = self.session.as_deref() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for snapshot in app.snapshots(store, true)? {
            let mine = snapshot.catalogue.review.iter().filter(|item| item.memory.session.as_deref() == Some(session));
            found.extend(mine.map(|item| (snapshot.project.clone(), item.clone())));
        }
        Ok(found)
    }

    /// Takes the kept turns of a conversation out: unlike memories, they are in no history, so undo does not bring them back.
    fn forget_turns(&self, app: &App, store: &Store) -> Result<usize> {
        let (Some(session), Some(turns)) = (&self.session, TurnStore::open(store.home(), false)?) else { return Ok(0) };
        let kept = turns.count(session)?;
        if kept == 0 || app.ui.wishes.dry_run || !app.ui.confirm(&format!("forget the {} that were kept?", count(kept, "turn", "turns")))? {
            return Ok(0);
        }
        let gone = turns.forget(session)?;
        app.ui.say(&format!("forgot {} for good", count(gone, "kept turn", "kept turns")));
        Ok(gone)
    }

    /// Project and memory of everything that is meant, sorted by project.
    fn chosen(&self, app: &App, store: &Store) -> Result<Vec<(String, Memory)>> {
        let mut chosen = Vec::new();
        if self.session.is_none() && self.query.is_none() {
            for id in &self.ids {
                let (snapshot, entry) = app.find_anywhere(store, id)?;
                chosen.push((snapshot.project, entry.memory));
            }
        } else {
            let every = self.session.is_some();
            for snapshot in app.snapshots(store, every)? {
                let wanted = |memory: &Memory| match (&self.session, &self.query) {
                    (Some(session), _) => memory.session.as_deref() == Some(session),
                    (None, Some(query)) => matches(memory, query),
                    (None, None) => false,
                };
                chosen.extend(snapshot.entries.iter().filter(|e| wanted(&e.memory)).map(|e| (snapshot.project.clone(), e.memory.clone())));
                let archived = store.archived(&snapshot.project)?.into_iter().map(|entry| entry.memory);
                chosen.extend(archived.filter(|m| wanted(m)).map(|m| (snapshot.project.clone(), m)));
            }
        }
        chosen.sort_by(|a, b| (&a.0, &a.1.id).cmp(&(&b.0, &b.1.id)));
        chosen.dedup_by(|a, b| a.1.id == b.1.id);
        Ok(chosen)
    }
}

/// Every word of the query stands in the entry.
fn matches(memory: &Memory, query: &str) -> bool {
    let text = words::fold(&format!(
        "{} {} {} {}",
        memory.topic.as_deref().unwrap_or_default(),
        memory.summary,
        memory.reason.as_deref().unwrap_or_default(),
        memory.keywords.join(" ")
    ));
    let mut wanted = query.split_whitespace().peekable();
    wanted.peek().is_some() && wanted.all(|w| text.contains(&words::fold(w)))
}
