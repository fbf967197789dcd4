//! What can happen to a store, as steps that a property test puts into any order. Each works on whatever is there, by the
//! same functions that the commands use; one that finds nothing to do does nothing.
#![expect(clippy::disallowed_methods, reason = "tests play the user who edits files by hand")]
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use claude_mem::claude_code::native::folder::Folder;
use claude_mem::claude_code::native::record::{self, Record};
use claude_mem::claude_code::native::{give, take};
use claude_mem::env::Env;
use claude_mem::extract::ladder::{About, Asked, Reply, Stop, Wire};
use claude_mem::extract::prompt::Request;
use claude_mem::extract::rules::Rules;
use claude_mem::extract::{Known, Usage, refine};
use claude_mem::model::plan::MemoryRecord;
use claude_mem::model::{Change, Id, Memory, Plan, State};
use claude_mem::pipeline::by_hand::{self, Wish};
use claude_mem::pipeline::ingest::{Run, ingest};
use claude_mem::pipeline::review::{self, Decision, Keep, Voice};
use claude_mem::pipeline::sources::Sources;
use claude_mem::reconcile::duplicate::Twins;
use claude_mem::reconcile::{decay, lint, proposals};
use claude_mem::store::{ADOPT, Snapshot, Store};
use proptest::prelude::*;

use crate::store::content;

const PROJECT: &str = "shop";

/// One thing that happens; the number chooses what to and how.
#[derive(Clone, Debug)]
pub enum Step {
    /// A conversation is read.
    Ingest(usize),
    /// A person types a memory.
    Remember(usize),
    /// A person changes one.
    Edit(usize),
    /// A person changes the file.
    ByHand(usize),
    /// A person decides what waits.
    Resolve(usize),
    /// A model, whose answer was recorded, proposes; the owner accepts.
    Refine(usize),
    /// Time passes.
    Prune(usize),
    /// Rows come from another store.
    Import(usize),
    /// The client's own folder, in which a note is new or says something else, is read, and gets ours.
    Native(usize),
    /// A person forgets one.
    Forget(usize),
    /// Memories are used: no step that undo knows.
    Use(usize),
}

impl Step {
    pub fn any() -> impl Strategy<Value = Self> {
        let n = || 0usize..60;
        prop_oneof![
            n().prop_map(Self::Ingest),
            n().prop_map(Self::Remember),
            n().prop_map(Self::Edit),
            n().prop_map(Self::ByHand),
            n().prop_map(Self::Resolve),
            n().prop_map(Self::Refine),
            n().prop_map(Self::Prune),
            n().prop_map(Self::Import),
            n().prop_map(Self::Native),
            n().prop_map(Self::Forget),
            n().prop_map(Self::Use),
        ]
    }

    pub fn is_by_hand(&self) -> bool {
        matches!(self, Self::ByHand(_))
    }
}

/// What users say: pairs of turns of one conversation. Some disagree, complete, or say again.
const TALKS: &[&str] = &[
    "Decision: uploads are limited to 20 MB.",
    "Decision: uploads are limited to 50 MB.",
    "From now on we always use pnpm instead of npm in this repository.",
    "待办：退款回调也要加同样的校验，这周先不做。",
    "以后提交信息统一用中文，前缀还是 feat、fix 这些。",
    "就用支付回调做幂等校验吧，用订单号做唯一索引。前端防抖不要，因为后端仍可能收到重复回调。",
    "测试环境的支付网关端口是 8443。",
    "测试环境的支付网关端口是 9443。",
    "Maybe the cache should live for an hour, I am not sure. Decision: sessions end after 30 minutes.",
];

const STATEMENTS: &[(&str, &str)] = &[
    ("Deploys go out on Tuesdays only", "convention"),
    ("Deploys go out on Thursdays only", "convention"),
    ("Basically we just use pnpm for everything here", "convention"),
    ("We use pnpm for everything here", "convention"),
    ("数据库用 PostgreSQL 16", "fact"),
    ("数据库用 PostgreSQL 17", "fact"),
    ("周五之前完成退款接口的迁移", "todo"),
    ("The queue is Redis", "fact"),
];

/// A recorded answer.
struct Recorded(String);

impl Wire for Recorded {
    fn ask<'a>(&'a self, _: About<'a>, _: &'a Request) -> Asked<'a> {
        let reply = Reply { text: self.0.clone(), stop: Stop::End, usage: Usage::default(), model: None, notes: Vec::new() };
        Box::pin(async move { Ok(Some(reply)) })
    }
}

/// A store in use.
pub struct Play {
    home: PathBuf,
    steps: u64,
    /// Words that were typed by hand, each once.
    pub typed: Vec<String>,
}

impl Play {
    /// A store with a file that a person wrote, in an order of its own, and some memories.
    pub fn begin(home: &Path) -> Self {
        let folder = home.join(PROJECT);
        fs::create_dir_all(&folder).unwrap();
        let text = "# 我的笔记\r\n\r\n先写在前面的话。\r\n\r\n## 部署\r\n\r\n### 部署只在周二进行\r\n随手写的，没有 YAML。\r\n\r\n<!-- a comment -->\r\n";
        fs::write(folder.join("working-memory.md"), text).unwrap();
        let mut play = Self { home: home.to_owned(), steps: 0, typed: Vec::new() };
        for n in [0, 4] {
            play.step(&Step::Remember(n));
        }
        play.step(&Step::Ingest(2));
        play
    }

    fn store(&self) -> Store {
        Store::open(&self.home, &self.env().now()).unwrap().store
    }

    /// An hour and a day pass with each step.
    fn env(&self) -> Env {
        let start: jiff::Timestamp = "2026-06-01T08:00:00Z".parse().unwrap();
        let now = start + jiff::SignedDuration::from_hours(i64::try_from(25 * self.steps).unwrap());
        let vars = [("CLAUDE_MEM_NOW", now.to_string()), ("CLAUDE_MEM_SEED", (1 + self.steps * 1_000_003).to_string())];
        let vars: BTreeMap<String, String> = vars.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        Env::of(vars, self.home.clone(), jiff::tz::TimeZone::UTC).unwrap()
    }

    pub fn step(&mut self, step: &Step) {
        self.steps += 1;
        match step {
            Step::Ingest(n) => self.ingest(*n),
            Step::ByHand(n) => self.by_hand(*n),
            Step::Remember(n) => self.update(&|env, now| {
                let (text, kind) = STATEMENTS[n % STATEMENTS.len()];
                let wish = Wish {
                    text: text.to_owned(),
                    kind: kind.to_owned(),
                    topic: (n % 3 == 0).then(|| "部署".to_owned()),
                    ..Wish::default()
                };
                by_hand::remember(now, &by_hand::memory(&wish, env.new_id().unwrap(), &env.now()).unwrap(), &env.now()).plan
            }),
            Step::Edit(n) => self.change("edit", &|_, now| {
                let Some(memory) = chosen(now, *n) else { return Vec::new() };
                let mut memory = memory.clone();
                match n % 4 {
                    0 => memory.summary = format!("{}, said better {n}", memory.summary.chars().take(60).collect::<String>()),
                    1 => memory.reason = Some(format!("因为 {n}")),
                    2 => memory.topic = Some(format!("Topic {}", n % 5)),
                    _ => memory.layer = if n % 8 == 3 { claude_mem::model::Layer::LongTerm } else { claude_mem::model::Layer::Working },
                }
                vec![Change::Amend(memory)]
            }),
            Step::Resolve(n) => self.update(&|env, now| {
                let at = env.now();
                let items = review::queue(now, &env.today());
                match items.get(n % items.len().max(1)) {
                    Some(item) => review::decide::plan(now, item, &Decision::Keep(Keep::ALL[n % 3]), Voice::Owner, &at).unwrap(),
                    None => Plan::new(PROJECT, now.base.clone(), "resolve", at),
                }
            }),
            Step::Refine(n) => self.refine(*n),
            Step::Prune(n) => self.change("prune", &|env, now| {
                let later = env.timestamp() + jiff::SignedDuration::from_hours(24 * i64::try_from(*n).unwrap());
                let settings = decay::Settings { prune_days: 7, decay_days: u32::try_from(n % 3).unwrap() };
                let day = later.to_string();
                decay::decay(now, &day[..10], &settings).into_iter().map(|d| d.change).collect()
            }),
            Step::Import(n) => self.change("import", &|env, now| {
                let mut twins = Twins::of(now.entries.iter().map(|e| e.memory.clone()));
                let rows = (0..=n % 3).map(|i| {
                    let (text, kind) = STATEMENTS[(n + i) % STATEMENTS.len()];
                    let record = MemoryRecord { summary: format!("{text} ({i})"), kind: kind.to_owned(), ..MemoryRecord::default() };
                    record.to_memory(env.new_id().unwrap()).unwrap()
                });
                let mut changes = Vec::new();
                for memory in rows {
                    if twins.find(&memory).is_none() {
                        changes.push(Change::Add(memory.clone()));
                        twins.add(memory);
                    }
                }
                changes
            }),
            Step::Native(n) => self.native(*n),
            Step::Forget(n) => self.update(&|env, now| by_hand::forget(now, chosen(now, *n), &env.now())),
            Step::Use(n) => self.change("inject", &|_, now| {
                let ids: Vec<Id> = chosen(now, *n).map(|m| m.id.clone()).into_iter().collect();
                if ids.is_empty() { Vec::new() } else { vec![Change::Touch { ids }] }
            }),
        }
    }

    fn change(&self, command: &str, changes: &dyn Fn(&Env, &Snapshot) -> Vec<Change>) {
        self.update(&|env, now| Plan { changes: changes(env, now), ..Plan::new(PROJECT, now.base.clone(), command, env.now()) });
    }

    fn update(&self, plan: &dyn Fn(&Env, &Snapshot) -> Plan) {
        let env = self.env();
        self.store().update(PROJECT, &env.now(), &|| env.new_id(), &mut |now| Ok(plan(&env, now))).unwrap();
    }

    fn native(&self, n: usize) {
        let path = self.home.join(".state/native");
        let (text, _) = STATEMENTS[n % STATEMENTS.len()];
        let note = format!("---\nname: note-{}\ndescription: {text}\nmetadata:\n  type: project\n---\n\n{text}\n", n % 3);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(format!("note-{}.md", n % 3)), note).unwrap();
        let folder = Folder::read(&path).unwrap();
        let written = Record::load(&self.home.join(".state")).unwrap().of(&path);
        self.change("native import", &|env, now| {
            let wish = take::Wish { trust: n.is_multiple_of(2), at: &env.now(), written: &written, global: &[] };
            take::plan(&folder, now, &wish, &|| env.new_id()).unwrap().0
        });
        let (env, before) = (self.env(), content(&self.home));
        let wish = give::Wish { today: &env.today(), written: &written, again: false, trust_hand_edits: true };
        let given = give::plan(&folder, &[self.store().snapshot(PROJECT).unwrap()], &wish);
        record::apply(&self.home.join(".state"), &path, &given.edits, &env.now()).unwrap();
        Record::load(&self.home.join(".state")).unwrap().save(&self.home.join(".state"), &path, given.written).unwrap();
        assert_eq!(content(&self.home), before, "what is given to the client changes nothing here");
    }

    fn ingest(&self, n: usize) {
        let (env, store) = (self.env(), self.store());
        let said = [TALKS[n % TALKS.len()], TALKS[(n / 7) % TALKS.len()]];
        let turns: Vec<serde_json::Value> = [serde_json::json!({"session_id": format!("{n:08x}-talk"), "date": "2026-05-20"})]
            .into_iter()
            .chain(said.iter().flat_map(|text| {
                [serde_json::json!({"role": "user", "content": text}), serde_json::json!({"role": "assistant", "content": "Noted."})]
            }))
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("talk.json");
        fs::write(&file, serde_json::to_string(&turns).unwrap()).unwrap();
        let run = Run {
            env: &env,
            store: &store,
            extractor: &Rules,
            project_of: &|_| Ok((PROJECT.to_owned(), None)),
            since: None,
            concurrency: 1,
            max_supersedes: 99,
            keep_turns: false,
            is_ignored: &|_| false,
            stdin: None,
            dry_run: false,
            on_file: &|_| {},
        };
        let outcome = ingest(&run, &Sources { files: vec![file], problems: Vec::new() });
        assert!(outcome.failure.is_none() && outcome.unreadable.is_empty(), "{outcome:?}");
    }

    /// The recorded answer rewrites one entry, ends another, and doubts a third.
    fn refine(&self, n: usize) {
        self.change("refine", &|env, now| {
            let fresh = now.entries.iter().map(|e| &e.memory).filter(|m| m.state == State::Valid);
            let entries: Vec<Known> =
                fresh.take(5).enumerate().map(|(i, m)| Known { alias: format!("m{:02}", i + 1), memory: m.clone() }).collect();
            if entries.is_empty() {
                return Vec::new();
            }
            let at = |i: usize| &entries[(n + i) % entries.len()];
            let wanted = format!("{} 。", at(0).memory.summary.chars().take(50).collect::<String>());
            let operation = |op: &str, i: usize, text: Option<&str>, day: Option<&str>| {
                serde_json::json!({"op": op, "ids": [at(i).alias], "text": text, "until_date": day, "reason": "说得更清楚"})
            };
            let answer = serde_json::json!({"operations": [
                operation("rewrite", 0, Some(&wanted), None), operation("set_until", 1, None, Some("2026-12-31")),
            ]});
            let wire = Recorded(answer.to_string());
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let answer = runtime.block_on(refine::refine(&wire, &entries, &env.today(), PROJECT)).unwrap();
            let (found, _) = proposals::proposals(&answer.operations, &entries);
            let mut ids = Vec::new();
            let one_each = found.iter().filter(|p| p.ids.iter().all(|id| !ids.contains(id) && { ids.push(id.clone()); true }));
            let mut changes: Vec<Change> = one_each.flat_map(|p| lint::changes(now, p)).collect();
            changes.push(Change::Decline { keys: entries.iter().map(|k| proposals::mark(&k.memory)).collect() });
            changes
        });
    }

    /// Files with entries that a person can open.
    fn files(&self) -> Vec<PathBuf> {
        let ours = ["working-memory.md", "long-term-preferences.md"].map(|name| self.home.join(PROJECT).join(name));
        ours.into_iter().filter(|path| path.is_file()).collect()
    }

    fn by_hand(&mut self, n: usize) {
        let files = self.files();
        let Some(path) = files.get(n % files.len().max(1)) else { return };
        let text = fs::read_to_string(path).unwrap();
        let nl = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let mark = format!("typed-{}", self.steps);
        let headings: Vec<usize> = text.match_indices("\n### ").map(|(at, _)| at + 1).collect();
        let at = headings.get(n % headings.len().max(1)).copied();
        let new = match (n % 5, at) {
            (0, _) => format!("{text}{nl}### 手写的 {mark}{nl}随手写的{nl}"),
            (1, Some(at)) => {
                let end = text[at..].find(['\r', '\n']).map_or(text.len(), |i| at + i);
                format!("{} {mark}{}", &text[..end], &text[end..])
            }
            (2, Some(at)) => {
                let end = headings.iter().find(|next| **next > at).copied().unwrap_or(text.len());
                format!("{}{}", &text[..at], &text[end..])
            }
            (3, _) => format!("{mark} 写在最前面{nl}{nl}{text}"),
            _ => format!("{text}{nl}<!-- {mark} -->{nl}"),
        };
        if new.contains(&mark) {
            self.typed.push(mark);
        }
        fs::write(path, new).unwrap();
    }

    /// A person puts the Markdown back as it was, and the program takes that in.
    pub fn put_back(&mut self, before: &BTreeMap<String, Vec<u8>>) {
        self.steps += 1;
        for (path, bytes) in before.iter().filter(|(path, _)| path.ends_with(".md")) {
            fs::create_dir_all(self.home.join(path).parent().unwrap()).unwrap();
            fs::write(self.home.join(path), bytes).unwrap();
        }
        for path in self.files() {
            let name = path.strip_prefix(&self.home).unwrap().to_string_lossy().into_owned();
            if !before.contains_key(&name) {
                fs::remove_file(path).unwrap();
            }
        }
        self.change(ADOPT, &|_, _| Vec::new());
    }
}

/// One of the entries.
fn chosen(now: &Snapshot, n: usize) -> Option<&Memory> {
    now.entries.get(n % now.entries.len().max(1)).map(|e| &e.memory)
}
