//! `install`, `uninstall`, `upgrade`: our parts in Claude Code's files, with the diff first.

use std::path::PathBuf;

use clap::Args;

use super::app::{App, fields};
use super::edits;
use super::ui::wrap::padded;
use super::ui::{TRIES, count, paint, style};
use crate::claude_code::settings::{Part, Program};
use crate::claude_code::wiring::{self, Edit, Place, Record, Scope};
use crate::config;
use crate::error::{Error, Kind, Result};
use crate::store::{disk, identity};

/// The setting that says who reads finished conversations.
const AUTO_INGEST: &str = "hooks.auto_ingest";

/// Its choices, and what each costs.
const CHOICES: &[(&str, &str)] = &[
    ("off", "nothing is read by itself; you run `claude-mem ingest`"),
    ("rules", "free and offline; finds what is plainly worded"),
    ("claude", "your API key pays, about $0.003 for a long conversation (20,000 tokens, claude-haiku-5-5); claude.daily_cap_usd stops it"),
    ("claude-code", "counts against the limits of your Claude subscription, by `claude -p`"),
];

/// Wire claude-mem into Claude Code: hooks and MCP server, with the diff first
///
/// Shows what would change in which file, asks, and keeps what `claude-mem uninstall` needs to give every file back byte
/// for byte. Touches no hook of another tool, and not Claude Code's own memory.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// Remember in every project of this user, or only in this repository (for this user alone)
    #[arg(long, value_enum, default_value_t, value_name = "SCOPE")]
    scope: Scope,
    /// Who reads finished conversations: off, rules (free), claude (API key pays), claude-code (subscription pays)
    #[arg(long, value_name = "WHO", value_parser = ["off", "rules", "claude", "claude-code"])]
    auto_ingest: Option<String>,
    /// Leave the MCP server out
    #[arg(long)]
    no_mcp: bool,
    /// Let the client ask before each call of a reading MCP tool, too
    #[arg(long)]
    no_permissions: bool,
}

/// Take claude-mem out of Claude Code; your memories stay
///
/// A file that nobody else changed since goes back to what it was, byte for byte. From any other only our parts are taken.
#[derive(Debug, Args)]
pub struct UninstallArgs {}

/// Bring older wiring up to date: a program that moved, arguments of an older version
#[derive(Debug, Args)]
pub struct UpgradeArgs {}

impl InstallArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let here = Here::look(app)?;
        let mut places = wiring::places(self.scope, app.env, &here.root)?;
        for place in &mut places {
            place.parts.retain(|p| match p {
                Part::Hooks => true,
                Part::Server => !self.no_mcp,
                Part::Permissions => !self.no_mcp && !self.no_permissions,
            });
        }
        places.retain(|p| !p.parts.is_empty());
        if self.scope == Scope::Project {
            app.ui.say("these files name a path of this machine; keep them out of the repository");
        }
        let who = self.who(app)?;
        let settings = who.as_deref().map(|who| setting(app, who)).transpose()?.flatten();
        here.carry_out(app, "install", &places, settings)
    }

    /// Who shall read conversations: as asked for, or the answer to the question; none keeps what is set.
    fn who(&self, app: &App) -> Result<Option<String>> {
        if self.auto_ingest.is_some() || !app.ui.can_ask() || app.ui.wishes.dry_run || app.config.text(AUTO_INGEST) != "off" {
            return Ok(self.auto_ingest.clone());
        }
        app.ui.say("When a conversation ends, claude-mem can read it by itself:");
        for (choice, cost) in CHOICES {
            app.ui.say(&format!("  {} {cost}", padded(&paint(style::STRONG, choice), 12)));
        }
        let mut wrong = String::new();
        for _ in 0..TRIES {
            let answer = app.ui.ask("Which one? [off]")?.trim().to_lowercase();
            if answer.is_empty() {
                return Ok(None);
            }
            if CHOICES.iter().any(|(choice, _)| *choice == answer) {
                return Ok(Some(answer));
            }
            app.ui.say(&format!("  `{}` is none of off, rules, claude, claude-code", app.ui.foreign(&answer)));
            wrong = answer;
        }
        Err(Error::new(Kind::Usage, format!("{wrong:?} is no choice, so nothing was changed")).hint("off, rules, claude or claude-code"))
    }
}

impl UninstallArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let here = Here::look(app)?;
        let (edits, errors) = wiring::uninstall(app.env, &here.root, &here.program, &here.record, &app.state())?;
        for edit in &edits {
            app.ui.say(&format!("{} {}", edit.path.display(), edit.note.unwrap_or_default()));
        }
        show(app, "uninstall", &edits);
        if edits.is_empty() && errors.is_empty() {
            app.ui.say("claude-mem is not wired into Claude Code");
        }
        if edits.iter().any(Edit::changes) && !app.ui.wishes.dry_run && !app.ui.confirm("Take it out?")? {
            app.ui.say("nothing was changed");
            return Ok(());
        }
        if !app.ui.wishes.dry_run {
            wiring::undo(&app.state(), &edits)?;
        }
        // What could be mended is mended; a file that could not be read is the answer.
        if let Some(error) = errors.into_iter().next() {
            return Err(error);
        }
        if !edits.is_empty() {
            app.ui.say(&format!("{}; your memories stay in {}", done(app, "taken out"), app.home.display()));
        }
        Ok(())
    }
}

impl UpgradeArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let here = Here::look(app)?;
        let places = wiring::wired(app.env, &here.root, &here.record, &here.program)?;
        if places.is_empty() {
            app.ui.say("claude-mem is not wired into Claude Code; `claude-mem install` does that");
            if app.ui.wishes.json {
                show(app, "upgrade", &[]);
            }
            return Ok(());
        }
        here.carry_out(app, "upgrade", &places, None)
    }
}

/// What the three commands work with.
struct Here {
    root: PathBuf,
    record: Record,
    program: Program,
}

impl Here {
    fn look(app: &App) -> Result<Self> {
        let record = Record::load(&app.state())?;
        let program = wiring::program(app.env, &app.home, &record)?;
        Ok(Self { root: identity::root_of(&app.env.cwd).folder, record, program })
    }

    fn carry_out(&self, app: &App, command: &str, places: &[Place], settings: Option<Edit>) -> Result<()> {
        let edits = wiring::install(places, &self.program, &self.record, &app.state())?;
        let shown: Vec<Edit> = edits.iter().chain(&settings).cloned().collect();
        show(app, command, &shown);
        if !shown.iter().any(Edit::changes) {
            app.ui.say("everything is in place already");
            return Ok(());
        }
        if app.ui.wishes.dry_run {
            app.ui.say(&done(app, "written"));
            return Ok(());
        }
        if !app.ui.confirm("Write this?")? {
            app.ui.say("nothing was changed");
            return Ok(());
        }
        app.store()?;
        wiring::apply(&app.state(), &edits, &self.program, &app.env.now())?;
        if let Some(Edit { path, after: Some(text), .. }) = &settings {
            disk::write(path, text.as_bytes())?;
        }
        app.ui.say("wired in; Claude Code sessions that start from now on remember. `claude-mem doctor` looks after it");
        let auto = settings.is_none() && app.config.text(AUTO_INGEST) == "off";
        if command == "install" && auto {
            app.ui.say("finished conversations are not read by themselves: `claude-mem install --auto-ingest rules` is free");
        }
        Ok(())
    }
}

/// The change to our own settings, if it is one.
fn setting(app: &App, who: &str) -> Result<Option<Edit>> {
    if app.config.text(AUTO_INGEST) == who {
        return Ok(None);
    }
    let path = app.config.path().to_path_buf();
    let now = wiring::read(&path)?;
    let after = config::set(&path, now.as_deref().unwrap_or_default(), AUTO_INGEST, who)?;
    let cost = CHOICES.iter().find(|(choice, _)| *choice == who).map(|(_, cost)| *cost);
    app.ui.say(&format!("{AUTO_INGEST} = {who}: {}", cost.unwrap_or_default()));
    Ok(Some(Edit { path, before: now.clone(), now, after: Some(after), note: cost }))
}

fn done(app: &App, what: &str) -> String {
    if app.ui.wishes.dry_run { format!("nothing was {what}: this is a dry run") } else { what.to_owned() }
}

/// The diff of every file that changes, on stdout.
fn show(app: &App, command: &str, edits: &[Edit]) {
    let changed: Vec<&Edit> = edits.iter().filter(|e| e.changes()).collect();
    if app.ui.wishes.json {
        app.ui.object(command, fields([("files", edits::rows(&changed)), ("dry_run", app.ui.wishes.dry_run.into())]));
        return;
    }
    edits::show(app, &changed);
    if changed.len() > 1 {
        app.ui.say(&count(changed.len(), "file changes", "files change"));
    }
}
