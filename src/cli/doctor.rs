//! `doctor`: what is in order, what is not, and what to do about it.

use clap::Args;
use serde_json::{Value, json};

use super::app::{App, fields};
use super::ui::{paint, style};
use crate::claude_code::doctor::{CHECKS, Finding, Ground, Level};
use crate::claude_code::wiring::{self, Record};
use crate::error::{Error, Result};
use crate::store::identity;

/// Check environment, folders, settings, wiring, queue and index, and say what to do
///
/// Changes nothing. Exit 0 if all is well, notes included; 1 if there is a fault.
#[derive(Debug, Args)]
pub struct DoctorArgs {}

impl DoctorArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        let record = Record::load(&app.state())?;
        let program = wiring::program(app.env, &app.home, &record)?;
        let root = identity::root_of(&app.env.cwd).folder;
        let ground = Ground { env: app.env, config: &app.config, home: &app.home, root: &root, program: &program, record: &record };
        let found: Vec<(&str, Finding)> =
            CHECKS.iter().flat_map(|(name, check)| check(&ground).into_iter().map(move |f| (*name, f))).collect();
        let faults = found.iter().filter(|(_, f)| f.level == Level::Fault).count();
        if app.ui.wishes.json {
            let row = |(name, f): &(&str, Finding)| json!({"check": name, "level": f.level.word(), "says": f.says, "hint": f.hint});
            let rows: Vec<Value> = found.iter().map(row).collect();
            app.ui.object("doctor", fields([("faults", faults.into()), ("findings", rows.into())]));
        } else {
            found.iter().for_each(|(name, finding)| show(app, name, finding));
        }
        match found.iter().find(|(_, f)| f.level == Level::Fault) {
            None => Ok(()),
            Some((name, first)) => {
                let error = Error::failure(format!("{faults} to mend, first: {name}: {}", first.says));
                Err(error.hint(first.hint.clone().unwrap_or_default()))
            }
        }
    }
}

fn show(app: &App, name: &str, finding: &Finding) {
    let look = match finding.level {
        Level::Fine => style::GOOD,
        Level::Note => style::WARN,
        Level::Fault => style::BAD,
    };
    let word = paint(look, &format!("{:<5}", finding.level.word()));
    app.ui.hang(&format!("{word} {name:<13} {}", app.ui.foreign(&finding.says)), 20);
    if let Some(hint) = &finding.hint {
        app.ui.hang(&format!("                    {} {}", paint(style::HINT, "→"), app.ui.foreign(hint)), 22);
    }
}
