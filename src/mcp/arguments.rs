//! Arguments of a call, read by the tool's schema and with the mistakes that models make: other names, numbers as text,
//! lists as text, one-element lists, other spellings of a choice.

use serde_json::{Map, Value};

use crate::error::{Error, Kind, Result};

/// Other names for a parameter, folded as [`fold`] does. The first row that fits a parameter of the tool counts.
pub const ALIASES: &[(&str, &[&str])] = &[
    ("content", &["text", "memory", "note", "fact", "statement", "message", "summary", "value", "body", "observation"]),
    ("query", &["q", "prompt", "question", "search", "searchquery", "text", "message", "input", "topic", "keywords", "content"]),
    ("id", &["memoryid", "ids", "memoryids", "memory", "uuid", "key", "conflictid"]),
    ("project_key", &["project", "projectname", "projectid", "repo", "repository", "workspace"]),
    ("limit", &["topk", "k", "n", "count", "max", "maxresults", "numresults", "size", "pagesize", "top"]),
    ("min_confidence", &["confidence", "threshold", "minscore", "minimumconfidence"]),
    ("skip_greeting", &["nogreeting", "silent", "quiet"]),
    ("kind", &["type", "category", "memorytype", "memorykind"]),
    ("topic", &["title", "heading", "subject"]),
    ("keywords", &["keyword", "tags", "tag", "labels"]),
    ("why", &["reason", "rationale", "because", "explanation"]),
    ("layer", &["level", "tier", "duration"]),
    ("cursor", &["nextcursor", "pagetoken", "after"]),
    ("keep", &["choice", "decision", "resolution", "which", "action"]),
];

/// Checked arguments: each of the type that the schema names.
#[derive(Debug, Default)]
pub struct Arguments {
    values: Map<String, Value>,
    /// Names that the tool does not know.
    pub ignored: Vec<String>,
}

impl Arguments {
    /// A text, trimmed and not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).and_then(Value::as_str)
    }

    /// A whole number.
    pub fn count(&self, name: &str) -> Option<usize> {
        self.values.get(name).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok())
    }

    /// A number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.values.get(name).and_then(Value::as_f64)
    }

    /// A switch; absent is off.
    pub fn is_set(&self, name: &str) -> bool {
        self.values.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    /// A list of texts.
    pub fn list(&self, name: &str) -> Vec<String> {
        let items = self.values.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
    }
}

/// Lower case without `_`, `-` and spaces: `topK`, `top_k` and `top-k` are one name.
fn fold(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The parameter of this tool that a name means.
fn parameter<'a>(properties: &'a Map<String, Value>, given: &str) -> Option<&'a str> {
    let given = fold(given);
    let exact = properties.keys().find(|name| fold(name) == given);
    let meant = || {
        let mut rows = ALIASES.iter().filter(|(_, others)| others.contains(&given.as_str()));
        rows.find_map(|(name, _)| properties.keys().find(|key| key == name))
    };
    exact.or_else(meant).map(String::as_str)
}

/// Reads what a client sent by the input schema of the tool.
///
/// # Errors
/// [`Kind::Usage`] naming the parameter that is missing or does not fit.
pub fn read(tool: &str, schema: &Map<String, Value>, given: &Map<String, Value>) -> Result<Arguments> {
    let nothing = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
    let mut read = Arguments::default();
    // A parameter by its own name goes before one by another name.
    let (own, other): (Vec<_>, Vec<_>) = given.iter().partition(|(name, _)| properties.contains_key(*name));
    for (name, value) in own.into_iter().chain(other) {
        match parameter(properties, name) {
            Some(meant) if !read.values.contains_key(meant) => {
                let rule = properties.get(meant).unwrap_or(&Value::Null);
                if let Some(value) = fit(meant, rule, value)? {
                    read.values.insert(meant.to_owned(), value);
                }
            }
            _ => read.ignored.push(name.clone()),
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = required.filter(|name| !read.values.contains_key(*name)).collect();
    if let Some(name) = missing.first() {
        let names: Vec<&str> = properties.keys().map(String::as_str).collect();
        return Err(Error::new(Kind::Usage, format!("{tool} needs `{name}`")).hint(format!("its parameters are {}", names.join(", "))));
    }
    Ok(read)
}

/// The value in the type of the schema; `None` for null and empty text, which are as good as absent.
fn fit(name: &str, rule: &Value, value: &Value) -> Result<Option<Value>> {
    let kind = rule.get("type").and_then(Value::as_str).unwrap_or("string");
    let wrong = |what: &str| Err(Error::new(Kind::Usage, format!("`{name}` must be {what}")).hint("call again with another value"));
    let text = match value {
        Value::Null => return Ok(None),
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Array(items) => match items.as_slice() {
            [Value::String(only)] => Some(only.trim().to_owned()),
            _ => None,
        },
        Value::Object(_) => None,
    };
    if text.as_deref() == Some("") {
        return Ok(None);
    }
    let fitted = match (kind, text) {
        ("array", Some(text)) => {
            Value::from(text.split([',', '，', '、', ';', '；']).map(str::trim).filter(|t| !t.is_empty()).collect::<Vec<_>>())
        }
        ("array", None) => match value.as_array() {
            Some(items) if items.iter().all(Value::is_string) => value.clone(),
            _ => return wrong("a list of texts"),
        },
        ("integer", Some(text)) => match text.parse::<f64>() {
            Ok(n) if n.fract() == 0.0 && within(rule, n) => Value::from(n as u64),
            _ => return wrong(&format!("a whole number{}", range(rule))),
        },
        ("number", Some(text)) => match text.parse::<f64>() {
            Ok(n) if n.is_finite() && within(rule, n) => Value::from(n),
            _ => return wrong(&format!("a number{}", range(rule))),
        },
        ("boolean", Some(text)) => match text.to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Value::Bool(true),
            "false" | "no" | "0" => Value::Bool(false),
            _ => return wrong("true or false"),
        },
        ("string", Some(text)) => match rule.get("enum").and_then(Value::as_array) {
            None => Value::from(text),
            Some(choices) => {
                let mut names = choices.iter().filter_map(Value::as_str);
                match names.find(|choice| fold(choice) == fold(&text)) {
                    Some(choice) => Value::from(choice),
                    None => {
                        let names: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
                        return wrong(&format!("one of {}", names.join(", ")));
                    }
                }
            }
        },
        ("string", None) => return wrong("text"),
        _ => return wrong("of another type"),
    };
    Ok(Some(fitted))
}

fn bound(rule: &Value, name: &str) -> Option<f64> {
    rule.get(name).and_then(Value::as_f64)
}

fn within(rule: &Value, n: f64) -> bool {
    bound(rule, "minimum").is_none_or(|least| n >= least) && bound(rule, "maximum").is_none_or(|most| n <= most)
}

fn range(rule: &Value) -> String {
    match (bound(rule, "minimum"), bound(rule, "maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Map<String, Value> {
        let schema = json!({"properties": {
            "query": {"type": "string"},
            "kind": {"type": "string", "enum": ["fact", "long_term"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            "min_confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "skip_greeting": {"type": "boolean"},
            "keywords": {"type": "array", "items": {"type": "string"}}
        }, "required": ["query"]});
        schema.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn what_models_send_is_understood() {
        for (given, wanted) in [
            (json!({"query": "a"}), json!({"query": "a"})),
            (json!({"q": " a "}), json!({"query": "a"})),
            (json!({"prompt": "a", "query": "b"}), json!({"query": "b"})),
            (json!({"query": "a", "topK": "7"}), json!({"query": "a", "limit": 7})),
            (json!({"query": "a", "limit": 3.0}), json!({"query": "a", "limit": 3})),
            (json!({"query": "a", "kind": "Long-Term"}), json!({"query": "a", "kind": "long_term"})),
            (json!({"query": "a", "keywords": "x, y，z"}), json!({"query": "a", "keywords": ["x", "y", "z"]})),
            (json!({"query": ["a"], "skipGreeting": "yes"}), json!({"query": "a", "skip_greeting": true})),
            (json!({"query": "a", "min_confidence": ".5"}), json!({"query": "a", "min_confidence": 0.5})),
            (json!({"query": 42, "limit": null}), json!({"query": "42"})),
        ] {
            let read = read("t", &schema(), given.as_object().expect("an object")).expect("fits");
            assert_eq!(Value::Object(read.values), wanted, "{given}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (given, says) in [
            (json!({}), "t needs `query`"),
            (json!({"query": " "}), "t needs `query`"),
            (json!({"query": {"a": 1}}), "`query` must be text"),
            (json!({"query": "a", "limit": 0}), "`limit` must be a whole number from 1 to 50"),
            (json!({"query": "a", "limit": -3}), "`limit` must be a whole number from 1 to 50"),
            (json!({"query": "a", "limit": "many"}), "`limit` must be a whole number from 1 to 50"),
            (json!({"query": "a", "kind": "poem"}), "`kind` must be one of fact, long_term"),
            (json!({"query": "a", "keywords": [1, 2]}), "`keywords` must be a list of texts"),
            (json!({"query": "a", "skip_greeting": "maybe"}), "`skip_greeting` must be true or false"),
        ] {
            let error = read("t", &schema(), given.as_object().expect("an object")).expect_err("does not fit");
            assert_eq!(error.message, says, "{given}");
            assert!(error.hint.is_some());
        }
    }

    #[test]
    fn unknown_names_are_kept_to_be_said() {
        let given = json!({"query": "a", "colour": "red", "q": "b"});
        let read = read("t", &schema(), given.as_object().expect("an object")).expect("fits");
        assert_eq!(read.ignored, ["colour", "q"]);
    }
}
