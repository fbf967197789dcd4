//! `config`: every setting with its value and where it comes from.

use clap::{Args, Subcommand};
use serde_json::{Map, Value};

use super::app::{App, fields, json};
use super::ui::wrap::{column, padded};
use super::ui::{paint, style};
use crate::config::{self, Source};
use crate::error::{Error, Result};
use crate::store::disk;

/// Show and change settings
#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Every setting, its value, and where it comes from
    Show,
    /// Where the file is
    Path,
    /// Print a file with every setting, documented, to start from
    Example,
    /// The value of one
    Get {
        /// Name, like inject.budget
        key: String,
    },
    /// Set one, keeping the rest of the file as it is
    Set {
        /// Name, like inject.budget
        key: String,
        /// Value
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
}

impl ConfigArgs {
    /// Runs it.
    pub fn run(&self, app: &App) -> Result<()> {
        match &self.action {
            None | Some(Action::Show) => show(app),
            Some(Action::Path) => {
                let path = app.config.path().display().to_string();
                if app.ui.wishes.json {
                    app.ui.object("config", fields([("path", path.into())]));
                } else {
                    app.ui.line(&path);
                }
                Ok(())
            }
            Some(Action::Example) => {
                if app.ui.wishes.json {
                    app.ui.object("config", fields([("text", config::example().into())]));
                } else {
                    app.ui.data(&config::example());
                }
                Ok(())
            }
            Some(Action::Get { key }) => get(app, key),
            Some(Action::Set { key, value }) => set(app, key, value),
        }
    }
}

fn show(app: &App) -> Result<()> {
    if app.ui.wishes.json {
        let mut settings = Map::new();
        for (key, value, source) in app.config.rows() {
            let row = fields([("value", json(value)?), ("source", Value::from(origin(source)))]);
            settings.insert(key.to_owned(), Value::Object(row));
        }
        app.ui.object("config", fields([("settings", Value::Object(settings))]));
        return Ok(());
    }
    let names = column(app.config.rows().map(|(key, ..)| key), 40);
    let values = column(app.config.rows().map(|(_, value, _)| value.to_string()), 28);
    for (key, value, source) in app.config.rows() {
        let from = paint(style::DIM, &format!("({})", origin(source)));
        let (key, value) = (padded(&paint(style::STRONG, key), names), padded(&app.ui.foreign(&value.to_string()), values));
        app.ui.hang(&format!("{key} = {value} {from}"), names + 3);
    }
    Ok(())
}

fn get(app: &App, key: &str) -> Result<()> {
    let Some((_, value, source)) = app.config.rows().find(|(name, ..)| *name == key) else { return Err(config::unknown(key)) };
    if app.ui.wishes.json {
        app.ui.object("config", fields([("key", key.into()), ("value", json(value)?), ("source", origin(source).into())]));
    } else {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        app.ui.data(&format!("{text}\n"));
    }
    Ok(())
}

fn origin(source: &Source) -> String {
    match source {
        Source::Default => "default".to_owned(),
        Source::File => "config.toml".to_owned(),
        Source::Variable(name) => name.clone(),
    }
}

fn set(app: &App, key: &str, value: &str) -> Result<()> {
    let path = app.config.path();
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(e) => return Err(Error::io("read", path, &e)),
    };
    let new = config::set(path, &text, key, value)?;
    if !app.ui.wishes.dry_run {
        disk::create_dir(&app.home)?;
        disk::write(path, new.as_bytes())?;
    }
    let row = fields([("key", key.into()), ("value", value.into()), ("path", path.display().to_string().into())]);
    app.ui.done("config", row, ("set", "set"), &format!("{key} = {value} in {}", path.display()));
    Ok(())
}
