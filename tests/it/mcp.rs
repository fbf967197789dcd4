//! The MCP server as a client meets it: each file of `tests/cases/mcp` is one talk over pipes, one step a line.
//!
//! Steps: `about` says what it is; `env` sets variables and `write` a file of the store (`content`, repeated `times` with `{n}` counted) before; `run` runs a
//! command to its end and wants words on its stdout (`out`); `send` sends a message, `raw` a line as it is, `long` a call with so many bytes of arguments, `many` a
//! `send` for each id `from`..`to`; `get` waits for the answer with this id (null: without one) and checks `is` (pointer =
//! value), `has` and `lacks` (pointer = words), `shorter` (pointer = most characters), and `save`s the first id-like word
//! behind a word; `lock` takes the lock of the store (true) or gives it back; `full` starts the server on a disk without room; `silent` says that nothing may come for an id; `close` ends the input and wants exit 0.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::hooks::feed;
use crate::support::{self, World};

/// How long an answer may take before a test gives up; no test needs it.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Step {
    about: Option<String>,
    env: BTreeMap<String, String>,
    write: Option<String>,
    content: String,
    times: Option<usize>,
    run: Option<Vec<String>>,
    out: Vec<String>,
    send: Option<Value>,
    raw: Option<String>,
    long: Option<usize>,
    many: Option<Many>,
    #[serde(deserialize_with = "present")]
    get: Option<Value>,
    is: BTreeMap<String, Value>,
    has: BTreeMap<String, Vec<String>>,
    lacks: BTreeMap<String, Vec<String>>,
    shorter: BTreeMap<String, usize>,
    save: BTreeMap<String, String>,
    silent: Option<Value>,
    lock: Option<bool>,
    full: bool,
    close: bool,
}

#[derive(Deserialize)]
struct Many {
    from: u64,
    to: u64,
}

/// `null` is a value here: an answer without id.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

/// A client of one server.
pub struct Talk {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    heard: Vec<Value>,
}

impl Talk {
    /// Starts a server in this world.
    pub fn start(world: &World) -> Self {
        Self::spawn(world.command(&["mcp"]))
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the server starts");
        let output = child.stdout.take().expect("stdout");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, heard: Vec::new() }
    }

    /// Sends a line.
    pub fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush()).expect("the server reads");
    }

    /// The next line must be a message.
    fn hear(&mut self) -> Result<bool, String> {
        let line = match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
            Err(RecvTimeoutError::Timeout) => return Err("no answer came".into()),
        };
        let message: Value = serde_json::from_str(&line).map_err(|e| format!("stdout holds no message: {e}: {line}"))?;
        if message["jsonrpc"] != "2.0" {
            return Err(format!("stdout holds no message: {line}"));
        }
        self.heard.push(message);
        Ok(true)
    }

    /// The answer with this id.
    pub fn answer(&mut self, id: &Value) -> Result<Value, String> {
        loop {
            let wanted = |m: &Value| m.get("id").unwrap_or(&Value::Null) == id && m.get("method").is_none();
            if let Some(at) = self.heard.iter().position(wanted) {
                return Ok(self.heard.remove(at));
            }
            if !self.hear()? {
                return Err(format!("the server ended before it answered {id}"));
            }
        }
    }

    fn close(&mut self) -> Result<(), String> {
        self.input = None;
        while self.hear()? {}
        let mut said = String::new();
        let errors = self.child.stderr.take().map(|mut errors| errors.read_to_string(&mut said)).transpose();
        errors.map_err(|e| e.to_string())?;
        let status = self.child.wait().map_err(|e| e.to_string())?;
        // What a task panics with ends a release build, and is only seen here in a build that unwinds.
        if status.success() && said.is_empty() { Ok(()) } else { Err(format!("the server ended with {status}: {said}")) }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn talks() {
    support::cases("mcp", |_, text| play(text));
}

fn play(text: &str) -> Result<(), String> {
    let mut world = World::new();
    let mut talk: Option<Talk> = None;
    let mut held = None;
    // Assembled: no whole key stands in the repository.
    let secret = ["sk-ant-", "api03-", "Zq7Lm2Xv9Tb4Rk8Wd3Pn6Hs1Yc5Gf0Ju"].concat();
    let mut saved: BTreeMap<String, String> = BTreeMap::from([("SECRET".to_owned(), secret)]);
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let place = cwd_of(&world);
        let line =
            saved.iter().fold(line.replace("$CWD", &place).replace("$STORE", &world.store().to_string_lossy()), |t, (name, value)| {
                t.replace(&format!("${name}"), value)
            });
        let step: Step = serde_json::from_str(&line).map_err(|e| format!("line {}: {e}", number + 1))?;
        for (name, value) in &step.env {
            world = world.with(name, value);
        }
        if let Some(name) = &step.write {
            let path = world.store().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            let content: String = match step.times {
                None => step.content.clone(),
                Some(times) => (0..times).map(|n| step.content.replace("{n}", &n.to_string())).collect(),
            };
            std::fs::write(path, content).expect("a file");
        }
        if let Some(run) = &step.run {
            let args: Vec<&str> = run.iter().map(String::as_str).collect();
            let ran = world.run(&args);
            if ran.code != 0 {
                return Err(format!("line {}: {args:?} ended with {}: {}", number + 1, ran.code, ran.err));
            }
            if let Some(word) = step.out.iter().find(|word| !ran.out.contains(word.as_str())) {
                return Err(format!("line {}: {args:?} printed no {word:?}: {}", number + 1, ran.out));
            }
        }
        match step.lock {
            Some(true) => {
                let lock = std::fs::File::open(world.store().join(".state/lock")).expect("the lock file");
                lock.lock().expect("the lock");
                held = Some(lock);
            }
            Some(false) => drop(held.take()),
            None => {}
        }
        if step.full {
            talk = Some(Talk::spawn(support::on_a_full_disk(&world.command(&["mcp"]))));
        }
        take(&step, &world, &mut talk, &mut saved).map_err(|what| format!("line {}: {what}", number + 1))?;
    }
    Ok(())
}

#[test]
fn a_server_without_a_home_says_what_is_missing() {
    let world = World::new();
    let mut command = world.command(&["mcp"]);
    command.env_remove("HOME");
    let ran = feed(command, b"");
    ran.fails(3, "HOME is not set");
}

fn cwd_of(world: &World) -> String {
    world.cwd().to_string_lossy().into_owned()
}

fn take(step: &Step, world: &World, talk: &mut Option<Talk>, saved: &mut BTreeMap<String, String>) -> Result<(), String> {
    let speaks = step.send.is_some() || step.raw.is_some() || step.long.is_some() || step.get.is_some() || step.close;
    if !speaks && step.silent.is_none() {
        return Ok(());
    }
    let talk = talk.get_or_insert_with(|| Talk::start(world));
    if let Some(message) = &step.send {
        let Many { from, to } = step.many.as_ref().map_or(Many { from: 0, to: 1 }, |m| Many { from: m.from, to: m.to });
        for id in from..to {
            let mut message = message.clone();
            message["jsonrpc"] = "2.0".into();
            if step.many.is_some() {
                message["id"] = id.into();
            }
            talk.say(&message.to_string());
        }
    }
    if let Some(line) = &step.raw {
        talk.say(line);
    }
    if let Some(size) = step.long {
        let arguments = json!({"query": "x".repeat(size)});
        // Written by hand: the id has to stand in front.
        talk.say(&format!(
            r#"{{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{{"name":"get_relevant_memories","arguments":{arguments}}}}}"#
        ));
    }
    if let Some(id) = &step.get {
        let answer = talk.answer(id)?;
        check(step, &answer, saved).map_err(|what| format!("{what} in {answer:#}"))?;
    }
    if step.close {
        talk.close()?;
    }
    if let Some(id) = &step.silent
        && talk.heard.iter().any(|m| m.get("id") == Some(id))
    {
        return Err(format!("{id} was answered"));
    }
    Ok(())
}

fn check(step: &Step, answer: &Value, saved: &mut BTreeMap<String, String>) -> Result<(), String> {
    let text = |pointer: &str| {
        let value = answer.pointer(pointer).ok_or_else(|| format!("{pointer} is not there"))?;
        Ok::<String, String>(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    for (pointer, wanted) in &step.is {
        if answer.pointer(pointer).unwrap_or(&Value::Null) != wanted {
            return Err(format!("{pointer} is not {wanted}"));
        }
    }
    for (pointer, words) in &step.has {
        let text = text(pointer)?;
        if let Some(word) = words.iter().find(|w| !text.contains(w.as_str())) {
            return Err(format!("{pointer} lacks {word:?}"));
        }
    }
    for (pointer, words) in &step.lacks {
        let text = text(pointer)?;
        if let Some(word) = words.iter().find(|w| text.contains(w.as_str())) {
            return Err(format!("{pointer} has {word:?}"));
        }
    }
    for (pointer, most) in &step.shorter {
        let length = text(pointer)?.chars().count();
        if length > *most {
            return Err(format!("{pointer} has {length} characters"));
        }
    }
    for (name, behind) in &step.save {
        let text = text("/result/content/0/text")?;
        let rest = text.split_once(behind.as_str()).ok_or_else(|| format!("no {behind:?}"))?.1.trim_start();
        saved.insert(name.clone(), rest.chars().take_while(char::is_ascii_alphanumeric).collect());
    }
    Ok(())
}
