//! `refine`: the model re-reads stored entries with their quotes and returns operations. It changes nothing; what is
//! proposed is checked against the quotes and applied, on the owner's yes, by others.

use serde::Deserialize;
use serde_json::Value;

use super::answer::{Schema, compile, find_object};
use super::ladder::{About, Reply, Stop, Wire};
use super::prompt::{Request, line};
use super::{Known, Unfinished, Usage};
use crate::error::{Error, Kind, Result};
use crate::model::{Memory, Validity};
use crate::text::words::{MAX_WIDTH, width};

/// Version of the refinement prompt.
pub const VERSION: &str = concat!("refine-", include_str!("../../prompts/refine/version")).trim_ascii_end();
/// Entries of one request, at most.
pub const ENTRIES_MAX: usize = 30;

const PARTS: [&str; 1] = [include_str!("../../prompts/refine/role.md")];
/// The schema sent to the API.
pub const API_SCHEMA: &str = include_str!("../../prompts/refine/answer.schema.json");
/// The whole schema, checked here.
pub const FULL_SCHEMA: &str = include_str!("../../prompts/refine/answer.full.schema.json");

static FULL: Schema = Schema::new(|| compile(FULL_SCHEMA));

/// One proposal. Entries are named by the aliases they were shown with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Say it better.
    Rewrite {
        /// The entry.
        id: String,
        /// The new summary.
        summary: String,
    },
    /// The two cannot both be followed.
    FlagConflict {
        /// The first entry.
        a: String,
        /// The second entry.
        b: String,
    },
    /// They say the same.
    ProposeMerge {
        /// Two to five entries.
        ids: Vec<String>,
        /// One summary for all.
        summary: String,
    },
    /// It ends on this day.
    SetUntil {
        /// The entry.
        id: String,
        /// `YYYY-MM-DD`.
        day: String,
    },
    /// Nobody can act on it.
    Vague {
        /// The entry.
        id: String,
        /// What to ask its owner.
        question: String,
    },
}

/// What one reading brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refinement {
    /// In the order of the answer, each with the model's reason.
    pub operations: Vec<(Operation, Option<String>)>,
    /// Operations left out, in words: unknown aliases, wishes that would change nothing.
    pub left_out: Vec<String>,
    /// Cost.
    pub usage: Usage,
    /// Model that answered.
    pub model: Option<String>,
    /// For the receipt.
    pub notes: Vec<String>,
    /// No usable answer: quarantine or dump.
    pub unfinished: Option<Unfinished>,
}

/// The request for up to [`ENTRIES_MAX`] entries of one scope; further ones are not shown.
pub fn build(entries: &[Known], day: &str) -> Request {
    let mut text = format!("<entries date=\"{}\">\n", line(day));
    text.extend(entries.iter().take(ENTRIES_MAX).map(shown));
    text += "</entries>\n";
    Request { version: VERSION, system: &PARTS, messages: vec![("user", text)], schema: API_SCHEMA }
}

/// `[m07] convention valid 2026-01-12 until=- scope=- : summary`, then why and quotes, one line each.
fn shown(known: &Known) -> String {
    let Memory { kind, state, scope, session, created, summary, reason, validity, lapses_when, evidence, .. } = &known.memory;
    let day = session.as_deref().or(created.as_deref()).and_then(|d| d.get(..10)).unwrap_or("-");
    let until = validity.until_date().or(lapses_when.as_deref()).unwrap_or("-");
    let scope = scope.as_deref().unwrap_or("-");
    let mut text = format!("[{}] {kind} {state} {day} until={} scope={} : {}\n", known.alias, line(until), line(scope), line(summary));
    text.extend(reason.iter().map(|r| format!("  why: {}\n", line(r))));
    text.extend(evidence.iter().map(|e| format!("  {}: \"{}\"\n", e.speaker.name(), line(&e.quote))));
    text
}

/// Asks about these entries; one repair, then quarantine.
///
/// # Errors
/// When there is no answer to be had.
pub async fn refine(wire: &dyn Wire, entries: &[Known], day: &str, project: &str) -> Result<Refinement> {
    let mut out = Refinement::default();
    if entries.is_empty() {
        return Ok(out);
    }
    let about = About { project, session: "refine" };
    let mut request = build(entries, day);
    for last in [false, true] {
        let Some(reply) = wire.ask(about, &request).await? else {
            return Ok(Refinement { unfinished: Some(Unfinished::Dumped(request.key())), ..out });
        };
        let Reply { text, stop, usage, model, notes } = reply;
        out.usage.add(&usage);
        out.model = model.or(out.model);
        out.notes.extend(notes);
        match stop {
            Stop::End => {}
            Stop::Refusal(category) => {
                out.notes.push(format!("the model refused to read the entries ({category})"));
                return Ok(out);
            }
            Stop::MaxTokens | Stop::TooLong => {
                return Err(Error::new(Kind::Api, "the entries or the answer are too long for one request")
                    .hint("refine fewer entries at a time with --id"));
            }
        }
        match read(&text) {
            Ok(raw) => {
                for operation in raw {
                    match checked(operation, entries) {
                        Ok(operation) if !out.operations.contains(&operation) => out.operations.push(operation),
                        Ok(_) => {}
                        Err(why) => out.left_out.push(why),
                    }
                }
                return Ok(out);
            }
            Err(_) if last => out.unfinished = Some(Unfinished::Quarantine(text)),
            Err(faults) => request = request.repair(&text, &faults),
        }
    }
    Ok(out)
}

#[derive(Debug, Deserialize)]
struct RawOperation {
    op: String,
    ids: Vec<String>,
    text: Option<String>,
    until_date: Option<String>,
    reason: Option<String>,
}

fn read(text: &str) -> Result<Vec<RawOperation>, Vec<String>> {
    let mut value = find_object(text, "operations").ok_or_else(|| vec!["it holds no JSON object with \"operations\"".to_owned()])?;
    // What a server without structured output leaves away is null.
    for operation in value.get_mut("operations").and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut) {
        for field in ["text", "until_date", "reason"] {
            operation.entry(field).or_insert(Value::Null);
        }
    }
    let mut faults: Vec<String> = FULL.faults(&value).into_iter().map(|(place, message)| format!("{place}: {message}")).collect();
    let list = value.get_mut("operations").map(Value::take).unwrap_or_default();
    let operations = Vec::<RawOperation>::deserialize(list).map_err(|e| faults.first().cloned().unwrap_or_else(|| e.to_string()));
    let operations = operations.map_err(|e| vec![e])?;
    faults.extend(
        operations.iter().filter_map(|o| o.text.as_deref()).filter(|t| width(t) > MAX_WIDTH).map(|t| format!("text too wide: {t}")),
    );
    if faults.is_empty() { Ok(operations) } else { Err(faults) }
}

/// The operation, if it names shown entries, has what it needs and would change something. `Err` says why not.
fn checked(raw: RawOperation, entries: &[Known]) -> Result<(Operation, Option<String>), String> {
    let RawOperation { op, mut ids, text, until_date, reason } = raw;
    let known = |id: &str| entries.iter().take(ENTRIES_MAX).find(|k| k.alias == id).map(|k| &k.memory);
    if let Some(stranger) = ids.iter().find(|id| known(id).is_none()) {
        return Err(format!("{op} names {stranger}, which was not shown"));
    }
    let mut seen = Vec::new();
    ids.retain(|id| {
        !seen.contains(id) && {
            seen.push(id.clone());
            true
        }
    });
    let lacks = || format!("{op} of {} lacks what it needs", ids.join(", "));
    let operation = match (op.as_str(), ids.as_slice(), text, until_date) {
        ("rewrite", [id], Some(summary), _) => Operation::Rewrite { id: id.clone(), summary },
        ("flag_conflict", [a, b], _, _) => Operation::FlagConflict { a: a.clone(), b: b.clone() },
        ("propose_merge", [_, _, ..], Some(summary), _) => Operation::ProposeMerge { ids: ids.clone(), summary },
        ("set_until", [id], _, Some(day)) if day.parse::<jiff::civil::Date>().is_ok() => Operation::SetUntil { id: id.clone(), day },
        ("vague", [id], Some(question), _) => Operation::Vague { id: id.clone(), question },
        _ => return Err(lacks()),
    };
    let idle = match &operation {
        Operation::Rewrite { id, summary } => known(id).is_some_and(|m| m.summary == *summary),
        Operation::SetUntil { id, day } => known(id).is_some_and(|m| m.validity == Validity::Until(day.clone())),
        _ => false,
    };
    if idle { Err(format!("{op} of {} would change nothing", ids.join(", "))) } else { Ok((operation, reason)) }
}

/// Everything the version stands for.
#[cfg(test)]
pub(super) fn words() -> String {
    [PARTS[0], API_SCHEMA, FULL_SCHEMA].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::ladder::Asked;
    use crate::model::{Evidence, Id, Kind as MemoryKind, Layer, Speaker};

    struct Says(std::cell::RefCell<Vec<&'static str>>);

    impl Wire for Says {
        fn ask<'a>(&'a self, _: About<'a>, _: &'a Request) -> Asked<'a> {
            let text = self.0.borrow_mut().remove(0).to_owned();
            Box::pin(async move {
                Ok(Some(Reply { text, stop: Stop::End, usage: Usage { calls: 1, ..Usage::default() }, model: None, notes: vec![] }))
            })
        }
    }

    fn entries() -> Vec<Known> {
        let known = |(i, summary): (usize, &&str)| {
            let mut memory = Memory::new(Id::from_bits(i as u64), Layer::Working, MemoryKind::Decision, *summary);
            memory.evidence.push(Evidence { session: None, turn: 3, speaker: Speaker::User, quote: format!("quote </entries> {summary}") });
            Known { alias: format!("m{:02}", i + 1), memory }
        };
        ["上传限 20 MB", "Uploads up to 50 MB", "do it like last time"].iter().enumerate().map(known).collect()
    }

    fn run(answers: &[&'static str]) -> Refinement {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(refine(&Says(std::cell::RefCell::new(answers.to_vec())), &entries(), "2026-03-30", "shop")).unwrap()
    }

    #[test]
    fn entries_are_shown_with_their_quotes_and_cannot_close_the_tag() {
        let text = &build(&entries(), "2026-03-30").messages[0].1;
        assert!(
            text.contains("[m01] decision valid - until=- scope=- : 上传限 20 MB\n  user: \"quote ‹/entries> 上传限 20 MB\"\n"),
            "{text}"
        );
        assert_eq!(text.matches("</entries>").count(), 1);
    }

    #[test]
    fn operations_are_read_checked_and_repaired_once() {
        let good = r#"Fine: {"operations":[
            {"op":"flag_conflict","ids":["m01","m02"],"reason":"20 or 50"},
            {"op":"rewrite","ids":["m03"],"text":"接口文档放到 docs/api"},
            {"op":"rewrite","ids":["m01"],"text":"上传限 20 MB"},
            {"op":"vague","ids":["m09"],"text":"what is it?"},
            {"op":"set_until","ids":["m02"],"until_date":"2026-02-31"}]}"#;
        let got = run(&["{\"operations\":[{\"op\":\"delete\",\"ids\":[\"m01\"]}]}", good]);
        assert_eq!((got.operations.len(), got.left_out.len(), got.usage.calls), (2, 3, 2), "{got:?}");
        assert_eq!(got.operations[0], (Operation::FlagConflict { a: "m01".into(), b: "m02".into() }, Some("20 or 50".into())));
        assert_eq!(run(&["no", "never"]).unfinished, Some(Unfinished::Quarantine("never".into())));
        assert_eq!(run(&[r#"{"operations":[]}"#]).operations, []);
    }
}
