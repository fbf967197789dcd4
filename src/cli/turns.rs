//! `search --in turns`, and turns among the rows of `import`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::app::{App, fields, json as to_json};
use super::search::{Asked, short};
use super::ui::{paint, style};
use crate::error::{Error, Kind, Result};
use crate::pipeline::turns::TurnSearcher;
use crate::store::Store;
use crate::store::turns::{Turn, TurnStore};
use crate::text::{redact, words};

/// Where to look.
pub(super) struct Scope {
    /// Projects.
    pub(super) projects: Vec<String>,
    /// Only from this day on.
    pub(super) since: Option<String>,
}

/// How much of a turn a line shows, in wide characters.
const SHOWN: f64 = 60.0;

/// Searches kept turns and prints what is found.
pub(super) fn search(app: &App, store: &Store, scope: &Scope, query: &str, asked: Option<Vec<Asked>>, limit: usize) -> Result<()> {
    let turns = TurnSearcher::open(store, &scope.projects)?;
    if turns.turns() == 0 {
        let off = !app.config.switch("search.keep_turns");
        let hint = if off { ": `claude-mem config set search.keep_turns true` keeps those of conversations read from then on" } else { "" };
        app.ui.say(&format!("no turns are kept{hint}"));
    }
    let since = scope.since.as_deref();
    if let Some(asked) = asked {
        for Asked { qid, query } in asked {
            let results: Vec<Value> = turns.find(&query, limit, since)?.iter().map(|hit| short(&hit.turn.id, hit.score)).collect();
            app.ui.data(&format!("{}\n", json!({"qid": qid, "results": results})));
        }
        return Ok(());
    }
    let hits = turns.find(query, limit, since)?;
    if hits.is_empty() && turns.turns() > 0 {
        app.ui.say(&format!("nothing found for “{}”", app.ui.foreign(query)));
    }
    if app.ui.wishes.json {
        let mut rows = Vec::new();
        for hit in &hits {
            let turn = &hit.turn;
            rows.push(json!({
                "id": turn.id, "project": turn.project, "session": turn.session, "ts": turn.ts, "speaker": turn.speaker,
                "text": turn.text, "score": hit.score, "score_breakdown": to_json(&hit.breakdown)?,
            }));
        }
        app.ui.object("search", fields([("query", query.into()), ("turns", rows.into())]));
        return Ok(());
    }
    for hit in &hits {
        let turn = &hit.turn;
        let when = turn.ts.as_deref().and_then(|ts| ts.get(..10)).unwrap_or("undated");
        let text = app.ui.foreign(&words::clip(&turn.text.replace('\n', " "), SHOWN));
        let about = format!("({:.1}, {}, {when})", hit.score, app.ui.foreign(&turn.speaker));
        app.ui.line(&format!("{}  {text} {}", paint(style::HINT, &app.ui.foreign(&turn.id)), paint(style::DIM, &about)));
    }
    Ok(())
}

/// Makes the index of kept turns anew, if there are any.
pub(super) fn reindex(store: &Store) -> Result<()> {
    TurnStore::open(store.home(), false)?.map_or(Ok(()), |turns| turns.reindex())
}

/// A turn as `import` reads it.
#[derive(Debug, Deserialize)]
pub(super) struct TurnRow {
    id: String,
    session: String,
    #[serde(default)]
    ts: Option<String>,
    #[serde(default)]
    speaker: Option<String>,
    text: String,
}

impl TurnRow {
    /// The turn it stands for, without secrets.
    pub(super) fn turn(self, project: &str) -> Turn {
        let speaker = self.speaker.unwrap_or_default();
        Turn {
            id: self.id,
            project: project.to_owned(),
            session: self.session,
            ts: self.ts,
            text: redact(&self.text).text,
            speaker,
            ..Turn::default()
        }
    }
}

/// Keeps imported turns. Gives how many are new.
///
/// # Errors
/// If the owner does not want turns to be kept, or they cannot be written.
pub(super) fn keep(app: &App, store: &Store, project: &str, rows: Vec<TurnRow>) -> Result<usize> {
    if rows.is_empty() || app.ui.wishes.dry_run {
        return Ok(rows.len());
    }
    let turns: Vec<Turn> = rows.into_iter().map(|row| row.turn(project)).collect();
    TurnStore::open(store.home(), true)?.map_or(Ok(0), |kept| kept.keep(project, &turns, false))
}

/// Refuses rows of turns where the owner does not keep turns.
pub(super) fn check_wanted(app: &App) -> Result<()> {
    if app.config.switch("search.keep_turns") {
        return Ok(());
    }
    Err(Error::new(Kind::Config, "the file has turns of conversations, and turns are not kept here")
        .hint("`claude-mem config set search.keep_turns true` keeps turns from then on"))
}
