//! `forget`: takes entries out and keeps them from coming back.

use clap::Args;

use super::app::{App, fields, ids, one_line};
use super::ui::{count, paint, style};
use crate::error::{Error, Kind, Result};
use crate::model::{Id, Memory};
use crate::pipeline::by_hand;
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
    /// Everything that came from this conversation
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
        let turns = self.forget_turns(app, &store)?;
        if chosen.is_empty() && turns > 0 {
            if app.ui.wishes.json {
                app.ui.object("forget", fields([("forgotten", ids(&[])), ("turns", turns.into())]));
            }
            return Ok(());
        }
        if chosen.is_empty() {
            return Err(Error::new(Kind::Usage, "nothing matches, so nothing is forgotten").hint("`claude-mem list` shows what there is"));
        }
        if !app.ui.wishes.json {
            for (_, memory) in &chosen {
                app.ui.report(&format!("{} {}", paint(style::BAD, "-"), one_line(&app.ui, memory)));
            }
        }
        let number = count(chosen.len(), "memory", "memories");
        let gone: Vec<Id> = chosen.iter().map(|(_, m)| m.id.clone()).collect();
        if app.ui.wishes.dry_run {
            app.ui.done("forget", fields([("forgotten", ids(&gone))]), ("forgot", "forget"), &number);
            return Ok(());
        }
        if !app.ui.confirm(&format!("forget {number}?"))? {
            app.ui.unchanged();
            return Ok(());
        }
        let mut projects: Vec<&String> = chosen.iter().map(|(p, _)| p).collect();
        projects.dedup();
        for project in projects {
            let mine = || chosen.iter().filter(|(p, _)| p == project).map(|(_, m)| m);
            app.update(&store, project, &mut |snapshot| Ok(by_hand::forget(snapshot, mine(), &app.env.now())))?;
        }
        let them = if chosen.len() == 1 { "it" } else { "them" };
        let what = format!("{number}; `claude-mem undo` brings {them} back");
        app.ui.done("forget", fields([("forgotten", ids(&gone))]), ("forgot", "forget"), &what);
        Ok(())
    }

    /// Takes the kept turns of a conversation out: unlike memories, they are in no history, so undo does not bring them back.
    fn forget_turns(&self, app: &App, store: &crate::store::Store) -> Result<usize> {
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
    fn chosen(&self, app: &App, store: &crate::store::Store) -> Result<Vec<(String, Memory)>> {
        let mut chosen = Vec::new();
        if self.session.is_none() && self.query.is_none() {
            for id in &self.ids {
                let (snapshot, entry) = app.find(store, id)?;
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
