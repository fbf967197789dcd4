//! Memory tests: what their owner expects to be given, and not to be given. The form of the file, and how a test is played.
//!
//! Not here: where the files are, and running them before a change is kept (`pipeline::memory_tests`).

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::search::{Corpus, Hit, SearchOptions, Whole, find, is_match, why_not};
use super::{Budget, Mode, Reason, Request, digest, inject};
use crate::error::Problem;
use crate::model::{Id, Memory, State};
use crate::store::Snapshot;
use crate::text::words::{fold, is_cjk};

/// A commented start for a new file.
pub const EXAMPLE: &str = include_str!("memory_tests.example.toml");

/// One expectation of an owner.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryTest {
    /// As its owner calls it.
    pub name: String,
    /// The one project it is about; `None`: that of its file, or every project.
    pub project: Option<String>,
    /// What is asked.
    pub question: Question,
    /// Each of these is given as something that holds.
    pub must: Vec<String>,
    /// None of these is given as something that holds.
    pub must_not: Vec<String>,
    /// Each of these is given as an option that was turned down.
    pub turned_down: Vec<String>,
}

/// What a test asks the store.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// An injection.
    Inject {
        /// How much of the store.
        mode: Mode,
        /// Only memories that match one of these; empty: all.
        keywords: Vec<String>,
        /// In tokens; `None`: what is configured.
        budget: Option<usize>,
    },
    /// A search by a person.
    Search {
        /// The words.
        query: String,
        /// Hits that are looked at.
        top: usize,
    },
    /// A prompt in Claude Code.
    Prompt(String),
}

/// What an answer depends on besides the store.
#[derive(Clone, Debug)]
pub struct Setting {
    /// `YYYY-MM-DD`.
    pub today: String,
    /// Budget of an injection.
    pub budget: Budget,
    /// Memories that a prompt gets at most.
    pub most: usize,
    /// Whether hand edits are held back until adopted.
    pub hold_back: bool,
}

/// A memory in an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Given {
    /// Which.
    pub id: Id,
    /// What it says.
    pub summary: String,
    /// Whether it is given as turned down.
    pub turned_down: bool,
}

/// An expectation that was not met.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// It is not given.
    Missing {
        /// The expectation.
        wanted: String,
        /// The memory that would have met it, if there is one.
        there: Option<Given>,
        /// Why it is not given.
        why: String,
    },
    /// It is given.
    Unwanted {
        /// The expectation.
        unwanted: String,
        /// The memory that meets it.
        given: Given,
    },
    /// The project that it names is not there.
    NoProject(String),
}

/// What playing a test brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// What the store gave, best first.
    pub given: Vec<Given>,
    /// Empty if the test passed.
    pub failures: Vec<Failure>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    test: Vec<toml::Spanned<Row>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Row {
    name: Option<String>,
    project: Option<String>,
    inject: Option<String>,
    keywords: Vec<String>,
    budget: Option<usize>,
    search: Option<String>,
    top: Option<usize>,
    prompt: Option<String>,
    must: Vec<String>,
    must_not: Vec<String>,
    turned_down: Vec<String>,
}

/// Reads a file of tests; `file` is its name for people. Only a `global` one may name projects.
///
/// # Errors
/// The first thing that is wrong, with its line: a test that cannot be read must not pass for one that passed.
pub fn parse(text: &str, file: &str, global: bool) -> Result<Vec<MemoryTest>, Problem> {
    let problem = |at: usize, detail: String| {
        let line = text.get(..at).map_or(0, |before| before.matches('\n').count()) + 1;
        Problem { code: "bad_test", file: file.to_owned(), line: Some(line as u64), detail }
    };
    let rows: File = toml::from_str(text).map_err(|e| problem(e.span().map_or(0, |s| s.start), e.message().to_owned()))?;
    let read = |row: toml::Spanned<Row>| {
        let at = row.span().start;
        test(row.into_inner(), global).map_err(|what| problem(at, what))
    };
    rows.test.into_iter().map(read).collect()
}

fn test(row: Row, global: bool) -> Result<MemoryTest, String> {
    if row.project.is_some() && !global {
        return Err("`project` stands only in the test file of the global memories; this file is about its own project".to_owned());
    }
    let lists = [&row.must, &row.must_not, &row.turned_down];
    if lists.iter().all(|list| list.is_empty()) {
        return Err("a test expects something: must, must_not or turned_down".to_owned());
    }
    if lists.iter().any(|list| list.iter().any(|text| fold(text).is_empty())) {
        return Err("an expectation has no words".to_owned());
    }
    let injects = row.inject.is_some();
    if !injects && (!row.keywords.is_empty() || row.budget.is_some()) {
        return Err("keywords and budget belong to inject".to_owned());
    }
    if row.search.is_none() && row.top.is_some() {
        return Err("top belongs to search".to_owned());
    }
    let question = match (row.inject, row.search, row.prompt) {
        (Some(mode), None, None) => {
            let mode = Mode::parse(&mode).ok_or_else(|| format!("there is no mode {mode:?}: standard, light or deep"))?;
            Question::Inject { mode, keywords: row.keywords, budget: row.budget }
        }
        (None, Some(query), None) => Question::Search { query, top: row.top.unwrap_or(10) },
        (None, None, Some(words)) => Question::Prompt(words),
        _ => return Err("a test asks one question: inject, search or prompt".to_owned()),
    };
    let name = row.name.unwrap_or_else(|| question.to_string());
    let Row { project, must, must_not, turned_down, .. } = row;
    Ok(MemoryTest { name, project, question, must, must_not, turned_down })
}

impl std::fmt::Display for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Inject { mode, keywords, .. } if keywords.is_empty() => write!(f, "inject {}", mode.name()),
            Self::Inject { mode, keywords, .. } => write!(f, "inject {} with {}", mode.name(), keywords.join(", ")),
            Self::Search { query, .. } => write!(f, "search “{query}”"),
            Self::Prompt(words) => write!(f, "prompt “{words}”"),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing { wanted, there: None, why } => write!(f, "“{wanted}” is not given: {why}"),
            Self::Missing { wanted, there: Some(memory), why } => {
                write!(f, "“{wanted}” is not given: {} “{}”: {why}", memory.id, memory.summary)
            }
            Self::Unwanted { unwanted, given } => write!(f, "“{unwanted}” is given: {} “{}”", given.id, given.summary),
            Self::NoProject(name) => write!(f, "there is no project {name}"),
        }
    }
}

/// What tests are played on: a project and the global memories, in this order, without what is held back.
pub struct Stage<'a> {
    snapshots: &'a [&'a Snapshot],
    setting: &'a Setting,
    /// Made for the first test that searches.
    whole: OnceCell<Vec<Whole>>,
}

impl<'a> Stage<'a> {
    /// For any number of tests.
    pub fn new(snapshots: &'a [&'a Snapshot], setting: &'a Setting) -> Self {
        Self { snapshots, setting, whole: OnceCell::new() }
    }

    /// Plays a test.
    pub fn play(&self, test: &MemoryTest) -> Outcome {
        let answer = self.answer(&test.question);
        let memory = |id: &Id| self.snapshots.iter().find_map(|s| s.entry(id)).map(|e| &e.memory);
        let given: Vec<&Memory> = answer.ids.iter().filter_map(memory).collect();
        let holds = |m: &&Memory| m.state != State::Rejected;
        let mut failures = Vec::new();
        for (wanted, state) in test.must.iter().map(|w| (w, true)).chain(test.turned_down.iter().map(|w| (w, false))) {
            if !given.iter().any(|m| holds(m) == state && meets(m, wanted)) {
                failures.push(self.missing(wanted, state, &given, &answer));
            }
        }
        for unwanted in &test.must_not {
            let hit = given.iter().find(|m| holds(m) && meets(m, unwanted));
            failures.extend(hit.map(|m| Failure::Unwanted { unwanted: unwanted.clone(), given: Given::of(m) }));
        }
        Outcome { given: given.into_iter().map(Given::of).collect(), failures }
    }

    fn find(&self, query: &str, limit: usize) -> Vec<Hit> {
        let whole = self.whole.get_or_init(|| self.snapshots.iter().map(|s| Whole::of(s)).collect());
        let corpora: Vec<&dyn Corpus> = whole.iter().map(|w| w as &dyn Corpus).collect();
        // What is in memory cannot fail.
        find(&corpora, query, &self.options(limit)).unwrap_or_default()
    }

    fn options(&self, limit: usize) -> SearchOptions {
        SearchOptions { limit, hold_back: self.setting.hold_back, ..SearchOptions::new(&self.setting.today) }
    }

    fn answer<'q>(&'q self, question: &'q Question) -> Answer<'q> {
        let setting = self.setting;
        let not_found = |query: &'q str, limit: usize| {
            let options = self.options(limit);
            move |id: &Id| why_not(self.snapshots, id, query, &options).to_string().trim_start_matches("it ").to_owned()
        };
        match question {
            Question::Inject { mode, keywords, budget } => {
                let budget = budget.map_or(setting.budget, Budget::Tokens);
                let request = Request { mode: *mode, keywords: keywords.clone(), budget, ..Request::new(&setting.today) };
                let injection = inject(self.snapshots, &request);
                let left_out = injection.left_out;
                let reason = move |id: &Id| left_out.iter().find(|l| l.id == *id).map_or(Reason::Mode, |l| l.reason);
                let ids = injection.items.into_iter().map(|i| i.id).collect();
                Answer { ids, why_not: Box::new(move |id| reason(id).words().to_owned()) }
            }
            Question::Search { query, top } => {
                let ids = self.find(query, *top).into_iter().map(|h| h.id).collect();
                Answer { ids, why_not: Box::new(not_found(query, *top)) }
            }
            Question::Prompt(words) => {
                let (clear, faint): (Vec<Hit>, Vec<Hit>) = self.find(words, digest::MATCHES).into_iter().partition(is_match);
                let ids: Vec<Id> = clear.into_iter().map(|h| h.id).collect();
                let aged = BTreeMap::new();
                let wanted = digest::Wanted { ids: &ids, most: setting.most, today: &setting.today, language: None, aged };
                let given = digest::digest(self.snapshots, &wanted).items.into_iter().map(|i| i.id).collect();
                let not_found = not_found(words, digest::MATCHES);
                let why = move |id: &Id| match () {
                    () if faint.iter().any(|h| h.id == *id) => "is not clearly about the prompt".to_owned(),
                    () if ids.contains(id) => "others match the prompt better".to_owned(),
                    () => not_found(id),
                };
                Answer { ids: given, why_not: Box::new(why) }
            }
        }
    }

    /// Why nothing that was given meets an expectation.
    fn missing(&self, wanted: &str, holds: bool, given: &[&Memory], answer: &Answer<'_>) -> Failure {
        let failure =
            |there: Option<&Memory>, why: String| Failure::Missing { wanted: wanted.to_owned(), there: there.map(Given::of), why };
        if let Some(other) = given.iter().find(|m| meets(m, wanted)) {
            let as_what = if holds { "is given as turned down" } else { "is given as something that holds" };
            return failure(Some(other), as_what.to_owned());
        }
        let all = self.snapshots.iter().flat_map(|s| &s.entries).map(|e| &e.memory).filter(|m| meets(m, wanted));
        // Of several, the one that holds is what its owner thinks of.
        match all.min_by_key(|m| (m.state == State::Rejected) == holds) {
            Some(memory) => failure(Some(memory), (answer.why_not)(&memory.id)),
            None if Id::parse(wanted).is_some() => failure(None, "no memory has this id or says it".to_owned()),
            None => failure(None, "no memory says it".to_owned()),
        }
    }
}

impl Given {
    fn of(memory: &Memory) -> Self {
        Self { id: memory.id.clone(), summary: memory.summary.clone(), turned_down: memory.state == State::Rejected }
    }
}

/// What the store says to a question, and how it explains what it does not say.
struct Answer<'a> {
    ids: Vec<Id>,
    why_not: Box<dyn Fn(&Id) -> String + 'a>,
}

/// Whether a memory is the one with this id, or has all of these words.
fn meets(memory: &Memory, expected: &str) -> bool {
    if memory.id.as_str() == expected.trim() {
        return true;
    }
    // Not keywords: they help to find a memory, and no conversation is told them.
    let Memory { topic, summary, reason, how_to_apply, .. } = memory;
    let texts = [topic, reason, how_to_apply].into_iter().filter_map(Option::as_deref).chain([summary.as_str()]);
    let text = fold(&texts.collect::<Vec<_>>().join(" | "));
    fold(expected).split(' ').all(|word| has_word(&text, word))
}

/// Whether a word occurs whole: `20` is not in `200`, `test` not in `latest`. Scripts without spaces have no such borders.
fn has_word(text: &str, word: &str) -> bool {
    let binds = |c: Option<char>| c.is_some_and(|c| (c.is_alphanumeric() || c == '_') && !is_cjk(c));
    let (first, last) = (word.chars().next(), word.chars().next_back());
    text.match_indices(word).any(|(at, found)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|t| t.chars().next());
        !(binds(first) && binds(before) || binds(last) && binds(after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_file_of_tests() {
        let told: String = EXAMPLE.lines().filter(|l| !l.starts_with("##")).map(|l| format!("{}\n", l.trim_start_matches("# "))).collect();
        let tests = parse(&told, "tests.toml", false).unwrap();
        assert_eq!(tests.len(), 3);
        assert_eq!(tests[1].question, Question::Search { query: "支付回调重复".into(), top: 3 });
        assert_eq!(parse(EXAMPLE, "tests.toml", false).unwrap(), []);
    }

    #[test]
    fn words_are_whole_words_where_there_are_words() {
        for (text, word, is) in [
            ("uploads up to 200 mb", "20", false),
            ("uploads up to 20mb", "20", false),
            ("uploads up to 20 mb.", "mb", true),
            ("the latest build", "test", false),
            ("订单号做唯一索引", "唯一索引", true),
            ("用redis做缓存", "redis", true),
            ("run snake_case here", "case", false),
        ] {
            assert_eq!(has_word(text, word), is, "{text} / {word}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, line, what) in [
            ("\n[[test]]\nname = \"x\"\nsearch = \"y\"\n", 2, "expects something"),
            ("[[test]]\nmust = [\"a\"]\n", 1, "one question"),
            ("[[test]]\nsearch = \"a\"\nprompt = \"b\"\nmust = [\"c\"]\n", 1, "one question"),
            ("[[test]]\nsearch = \"a\"\nmust = [\" \"]\n", 1, "no words"),
            ("[[test]]\nsearch = \"a\"\nmust = [\"c\"]\nmustnot = [\"d\"]\n", 4, "mustnot"),
            ("[[test]]\ninject = \"full\"\nmust = [\"c\"]\n", 1, "no mode"),
            ("[[test]]\nsearch = \"a\"\nbudget = 3\nmust = [\"c\"]\n", 1, "belong to inject"),
            ("[[test]]\nproject = \"shop\"\nsearch = \"a\"\nmust = [\"c\"]\n", 1, "global"),
            ("[[test]\n", 1, ""),
        ] {
            let problem = parse(text, "shop/tests.toml", false).unwrap_err();
            assert_eq!(problem.line, Some(line), "{text}: {problem}");
            assert!(problem.detail.contains(what), "{text}: {problem}");
        }
    }
}
