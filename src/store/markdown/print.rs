//! A memory as Markdown, the way we write it.

use super::entry::{Label, RELATIONS, default_origin};
use super::yaml::quoted;
use crate::model::{Evidence, Memory, State, Validity};
use crate::text::words::{Language, is_invisible, language};

/// Heading for memories without a topic, by language. Any of them is read as "no topic".
const GENERAL: &[(Language, &str)] =
    &[(Language::English, "General"), (Language::Chinese, "其他"), (Language::Japanese, "その他"), (Language::Korean, "기타")];

/// Whether a heading stands for "no topic".
pub fn is_general(topic: &str) -> bool {
    GENERAL.iter().any(|(_, name)| *name == topic)
}

/// The heading for "no topic" in the language of a text.
pub(super) fn general(text: &str) -> &'static str {
    let spoken = language(text);
    GENERAL.iter().find(|(l, _)| *l == spoken).map_or("General", |(_, name)| name)
}

/// On one line: any run of white space is one space, what shows nothing at the ends or controls a terminal is gone,
/// and nothing ends a comment.
pub fn one_line(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).filter(|c| *c != '\u{feff}').collect();
    let mut out = String::with_capacity(clean.len());
    for word in clean.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    let ends = |c: char| is_invisible(c) || c.is_whitespace();
    // The end of a comment would close one that a person left open further up, and hide what stands between.
    out.trim_matches(ends).replace("-->", "-- >")
}

/// The memory as it can be written: every text on one line, nothing empty, nothing twice.
#[must_use]
pub fn tidy(memory: &Memory) -> Memory {
    let line = |text: &Option<String>| text.as_deref().map(one_line).filter(|t| !t.is_empty());
    let mut tidy = memory.clone();
    tidy.summary = one_line(&memory.summary);
    tidy.topic = line(&memory.topic).filter(|t| !is_general(t));
    for (to, from) in [
        (&mut tidy.reason, &memory.reason),
        (&mut tidy.rejected, &memory.rejected),
        (&mut tidy.how_to_apply, &memory.how_to_apply),
        (&mut tidy.lapses_when, &memory.lapses_when),
        (&mut tidy.scope, &memory.scope),
        (&mut tidy.branch, &memory.branch),
        (&mut tidy.session, &memory.session),
        (&mut tidy.created, &memory.created),
    ] {
        *to = line(from);
    }
    tidy.keywords.clear();
    for keyword in memory.keywords.iter().map(|k| one_line(k)).filter(|k| !k.is_empty()) {
        if !tidy.keywords.contains(&keyword) {
            tidy.keywords.push(keyword);
        }
    }
    // Relations stand in the file by kind; within one kind their order is kept.
    tidy.relations.clear();
    for (_, kind) in RELATIONS {
        for relation in memory.relations.iter().filter(|r| r.kind == *kind) {
            if !tidy.relations.contains(relation) {
                tidy.relations.push(relation.clone());
            }
        }
    }
    for evidence in &mut tidy.evidence {
        evidence.quote = one_line(evidence.quote.trim_start_matches(['>', ' ']));
        evidence.session = line(&evidence.session).filter(|s| Some(s) != tidy.session.as_ref());
    }
    tidy.evidence.retain(|e| !e.quote.is_empty());
    tidy
}

/// The lines of the YAML block in their order: key and value, `None` if the line is not needed.
pub(super) fn fields(memory: &Memory) -> Vec<(&'static str, Option<String>)> {
    let text = |value: &Option<String>| value.as_deref().map(|v| quoted(v, false));
    let list = |values: Vec<&str>| {
        let items: Vec<String> = values.into_iter().map(|v| quoted(v, true)).collect();
        (!items.is_empty()).then(|| format!("[{}]", items.join(", ")))
    };
    let validity = match &memory.validity {
        Validity::Until(day) => format!("until {day}"),
        other => other.name().to_owned(),
    };
    let source = memory.session.as_ref().map(|session| {
        let turn = memory.evidence.iter().find(|e| e.session.is_none()).map(|e| format!("#T{}", e.turn));
        quoted(&format!("{session}{}", turn.unwrap_or_default()), false)
    });
    let origin = (memory.origin != default_origin(memory.session.as_deref())).then(|| memory.origin.name().to_owned());
    let mut lines = vec![
        ("id", Some(quoted(memory.id.as_str(), false))),
        ("kind", Some(memory.kind.name().to_owned())),
        ("validity", Some(validity)),
        ("lapses_when", text(&memory.lapses_when)),
        ("keywords", list(memory.keywords.iter().map(String::as_str).collect())),
        ("scope", text(&memory.scope)),
        ("source", source),
        ("created", text(&memory.created)),
        ("state", (memory.state != State::Valid).then(|| memory.state.name().to_owned())),
    ];
    lines.extend(RELATIONS.iter().map(|(key, kind)| (*key, list(memory.related(*kind).map(|id| id.as_str()).collect()))));
    lines.extend([
        ("branch", text(&memory.branch)),
        ("confidence", memory.confidence.filter(|c| c.is_finite()).map(|c| c.to_string())),
        ("origin", origin),
        ("pinned", memory.pinned.then(|| "true".to_owned())),
    ]);
    lines
}

/// The YAML block with its fences.
pub(super) fn block(memory: &Memory, nl: &str) -> String {
    let lines = fields(memory).into_iter().filter_map(|(key, value)| value.map(|v| format!("{key}: {v}{nl}")));
    format!("```yaml{nl}{}```{nl}", lines.collect::<String>())
}

/// A labelled text.
pub(super) fn labelled(label: Label, text: &str, nl: &str) -> String {
    format!("**{}:** {text}{nl}", label.text())
}

/// A quote with its place.
pub(super) fn quote(evidence: &Evidence, nl: &str) -> String {
    let session = evidence.session.as_ref().map(|s| format!("{s}#")).unwrap_or_default();
    format!("> {} ({session}T{}, {}){nl}", evidence.quote, evidence.turn, evidence.speaker.name())
}

/// The whole entry.
pub(super) fn entry(memory: &Memory, nl: &str) -> String {
    let mut out = format!("### {}{nl}{}", memory.summary, block(memory, nl));
    for label in Label::ALL {
        if let Some(text) = label.of(memory) {
            out.push_str(&labelled(label, text, nl));
        }
    }
    for evidence in &memory.evidence {
        out.push_str(&quote(evidence, nl));
    }
    out
}
