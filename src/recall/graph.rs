//! The ties between memories as a picture: Mermaid for Markdown readers, DOT for Graphviz.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Id, RelationType, State};
use crate::reconcile::links::{Edge, Tie, Web};
use crate::text::words;

/// Widest label of a node, in wide characters.
const LABEL: f64 = 24.0;

/// In which language a graph is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Mermaid `graph`.
    #[default]
    Mermaid,
    /// Graphviz.
    Dot,
}

/// The ties that can be reached from `around`, or all of them. Memories without any tie are not in it; no tie: no bytes.
pub fn graph(web: &Web<'_>, around: Option<&Id>, format: Format) -> String {
    let edges = web.edges();
    let kept = around.map(|id| reachable(&edges, id));
    let edges: Vec<&Edge<'_>> = edges.iter().filter(|e| kept.as_ref().is_none_or(|k| k.contains(e.from))).collect();
    let ids: BTreeSet<&Id> = edges.iter().flat_map(|e| [e.from, e.to]).collect();
    if ids.is_empty() {
        return String::new();
    }
    let nodes = ids.into_iter().map(|id| (id, label(web, id)));
    match format {
        Format::Mermaid => mermaid(nodes, &edges),
        Format::Dot => dot(nodes, &edges),
    }
}

/// Ids that hang together with one.
fn reachable<'a>(edges: &BTreeSet<Edge<'a>>, from: &Id) -> BTreeSet<&'a Id> {
    let mut near: BTreeMap<&Id, Vec<&'a Id>> = BTreeMap::new();
    for edge in edges {
        near.entry(edge.from).or_default().push(edge.to);
        near.entry(edge.to).or_default().push(edge.from);
    }
    let mut found = BTreeSet::new();
    let mut waiting: Vec<&Id> = vec![from];
    while let Some(id) = waiting.pop() {
        for next in near.get(id).into_iter().flatten() {
            if found.insert(*next) {
                waiting.push(next);
            }
        }
    }
    found
}

fn label(web: &Web<'_>, id: &Id) -> String {
    let Some(entry) = web.entry(id) else { return id.to_string() };
    let summary = words::clip(&entry.memory.summary, LABEL);
    match entry.memory.state {
        State::Valid => summary,
        state => format!("{summary} [{state}]"),
    }
}

fn mermaid<'a>(nodes: impl Iterator<Item = (&'a Id, String)>, edges: &[&Edge<'_>]) -> String {
    let mut out = "graph LR\n".to_owned();
    for (id, label) in nodes {
        // Quotes and brackets would end the label: Mermaid knows `#code;` for them.
        let label: String =
            label.chars().map(|c| if "\"<>[]{}()#;&|`\\".contains(c) { format!("#{};", u32::from(c)) } else { c.to_string() }).collect();
        out.extend(["  ", id.as_str(), "[\"", &label, "\"]\n"]);
    }
    for edge in edges {
        let arrow = match edge.tie {
            Tie::Link => "-->".to_owned(),
            Tie::Relation(RelationType::Conflicts) => "-. conflicts .-".to_owned(),
            Tie::Relation(kind) => format!("-- {kind} -->"),
        };
        out.extend(["  ", edge.from.as_str(), " ", &arrow, " ", edge.to.as_str(), "\n"]);
    }
    out
}

fn dot<'a>(nodes: impl Iterator<Item = (&'a Id, String)>, edges: &[&Edge<'_>]) -> String {
    let mut out = "digraph memories {\n  rankdir=LR;\n  node [shape=box];\n".to_owned();
    for (id, label) in nodes {
        let label = label.replace('\\', "\\\\").replace('"', "\\\"");
        out.extend(["  \"", id.as_str(), "\" [label=\"", &label, "\"];\n"]);
    }
    for edge in edges {
        let style = match edge.tie {
            Tie::Link => String::new(),
            Tie::Relation(RelationType::Conflicts) => " [label=conflicts, dir=none, style=dashed]".to_owned(),
            Tie::Relation(kind) => format!(" [label={kind}]"),
        };
        out.extend(["  \"", edge.from.as_str(), "\" -> \"", edge.to.as_str(), "\"", &style, ";\n"]);
    }
    out.push_str("}\n");
    out
}
