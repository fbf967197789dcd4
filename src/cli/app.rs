//! What every command works with: surroundings, printer, settings, the memory folder, and which project is meant.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::ui::{Ui, count, paint, style};
use crate::config::Config;
use crate::env::Env;
use crate::error::{Error, Kind, Result};
use crate::model::plan::{MemoryRecord, Plan};
use crate::model::{Code, Id, Layer, Memory};
use crate::pipeline::staleness;
use crate::repo::Repo;
pub use crate::store::identity::Here;
use crate::store::{ADOPT, Entry, GLOBAL, Near, Receipt, Snapshot, Store};

/// The context of one command.
#[derive(Debug)]
pub struct App<'a> {
    /// Surroundings.
    pub env: &'a Env,
    /// Printer.
    pub ui: Ui,
    /// Settings.
    pub config: Config,
    /// Memory folder.
    pub home: PathBuf,
    project: Option<String>,
}

impl<'a> App<'a> {
    /// Finds the memory folder and reads the settings; touches nothing.
    pub fn new(env: &'a Env, ui: Ui, home: Option<PathBuf>, project: Option<String>) -> Result<Self> {
        let named = home.is_some();
        let home = match home.or_else(|| env.var("CLAUDE_MEM_HOME").map(PathBuf::from)) {
            Some(home) => env.absolute(&home),
            None => env.user_home()?.join(".claude-mem"),
        };
        if home.exists() && !home.is_dir() {
            let hint = if named { "--home wants the folder of the memories" } else { "CLAUDE_MEM_HOME wants the folder of the memories" };
            return Err(Error::new(Kind::Usage, format!("{} is not a folder", home.display())).hint(hint));
        }
        let config = Config::load(&home, env)?;
        Ok(Self { env, ui, config, home, project })
    }

    /// The folder that is ours alone.
    pub fn state(&self) -> PathBuf {
        self.home.join(".state")
    }

    /// Opens the store; what had to be recovered is said.
    pub fn store(&self) -> Result<Store> {
        let opened = Store::open(&self.home, &self.env.now())?;
        for notice in &opened.notices {
            self.ui.warn(notice);
        }
        let mut store = opened.store;
        store.wait = std::time::Duration::from_secs(self.config.number("store.wait_seconds"));
        store.trust_hand_edits = self.config.switch("store.trust_hand_edits");
        Ok(store)
    }

    /// The project of the working folder, whatever `--project` says.
    pub fn here(&self, store: &Store) -> Result<Here> {
        store.here(&self.env.cwd)
    }

    /// The project named with `--project`, which must exist.
    pub fn named_project(&self, store: &Store) -> Result<Option<String>> {
        let Some(name) = &self.project else { return Ok(None) };
        if store.has_project(name) {
            return Ok(Some(name.clone()));
        }
        let there = projects_by_name(store)?.join(", ");
        let hint = if there.is_empty() {
            "`claude-mem project init NAME` makes one".to_owned()
        } else {
            format!("there are: {there}; `claude-mem project init NAME` makes one")
        };
        Err(Error::new(Kind::Usage, format!("there is no project `{name}`")).hint(hint))
    }

    /// The project to read from. Outside every project, the only one there is will do, and that is said.
    ///
    /// # Errors
    /// [`Kind::Usage`] when it is not clear which project is meant.
    pub fn project(&self, store: &Store) -> Result<String> {
        if let Some(name) = self.named_project(store)? {
            return Ok(name);
        }
        match self.here(store)? {
            Here::Project(name) | Here::Repository(_, name) => Ok(name),
            Here::Nowhere => {
                let all = projects_by_name(store)?;
                match all.as_slice() {
                    [only] => {
                        self.ui.say(&paint(style::DIM, &format!("this folder belongs to no project; using the only one there is: {only}")));
                        Ok(only.clone())
                    }
                    [] => Err(Error::new(Kind::Usage, "this folder is in no repository, and there is no project yet")
                        .hint("run it inside a repository, or make a project with `claude-mem project init NAME`")),
                    many => Err(Error::new(Kind::Usage, "this folder belongs to no project and is in no repository")
                        .hint(format!("choose one with --project: {}", many.join(", ")))),
                }
            }
        }
    }

    /// The project to write to, made for this repository if it is new.
    pub fn project_to_write(&self, store: &Store) -> Result<String> {
        if let Some(name) = self.named_project(store)? {
            return Ok(name);
        }
        match self.here(store)? {
            Here::Repository(root, name) => {
                self.make_project(store, &name, Some(&root.path))?;
                Ok(name)
            }
            Here::Project(_) | Here::Nowhere => self.project(store),
        }
    }

    /// Makes a project, unless it is there or this is a dry run. An empty one that is bound to nothing is bound to the root.
    pub fn make_project(&self, store: &Store, name: &str, root: Option<&Path>) -> Result<()> {
        let there = || -> Result<bool> { Ok(store.has_project(name) && (root.is_none() || !store.is_vacant(name)?)) };
        if self.ui.wishes.dry_run || there()? {
            return Ok(());
        }
        match store.init(name, root) {
            // Somebody else made it in this very moment: it is there, which is what was wanted.
            Err(error) if !there()? => Err(error),
            _ => Ok(()),
        }
    }

    /// The work tree that the first of these projects' memories speak of, if it can be found.
    pub fn repo(&self, snapshots: &[Snapshot]) -> Option<Repo> {
        let roots = &snapshots.first()?.catalogue.project.roots;
        staleness::repo_of(&self.env.cwd, roots, self.env.zone())
    }

    /// A plan for a project, as read by this snapshot.
    pub fn plan(&self, snapshot: &Snapshot, command: &str) -> Plan {
        Plan::new(&snapshot.project, snapshot.base.clone(), command, self.env.now())
    }

    /// Commits a plan, unless it is empty or this is a dry run. Gives the number of the commit.
    pub fn commit(&self, store: &Store, plan: &Plan) -> Result<Option<u64>> {
        if plan.changes.is_empty() || self.ui.wishes.dry_run {
            return Ok(None);
        }
        let receipt = store.commit(plan, &|| self.env.new_id())?;
        self.announce(&receipt);
        Ok(receipt.seq)
    }

    /// Plans and commits; plans again while others commit in between. Gives the number of the commit.
    pub fn update(&self, store: &Store, project: &str, make: &mut dyn FnMut(&Snapshot) -> Result<Plan>) -> Result<Option<u64>> {
        Ok(self.change(store, project, make)?.seq)
    }

    /// The same with the whole receipt; that of a dry run is empty.
    pub fn change(&self, store: &Store, project: &str, make: &mut dyn FnMut(&Snapshot) -> Result<Plan>) -> Result<Receipt> {
        if self.ui.wishes.dry_run {
            make(&store.snapshot(project)?)?;
            return Ok(Receipt::default());
        }
        let receipt = store.update(project, &self.env.now(), &|| self.env.new_id(), make)?;
        self.announce(&receipt);
        Ok(receipt)
    }

    /// The same with a plan that has to know only the memories that are `near`.
    pub fn change_near(
        &self,
        store: &Store,
        project: &str,
        near: &Near<'_>,
        make: &mut dyn FnMut(&Snapshot) -> Result<Plan>,
    ) -> Result<Receipt> {
        if self.ui.wishes.dry_run {
            return self.change(store, project, make);
        }
        let receipt = store.update_near(project, &self.env.now(), &|| self.env.new_id(), near, make)?;
        self.announce(&receipt);
        Ok(receipt)
    }

    /// Says once what was found added or changed outside.
    pub fn announce(&self, receipt: &Receipt) {
        if !receipt.adopted.is_empty() {
            let which: Vec<&str> = receipt.adopted.iter().take(3).map(Id::as_str).collect();
            let more = if receipt.adopted.len() > which.len() { ", …" } else { "" };
            let text = count(receipt.adopted.len(), "entry typed by hand has its id now", "entries typed by hand have their ids now");
            self.ui.say(&paint(style::DIM, &format!("{text}: {}{more}", which.join(", "))));
        }
        for notice in &receipt.notices {
            self.ui.warn(&self.ui.foreign(notice));
        }
    }

    /// The snapshots that `--project`, or the working folder, means; with `all`, those of every project.
    pub fn snapshots(&self, store: &Store, all: bool) -> Result<Vec<Snapshot>> {
        if all {
            return store.projects()?.iter().map(|name| self.read(store, name)).collect();
        }
        let project = self.project(store)?;
        let mut all = vec![self.read(store, &project)?];
        if project != GLOBAL {
            all.push(self.read(store, GLOBAL)?);
        }
        Ok(all)
    }

    /// Projects as they may be given to others: with `store.trust_hand_edits = false`, without what appeared or changed outside
    /// and was not taken over, which is said. What was `told` of is not told again.
    pub fn given(&self, store: &Store, snapshots: Vec<Snapshot>, told: &mut Vec<Id>) -> Vec<Snapshot> {
        if store.trust_hand_edits {
            return snapshots;
        }
        let mut given = Vec::new();
        for snapshot in snapshots {
            let held = &snapshot.hand_edits;
            if held.iter().any(|id| !told.contains(id)) {
                let (entries, are) = (count(held.len(), "entry", "entries"), if held.len() == 1 { "is" } else { "are" });
                let project = &snapshot.project;
                self.ui.warn(&format!("{entries} of {project} appeared outside claude-mem and {are} held back: claude-mem review"));
            }
            told.extend(held.iter().cloned());
            given.push(snapshot.without_held());
        }
        given
    }

    /// The projects whose changes are meant: that of this folder, or of `--project`, with the global one; `None`: all.
    /// `changed` tells whether a name has changes, for projects that were removed.
    pub fn scope(&self, store: &Store, all: bool, changed: &dyn Fn(&str) -> bool) -> Result<Option<Vec<String>>> {
        let name = match &self.project {
            _ if all => return Ok(None),
            Some(name) if changed(name) => Some(name.clone()),
            Some(_) => self.named_project(store)?,
            None => match self.here(store)? {
                Here::Project(name) => Some(name),
                // Also one that has no memories yet, or none any more: another project is never meant.
                Here::Repository(_, name) => Some(name),
                Here::Nowhere => None,
            },
        };
        Ok(name.map(|name| vec![name, GLOBAL.to_owned()]))
    }

    /// A project as it is; entries that were typed by hand get their id first, so that they count from the first look on.
    pub fn read(&self, store: &Store, project: &str) -> Result<Snapshot> {
        let snapshot = store.snapshot(project)?;
        if self.ui.wishes.dry_run || snapshot.unnamed() == 0 {
            return Ok(snapshot);
        }
        let plan = &mut |now: &Snapshot| Ok(self.plan(now, ADOPT));
        match store.update(project, &self.env.now(), &|| self.env.new_id(), plan) {
            Ok(receipt) => {
                self.announce(&receipt);
                store.snapshot(project)
            }
            // A folder that cannot be written can still be read.
            Err(error) => {
                self.ui.warn(&format!("entries typed by hand could not be taken in: {error}"));
                Ok(snapshot)
            }
        }
    }

    /// The one entry that an id, or the beginning of one (4 characters or more), names in any project.
    pub fn find(&self, store: &Store, id: &str) -> Result<(Snapshot, Entry)> {
        let wanted = id.trim().to_ascii_lowercase();
        let mut found = Vec::new();
        if wanted.len() >= 4 {
            for project in store.projects()? {
                let snapshot = self.read(store, &project)?;
                let hits: Vec<Entry> = snapshot.entries.iter().filter(|e| e.memory.id.as_str().starts_with(&wanted)).cloned().collect();
                found.extend(hits.into_iter().map(|e| (snapshot.clone(), e)));
            }
        }
        if found.len() > 1
            && let Some(named) = self.named_project(store)?
        {
            found.retain(|(snapshot, _)| snapshot.project == named);
        }
        let first = found.first().map(|(_, entry)| entry.memory.id.clone());
        if found.len() > 1 && found.iter().all(|(_, entry)| Some(&entry.memory.id) == first.as_ref()) {
            let places = found.iter().map(|(snapshot, _)| snapshot.project.as_str()).collect::<Vec<_>>().join(", ");
            return Err(
                Error::new(Kind::Usage, format!("`{id}` is in {} projects: {places}", found.len())).hint("choose one with --project")
            );
        }
        match found.len() {
            1 => found.pop().ok_or_else(|| no_such(id)),
            0 => Err(match self.archived(store, id) {
                Ok(_) => Error::new(Kind::Usage, format!("`{id}` is in the archive"))
                    .hint(format!("`claude-mem prune --bring-back {id}` brings it back; `show` and `forget` reach it there")),
                Err(_) => no_such(id),
            }),
            n => Err(Error::new(Kind::Usage, format!("`{id}` is the beginning of {n} ids")).hint("type more of it")),
        }
    }

    /// [`App::find`], in the archive, too.
    ///
    /// # Errors
    /// As [`App::find`].
    pub fn find_anywhere(&self, store: &Store, id: &str) -> Result<(Snapshot, Entry)> {
        self.find(store, id).or_else(|error| match self.archived(store, id) {
            Ok((project, entry)) => Ok((self.read(store, &project)?, entry)),
            Err(_) => Err(error),
        })
    }

    /// The one archived entry that an id, or the beginning of one (4 characters or more), names in any project.
    ///
    /// # Errors
    /// [`Kind::Usage`] if there is none, or several.
    pub fn archived(&self, store: &Store, id: &str) -> Result<(String, Entry)> {
        let wanted = id.trim().to_ascii_lowercase();
        let mut found = Vec::new();
        for project in store.projects()?.into_iter().filter(|_| wanted.len() >= 4) {
            let entries = store.archived(&project)?;
            found.extend(entries.into_iter().filter(|e| e.memory.id.as_str().starts_with(&wanted)).map(|e| (project.clone(), e)));
        }
        match (found.len(), found.pop()) {
            (1, Some(only)) => Ok(only),
            (0 | 1, _) => Err(Error::new(Kind::Usage, format!("the archive has no memory `{id}`"))
                .hint("`claude-mem prune --archived --all-projects` lists what it has")),
            (n, _) => Err(Error::new(Kind::Usage, format!("`{id}` is the beginning of {n} ids")).hint("type more of it")),
        }
    }
}

/// Every project but the global one.
fn projects_by_name(store: &Store) -> Result<Vec<String>> {
    Ok(store.projects()?.into_iter().filter(|name| name != GLOBAL).collect())
}

fn no_such(id: &str) -> Error {
    Error::new(Kind::Usage, format!("there is no memory `{id}`")).hint("`claude-mem list` shows the ids; four characters of one are enough")
}

/// The JSON of an entry with its use and place.
pub fn record(snapshot: &Snapshot, entry: &Entry) -> MemoryRecord {
    snapshot.record(entry)
}

/// `memories` of a JSON answer, or any serialisable list.
pub fn json<T: serde::Serialize>(value: &T) -> Result<Value> {
    serde_json::to_value(value).map_err(|e| Error::failure(format!("the answer cannot be written as JSON: {e}")))
}

/// A JSON object from pairs.
pub fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()
}

/// A layer for people: `long-term`.
pub fn layer_name(layer: Layer) -> String {
    layer.name().replace('_', "-")
}

/// Why a candidate is not sure, in words; with `--verbose` the code stands behind each.
pub fn reasons(ui: &Ui, codes: &[Code]) -> String {
    let say =
        |code: &Code| if ui.wishes.verbose { format!("{} ({})", code_words(*code), code.name()) } else { code_words(*code).to_owned() };
    codes.iter().map(say).collect::<Vec<_>>().join(", ")
}

/// The checks' codes for people.
fn code_words(code: Code) -> &'static str {
    match code {
        Code::EQuote => "its quote was not said",
        Code::EShort => "its quote proves too little",
        Code::ERole => "not the user's own words",
        Code::ENumber => "names a number or name that was not said",
        Code::ECover => "says more than was said",
        Code::ENeg => "a negation was lost or added",
        Code::EOverturned => "taken back later",
        Code::EEcho => "our own memory read back",
        Code::ESecret => "holds a secret",
        Code::EInject => "speaks to an AI, and not from the user",
        Code::ELiteralNull => "holds a placeholder",
        Code::ELong => "too long",
        Code::EDate => "a date that cannot be",
        Code::ETombstone => "turned down before",
        Code::ESchema => "not in the form asked for",
        Code::Weak => "only hinted at",
        Code::UnknownPointer => "points to a memory that is not there",
    }
}

/// A problem for people: where and what; the code only with `--verbose`.
pub fn problem_line(ui: &Ui, problem: &crate::error::Problem) -> String {
    let text = problem.to_string();
    let code = format!(" ({})", problem.code);
    ui.foreign(if ui.wishes.verbose { &text } else { text.strip_suffix(&code).unwrap_or(&text) })
}

/// What to say when a project has nothing yet.
pub fn nothing_yet(project: &str) -> String {
    format!("no memories in project {project} yet; start with: claude-mem ingest --all-history")
}

/// A word in brackets before a summary, where the edge of a screen cannot take it away.
pub fn mark(word: &str) -> String {
    format!("{} ", paint(style::WARN, &format!("[{word}]")))
}

/// One memory on one line: id, kind, layer, its state if it does not hold, summary.
pub fn one_line(ui: &Ui, memory: &Memory) -> String {
    let state = match memory.state {
        crate::model::State::Valid => String::new(),
        other => mark(other.name()),
    };
    format!(
        "{}  {:<10} {:<9}  {state}{}",
        paint(style::HINT, memory.id.as_str()),
        memory.kind.name(),
        layer_name(memory.layer),
        ui.foreign(&memory.summary)
    )
}

/// Ids as JSON strings.
pub fn ids(list: &[Id]) -> Value {
    Value::from(list.iter().map(|id| Value::from(id.as_str())).collect::<Vec<_>>())
}
