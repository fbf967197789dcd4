//! From records to turns: who speaks, what is a copy, what was taken back. Holds the state of one conversation.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::branch::{Branches, key};
use super::record::{BOOKKEEPING, Message, Record, SPOKEN, is_machine};
use super::words::{self, Words};
use crate::model::{Conversation, Speaker};
use crate::transcript::ReadOptions;
use crate::transcript::content::Block;
use crate::transcript::gather::{Problems, TOOL_BYTES, WITHDRAWN, clip, push};

/// Summaries that a file may hold about other sessions are many; this many are kept to find ours.
const SUMMARIES: usize = 256;

/// Builds the turns of one conversation, record by record.
pub struct Turns<'o> {
    options: &'o ReadOptions,
    conversation: Conversation,
    branches: Branches,
    /// Zone of each turn, beside `conversation.turns`.
    zones: Vec<usize>,
    /// Copies: (uuid, text) and (time, speaker, text).
    seen: HashSet<u64>,
    /// The message the last assistant turn belongs to, and the blocks it already has.
    message: Option<u64>,
    /// Ids of calls that ask the person something.
    questions: HashSet<u64>,
    queue: VecDeque<String>,
    /// Queued prompts already taken that may come again as attachment or user record.
    taken: HashMap<u64, u32>,
    sessions: Vec<String>,
    titles: [Option<String>; 2],
    summaries: Vec<(String, String)>,
    subagents: u64,
    unknown: BTreeMap<String, u64>,
}

impl<'o> Turns<'o> {
    /// An empty conversation.
    pub fn new(options: &'o ReadOptions) -> Self {
        Self {
            options,
            conversation: Conversation::default(),
            branches: Branches::default(),
            zones: Vec::new(),
            seen: HashSet::new(),
            message: None,
            questions: HashSet::new(),
            queue: VecDeque::new(),
            taken: HashMap::new(),
            sessions: Vec::new(),
            titles: [None, None],
            summaries: Vec::new(),
            subagents: 0,
            unknown: BTreeMap::new(),
        }
    }

    /// Takes one record.
    pub fn take(&mut self, record: &Record<'_>) {
        let kind = record.kind.str();
        if record.is_subagent() && !self.options.sidechains {
            self.subagents += 1;
            return;
        }
        self.surroundings(record);
        match kind {
            "user" => self.user(record),
            "assistant" => self.assistant(record),
            "attachment" => self.attachment(record),
            "queue-operation" => self.queue_operation(record),
            "custom-title" => self.titles[0] = record.custom_title.owned().or_else(|| self.titles[0].take()),
            "ai-title" => self.titles[1] = record.ai_title.owned().or_else(|| self.titles[1].take()),
            "summary" if self.summaries.len() < SUMMARIES => {
                self.summaries.extend(record.leaf_uuid.owned().zip(record.summary.owned()));
            }
            _ => {
                self.branches.record(record.uuid.get(), record.parent_uuid.get(), false);
                if !SPOKEN.contains(&kind) && !BOOKKEEPING.contains(&kind) && self.unknown.len() < 32 {
                    *self.unknown.entry(crate::transcript::gather::head(kind, 40).to_owned()).or_default() += 1;
                }
            }
        }
    }

    /// Session, folder, branch and date.
    fn surroundings(&mut self, record: &Record<'_>) {
        if let Some(session) = record.session_id.get().or(record.printed_session_id.get())
            && self.sessions.last().is_none_or(|s| s != session)
            && !self.sessions.iter().any(|s| s == session)
            && self.sessions.len() < 64
        {
            self.sessions.push(session.to_owned());
        }
        if self.conversation.cwd.is_none() {
            self.conversation.cwd = record.cwd.owned();
        }
        // Outside a repository the client writes `HEAD` or nothing.
        if let Some(branch) = record.git_branch.get().filter(|b| *b != "HEAD")
            && self.conversation.branch.as_deref() != Some(branch)
        {
            self.conversation.branch = Some(branch.to_owned());
        }
        if self.conversation.date.is_none() {
            self.conversation.date = record.timestamp.owned();
        }
    }

    fn assistant(&mut self, record: &Record<'_>) {
        let zone = self.branches.record(record.uuid.get(), record.parent_uuid.get(), true);
        let Some(message) = &record.message.0 else { return };
        if message.model.str() == "<synthetic>" || record.is_api_error_message.0 {
            return;
        }
        let id = message.id.get().map(key);
        for block in &message.content.0 {
            if block.kind.str() == "tool_use" {
                if let (Some(id), "AskUserQuestion") = (block.id.get(), block.name.str()) {
                    self.questions.insert(key(id));
                }
                continue;
            }
            if let Some(text) = block.words() {
                self.say(record, id, zone, text.trim());
            }
        }
    }

    /// One text block of the model: joined to the message it belongs to, once.
    fn say(&mut self, record: &Record<'_>, id: Option<u64>, zone: usize, text: &str) {
        if text.is_empty() || !self.is_new(record, Speaker::Assistant, text) || id.is_some_and(|id| !self.seen.insert(key((id, text)))) {
            return;
        }
        let same = id.is_some() && id == self.message;
        match self.conversation.turns.last_mut().filter(|t| same && t.speaker == Speaker::Assistant) {
            // A streamed snapshot that has grown replaces the shorter one.
            Some(last) if text.starts_with(&last.text) => last.text = text.replace('\0', ""),
            Some(last) => {
                last.text.push_str("\n\n");
                last.text.push_str(text);
            }
            None => {
                self.push(record, Speaker::Assistant, text, zone);
                self.message = id;
            }
        }
    }

    fn user(&mut self, record: &Record<'_>) {
        let empty = Message::default();
        let message = record.message.0.as_ref().unwrap_or(&empty);
        let harness = record.is_harness();
        let mut own = String::new();
        let mut zone = None;
        for block in &message.content.0 {
            if block.kind.str() == "tool_result" {
                let zone = *zone.get_or_insert_with(|| self.branches.record(record.uuid.get(), record.parent_uuid.get(), true));
                self.tool_result(record, block, zone);
            } else if !harness && let Some(text) = block.words() {
                match words::read(text) {
                    Words::Person(text) => {
                        own.push_str(if own.is_empty() { "" } else { "\n\n" });
                        own.push_str(text.trim());
                    }
                    Words::Action(line) => {
                        let zone = *zone.get_or_insert_with(|| self.branches.record(record.uuid.get(), record.parent_uuid.get(), true));
                        self.add(record, Speaker::Harness, &clip(&line), zone);
                    }
                    Words::Output(text) => {
                        let zone = *zone.get_or_insert_with(|| self.branches.record(record.uuid.get(), record.parent_uuid.get(), true));
                        self.add(record, Speaker::Tool, &clip(text), zone);
                    }
                    Words::Machine => {}
                }
            }
        }
        if own.is_empty() || record.is_subagent() {
            if zone.is_none() {
                self.branches.record(record.uuid.get(), record.parent_uuid.get(), false);
            }
            self.add(record, Speaker::Harness, &clip(&own), zone.unwrap_or_default());
            return;
        }
        self.prompt(record, &own);
    }

    /// The person's own words, typed as a prompt.
    fn prompt(&mut self, record: &Record<'_>, text: &str) {
        if self.was_taken(text) || !self.is_new(record, Speaker::User, text) {
            self.branches.record(record.uuid.get(), record.parent_uuid.get(), false);
            return;
        }
        // The same record with other words is an edit of it, not a second prompt: both stay.
        if record.uuid.get().is_some_and(|uuid| self.branches.knows(uuid)) {
            let zone = self.branches.record(None, record.parent_uuid.get(), false);
            self.push(record, Speaker::User, text, zone);
            return;
        }
        self.withdraw_twin(text);
        let (zone, killed) = self.branches.prompt(record.uuid.get(), record.parent_uuid.get());
        if killed {
            for (turn, zone) in self.conversation.turns.iter_mut().zip(&self.zones) {
                if !self.branches.is_live(*zone) {
                    turn.speaker = Speaker::Harness;
                    WITHDRAWN.clone_into(&mut turn.text);
                }
            }
        }
        self.push(record, Speaker::User, text, zone);
    }

    /// A prompt sent, cancelled before any answer, and sent again nearly unchanged: the first one is taken back.
    fn withdraw_twin(&mut self, text: &str) {
        let Some(last) = self.conversation.turns.last_mut().filter(|t| t.speaker == Speaker::User) else { return };
        let (old, new) = (last.text.trim(), text.trim());
        if old == new || (old.chars().count() >= 8 && new.starts_with(old)) {
            last.speaker = Speaker::Harness;
            WITHDRAWN.clone_into(&mut last.text);
        }
    }

    fn tool_result(&mut self, record: &Record<'_>, block: &Block<'_>, zone: usize) {
        let text = block.content.clipped(TOOL_BYTES);
        let refusal = block.is_error.0.then(|| block.content.words()).and_then(|t| words::refusal(&t).map(str::to_owned));
        if let Some(reason) = refusal {
            // Parallel calls that are refused together repeat the reason.
            if self.conversation.turns.last().is_none_or(|t| t.text != reason) {
                self.add(record, Speaker::User, &reason, zone);
            }
            return;
        }
        let asked = block.tool_use_id.get().is_some_and(|id| self.questions.contains(&key(id)));
        let answers = if asked && !block.is_error.0 { block.content.words() } else { String::new() };
        match words::answers(&answers) {
            Some(answers) => self.add(record, Speaker::User, answers, zone),
            None => self.add(record, Speaker::Tool, &clip(&text), zone),
        }
    }

    fn attachment(&mut self, record: &Record<'_>) {
        let zone = self.branches.record(record.uuid.get(), record.parent_uuid.get(), false);
        let Some(attachment) = record.attachment.0.as_ref().filter(|a| a.kind.str() == "queued_command") else { return };
        let by_person = matches!(attachment.command_mode.str(), "" | "prompt") && !is_machine(&attachment.origin) && !attachment.is_meta.0;
        let text = attachment.prompt.words();
        if let (true, Words::Person(own)) = (by_person && !record.is_harness(), words::read(&text)) {
            let own = own.trim();
            if !self.was_taken(own) {
                self.queue.retain(|q| q != own);
                self.mark_taken(own);
                self.add(record, Speaker::User, own, zone);
            }
        }
    }

    /// Prompts typed while the model was busy. `remove` hands one to the model without writing a user record.
    fn queue_operation(&mut self, record: &Record<'_>) {
        let text = record.content.words();
        let own = match words::read(&text) {
            Words::Person(own) => own.trim().to_owned(),
            _ => String::new(),
        };
        match record.operation.str() {
            "enqueue" if self.queue.len() < 64 => self.queue.push_back(own),
            "dequeue" => {
                self.queue.pop_front();
            }
            "popAll" => self.queue.clear(),
            "remove" => {
                let at = self.queue.iter().position(|q| *q == own || own.is_empty());
                let text = at.and_then(|at| self.queue.remove(at)).unwrap_or(own);
                if !text.is_empty() && !self.was_taken(&text) {
                    self.mark_taken(&text);
                    let zone = self.branches.record(None, None, false);
                    self.push(record, Speaker::User, &text, zone);
                }
            }
            _ => {}
        }
    }

    fn mark_taken(&mut self, text: &str) {
        *self.taken.entry(key(text)).or_default() += 1;
    }

    /// Whether this text is the second coming of a queued prompt; each is used up once.
    fn was_taken(&mut self, text: &str) -> bool {
        match self.taken.get_mut(&key(text.trim())) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }

    /// Whether this is no copy: neither the same record nor the same words by the same speaker at the same time.
    fn is_new(&mut self, record: &Record<'_>, speaker: Speaker, text: &str) -> bool {
        let by_uuid = record.uuid.get().map(|uuid| key((uuid, speaker, text)));
        let by_time = record.timestamp.get().map(|at| key((at, speaker, text)));
        let known = [by_uuid, by_time].into_iter().flatten().any(|k| self.seen.contains(&k));
        self.seen.extend([by_uuid, by_time].into_iter().flatten());
        !known
    }

    /// A turn, unless it is a copy.
    fn add(&mut self, record: &Record<'_>, speaker: Speaker, text: &str, zone: usize) {
        if !text.trim().is_empty() && self.is_new(record, speaker, text) {
            self.push(record, speaker, text, zone);
        }
    }

    fn push(&mut self, record: &Record<'_>, speaker: Speaker, text: &str, zone: usize) {
        if push(&mut self.conversation, speaker, text, record.timestamp.owned(), record.uuid.owned()) {
            self.zones.push(zone);
            self.message = None;
        }
    }

    /// The conversation as it stands, and what was skipped.
    pub fn finish(self, problems: &mut Problems) -> Conversation {
        let mut conversation = self.conversation;
        if self.subagents > 0 {
            problems.add("subagent", None, format!("{} records of subagents were skipped", self.subagents));
        }
        for (kind, count) in &self.unknown {
            let name = if kind.is_empty() { "none" } else { kind };
            problems.add("unknown_type", None, format!("{count} records of the unknown type {name:?} were skipped"));
        }
        // A continued session begins with copies under the old id; the file is named after its own.
        let own = self.sessions.iter().find(|s| self.options.file_name.strip_suffix(".jsonl") == Some(s.as_str()));
        conversation.session = own.or(self.sessions.first()).cloned().unwrap_or_default();
        let summary = self.summaries.into_iter().rev().find(|(leaf, _)| self.branches.knows(leaf)).map(|(_, summary)| summary);
        let [custom, ai] = self.titles;
        conversation.title = custom.or(ai).or(summary);
        conversation
    }
}
