//! `remember`: one entry by hand, with the same checks as any other.

use clap::Args;

use super::app::{App, fields, json, one_line};
use super::ui::{paint, style};
use crate::error::Result;
use crate::model::Memory;
use crate::pipeline::by_hand::{self, Wish};
use crate::store::GLOBAL;

/// Remember one thing, in your words
#[derive(Debug, Args)]
pub struct RememberArgs {
    /// What to remember: one statement that can guide work by itself
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// decision, fact, todo, preference or convention
    #[arg(long, value_name = "KIND", default_value = "fact")]
    kind: String,
    /// transient, working or long-term [default: long-term for preferences and conventions, else working]
    #[arg(long, value_name = "LAYER")]
    layer: Option<String>,
    /// Heading it goes under
    #[arg(long, value_name = "TEXT")]
    topic: Option<String>,
    /// A word to find it by; may be repeated
    #[arg(long, short, value_name = "WORD")]
    keyword: Vec<String>,
    /// Why it is so
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Holds until this day
    #[arg(long, value_name = "YYYY-MM-DD")]
    until: Option<String>,
    /// For every project
    #[arg(long, conflicts_with = "project")]
    global: bool,
}

impl RememberArgs {
    fn memory(&self, app: &App) -> Result<Memory> {
        let wish = Wish {
            text: self.text.join(" "),
            kind: self.kind.clone(),
            layer: self.layer.clone(),
            topic: self.topic.clone(),
            keywords: self.keyword.clone(),
            why: self.why.clone(),
            until: self.until.clone(),
            global: self.global,
        };
        by_hand::memory(&wish, app.env.new_id()?, &app.env.now())
    }

    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let memory = self.memory(app)?;
        let store = app.store()?;
        let project = if self.global {
            app.make_project(&store, GLOBAL, None)?;
            GLOBAL.to_owned()
        } else {
            app.project_to_write(&store)?
        };
        let (mut known, mut disagrees) = (None, Vec::new());
        let near = |summaries: &[&str]| by_hand::near(&memory, summaries);
        let receipt = app.change_near(&store, &project, &near, &mut |snapshot| {
            let noted = by_hand::remember(snapshot, &memory, &app.env.now());
            (known, disagrees) = (noted.known, noted.disagrees);
            Ok(noted.plan)
        })?;
        for other in &disagrees {
            app.ui.warn(&format!("this disagrees with {other}; both are kept until you decide: claude-mem review"));
        }
        let id = known.as_ref().unwrap_or(&memory.id);
        if app.ui.wishes.dry_run {
            app.ui.line(&format!("would remember {}", one_line(&app.ui, &memory)));
            return Ok(());
        }
        let record = receipt.records.iter().find(|r| r.id == id.as_str());
        if app.ui.wishes.json {
            app.ui.object(
                "remember",
                fields([("memories", json(&record.into_iter().collect::<Vec<_>>())?), ("new", known.is_none().into())]),
            );
            return Ok(());
        }
        let verb = if known.is_some() { "already known" } else { "remembered" };
        let stored = record.and_then(|r| r.to_memory(id.clone()).ok());
        app.ui.line(&format!("{} {}", paint(style::GOOD, verb), one_line(&app.ui, stored.as_ref().unwrap_or(&memory))));
        if let Some((file, line)) = record.and_then(|r| r.file.as_ref().zip(r.line)) {
            app.ui.line(&paint(style::DIM, &format!("in {}:{line}", app.home.join(file).display())));
        }
        Ok(())
    }
}
