//! Changing an entry in place: only the lines whose meaning changed are touched.

use std::ops::Range;

use super::entry::{Entry, Label, Parts};
use super::print::{self, fields, labelled};
use super::scan::{bare, heading, is_blank, newline_of};
use super::yaml::{LISTS, SCALARS, quoted};
use crate::model::Memory;

/// Lines to put in the place of a range of lines.
type Edit = (Range<usize>, String);

/// The text of an entry that said `old` and now says `new` (both tidy). Unknown keys, comments and other prose stay.
///
/// # Errors
/// A sentence, if the entry is written so unusually that the change would not be read back as meant.
pub(super) fn edit(text: &str, old: &Memory, new: &Memory, nl: &str) -> Result<String, String> {
    let parts = Parts::of(text);
    let nl = if text.contains('\n') { newline_of(text) } else { nl };
    let mut edits: Vec<Edit> = Vec::new();
    if old.summary != new.summary {
        edits.push((0..1, heading_line(parts.lines.first().unwrap_or(&""), &new.summary, nl)));
    }
    match &parts.yaml {
        None => edits.push((1..1, print::block(new, nl))),
        Some(body) => yaml_edits(&parts.lines, body.clone(), old, new, nl, &mut edits),
    }
    let mut behind = parts.yaml.as_ref().map_or(1, |body| body.end + 1);
    for label in Label::ALL {
        let there: Vec<_> = parts.labels.iter().filter(|(l, ..)| *l == label).map(|(_, range, _)| range.clone()).collect();
        behind = there.last().map_or(behind, |range| range.end);
        let keyed = parts.yaml.as_ref().is_some_and(|body| key_span(&parts.lines, body, label.key()).is_some());
        if label.of(old) == label.of(new) || (keyed && label.of(new).is_some()) {
            continue;
        }
        let mut line = label.of(new).map(|t| labelled(label, t, nl)).unwrap_or_default();
        if there.is_empty() && !line.is_empty() {
            edits.push((behind..behind, line));
        } else {
            edits.extend(there.into_iter().map(|range| (range, std::mem::take(&mut line))));
        }
    }
    if old.evidence != new.evidence {
        let print = |from: usize| new.evidence[from..].iter().map(|e| print::quote(e, nl)).collect::<String>();
        let last = parts.quotes.last().map(|(range, _)| range.end);
        if new.evidence.starts_with(&old.evidence) {
            let at = last.unwrap_or(behind);
            edits.push((at..at, print(old.evidence.len())));
        } else {
            let mut text = print(0);
            edits.extend(parts.quotes.iter().map(|(range, _)| (range.clone(), std::mem::take(&mut text))));
        }
    }
    let text_from = parts.yaml.as_ref().map_or(1, |body| body.end + 1);
    let edited = apply(&parts.lines, text_from, edits, nl);
    let read = Entry::read(&edited, new.topic.as_deref(), new.layer);
    if read.readable && read.id.as_ref() == Some(&new.id) && print::tidy(&read.memory) == *new {
        Ok(edited)
    } else {
        Err(format!("the entry {:?} is written in a way that cannot be changed safely", new.summary))
    }
}

fn heading_line(line: &str, summary: &str, nl: &str) -> String {
    let text = heading(line).map_or("", |(_, text)| text);
    let start = match bare(line).rfind(text) {
        Some(at) if !text.is_empty() => line.get(..at).unwrap_or("### "),
        _ => "### ",
    };
    let end = if line.ends_with('\n') { &line[bare(line).len()..] } else { nl };
    format!("{start}{summary}{end}")
}

/// Edits of the lines of the YAML block, one for each key whose value changed.
fn yaml_edits(lines: &[&str], body: Range<usize>, old: &Memory, new: &Memory, nl: &str, edits: &mut Vec<Edit>) {
    let indent = lines[body.clone()].iter().find(|l| !is_blank(l) && !l.trim_start().starts_with('#')).map_or("", |l| {
        let width = l.len() - l.trim_start_matches(' ').len();
        &l[..width]
    });
    let texts = |m: &Memory| Label::ALL.map(|label| (label.key(), label.of(m).map(|t| quoted(t, false))));
    let (mut before, mut after) = (fields(old), fields(new));
    before.extend(texts(old).into_iter().filter(|(key, _)| key_span(lines, &body, key).is_some()));
    after.extend(texts(new).into_iter().filter(|(key, _)| key_span(lines, &body, key).is_some()));
    let mut behind = body.start;
    for ((key, old_value), (_, new_value)) in before.into_iter().zip(after) {
        let span = key_span(lines, &body, key);
        if let Some(span) = &span {
            behind = span.end;
        }
        if old_value == new_value {
            continue;
        }
        if key == "validity"
            && let Some(until) = key_span(lines, &body, "until")
        {
            edits.push((until, String::new()));
        }
        let line = |tail: &str| new_value.as_ref().map(|v| format!("{indent}{key}: {v}{tail}{nl}"));
        match span {
            Some(span) => {
                let tail = if span.len() == 1 { comment(bare(lines[span.start])) } else { "" };
                edits.push((span, line(tail).unwrap_or_default()));
            }
            None => edits.extend(line("").map(|l| (behind..behind, l))),
        }
    }
}

/// The lines of a key and its value.
fn key_span(lines: &[&str], body: &Range<usize>, key: &str) -> Option<Range<usize>> {
    let is_key = |line: &str| {
        let line = line.trim_start_matches(' ');
        SCALARS.iter().chain(LISTS).any(|k| line.strip_prefix(k).is_some_and(|rest| rest.starts_with(':')))
    };
    let starts = |line: &str| line.trim_start_matches(' ').strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let start = body.clone().find(|at| starts(lines[*at]))?;
    let depth = indent(lines[start]);
    let mut end = start + 1;
    // A value goes on in deeper lines and in list items; blank lines count only if such a line follows.
    for (at, line) in lines.iter().enumerate().take(body.end).skip(start + 1) {
        if is_blank(line) {
            continue;
        }
        let item = indent(line) == depth && line.trim_start().starts_with("- ");
        if !(indent(line) > depth || item) || (indent(line) == depth && is_key(line)) {
            break;
        }
        end = at + 1;
    }
    Some(start..end)
}

/// The comment at the end of a one-line value, with the space before it; empty if there is none.
fn comment(line: &str) -> &str {
    let (mut single, mut double) = (false, false);
    for (at, c) in line.char_indices() {
        match c {
            '\'' if !double => single = !single,
            '"' if !single => double = !double,
            '#' if !single && !double && line[..at].ends_with([' ', '\t']) => {
                return &line[line[..at].trim_end().len()..];
            }
            _ => {}
        }
    }
    ""
}

/// Puts the edits in. Where lines of the text (from `text_from` on) come together that did not stand together, a blank line
/// keeps prose from running into a labelled text or a quote.
fn apply(lines: &[&str], text_from: usize, mut edits: Vec<Edit>, nl: &str) -> String {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let mut rows: Vec<(Option<usize>, &str)> = Vec::new();
    let mut at = 0;
    for (range, text) in &edits {
        rows.extend((at..range.start).filter_map(|n| Some((Some(n), *lines.get(n)?))));
        rows.extend(text.split_inclusive('\n').map(|l| (None, l)));
        at = at.max(range.end);
    }
    rows.extend((at..lines.len()).filter_map(|n| Some((Some(n), *lines.get(n)?))));
    let mut out = String::new();
    let mut above: (Option<usize>, &str) = (None, "\n");
    for row in rows {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(nl);
        }
        let together = above.0.is_some() && row.0 == above.0.map(|n| n + 1);
        if !together && row.0.is_some_and(|n| n >= text_from) && runs_in(above, row.1) {
            out.push_str(nl);
        }
        out.push_str(row.1);
        above = row;
    }
    if lines.last().is_some_and(|l| !l.ends_with('\n')) && out.ends_with('\n') {
        out.truncate(bare(&out).len());
    }
    out
}

/// Whether the lower line, an old one, would be read as part of the upper one.
fn runs_in((upper_at, upper): (Option<usize>, &str), lower: &str) -> bool {
    if is_blank(upper) || is_blank(lower) || lower.starts_with("**") {
        return false;
    }
    if lower.starts_with('>') {
        return upper.starts_with('>') && upper_at.is_some();
    }
    !upper.trim_start().starts_with(['#', '`', '~'])
}
