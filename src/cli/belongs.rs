//! Which project a conversation belongs to.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::app::{App, Here};
use crate::error::Result;
use crate::model::Conversation;
use crate::store::{Store, identity, layout};

/// Decides for one run; what was decided for a folder holds for the whole run.
pub struct Belongs<'a> {
    app: &'a App<'a>,
    store: &'a Store,
    /// `--project`.
    named: Option<String>,
    /// `--all-history`: the recorded folder decides even if it is gone.
    everywhere: bool,
    /// Whether a project may be made.
    writes: bool,
    by_folder: RefCell<HashMap<PathBuf, String>>,
    /// The project of the working folder.
    fallback: OnceCell<String>,
}

impl<'a> Belongs<'a> {
    /// For one run of `ingest`.
    pub fn new(app: &'a App<'a>, store: &'a Store, everywhere: bool, writes: bool) -> Result<Self> {
        let named = app.named_project(store)?;
        Ok(Self { app, store, named, everywhere, writes, by_folder: RefCell::default(), fallback: OnceCell::new() })
    }

    /// `--project`; else the project that the transcript names; else the repository it was held in; else, if its folder is
    /// not on this machine, the working folder's, and that is noted.
    pub fn project_of(&self, conversation: &Conversation) -> Result<(String, Option<String>)> {
        if let Some(name) = &self.named {
            return Ok((name.clone(), None));
        }
        let mut note = None;
        if let Some(name) = &conversation.project {
            // A transcript is foreign text: it may name a project that is there, never `_global` or a path.
            if layout::is_name(name) && self.store.has_project(name) {
                return Ok((name.clone(), None));
            }
            note = Some(format!("it names the project {}, which is not there", self.app.ui.foreign(name)));
        }
        let recorded = conversation.cwd.as_deref().map(Path::new);
        let here = self.app.here(self.store)?;
        match recorded {
            Some(cwd) if self.everywhere || cwd.is_dir() || here == Here::Nowhere => Ok((self.of_folder(cwd)?, note)),
            None if here == Here::Nowhere && self.store.projects()?.is_empty() => Ok((self.of_folder(&self.app.env.cwd)?, note)),
            recorded => {
                let name = self.of_working_folder()?;
                let elsewhere = recorded.map(|cwd| {
                    let cwd = self.app.ui.foreign(&cwd.to_string_lossy());
                    format!("held in {cwd}, which is not on this machine; stored in project {name} (--project chooses another)")
                });
                Ok((name, elsewhere.or(note)))
            }
        }
    }

    fn of_folder(&self, folder: &Path) -> Result<String> {
        if let Some(name) = self.by_folder.borrow().get(folder) {
            return Ok(name.clone());
        }
        let root = identity::root_of(folder);
        // A talk held in the home folder must not claim every folder below it: its project is bound to nothing.
        let too_wide = !root.is_repository() && self.app.env.user_home().is_ok_and(|home| home.starts_with(folder));
        let name = match self.store.project_of(folder)? {
            Some(name) => name,
            None if too_wide => {
                let name = identity::plain_name(&root);
                if self.writes {
                    self.app.make_project(self.store, &name, None)?;
                }
                name
            }
            None => {
                let name = self.store.default_name(&root)?;
                if self.writes {
                    self.app.make_project(self.store, &name, Some(&root.path))?;
                }
                name
            }
        };
        self.by_folder.borrow_mut().insert(folder.to_owned(), name.clone());
        Ok(name)
    }

    fn of_working_folder(&self) -> Result<String> {
        if let Some(name) = self.fallback.get() {
            return Ok(name.clone());
        }
        let name = if self.writes { self.app.project_to_write(self.store)? } else { self.app.project(self.store)? };
        Ok(self.fallback.get_or_init(|| name).clone())
    }
}
