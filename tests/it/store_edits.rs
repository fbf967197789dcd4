//! Edits of hand-written files: `before.md`, then the steps of `change.json`, must give `after.md`, byte for byte.
//!
//! A step is `{"add": MEMORY}`, `{"amend": {"id": …, fields to set}}`, `{"forget": ID}` or `{"adopt": true}`; `problems` lists what
//! reading reports as `code:line`. A new case is a new folder below `tests/cases/store/edits`. `UPDATE_CASES=1` rewrites `after.md`.
#![expect(clippy::disallowed_methods, reason = "reads cases and, if asked, writes them")]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use claude_mem::model::plan::MemoryRecord;
use claude_mem::model::{Id, Layer, Memory};
use claude_mem::store::markdown::Document;
use serde_json::{Map, Value};

/// A memory by its JSON; what `fields` does not name is taken from `base`.
fn memory(fields: &Value, base: Option<&Memory>) -> Memory {
    let id = Id::parse(fields["id"].as_str().unwrap()).unwrap();
    let mut record: Map<String, Value> = match base {
        Some(memory) => serde_json::from_value(serde_json::to_value(MemoryRecord::of(memory, "p")).unwrap()).unwrap(),
        None => Map::new(),
    };
    record.extend(fields.as_object().unwrap().clone());
    serde_json::from_value::<MemoryRecord>(Value::Object(record)).unwrap().to_memory(id).unwrap()
}

fn step(document: &mut Document, step: &Value) {
    if let Some(fields) = step.get("add") {
        document.insert(&memory(fields, None));
    } else if let Some(fields) = step.get("amend") {
        let old = document.get(&Id::parse(fields["id"].as_str().unwrap()).unwrap()).unwrap().clone();
        assert!(document.replace(&memory(fields, Some(&old))).unwrap(), "nothing changed");
    } else if let Some(id) = step.get("forget") {
        document.remove(&Id::parse(id.as_str().unwrap()).unwrap()).unwrap();
    } else {
        let mut next = 0;
        let mut new_id = || {
            next += 1;
            Ok(Id::from_bits(next))
        };
        document.adopt(&mut BTreeSet::new(), &mut new_id, "2025-06-10T14:03:22+08:00").unwrap();
    }
}

#[test]
fn every_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/store/edits");
    let mut count = 0;
    for item in fs::read_dir(&folder).unwrap() {
        let case = item.unwrap().path();
        let read = |name: &str| fs::read_to_string(case.join(name)).unwrap();
        let change: Value = serde_json::from_str(&read("change.json")).unwrap();
        let layer = change["layer"].as_str().and_then(Layer::parse).unwrap_or(Layer::Working);
        let mut document = Document::parse(&read("before.md"), layer);
        let said: Vec<String> = document.problems().iter().map(|p| format!("{}:{}", p.code, p.line.unwrap_or(0))).collect();
        let expected: Vec<String> = change["problems"].as_array().into_iter().flatten().map(|p| p.as_str().unwrap().to_owned()).collect();
        assert_eq!(said, expected, "{}", case.display());
        for one in change["steps"].as_array().unwrap() {
            step(&mut document, one);
        }
        let after = document.render();
        if std::env::var_os("UPDATE_CASES").is_some() {
            fs::write(case.join("after.md"), &after).unwrap();
        }
        assert_eq!(after, read("after.md"), "{}", case.display());
        assert!(document.reads_as(&after));
        count += 1;
    }
    assert!(count >= 8, "only {count} cases were found");
}
