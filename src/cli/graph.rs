//! `graph`: the ties between memories as a picture.

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields};
use crate::error::Result;
use crate::recall::graph::{Format, graph};
use crate::reconcile::links::Web;

/// Print how memories are tied to each other, as Mermaid or Graphviz
///
/// Ties are names in double brackets in the text of an entry (an id, or the words of a summary), and its relations.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// Only what hangs together with this memory
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// mermaid or dot
    #[arg(long, value_name = "FORMAT", default_value = "mermaid", value_parser = format)]
    format: Format,
    /// Of every project
    #[arg(long)]
    all_projects: bool,
}

fn format(text: &str) -> Result<Format, String> {
    match text {
        "mermaid" => Ok(Format::Mermaid),
        "dot" => Ok(Format::Dot),
        _ => Err("one of mermaid, dot".to_owned()),
    }
}

impl GraphArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let around = self.id.as_ref().map(|id| app.find(&store, id)).transpose()?.map(|(_, entry)| entry.memory.id);
        let snapshots = app.snapshots(&store, self.all_projects || around.is_some())?;
        let web = Web::of(&snapshots);
        let text = graph(&web, around.as_ref(), self.format);
        if app.ui.wishes.json {
            let edges = web.edges();
            let rows: Vec<Value> = edges.iter().map(|e| json!({"from": e.from, "to": e.to, "type": e.tie.name()})).collect();
            app.ui.object("graph", fields([("text", text.into()), ("edges", rows.into())]));
        } else if text.is_empty() {
            app.ui.say("no memory leads to another; write [[id]] into an entry to tie it");
        } else {
            app.ui.data(&text);
        }
        Ok(())
    }
}
