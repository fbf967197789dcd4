//! Our parts in Claude Code's JSON files: put in, found, taken out. Text in, text out; comments, order and spacing of
//! everything else stay. Which files, and writing them, is `wiring`.
//!
//! Shapes: hooks in exec form (`command` + `args`, no shell), an MCP server under `mcpServers`, permission rules
//! `mcp__SERVER__TOOL` under `permissions.allow`. Timeouts are seconds.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use serde_json::{Value, json};

use crate::error::{Error, Kind, Result};

/// Name of our MCP server; the client calls its tools `mcp__claude-mem__…`.
pub const SERVER: &str = "claude-mem";

/// The events we answer, with the client's time limit in seconds. Our own deadline is one second; the limit is wider
/// only because the client gives SessionEnd 1.5 s in all unless a hook asks for more.
pub const HOOKS: &[(&str, u32)] = &[("SessionStart", 5), ("UserPromptSubmit", 5), ("PreCompact", 5), ("SessionEnd", 10)];

/// Tools that only read: the client need not ask before each call.
pub const READING_TOOLS: &[&str] = &["get_relevant_memories", "list_memories", "read_memory"];

/// What can be put into a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The hooks of [`HOOKS`].
    Hooks,
    /// The MCP server.
    Server,
    /// Leave for [`READING_TOOLS`].
    Permissions,
}

/// How the client starts us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Absolute path of the program.
    pub command: String,
    /// Arguments behind `hook EVENT` or `mcp`, such as `--home DIR`.
    pub extra: Vec<String>,
    /// Other paths that were ours, so that a renamed program is still known.
    pub former: Vec<String>,
}

/// One hook of ours as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wired {
    /// Event it is registered for.
    pub event: String,
    /// Program that is called.
    pub command: String,
    /// Whether it is exactly what we would write today.
    pub current: bool,
}

impl Program {
    fn args(&self, words: &[&str]) -> Vec<String> {
        words.iter().map(|w| (*w).to_owned()).chain(self.extra.iter().cloned()).collect()
    }

    fn handler(&self, event: &str, timeout: u32) -> Value {
        json!({"type": "command", "command": self.command, "args": self.args(&["hook", event]), "timeout": timeout})
    }

    fn server(&self) -> Value {
        json!({"type": "stdio", "command": self.command, "args": self.args(&["mcp"]), "env": {}})
    }

    /// Whether a path is this program, by path or by name.
    fn is(&self, path: &str) -> bool {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        self.command == path || self.former.iter().any(|f| f == path) || matches!(name, "claude-mem" | "claude-mem.exe")
    }

    /// The program of a handler, if it calls our `hook EVENT`. Another tool of our name calls `hook claude-code …`, which
    /// is no event; older wiring of ours may be one line for a shell.
    fn of_handler(&self, handler: &Value) -> Option<String> {
        let command = handler.get("command")?.as_str()?;
        let words: Vec<String> = match handler.get("args").and_then(Value::as_array) {
            Some(args) => std::iter::once(command.to_owned()).chain(args.iter().filter_map(|a| a.as_str().map(str::to_owned))).collect(),
            None => shell_words(command),
        };
        match words.as_slice() {
            [program, verb, event, ..] if verb == "hook" && event.starts_with(|c: char| c.is_ascii_uppercase()) && self.is(program) => {
                Some(program.clone())
            }
            _ => None,
        }
    }

    fn of_server(&self, server: &Value) -> Option<String> {
        let command = server.get("command")?.as_str()?;
        let first = server.get("args")?.as_array()?.first()?.as_str()?;
        (first == "mcp" && self.is(command)).then(|| command.to_owned())
    }
}

/// Words of a simple shell line, quotes taken off.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote) = (String::new(), None);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, c) if c.is_whitespace() => words.push(std::mem::take(&mut word)),
            (_, c) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|w| !w.is_empty());
    words
}

fn rule(tool: &str) -> String {
    format!("mcp__{SERVER}__{tool}")
}

/// Comments and trailing commas are the client's dialect; anything looser is a file that it cannot read either.
fn dialect() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn wrong(what: impl Into<String>) -> Error {
    Error::new(Kind::Config, what).hint("mend the file by hand, or restore it from a copy; nothing was changed")
}

/// A file of the client as a value; a file of blanks is an empty object.
///
/// # Errors
/// [`Kind::Config`] if it is not JSON (comments allowed) or not an object.
pub fn read(text: &str) -> Result<Value> {
    let root = parse(text)?.0;
    root.to_serde_value().ok_or_else(|| wrong("it is not an object in braces"))
}

fn parse(text: &str) -> Result<(CstRootNode, CstObject)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let root = CstRootNode::parse(text, &dialect()).map_err(|e| wrong(format!("it is not JSON: {e}")))?;
    let object = root.object_value().ok_or_else(|| wrong("it is not an object in braces"))?;
    for key in ["hooks", "mcpServers", "permissions"] {
        if object.properties().iter().filter(|p| p.decoded_name().as_deref() == Some(key)).count() > 1 {
            return Err(wrong(format!("it has the key `{key}` twice")));
        }
    }
    Ok((root, object))
}

fn print(root: &CstRootNode, text: &str) -> String {
    let mark = if text.starts_with('\u{feff}') { "\u{feff}" } else { "" };
    format!("{mark}{root}")
}

/// `text` with these parts of ours put in behind what is there. Parts of ours that are in it should be taken out first.
///
/// # Errors
/// [`Kind::Config`] for a file that cannot be read, or in which a part has no place (a key of another type, a foreign
/// server of our name).
pub fn with(text: &str, parts: &[Part], program: &Program) -> Result<String> {
    let (root, object) = parse(text)?;
    let place = |key: &str| wrong(format!("`{key}` in it is not what the client documents"));
    for part in parts {
        match part {
            Part::Hooks => {
                let hooks = object.object_value_or_create("hooks").ok_or_else(|| place("hooks"))?;
                for (event, timeout) in HOOKS {
                    let groups = hooks.array_value_or_create(event).ok_or_else(|| place(event))?;
                    groups.append(input(&json!({"hooks": [program.handler(event, *timeout)]})));
                }
            }
            Part::Server => {
                let servers = object.object_value_or_create("mcpServers").ok_or_else(|| place("mcpServers"))?;
                if servers.get(SERVER).is_some() {
                    return Err(Error::new(Kind::Config, format!("it has an MCP server `{SERVER}` that is not ours"))
                        .hint(format!("`claude mcp remove {SERVER}` takes it out; or leave ours out with --no-mcp")));
                }
                servers.append(SERVER, input(&program.server()));
            }
            Part::Permissions => {
                let permissions = object.object_value_or_create("permissions").ok_or_else(|| place("permissions"))?;
                let allow = permissions.array_value_or_create("allow").ok_or_else(|| place("permissions.allow"))?;
                let there: Vec<Value> = allow.elements().iter().filter_map(|e| e.to_serde_value()).collect();
                for rule in READING_TOOLS.iter().map(|t| rule(t)).filter(|r| !there.contains(&Value::from(r.as_str()))) {
                    allow.append(CstInputValue::String(rule));
                }
            }
        }
    }
    Ok(print(&root, text))
}

/// `text` without any part of ours. Containers that are empty then go too, unless `before` (the file as it was without
/// us) has them; so do permission rules that `before` has.
///
/// # Errors
/// [`Kind::Config`] for a file that cannot be read.
pub fn without(text: &str, before: Option<&str>, program: &Program) -> Result<String> {
    let (root, object) = parse(text)?;
    let before = before.map(read).transpose()?.unwrap_or_default();
    let had = |pointer: &str| before.pointer(pointer).is_some();
    if let Some(hooks) = object.object_value("hooks") {
        for property in hooks.properties() {
            let (Some(groups), Some(event)) = (property.array_value(), property.decoded_name()) else { continue };
            if take_handlers(&groups, program) && groups.elements().is_empty() && !had(&format!("/hooks/{event}")) {
                property.remove();
            }
        }
        remove_if_empty(&object, "hooks", hooks.properties().is_empty() && touched_hooks(text, program)? && !had("/hooks"));
    }
    if let Some(servers) = object.object_value("mcpServers")
        && let Some(ours) = servers.get(SERVER)
        && ours.value().and_then(|v| v.to_serde_value()).is_some_and(|v| program.of_server(&v).is_some())
    {
        ours.remove();
        remove_if_empty(&object, "mcpServers", servers.properties().is_empty() && !had("/mcpServers"));
    }
    if let Some(permissions) = object.object_value("permissions")
        && let Some(allow) = permissions.array_value("allow")
    {
        let kept = before.pointer("/permissions/allow").and_then(Value::as_array).cloned().unwrap_or_default();
        let ours: Vec<Value> = READING_TOOLS.iter().map(|t| Value::from(rule(t))).filter(|r| !kept.contains(r)).collect();
        let found: Vec<_> = allow.elements().into_iter().filter(|e| e.to_serde_value().is_some_and(|v| ours.contains(&v))).collect();
        let any = !found.is_empty();
        found.into_iter().for_each(jsonc_parser::cst::CstNode::remove);
        remove_if_empty(&permissions, "allow", any && allow.elements().is_empty() && !had("/permissions/allow"));
        remove_if_empty(&object, "permissions", any && permissions.properties().is_empty() && !had("/permissions"));
    }
    Ok(print(&root, text))
}

fn touched_hooks(text: &str, program: &Program) -> Result<bool> {
    Ok(!hooks(&read(text)?, program).is_empty())
}

fn remove_if_empty(object: &CstObject, key: &str, empty: bool) {
    if empty && let Some(property) = object.get(key) {
        property.remove();
    }
}

/// Takes our handlers out of the groups of one event, and groups that hold nothing else; whether there was one.
fn take_handlers(groups: &CstArray, program: &Program) -> bool {
    let mut any = false;
    for group in groups.elements() {
        let Some(handlers) = group.as_object().and_then(|g| g.array_value("hooks")) else { continue };
        let all = handlers.elements();
        let count = all.len();
        let ours: Vec<_> = all.into_iter().filter(|h| h.to_serde_value().is_some_and(|v| program.of_handler(&v).is_some())).collect();
        if ours.is_empty() {
            continue;
        }
        any = true;
        if ours.len() == count {
            group.remove();
        } else {
            ours.into_iter().for_each(jsonc_parser::cst::CstNode::remove);
        }
    }
    any
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(b) => CstInputValue::Bool(*b),
        Value::Number(n) => CstInputValue::Number(n.to_string()),
        Value::String(s) => CstInputValue::String(s.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(map.iter().map(|(k, v)| (k.clone(), input(v))).collect()),
    }
}

/// Every handler in a settings file: event and handler.
pub fn handlers(settings: &Value) -> Vec<(&str, &Value)> {
    let events = settings.get("hooks").and_then(Value::as_object).into_iter().flatten();
    let groups = events.flat_map(|(event, groups)| groups.as_array().into_iter().flatten().map(move |g| (event.as_str(), g)));
    groups.flat_map(|(event, g)| g.get("hooks").and_then(Value::as_array).into_iter().flatten().map(move |h| (event, h))).collect()
}

/// Our hooks in a settings file.
pub fn hooks(settings: &Value, program: &Program) -> Vec<Wired> {
    let ours = handlers(settings).into_iter().filter_map(|(event, handler)| {
        let command = program.of_handler(handler)?;
        let wanted = HOOKS.iter().find(|(name, _)| *name == event).map(|(_, timeout)| program.handler(event, *timeout));
        Some(Wired { event: event.to_owned(), command, current: wanted.as_ref() == Some(handler) })
    });
    ours.collect()
}

/// Our MCP server in a file with `mcpServers`: the program, and whether it is exactly what we would write today.
pub fn server(settings: &Value, program: &Program) -> Option<(String, bool)> {
    let server = settings.get("mcpServers")?.get(SERVER)?;
    Some((program.of_server(server)?, *server == program.server()))
}

/// The parts of ours that a file has, in any version.
pub fn parts(settings: &Value, program: &Program) -> Vec<Part> {
    let mut parts = Vec::new();
    if !hooks(settings, program).is_empty() {
        parts.push(Part::Hooks);
    }
    if server(settings, program).is_some() {
        parts.push(Part::Server);
    }
    let allowed = settings.pointer("/permissions/allow").and_then(Value::as_array);
    if allowed.is_some_and(|list| READING_TOOLS.iter().any(|t| list.contains(&Value::from(rule(t))))) {
        parts.push(Part::Permissions);
    }
    parts
}

/// Whether a file has these parts as we would write them today, each once.
pub fn complete(settings: &Value, wanted: &[Part], program: &Program) -> bool {
    let hooks = hooks(settings, program);
    let whole =
        hooks.len() == HOOKS.len() && hooks.iter().all(|h| h.current) && HOOKS.iter().all(|(e, _)| hooks.iter().any(|h| h.event == *e));
    let allowed = settings.pointer("/permissions/allow").and_then(Value::as_array).cloned().unwrap_or_default();
    let holds = |part: &Part| match part {
        Part::Hooks => whole,
        Part::Server => server(settings, program).is_some_and(|(_, current)| current),
        Part::Permissions => READING_TOOLS.iter().all(|t| allowed.contains(&Value::from(rule(t)))),
    };
    wanted.iter().all(holds)
}

#[cfg(test)]
mod tests;
