//! Searching memories: by the index where it can be used, else without, with the same results.

use std::cell::RefCell;

use crate::error::{Error, Kind, Result};
use crate::model::plan::MemoryRecord;
use crate::recall::search::{self, Corpus, Found, Hit, SearchOptions, Whole};
use crate::store::index::{Doc, Index, Place};
use crate::store::{Snapshot, Store};

/// The memories of some projects, open for many queries.
pub struct Searcher {
    store: Store,
    projects: Vec<String>,
    source: RefCell<Source>,
    notes: RefCell<Vec<String>>,
    /// Projects in which entries typed by hand wait for their ids, and cannot be found before.
    pub unnamed: Vec<String>,
}

/// Where the memories are read.
enum Source {
    Index(Index, Vec<String>),
    Whole(Vec<Whole>),
}

impl Searcher {
    /// Opens the index and brings it up to date; an index that is damaged is made anew, and where none can be had the projects
    /// are read whole. `now` is the clock in nanoseconds since 1970.
    ///
    /// # Errors
    /// If the projects themselves cannot be read.
    pub fn open(store: &Store, projects: &[String], now: i128) -> Result<Self> {
        Self::with(None, store, projects, now)
    }

    /// The same, but only of those projects that can be searched in no time ([`Index::at_hand`]).
    ///
    /// # Errors
    /// As [`Searcher::open`].
    pub fn at_hand(store: &Store, projects: &[String], small: u64, now: i128) -> Result<Self> {
        let near = || {
            let index = Index::existing(store.home())?;
            let names = Index::at_hand(index.as_ref(), store.home(), projects, small, now)?;
            Ok::<_, Error>((index, names))
        };
        // What is wrong with the index is dealt with, and noted, on the way.
        let (index, names) = near().unwrap_or_else(|_| (None, projects.to_vec()));
        Self::with(index, store, &names, now)
    }

    fn with(index: Option<Index>, store: &Store, projects: &[String], now: i128) -> Result<Self> {
        let (mut notes, mut unnamed) = (Vec::new(), Vec::new());
        let source = match indexed(index, store, projects, now, &mut notes, &mut unnamed) {
            Ok(source) => source,
            Err(error) => {
                notes.push(format!("searched without the index: {error}"));
                whole(store, projects, &mut unnamed)?
            }
        };
        Ok(Self { store: store.clone(), projects: projects.to_vec(), source: RefCell::new(source), notes: RefCell::new(notes), unnamed })
    }

    /// The same, for more queries later: what has changed since is taken in.
    ///
    /// # Errors
    /// As [`Searcher::open`].
    pub fn again(mut self, projects: &[String], now: i128) -> Result<Self> {
        let mut unnamed = Vec::new();
        let mut refresh = |index: &Index, project: &String| {
            let done = index.refresh(&self.store, project, now);
            unnamed.extend(done.as_ref().is_ok_and(|d| d.unnamed > 0).then(|| project.clone()));
            done.is_ok()
        };
        let fresh = match &*self.source.borrow() {
            Source::Index(index, known) if known == projects && index.is_in_place() => {
                projects.iter().all(|project| refresh(index, project))
            }
            _ => false,
        };
        if !fresh {
            let store = self.store.clone();
            // Whoever holds an index keeps others from replacing it, and that may be what it needs.
            drop(self);
            return Self::open(&store, projects, now);
        }
        self.unnamed = unnamed;
        self.notes.borrow_mut().clear();
        Ok(self)
    }

    /// The projects that are searched.
    pub fn projects(&self) -> &[String] {
        &self.projects
    }

    /// The memories that share words with a query, best first.
    ///
    /// # Errors
    /// If the index fails and the projects themselves cannot be read.
    pub fn find(&self, query: &str, options: &SearchOptions) -> Result<Vec<Hit>> {
        self.find_counted(query, options).map(|found| found.hits)
    }

    /// The same, and how many there are besides.
    ///
    /// # Errors
    /// As [`Searcher::find`].
    pub fn find_counted(&self, query: &str, options: &SearchOptions) -> Result<Found> {
        let found = by(&self.source.borrow(), query, options);
        found.or_else(|error| {
            self.notes.borrow_mut().push(format!("searched without the index: {error}"));
            let source = whole(&self.store, &self.projects, &mut Vec::new())?;
            // It failed once: the next process shall make it anew.
            if error.kind != Kind::Busy {
                self.source.replace(Source::Whole(Vec::new()));
                if let Err(error) = Index::renew(self.store.home()) {
                    self.notes.borrow_mut().push(error.to_string());
                }
            }
            let found = by(&source, query, options);
            self.source.replace(source);
            found
        })
    }

    /// Whether the index is used.
    pub fn is_indexed(&self) -> bool {
        matches!(*self.source.borrow(), Source::Index(..))
    }

    /// What was noticed about the index on the way, for whoever wants details.
    pub fn notes(&self) -> Vec<String> {
        self.notes.borrow().clone()
    }
}

fn whole(store: &Store, projects: &[String], unnamed: &mut Vec<String>) -> Result<Source> {
    let snapshots: Vec<Snapshot> = projects.iter().map(|p| store.snapshot(p)).collect::<Result<_>>()?;
    *unnamed = snapshots.iter().filter(|s| s.unnamed() > 0).map(|s| s.project.clone()).collect();
    Ok(Source::Whole(snapshots.iter().map(Whole::of).collect()))
}

fn indexed(
    index: Option<Index>,
    store: &Store,
    projects: &[String],
    now: i128,
    notes: &mut Vec<String>,
    unnamed: &mut Vec<String>,
) -> Result<Source> {
    if !store.home().is_dir() {
        return Err(Error::failure("there is no memory folder yet"));
    }
    let mut fill = |index: Option<Index>| -> Result<Source> {
        let index = index.map_or_else(|| Index::open(store.home()), Ok)?;
        for project in projects {
            if index.refresh(store, project, now)?.unnamed > 0 {
                unnamed.push(project.clone());
            }
        }
        Ok(Source::Index(index, projects.to_vec()))
    };
    fill(index).or_else(|error| {
        // Somebody else is writing it: nothing is wrong with it.
        if error.kind == Kind::Busy {
            return Err(error);
        }
        notes.push(format!("{error}; it is made anew"));
        Index::renew(store.home())?;
        fill(None)
    })
}

fn by(source: &Source, query: &str, options: &SearchOptions) -> Result<Found> {
    match source {
        Source::Whole(all) => {
            let corpora: Vec<&dyn Corpus> = all.iter().map(|w| w as &dyn Corpus).collect();
            search::find_counted(&corpora, query, options)
        }
        Source::Index(index, projects) => {
            index.begin()?;
            let find = || {
                let mut all = Vec::new();
                for project in projects {
                    all.extend(index.place(project)?.map(|place| Indexed { index, place }));
                }
                let corpora: Vec<&dyn Corpus> = all.iter().map(|w| w as &dyn Corpus).collect();
                search::find_counted(&corpora, query, options)
            };
            let found = find();
            index.end().and(found)
        }
    }
}

/// One project of the index.
struct Indexed<'a> {
    index: &'a Index,
    place: Place,
}

impl Corpus for Indexed<'_> {
    fn size(&self) -> (usize, usize) {
        (self.place.docs, self.place.length)
    }

    fn holders(&self, terms: &[&str]) -> Result<Vec<usize>> {
        self.index.holders(&self.place, terms)
    }

    fn near(&self, term: &str) -> Result<Vec<String>> {
        self.index.near(&self.place, term)
    }

    fn having(&self, term: &str) -> Result<Vec<(i64, bool)>> {
        self.index.having(&self.place, term)
    }

    fn sort(&self, places: &mut [i64]) -> Result<()> {
        self.index.sort(&self.place, places)
    }

    fn docs(&self, places: &[i64]) -> Result<Vec<Doc>> {
        self.index.docs(&self.place, places)
    }

    fn records(&self, docs: &[&Doc]) -> Result<Vec<MemoryRecord>> {
        self.index.records(&self.place, docs)
    }
}
