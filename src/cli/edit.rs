//! `edit`: change one entry, with flags or in an editor. Identity stays.

use std::process::Command;

use clap::Args;

use super::app::{App, fields, json, one_line, record};
use super::ui::{paint, style};
use crate::error::{Error, Kind, Result};
use crate::model::{self, Change, Layer, Memory, State, Validity};
use crate::store::markdown::Document;
use crate::text::words;

/// Change one memory: with flags, or whole in your editor ($VISUAL, $EDITOR)
#[derive(Debug, Args)]
pub struct EditArgs {
    /// Id, or its first four characters
    #[arg(value_name = "ID")]
    id: String,
    /// What it says
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Heading
    #[arg(long, value_name = "TEXT")]
    topic: Option<String>,
    /// decision, fact, todo, preference, convention
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// transient, working, long-term
    #[arg(long, value_name = "LAYER")]
    layer: Option<String>,
    /// valid, rejected, done, superseded, lapsed
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Holds until this day; `lasting` for no end
    #[arg(long, value_name = "YYYY-MM-DD")]
    until: Option<String>,
    /// Never decays, comes first
    #[arg(long, value_name = "BOOL")]
    pin: Option<bool>,
}

/// The only entry of a text, or what is wrong with it.
fn one_entry(text: &str, layer: Layer) -> Result<Memory, String> {
    let document = Document::parse(text, layer);
    let entries: Vec<_> = document.entries().collect();
    match entries.as_slice() {
        [one] if one.entry.readable => Ok(one.entry.memory.clone()),
        [_] => Err(document.problems().first().map(ToString::to_string).unwrap_or_else(|| "its YAML block cannot be read".to_owned())),
        many => Err(format!("it holds {} entries instead of one", many.len())),
    }
}

impl EditArgs {
    fn by_flags(&self, old: &Memory) -> Result<Memory> {
        let mut memory = old.clone();
        let usage = |what: &str, text: &str, hint: &str| Error::new(Kind::Usage, format!("`{text}` is no {what}")).hint(hint.to_owned());
        if let Some(summary) = &self.summary {
            memory.summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        if let Some(text) = &self.kind {
            memory.kind =
                model::Kind::parse(text).ok_or_else(|| usage("kind", text, "use decision, fact, todo, preference or convention"))?;
        }
        if let Some(text) = &self.layer {
            memory.layer = Layer::parse(text).ok_or_else(|| usage("layer", text, "use transient, working or long-term"))?;
        }
        if let Some(text) = &self.state {
            memory.state = State::parse(text).ok_or_else(|| usage("state", text, "use valid, rejected, done, superseded or lapsed"))?;
        }
        match self.until.as_deref() {
            Some("lasting") => memory.validity = Validity::Lasting,
            Some(text) => {
                let day = text.parse::<jiff::civil::Date>().map_err(|_| usage("day", text, "write it as YYYY-MM-DD"))?;
                memory.validity = Validity::Until(day.to_string());
            }
            None => {}
        }
        let given = |field: &Option<String>, old: Option<String>| field.clone().map(|t| Some(t).filter(|t| !t.is_empty())).unwrap_or(old);
        memory.reason = given(&self.why, memory.reason);
        memory.topic = given(&self.topic, memory.topic);
        memory.pinned = self.pin.unwrap_or(memory.pinned);
        Ok(memory)
    }

    /// Opens the entry as Markdown. Text that cannot be read back stays in its file, and the file is named.
    fn in_editor(&self, app: &App, old: &Memory) -> Result<Memory> {
        let editor = app.env.var("VISUAL").or_else(|| app.env.var("EDITOR")).unwrap_or("vi");
        let failed = |e: std::io::Error| Error::failure(format!("the editor's file cannot be used: {e}"));
        let file = tempfile::Builder::new().prefix("memory-").suffix(".md").tempfile().map_err(failed)?;
        let mut document = Document::parse("", old.layer);
        document.insert(old);
        let before = document.render();
        std::io::Write::write_all(&mut file.as_file(), before.as_bytes()).map_err(failed)?;
        let mut command = editor.split_whitespace();
        let program = command.next().unwrap_or("vi");
        let status = Command::new(program).args(command).arg(file.path()).status();
        let status = status.map_err(|e| {
            Error::new(Kind::Config, format!("the editor {program} cannot be started: {e}"))
                .hint("set EDITOR, or use flags such as --summary")
        })?;
        if !status.success() {
            return Err(Error::failure(format!("the editor ended with {status}, so nothing was changed")).hint("edit again, or use flags"));
        }
        let after = std::fs::read_to_string(file.path()).map_err(failed)?;
        let read = one_entry(&after, old.layer);
        match read {
            Ok(mut memory) => {
                memory.id = old.id.clone();
                Ok(memory)
            }
            Err(what) => {
                let kept = file.into_temp_path().keep().map_err(|e| Error::failure(format!("the edited text could not be kept: {e}")))?;
                Err(Error::failure(format!("the edited entry cannot be read: {what}"))
                    .hint(format!("your text is kept in {}", kept.display())))
            }
        }
    }

    fn has_flags(&self) -> bool {
        let texts = [&self.summary, &self.why, &self.topic, &self.kind, &self.layer, &self.state, &self.until];
        texts.iter().any(|t| t.is_some()) || self.pin.is_some()
    }

    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let store = app.store()?;
        let (snapshot, entry) = app.find(&store, &self.id)?;
        let memory = if self.has_flags() {
            self.by_flags(&entry.memory)?
        } else if app.ui.can_ask() {
            self.in_editor(app, &entry.memory)?
        } else {
            return Err(Error::new(Kind::Usage, "there is no terminal to edit at").hint("use flags such as --summary TEXT"));
        };
        if memory.summary.is_empty() || words::width(&memory.summary) > words::MAX_WIDTH {
            return Err(Error::new(Kind::Usage, format!("a summary has 1 to {:.0} wide characters", words::MAX_WIDTH))
                .hint("say it in one short line"));
        }
        if memory == entry.memory {
            app.ui.say("nothing was changed");
            return Ok(());
        }
        app.update(&store, &snapshot.project, &mut |now| {
            if now.entry(&memory.id).map(|e| &e.memory) != Some(&entry.memory) {
                return Err(Error::new(Kind::Busy, format!("{} was changed by somebody else meanwhile", memory.id))
                    .hint("look at it with show, and edit again"));
            }
            let mut plan = app.plan(now, "edit");
            plan.changes.push(Change::Amend(memory.clone()));
            Ok(plan)
        })?;
        if app.ui.wishes.json {
            let (snapshot, entry) = app.find(&store, memory.id.as_str())?;
            app.ui.object("edit", fields([("memories", json(&[record(&snapshot, &entry)])?)]));
        } else {
            let verb = if app.ui.wishes.dry_run { "would be" } else { "is now" };
            app.ui.line(&format!("{} {}", paint(style::GOOD, verb), one_line(&app.ui, &memory)));
        }
        Ok(())
    }
}
