//! `test`: the owner's memory tests, and the gate that commands pass before their change is kept.

use std::collections::BTreeSet;

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields};
use super::ui::{count, paint, style};
use crate::error::{Error, Kind, Result};
use crate::model::Plan;
use crate::pipeline::memory_tests::{self, Gate, Played};
use crate::recall::memory_tests::{EXAMPLE, Failure, Given};
use crate::store::layout::TESTS;
use crate::store::{GLOBAL, Snapshot, Store, disk};

/// Run your memory tests: what a conversation must be given, and what it must not
///
/// They stand in tests.toml in the project's memory folder; it is yours and is never changed. They also run before a change
/// by refine, prune, review or resolve is kept: one that breaks a test which passed is not made. Running them is no use of
/// the memories.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Only tests with this in their name
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Of every project
    #[arg(long)]
    all_projects: bool,
    /// Begin tests.toml for this project, with comments that show how
    #[arg(long)]
    init: bool,
    /// With --init: the file for tests of every project
    #[arg(long, requires = "init")]
    global: bool,
    /// Print what --init writes
    #[arg(long, conflicts_with = "init")]
    example: bool,
}

impl TestArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        if self.example {
            app.ui.data(EXAMPLE);
            return Ok(());
        }
        let store = app.store()?;
        if self.init {
            return init(app, &store, self.global);
        }
        let project = if self.all_projects { None } else { Some(app.project(&store)?) };
        let mut cases = memory_tests::cases(&store, project.as_deref())?;
        cases.retain(|c| self.name.as_ref().is_none_or(|name| c.test.name.contains(name.as_str())));
        cases.retain(|c| project.as_ref().is_none_or(|p| c.project == *p));
        let played = memory_tests::run(&store, cases, &memory_tests::setting(app.env, &app.config))?;
        let failed = played.iter().filter(|p| !p.passed()).count();
        if let (Some(name), true) = (&self.name, played.is_empty()) {
            return Err(Error::new(Kind::Usage, format!("no memory test is called “{name}”")).hint("`claude-mem test` names them all"));
        }
        if app.ui.wishes.json {
            let rows: Vec<Value> = played.iter().map(json_of).collect();
            app.ui.object("test", fields([("tests", rows.into()), ("passed", (played.len() - failed).into()), ("failed", failed.into())]));
        } else {
            show(app, &played);
            if played.is_empty() {
                app.ui.say("no memory tests yet; begin with: claude-mem test --init");
            }
        }
        match played.iter().find(|p| !p.passed()) {
            Some(first) => {
                let text = format!("{failed} of {} failed", count(played.len(), "memory test", "memory tests"));
                Err(Error::failure(text).hint(format!("correct the memories, or the test in {}", first.case.file)))
            }
            None => Ok(()),
        }
    }
}

/// Begins the file of tests; one that is there stays as it is.
fn init(app: &App, store: &Store, global: bool) -> Result<()> {
    let project = if global { GLOBAL.to_owned() } else { app.project_to_write(store)? };
    if global {
        app.make_project(store, GLOBAL, None)?;
    }
    let path = store.home().join(&project).join(TESTS);
    if path.exists() {
        return Err(Error::failure(format!("{} is there already", path.display())).hint("open it with an editor; it is yours"));
    }
    if !app.ui.wishes.dry_run {
        disk::write(&path, EXAMPLE.as_bytes())?;
    }
    let shown = path.display().to_string();
    app.ui.done("test", fields([("file", shown.clone().into())]), ("made", "make"), &app.ui.foreign(&shown));
    Ok(())
}

fn show(app: &App, played: &[Played]) {
    let ui = &app.ui;
    let mut heading = "";
    for Played { case, outcome } in played {
        if case.project != heading {
            heading = &case.project;
            ui.line(&paint(style::STRONG, &if heading == GLOBAL { "global memories".to_owned() } else { ui.foreign(heading) }));
        }
        let verdict = if outcome.failures.is_empty() { paint(style::GOOD, "ok  ") } else { paint(style::BAD, "FAIL") };
        ui.line(&format!("  {verdict}  {}", ui.foreign(&case.test.name)));
        if outcome.failures.is_empty() {
            continue;
        }
        if case.test.question.to_string() != case.test.name {
            ui.line(&paint(style::DIM, &format!("        {}", ui.foreign(&case.test.question.to_string()))));
        }
        for failure in &outcome.failures {
            ui.hang(&format!("        {}", ui.foreign(&failure.to_string())), 10);
        }
        if outcome.failures.iter().any(|f| matches!(f, Failure::Missing { .. })) {
            ui.hang(&paint(style::DIM, &format!("        given: {}", ui.foreign(&given(&outcome.given)))), 10);
        }
    }
    let failed = played.iter().filter(|p| !p.passed()).count();
    if !played.is_empty() && failed == 0 {
        ui.say(&format!("{} ok", count(played.len(), "memory test", "memory tests")));
    }
}

/// The first things that were given.
fn given(all: &[Given]) -> String {
    let not = |g: &Given| if g.turned_down { "not " } else { "" };
    let first: Vec<String> = all.iter().take(3).map(|g| format!("{}“{}”", not(g), g.summary)).collect();
    match all.len() - first.len() {
        _ if first.is_empty() => "nothing".to_owned(),
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn json_of(played: &Played) -> Value {
    let memory = |g: &Given| json!({"id": g.id, "summary": g.summary, "turned_down": g.turned_down});
    let failure = |f: &Failure| match f {
        Failure::Missing { wanted, there, why } => {
            json!({"expected": wanted, "problem": "missing", "memory": there.as_ref().map(memory), "why": why})
        }
        Failure::Unwanted { unwanted, given } => json!({"expected": unwanted, "problem": "unwanted", "memory": memory(given), "why": null}),
        Failure::NoProject(_) => json!({"expected": null, "problem": "no_project", "memory": null, "why": f.to_string()}),
    };
    let Played { case, outcome } = played;
    json!({
        "project": case.project,
        "file": case.file,
        "name": case.test.name,
        "question": case.test.question.to_string(),
        "passed": played.passed(),
        "given": outcome.given.iter().map(memory).collect::<Vec<_>>(),
        "failures": outcome.failures.iter().map(failure).collect::<Vec<_>>(),
    })
}

/// For commands whose changes pass the memory tests first.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Tested {
    /// Make the change even if a memory test breaks
    #[arg(long)]
    no_test: bool,
}

impl Tested {
    /// Whether the tests that these projects' changes will have to pass can be read: to be found out before anybody is asked.
    ///
    /// # Errors
    /// Names the file and line that cannot be.
    pub fn check<'a>(self, store: &Store, projects: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let projects: BTreeSet<&str> = projects.into_iter().filter(|_| !self.no_test).collect();
        projects.into_iter().try_for_each(|project| {
            let broken = |error: Error| match error.hint.clone() {
                Some(hint) if error.kind == Kind::Config => error.hint(format!("{hint}; --no-test goes without")),
                _ => error,
            };
            memory_tests::cases(store, Some(project)).map(drop).map_err(broken)
        })
    }

    /// [`App::update`], unless a memory test would break. A dry run says whether one would.
    pub fn update(self, app: &App, store: &Store, project: &str, make: &mut dyn FnMut(&Snapshot) -> Result<Plan>) -> Result<Option<u64>> {
        if self.no_test {
            return app.update(store, project, make);
        }
        let mut gate = Gate::of(store, app.env, &app.config, project)?;
        let made = if app.ui.wishes.dry_run { gate.foresee(project, make).map(|()| None) } else { gate.update(project, make).map(Some) };
        let receipt = made.map_err(|error| match &error.hint {
            Some(hint) if gate.breaks => {
                let hint = format!("{hint}; change it there, or make the change all the same with --no-test");
                error.hint(hint)
            }
            _ => error,
        })?;
        if let Some(receipt) = &receipt {
            app.announce(receipt);
        }
        say_failing(app, &gate);
        Ok(receipt.and_then(|receipt| receipt.seq))
    }
}

fn say_failing(app: &App, gate: &Gate<'_>) {
    if !gate.failing.is_empty() {
        let tests = count(gate.failing.len(), "memory test fails", "memory tests fail");
        app.ui.say(&paint(style::DIM, &format!("{tests} as before: {}", app.ui.foreign(&gate.failing.join("; ")))));
    }
}
