//! `remember`: one entry by hand, with the same checks as any other.

use clap::Args;

use super::app::{App, fields, json, one_line, record};
use super::ui::{paint, style};
use crate::error::{Error, Kind, Result};
use crate::extract::ground;
use crate::model::{self, Change, Layer, Memory, Origin};
use crate::reconcile::duplicate;
use crate::store::GLOBAL;
use crate::text::{redact, words};

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
        let usage = |what: String, hint: &str| Error::new(Kind::Usage, what).hint(hint);
        let kind = model::Kind::parse(&self.kind)
            .ok_or_else(|| usage(format!("`{}` is no kind of memory", self.kind), "use decision, fact, todo, preference or convention"))?;
        let lasting = matches!(kind, model::Kind::Preference | model::Kind::Convention);
        let layer = match self.layer.as_deref() {
            Some(text) => {
                Layer::parse(text).ok_or_else(|| usage(format!("`{text}` is no layer"), "use transient, working or long-term"))?
            }
            None if lasting => Layer::LongTerm,
            None => Layer::Working,
        };
        let text = self.text.join(" ");
        let summary = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if summary.is_empty() {
            return Err(usage("there is nothing to remember".into(), "write the statement after `remember`"));
        }
        if words::width(&summary) > words::MAX_WIDTH {
            return Err(usage(
                format!(
                    "the statement is {:.0} wide characters long; a summary has at most {:.0}",
                    words::width(&summary),
                    words::MAX_WIDTH
                ),
                "say it in one short line and put the rest into --why",
            ));
        }
        for field in [Some(&summary), self.why.as_ref(), self.topic.as_ref()].into_iter().flatten().chain(&self.keyword) {
            if redact::has_secret(field) {
                return Err(usage("that looks like a secret, and secrets are not stored".into(), "say where the secret is kept instead"));
            }
        }
        let mut memory = Memory::new(app.env.new_id()?, layer, kind, summary);
        if let Some(day) = &self.until {
            let date = day.parse::<jiff::civil::Date>().map_err(|_| usage(format!("`{day}` is no day"), "write it as YYYY-MM-DD"))?;
            memory.validity = model::Validity::Until(date.to_string());
        }
        memory.topic.clone_from(&self.topic);
        memory.reason.clone_from(&self.why);
        memory.keywords = ground::keywords(&self.keyword, self.topic.as_deref(), &memory.summary);
        memory.scope = self.global.then(|| "global".to_owned());
        memory.origin = Origin::Manual;
        memory.created = Some(app.env.now());
        Ok(memory)
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
        let mut known = None;
        app.update(&store, &project, &mut |snapshot| {
            let mut plan = app.plan(snapshot, "remember");
            known = snapshot
                .entries
                .iter()
                .find(|e| e.memory.state == model::State::Valid && duplicate::same(&e.memory, &memory))
                .map(|e| e.memory.id.clone());
            plan.changes.push(match &known {
                Some(id) => Change::Confirm { id: id.clone(), evidence: None },
                None => Change::Add(memory.clone()),
            });
            Ok(plan)
        })?;
        let id = known.as_ref().unwrap_or(&memory.id);
        if app.ui.wishes.dry_run {
            app.ui.line(&format!("would remember {}", one_line(&app.ui, &memory)));
            return Ok(());
        }
        let (snapshot, entry) = app.find(&store, id.as_str())?;
        if app.ui.wishes.json {
            app.ui.object("remember", fields([("memories", json(&[record(&snapshot, &entry)])?), ("new", known.is_none().into())]));
            return Ok(());
        }
        let verb = if known.is_some() { "already known" } else { "remembered" };
        app.ui.line(&format!("{} {}", paint(style::GOOD, verb), one_line(&app.ui, &entry.memory)));
        app.ui.line(&paint(style::DIM, &format!("in {}:{}", app.home.join(&entry.file).display(), entry.line)));
        Ok(())
    }
}
