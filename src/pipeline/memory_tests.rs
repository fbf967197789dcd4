//! Memory tests over the store: which there are, playing them, and keeping a change from being made that breaks one.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::env::Env;
use crate::error::{Error, Kind, Result};
use crate::model::Plan;
use crate::recall::Budget;
use crate::recall::memory_tests::{Failure, MemoryTest, Outcome, Setting, Stage, parse};
use crate::store::layout::TESTS;
use crate::store::{Accept, GLOBAL, Receipt, Snapshot, Store};

/// A test and the project that it is played on: one of the global file may be played on each.
#[derive(Clone, Debug)]
pub struct Case {
    /// The project.
    pub project: String,
    /// The file it stands in, inside the home, with `/`.
    pub file: String,
    /// The test.
    pub test: MemoryTest,
}

/// A test that was played.
#[derive(Clone, Debug)]
pub struct Played {
    /// Which.
    pub case: Case,
    /// What came of it.
    pub outcome: Outcome,
}

impl Played {
    /// Whether every expectation was met.
    pub fn passed(&self) -> bool {
        self.outcome.failures.is_empty()
    }
}

/// What answers depend on, as configured.
pub fn setting(env: &Env, config: &Config) -> Setting {
    let number = |key| usize::try_from(config.number(key)).unwrap_or(usize::MAX);
    Setting {
        today: env.today(),
        budget: Budget::Tokens(number("inject.budget")),
        most: number("hooks.prompt_memories"),
        hold_back: !config.switch("store.trust_hand_edits"),
    }
}

/// The tests of every project, or those that a change of `only` one can touch: of the global memories, all.
///
/// # Errors
/// If a file of tests cannot be read: then nobody knows whether they pass.
pub fn cases(store: &Store, only: Option<&str>) -> Result<Vec<Case>> {
    let only = only.filter(|project| *project != GLOBAL);
    let projects = store.projects()?;
    let global = read(store, GLOBAL)?;
    let mut all = Vec::new();
    let named = global.iter().filter_map(|(_, test)| test.project.as_ref());
    let mut names: Vec<&String> = projects.iter().chain(named).filter(|name| only.is_none_or(|o| o == *name)).collect();
    names.sort_unstable();
    names.dedup();
    for project in names {
        let own = if project == GLOBAL || !projects.contains(project) { Vec::new() } else { read(store, project)? };
        let general = global.iter().filter(|(_, test)| match &test.project {
            Some(name) => name == project,
            None => projects.contains(project),
        });
        let tests = own.into_iter().chain(general.cloned());
        all.extend(tests.map(|(file, test)| Case { project: project.clone(), file, test }));
    }
    Ok(all)
}

/// The tests in the folder of a project, each with the name of the file.
fn read(store: &Store, project: &str) -> Result<Vec<(String, MemoryTest)>> {
    let file = format!("{project}/{TESTS}");
    let path = store.home().join(&file);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io("read", &path, &e)),
    };
    let tests = parse(text.trim_start_matches('\u{feff}'), &file, project == GLOBAL).map_err(|problem| {
        let what = format!("{file}:{}: {}", problem.line.unwrap_or(1), problem.detail.lines().next().unwrap_or_default());
        Error::new(Kind::Config, what).hint("`claude-mem test --example` shows the form")
    })?;
    Ok(tests.into_iter().map(|test| (file.clone(), test)).collect())
}

/// Projects by name, as a test sees them.
struct World<'a> {
    projects: BTreeMap<String, Snapshot>,
    setting: &'a Setting,
}

impl<'a> World<'a> {
    fn of(store: &Store, cases: &[Case], setting: &'a Setting) -> Result<Self> {
        let mut world = Self { projects: BTreeMap::new(), setting };
        for name in cases.iter().map(|c| c.project.as_str()).chain([GLOBAL]) {
            if !world.projects.contains_key(name) && store.has_project(name) {
                world.put(store.snapshot(name)?);
            }
        }
        Ok(world)
    }

    /// A project, without what is held back.
    fn put(&mut self, snapshot: Snapshot) {
        let snapshot = if self.setting.hold_back { snapshot.without_held() } else { snapshot };
        self.projects.insert(snapshot.project.clone(), snapshot);
    }

    /// Cases of one project stand together, so that each project is analysed once.
    fn play(&self, cases: &[Case]) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for cases in cases.chunk_by(|a, b| a.project == b.project) {
            let Some(project) = cases.first().map(|c| c.project.as_str()) else { continue };
            let global = if project == GLOBAL { None } else { self.projects.get(GLOBAL) };
            let snapshots: Vec<&Snapshot> = self.projects.get(project).into_iter().chain(global).collect();
            let stage = Stage::new(&snapshots, self.setting);
            outcomes.extend(cases.iter().map(|case| match self.projects.contains_key(project) {
                true => stage.play(&case.test),
                false => Outcome { failures: vec![Failure::NoProject(project.to_owned())], ..Outcome::default() },
            }));
        }
        outcomes
    }
}

/// Plays tests on the store as it is.
///
/// # Errors
/// If a project cannot be read.
pub fn run(store: &Store, cases: Vec<Case>, setting: &Setting) -> Result<Vec<Played>> {
    let world = World::of(store, &cases, setting)?;
    let outcomes = world.play(&cases);
    Ok(cases.into_iter().zip(outcomes).map(|(case, outcome)| Played { case, outcome }).collect())
}

/// What decides about a change.
#[derive(Debug)]
pub struct Gate<'a> {
    store: &'a Store,
    env: &'a Env,
    cases: Vec<Case>,
    setting: Setting,
    /// Names of tests that fail as they did before the last change; they do not count against it.
    pub failing: Vec<String>,
    /// Whether the last change was refused because a test would break.
    pub breaks: bool,
}

impl<'a> Gate<'a> {
    /// The tests that a change of a project can touch.
    ///
    /// # Errors
    /// As [`cases`].
    pub fn of(store: &'a Store, env: &'a Env, config: &Config, project: &str) -> Result<Self> {
        Ok(Self { store, env, cases: cases(store, Some(project))?, setting: setting(env, config), failing: Vec::new(), breaks: false })
    }

    /// [`Store::update`], unless a test that passes now would fail afterwards: then nothing is written.
    ///
    /// # Errors
    /// Names the tests that would break; else as [`Store::update`].
    pub fn update(&mut self, project: &str, make: &mut dyn FnMut(&Snapshot) -> Result<Plan>) -> Result<Receipt> {
        let (store, env) = (self.store, self.env);
        let tested = !self.cases.is_empty();
        let mut accept = |before: &Snapshot, after: &Snapshot| self.check(before, after);
        let accept: Option<&mut Accept<'_>> = if tested { Some(&mut accept) } else { None };
        store.update_if(project, &env.now(), &|| env.new_id(), make, accept)
    }

    /// Whether [`Gate::update`] would make the change; writes nothing.
    ///
    /// # Errors
    /// As [`Gate::update`].
    pub fn foresee(&mut self, project: &str, make: &mut dyn FnMut(&Snapshot) -> Result<Plan>) -> Result<()> {
        let env = self.env;
        let (before, after) = self.store.foresee(project, &env.now(), &|| env.new_id(), make)?;
        if self.cases.is_empty() { Ok(()) } else { self.check(&before, &after) }
    }

    fn check(&mut self, before: &Snapshot, after: &Snapshot) -> Result<()> {
        let mut world = World::of(self.store, &self.cases, &self.setting)?;
        world.put(before.clone());
        let outcomes = world.play(&self.cases);
        world.put(after.clone());
        let (mut broken, mut failing) = (Vec::new(), Vec::new());
        for (case, (now, then)) in self.cases.iter().zip(outcomes.into_iter().zip(world.play(&self.cases))) {
            match (then.failures.first(), now.failures.is_empty()) {
                (Some(failure), true) => broken.push((case, format!("{}: {}: {failure}", case.project, case.test.name))),
                (Some(_), false) => failing.push(format!("{}: {}", case.project, case.test.name)),
                (None, _) => {}
            }
        }
        self.failing = failing;
        self.breaks = !broken.is_empty();
        let Some((first, _)) = broken.first() else { return Ok(()) };
        let tests = if broken.len() == 1 { "a memory test".to_owned() } else { format!("{} memory tests", broken.len()) };
        let list = broken.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>().join("; ");
        Err(Error::failure(format!("this would break {tests}, so nothing was changed: {list}"))
            .hint(format!("the test is in {}", first.file)))
    }
}
