//! How memories are tied to each other: by `[[…]]` in their text and by their relations. Answers what a name leads to, and what
//! leads to a memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Id, Memory, RelationType};
use crate::store::{Entry, Snapshot};
use crate::text::links;

/// What ties one memory to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tie {
    /// `[[…]]` in the text.
    Link,
    /// A relation of the YAML block.
    Relation(RelationType),
}

impl Tie {
    /// As shown and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Relation(kind) => kind.name(),
        }
    }
}

/// From one memory to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge<'a> {
    /// The one that says it.
    pub from: &'a Id,
    /// Where it leads.
    pub to: &'a Id,
    /// How.
    pub tie: Tie,
}

/// Whether a memory stands or falls with another one: by a relation, or by a link in its words.
pub fn leans_on(memory: &Memory, other: &Memory) -> bool {
    let texts = [memory.reason.as_deref(), memory.how_to_apply.as_deref(), Some(&memory.summary)];
    let slug = links::slug(&other.summary);
    let leads = |name: &str| Id::parse(name).as_ref() == Some(&other.id) || links::slug(name) == slug;
    memory.id != other.id
        && (memory.related(RelationType::DependsOn).any(|id| *id == other.id)
            || texts.into_iter().flatten().flat_map(links::targets).any(leads))
}

/// All ties between the memories of some projects.
#[derive(Debug)]
pub struct Web<'a> {
    entries: BTreeMap<&'a Id, &'a Entry>,
    slugs: BTreeMap<String, &'a Id>,
}

impl<'a> Web<'a> {
    /// Of the entries of these snapshots. Of several with the same summary the first is what a name leads to.
    pub fn of(snapshots: impl IntoIterator<Item = &'a Snapshot>) -> Self {
        let mut web = Self { entries: BTreeMap::new(), slugs: BTreeMap::new() };
        for entry in snapshots.into_iter().flat_map(|s| &s.entries) {
            web.entries.entry(&entry.memory.id).or_insert(entry);
            web.slugs.entry(links::slug(&entry.memory.summary)).or_insert(&entry.memory.id);
        }
        web
    }

    /// The entry with this id.
    pub fn entry(&self, id: &Id) -> Option<&'a Entry> {
        self.entries.get(id).copied()
    }

    /// What `[[name]]` leads to.
    pub fn resolve(&self, name: &str) -> Option<&'a Id> {
        let by_id = Id::parse(name).and_then(|id| self.entries.get_key_value(&id).map(|(id, _)| *id));
        by_id.or_else(|| self.slugs.get(&links::slug(name)).copied())
    }

    /// Every tie, once: a pair that names each other (`supersedes`, `superseded_by`; `conflicts` on both) is one.
    pub fn edges(&self) -> BTreeSet<Edge<'a>> {
        let mut edges = BTreeSet::new();
        for (from, entry) in &self.entries {
            for name in &entry.links {
                edges.extend(self.resolve(name).filter(|to| to != from).map(|to| Edge { from, to, tie: Tie::Link }));
            }
            for relation in &entry.memory.relations {
                let Some((to, _)) = self.entries.get_key_value(&relation.id) else { continue };
                let (from, to, kind) = match relation.kind {
                    RelationType::SupersededBy => (*to, *from, RelationType::Supersedes),
                    RelationType::Conflicts => (*from.min(to), *from.max(to), RelationType::Conflicts),
                    kind => (*from, *to, kind),
                };
                edges.insert(Edge { from, to, tie: Tie::Relation(kind) });
            }
        }
        edges
    }

    /// What leads to a memory by text: the other end of its links.
    pub fn backlinks(&self, id: &Id) -> Vec<&'a Entry> {
        let leads = |entry: &&&Entry| entry.memory.id != *id && entry.links.iter().any(|name| self.resolve(name) == Some(id));
        self.entries.values().filter(leads).copied().collect()
    }
}
