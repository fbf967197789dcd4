//! Reading an answer: find the JSON, mend what is only form, hold it against the schema, make candidates. Pure.
//!
//! What counts as form, and is mended without asking again: letters of another case in an enum, `"T12"` for 12, absent
//! optional fields, unknown fields, too many keywords or quotes, quotes longer than 160 characters (their beginning is
//! still word for word). Everything else is a fault; the caller asks once for a repair. After a repair that still has
//! faults, entries that fit are kept and the others refused one by one; an answer of which nothing fits is not used.

use std::sync::LazyLock;

use jsonschema::Validator;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Refused;
use crate::model::candidate::Voice;
use crate::model::{Candidate, Code, Kind, Layer, Pointer, Quote, RelationType, State};
use crate::text::redact::redact;
use crate::text::words::{MAX_WIDTH, clip, width};

/// The schema sent to the API: its subset of JSON Schema (no lengths, no limits).
pub const API_SCHEMA: &str = include_str!("../../prompts/extract/answer.schema.json");
/// The whole schema, checked here.
pub const FULL_SCHEMA: &str = include_str!("../../prompts/extract/answer.full.schema.json");

/// A quote is cut to this many characters.
const QUOTE_MAX: usize = 160;

/// What a usable answer holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// In its order.
    pub candidates: Vec<Candidate>,
    /// Threads left open.
    pub open_threads: Vec<String>,
    /// Entries that did not fit the schema (only after a failed repair).
    pub refused: Vec<Refused>,
}

/// An answer that does not fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Faulty {
    /// What is wrong, one line each, for the repair request and the user.
    pub faults: Vec<String>,
    /// What could be used all the same; `None` if nothing fits.
    pub rest: Option<Answer>,
}

/// A compiled schema; compiled on first use, never on a path without an answer.
pub(super) struct Schema(LazyLock<Option<Validator>>);

impl Schema {
    pub(super) const fn new(compile: fn() -> Option<Validator>) -> Self {
        Self(LazyLock::new(compile))
    }

    /// Faults as `(place, sentence)`; empty if the value fits.
    pub(super) fn faults(&self, value: &Value) -> Vec<(String, String)> {
        match self.0.as_ref() {
            Some(validator) => {
                validator.iter_errors(value).map(|e| (e.instance_path().to_string(), clip(&e.to_string(), MAX_WIDTH))).collect()
            }
            None => vec![(String::new(), "the schema itself cannot be compiled".to_owned())],
        }
    }
}

pub(super) fn compile(schema: &str) -> Option<Validator> {
    jsonschema::validator_for(&serde_json::from_str(schema).ok()?).ok()
}

static FULL: Schema = Schema::new(|| compile(FULL_SCHEMA));

/// Reads the text of an answer.
///
/// # Errors
/// [`Faulty`] with the messages for a repair, and with what fits.
pub fn read(text: &str) -> Result<Answer, Faulty> {
    let Some(mut value) = find_object(text, "memories") else {
        let what = if text.trim().is_empty() { "it holds no text" } else { "it holds no JSON object with \"memories\"" };
        return Err(Faulty { faults: vec![what.to_owned()], rest: None });
    };
    mend(&mut value);
    let mut faults = FULL.faults(&value);
    faults.extend(too_wide(&value));
    if faults.is_empty() {
        return typed(&value).map_err(|e| Faulty { faults: vec![e], rest: None });
    }
    let told = faults.iter().map(|(place, message)| format!("{}: {message}", if place.is_empty() { "/" } else { place })).collect();
    Err(Faulty { faults: told, rest: keep_fitting(value, &faults) })
}

/// The first balanced JSON object in a text (fences and prose around it do not matter) that has `field`; a bare list of
/// objects is taken for that field.
pub(super) fn find_object(text: &str, field: &str) -> Option<Value> {
    let starts = text.match_indices(['{', '[']).map(|(at, _)| at);
    // Each try may read to the end of the text, so their number is bounded.
    starts.take(200).find_map(|at| {
        let value = serde_json::Deserializer::from_str(text.get(at..)?).into_iter::<Value>().next()?.ok()?;
        match value {
            Value::Object(ref object) if object.get(field).is_some_and(Value::is_array) => Some(value),
            Value::Array(ref items) if !items.is_empty() && items.iter().all(|i| i.get("summary").is_some()) => Some(json!({field: value})),
            _ => None,
        }
    })
}

/// Mends what is only form; see the module's text.
fn mend(value: &mut Value) {
    let Some(object) = value.as_object_mut() else { return };
    object.retain(|key, _| key == "memories" || key == "open_threads");
    object.entry("open_threads").or_insert_with(|| json!([]));
    for thread in list(object, "open_threads") {
        turn_number(thread);
    }
    for (i, entry) in list(object, "memories").enumerate() {
        if let Some(entry) = entry.as_object_mut() {
            mend_entry(entry, i + 1);
        }
    }
}

fn mend_entry(entry: &mut Map<String, Value>, number: usize) {
    for (field, default) in
        [("ref", json!(format!("n{number}"))), ("state", json!("valid")), ("speaker", json!("user")), ("layer", json!("working"))]
    {
        if entry.get(field).is_none_or(Value::is_null) {
            entry.insert(field.to_owned(), default);
        }
    }
    for field in ["topic", "reason", "until_date", "until_event", "scope"] {
        let slot = entry.entry(field).or_insert(Value::Null);
        if slot.as_str().is_some_and(|s| s.trim().is_empty()) {
            *slot = Value::Null;
        }
    }
    for field in ["kind", "layer", "state", "speaker"] {
        lower(entry.get_mut(field));
    }
    for field in ["keywords", "relations"] {
        if entry.get(field).is_none_or(Value::is_null) {
            entry.insert(field.to_owned(), json!([]));
        }
    }
    if let Some(summary) = entry.get_mut("summary")
        && let Some(text) = summary.as_str()
    {
        *summary = json!(text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    let topic = entry.get("topic").filter(|t| t.is_string()).cloned();
    if let Some(keywords) = entry.get_mut("keywords").and_then(Value::as_array_mut) {
        keywords.retain(|k| k.as_str().is_none_or(|k| !k.trim().is_empty()));
        keywords.dedup();
        keywords.truncate(5);
        if keywords.is_empty() {
            keywords.extend(topic);
        }
    }
    for relation in list(entry, "relations") {
        lower(relation.get_mut("type"));
        lower(relation.get_mut("id"));
    }
    if let Some(evidence) = entry.get_mut("evidence").and_then(Value::as_array_mut) {
        evidence.truncate(3);
    }
    for quote in list(entry, "evidence") {
        turn_number(quote);
        if let Some(quote) = quote.get_mut("quote")
            && let Some(text) = quote.as_str()
        {
            *quote = json!(text.chars().take(QUOTE_MAX).collect::<String>());
        }
    }
    let fields = [
        "ref",
        "topic",
        "kind",
        "layer",
        "summary",
        "reason",
        "state",
        "until_date",
        "until_event",
        "scope",
        "speaker",
        "keywords",
        "evidence",
        "relations",
    ];
    entry.retain(|key, _| fields.contains(&key.as_str()));
}

/// The items of a list field; none if it is something else, which the schema then names.
fn list<'a>(object: &'a mut Map<String, Value>, field: &str) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

fn lower(value: Option<&mut Value>) {
    if let Some(value) = value
        && let Some(text) = value.as_str()
    {
        *value = json!(text.trim().to_ascii_lowercase().replace([' ', '-'], "_"));
    }
}

/// `"T12"`, `"12"` → 12.
fn turn_number(item: &mut Value) {
    if let Some(turn) = item.get_mut("turn")
        && let Some(text) = turn.as_str()
        && let Ok(number) = text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | 'T' | 't')).parse::<u32>()
    {
        *turn = json!(number);
    }
}

/// Width is not a thing JSON Schema can measure.
fn too_wide(value: &Value) -> Vec<(String, String)> {
    let entries = value.get("memories").and_then(Value::as_array).into_iter().flatten().enumerate();
    let summaries = entries.filter_map(|(i, e)| Some((i, e.get("summary")?.as_str()?)));
    let wide = summaries.filter(|(_, s)| width(s) > MAX_WIDTH);
    wide.map(|(i, s)| (format!("/memories/{i}/summary"), format!("{} wide characters, at most {MAX_WIDTH}", width(s)))).collect()
}

/// The entries without a fault; the others are refused. `None` if the fault is not in single entries or none fits.
fn keep_fitting(mut value: Value, faults: &[(String, String)]) -> Option<Answer> {
    let place = |path: &str| path.strip_prefix("/memories/")?.split('/').next()?.parse::<usize>().ok();
    let bad: Vec<(usize, bool)> =
        faults.iter().map(|(path, message)| Some((place(path)?, message.contains("wide characters")))).collect::<Option<_>>()?;
    let entries = value.get_mut("memories")?.as_array_mut()?;
    let mut refused = Vec::new();
    let mut kept = Vec::new();
    for (i, entry) in entries.drain(..).enumerate() {
        if bad.iter().any(|(at, _)| *at == i) {
            let code = if bad.iter().all(|(at, wide)| *at != i || *wide) { Code::ELong } else { Code::ESchema };
            let summary = entry.get("summary").and_then(Value::as_str).unwrap_or("(no summary)");
            refused.push(Refused { code, summary: clip(&redact(summary).text, MAX_WIDTH) });
        } else {
            kept.push(entry);
        }
    }
    if kept.is_empty() {
        return None;
    }
    *entries = kept;
    Some(Answer { refused, ..typed(&value).ok()? })
}

#[derive(Deserialize)]
struct RawAnswer {
    memories: Vec<RawEntry>,
    open_threads: Vec<RawThread>,
}

#[derive(Deserialize)]
struct RawThread {
    summary: String,
}

#[derive(Deserialize)]
struct RawEntry {
    #[serde(rename = "ref")]
    reference: String,
    topic: Option<String>,
    kind: Kind,
    layer: Layer,
    summary: String,
    reason: Option<String>,
    state: State,
    until_date: Option<String>,
    until_event: Option<String>,
    scope: Option<String>,
    speaker: Voice,
    keywords: Vec<String>,
    evidence: Vec<Quote>,
    relations: Vec<RawPointer>,
}

#[derive(Deserialize)]
struct RawPointer {
    id: String,
    #[serde(rename = "type")]
    kind: RelationType,
}

/// A value that fits the schema, as types.
fn typed(value: &Value) -> Result<Answer, String> {
    let raw = RawAnswer::deserialize(value).map_err(|e| e.to_string())?;
    let candidate = |e: RawEntry| Candidate {
        topic: e.topic,
        reason: e.reason,
        state: e.state,
        until_date: e.until_date,
        until_event: e.until_event,
        scope: e.scope,
        voice: e.speaker,
        keywords: e.keywords,
        evidence: e.evidence,
        relations: e.relations.into_iter().map(|p| Pointer { id: p.id, kind: p.kind }).collect(),
        ..Candidate::new(e.reference, e.kind, e.layer, e.summary)
    };
    Ok(Answer {
        candidates: raw.memories.into_iter().map(candidate).collect(),
        open_threads: raw.open_threads.into_iter().map(|t| t.summary).collect(),
        refused: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = r#"{"ref":"n1","topic":"ci","kind":"decision","layer":"working","summary":"CI runs on pull requests only","reason":null,"state":"valid","until_date":null,"until_event":null,"scope":null,"speaker":"user","keywords":["ci","pull request"],"evidence":[{"turn":3,"quote":"only on pull requests"}],"relations":[]}"#;

    fn answer(entries: &[&str]) -> String {
        format!(r#"{{"memories":[{}],"open_threads":[]}}"#, entries.join(","))
    }

    #[test]
    fn the_full_schemas_are_the_api_schemas_with_limits() {
        fn bare(value: Value) -> Value {
            const LIMITS: [&str; 8] = ["$schema", "title", "pattern", "minLength", "maxLength", "maxItems", "minimum", "maximum"];
            match value {
                Value::Object(map) => map.into_iter().filter(|(k, _)| !LIMITS.contains(&k.as_str())).map(|(k, v)| (k, bare(v))).collect(),
                Value::Array(items) => items.into_iter().map(bare).collect(),
                other => other,
            }
        }
        let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        for (full, api) in [(FULL_SCHEMA, API_SCHEMA), (crate::extract::refine::FULL_SCHEMA, crate::extract::refine::API_SCHEMA)] {
            assert_eq!(bare(parse(full)), parse(api));
            assert!(compile(full).is_some());
            assert!(api.matches("\"null\"]").count() <= 16, "the API takes at most 16 union types");
        }
    }

    #[test]
    fn the_examples_of_the_prompt_are_answers() {
        let examples = include_str!("../../prompts/extract/examples.md");
        let entries: Vec<_> = examples.lines().filter_map(|l| l.strip_prefix("`{\"ref\"").and_then(|l| l.strip_suffix('`'))).collect();
        assert!(entries.len() >= 6);
        for entry in entries {
            let got = read(&answer(&[&format!("{{\"ref\"{entry}")])).unwrap();
            for quote in &got.candidates[0].evidence {
                assert!(examples.contains(&format!("[T{} user]", quote.turn)), "{entry}");
                assert!(examples.matches(&quote.quote).count() >= 2, "quoted from no turn: {}", quote.quote);
            }
        }
    }

    #[test]
    fn the_enums_of_schema_and_model_agree() {
        let schema: Value = serde_json::from_str(API_SCHEMA).unwrap();
        let names = |field: &str| schema.pointer(&format!("/properties/memories/items/properties/{field}/enum")).unwrap().clone();
        let kinds: Vec<_> = Kind::ALL.iter().map(|k| k.name()).collect();
        let layers: Vec<_> = Layer::ALL.iter().map(|l| l.name()).collect();
        assert_eq!((names("kind"), names("layer")), (json!(kinds), json!(layers)));
    }

    #[test]
    fn json_is_found_in_fences_and_prose() {
        let plain = answer(&[ENTRY]);
        let shapes = [
            plain.clone(),
            format!("```json\n{plain}\n```"),
            format!("Here is {{what}} I found [1]:\n{plain}\nHope it helps {{}}"),
            format!("[{ENTRY}]"),
            r#"{"memories":[],"open_threads":[]}"#.to_owned(),
        ];
        let counts: Vec<_> = shapes.iter().map(|s| read(s).unwrap().candidates.len()).collect();
        assert_eq!(counts, [1, 1, 1, 1, 0]);
        for nothing in ["", "I found nothing.", "{\"memories\": 3}", "{\"memories\":[{\"summary\":\"cut"] {
            assert_eq!(read(nothing).unwrap_err().rest, None, "{nothing}");
        }
    }

    #[test]
    fn form_is_mended() {
        let loose = r#"{"Kind":1,"kind":"Decision","layer":"Long-Term","summary":" 接口\n统一用 JSON ","evidence":[{"turn":"T12","quote":"统一用 JSON"}],"keywords":["a","b","c","d","e","f"],"confidence":0.9}"#;
        let got = read(&format!(r#"{{"memories":[{loose}]}}"#)).unwrap();
        let c = &got.candidates[0];
        assert_eq!((c.kind, c.layer, c.summary.as_str()), (Kind::Decision, Layer::LongTerm, "接口 统一用 JSON"));
        assert_eq!((c.evidence[0].turn, c.keywords.len(), c.reference.as_str()), (12, 5, "n1"));
        let long = ENTRY.replace("only on pull requests", &"字".repeat(300));
        assert_eq!(read(&answer(&[&long])).unwrap().candidates[0].evidence[0].quote.chars().count(), QUOTE_MAX);
    }

    #[test]
    fn what_does_not_fit_is_named_and_the_rest_kept() {
        let bad = ENTRY.replace("decision", "idea");
        let wide = ENTRY.replace("CI runs on pull requests only", &"宽".repeat(101));
        let faulty = read(&answer(&[ENTRY, &bad, &wide])).unwrap_err();
        assert!(faulty.faults.iter().any(|f| f.starts_with("/memories/1/kind: ")), "{:?}", faulty.faults);
        let rest = faulty.rest.unwrap();
        let codes: Vec<_> = rest.refused.iter().map(|r| r.code).collect();
        assert_eq!((rest.candidates.len(), codes), (1, vec![Code::ESchema, Code::ELong]));
        assert_eq!(read(&answer(&[&bad])).unwrap_err().rest, None);
        let no_evidence = ENTRY.replace(r#"{"turn":3,"quote":"only on pull requests"}"#, "");
        assert!(read(&answer(&[&no_evidence])).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_survived(text in ".{0,200}", cut in 0usize..400) {
            let _ = read(&text);
            let whole = answer(&[ENTRY, ENTRY]);
            let cut: String = whole.chars().take(cut).collect();
            let _ = read(&cut);
        }
    }
}
