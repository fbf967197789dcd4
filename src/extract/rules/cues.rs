//! The cue tables: what words do, per language. They are data (`cues/*.toml`); this file compiles and looks them up.
//!
//! A *mark* says something about a sentence (it asks, it jokes, it corrects); a *rule* proposes what a sentence is.
//! How marks and rules add up is in [`super::clause`].

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::model::candidate::Voice;
use crate::model::{Kind, Layer};
use crate::text::words::{self, Language};

/// What a sentence does, apart from what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Words at the beginning that carry nothing: "ok so", "嗯".
    Filler,
    /// Asks.
    Question,
    /// Asks for a choice.
    ChoiceQuestion,
    /// Leaves open, wonders, supposes.
    Undecided,
    /// Says it with reserve.
    Hedge,
    /// Looks like a cue and is none: "never mind", 别人.
    FalseFriend,
    /// Not meant.
    Joke,
    /// Something to do now, once.
    Order,
    /// What somebody sees on the screen at this moment.
    Observation,
    /// The subject is a pronoun.
    Pronoun,
    /// The look of things: corrected ten times an hour.
    Cosmetic,
    /// The reason follows.
    Because,
    /// The reason went before.
    Therefore,
    /// One thing and not another.
    Contrast,
    /// Takes what the assistant offered.
    Accept,
    /// Turns down.
    Refuse,
    /// The assistant offers.
    Propose,
    /// The assistant advises one thing.
    Recommend,
    /// Words of an offer before what is offered.
    ProposeLead,
    /// Takes back; what holds instead may follow.
    Correct,
    /// Takes back a thing it names.
    Revoke,
    /// Gives the last value anew: "make it 5".
    Adjust,
    /// Its object is a pronoun: it leans on what went before.
    Leans,
    /// Takes back only a slip of the tongue.
    Slip,
    /// Takes up again what was taken back.
    Revive,
    /// Comes back later, as agreed: takes nothing back now.
    Scheduled,
    /// The user proposes; what is proposed begins with it.
    Suggest,
    /// Adds to what was just agreed.
    Adds,
    /// Takes back only a part.
    Partial,
    /// Holds for a while.
    Temporary,
    /// A day near this ends it.
    Until,
    /// The event that ends it, as group.
    UntilEvent,
    /// Is finished.
    Done,
    /// The assistant takes note and does nothing.
    Acknowledge,
    /// The assistant reports work.
    Finished,
    /// Something is different from now on.
    Change,
    /// Words of the trade: a conversation without any is small talk.
    Nouns,
}

/// Words of will, in any place of a sentence.
pub const WILL: &[&str] = &[
    "always",
    "never",
    "must",
    "should",
    "shall",
    "do not",
    "don't",
    "make sure",
    "be sure to",
    "ensure",
    "required to",
    "forbidden",
    "prohibited",
    "not allowed",
    "from now on",
    "prefers",
    "prefer",
    "wants you to",
    "insists",
    "必须",
    "务必",
    "禁止",
    "不得",
    "不准",
    "不许",
    "不要",
    "别用",
    "一律",
    "永远",
    "总是",
    "每次都",
    "应该",
    "应当",
    "偏好",
    "喜欢",
    "要求",
    "必ず",
    "べき",
    "禁止",
    "してください",
    "しないで",
    "絶対",
    "常に",
    "반드시",
    "항상",
    "절대",
    "금지",
    "해야",
    "하지 마",
    "하지 않도록",
    "선호",
];

/// What a sentence must hold beside the cue for a rule to be strong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Needs {
    /// Something to speak of: two content words or one named thing.
    #[default]
    Object,
    /// One content word: the cue itself is the claim ("X it is").
    Word,
    /// A named thing: identifier, path, proper name, known technology.
    Concrete,
    /// A named thing or a number.
    Named,
    /// A number, version, address.
    Value,
}

/// One row: what a sentence with one of these cues is.
#[derive(Debug)]
pub struct Rule {
    /// Name, for explanations and tests.
    pub name: String,
    /// What it would be.
    pub kind: Kind,
    /// Where it would go.
    pub layer: Layer,
    /// 3 and more stands alone, 2 needs one support, 1 two.
    pub weight: i32,
    /// What has to be in the sentence.
    pub needs: Needs,
    /// The cue outranks the form of an order ("always run the tests").
    pub order_ok: bool,
    /// Whose wish it is.
    pub voice: Voice,
    pattern: Pattern,
}

/// The cues of one language.
#[derive(Debug, Default)]
pub struct Table {
    marks: BTreeMap<Mark, Pattern>,
    /// Rows in the order of the file.
    pub rules: Vec<Rule>,
}

impl Table {
    /// Whether a text has a mark.
    pub fn has(&self, mark: Mark, text: &str) -> bool {
        self.marks.get(&mark).is_some_and(|p| p.is_match(text))
    }

    /// Where a mark is first, as bytes.
    pub fn find(&self, mark: Mark, text: &str) -> Option<(usize, usize)> {
        self.marks.get(&mark)?.find(text)
    }

    /// What the first group of a mark caught.
    pub fn group<'a>(&self, mark: Mark, text: &'a str) -> Option<&'a str> {
        let (start, end) = self.marks.get(&mark)?.group(text)?;
        text.get(start..end).map(str::trim)
    }

    /// A text without the fillers at its beginning.
    pub fn body<'a>(&self, text: &'a str) -> &'a str {
        let end = self.find(Mark::Filler, text).map_or(0, |(_, end)| end);
        let body = text.get(end..).unwrap_or(text).trim_start_matches([' ', ',', '，', '、', ':', '：', '.', '-', '–', '—', '…']);
        if body.is_empty() { text } else { body }
    }
}

impl Rule {
    /// Whether one of the row's cues is in a text.
    pub fn matches(&self, text: &str) -> bool {
        self.pattern.is_match(text)
    }

    /// Where the cue ends, in bytes.
    pub fn end(&self, text: &str) -> usize {
        self.pattern.find(text).map_or(0, |(_, end)| end)
    }

    /// Put as a norm or marked: it holds also in a list, a document, or among small talk.
    pub fn is_norm(&self) -> bool {
        self.is_marker() || (self.order_ok && self.weight >= 3 && self.kind != Kind::Decision)
    }

    /// The person said in so many words that this is to be kept.
    pub fn is_marker(&self) -> bool {
        self.name.starts_with("marker")
    }
}

/// The table of a language, compiled when it is first needed.
pub fn table(language: Language) -> &'static Table {
    match language {
        Language::English => &ENGLISH,
        Language::Chinese => &CHINESE,
        Language::Japanese => &JAPANESE,
        Language::Korean => &KOREAN,
    }
}

static ENGLISH: LazyLock<Table> = LazyLock::new(|| compile(include_str!("cues/en.toml")).unwrap_or_default());
static CHINESE: LazyLock<Table> = LazyLock::new(|| compile(include_str!("cues/zh.toml")).unwrap_or_default());
static JAPANESE: LazyLock<Table> = LazyLock::new(|| compile(include_str!("cues/ja.toml")).unwrap_or_default());
static KOREAN: LazyLock<Table> = LazyLock::new(|| compile(include_str!("cues/ko.toml")).unwrap_or_default());

/// Whether a text names a technology or a thing of the trade from the list of known nouns; the hits, as written.
pub fn known_nouns(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let latin = lower.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_'))).filter(|w| NOUNS.contains(w));
    let mut out: Vec<String> = Vec::new();
    for word in latin.map(str::to_owned).chain(wide_nouns(&lower)) {
        if !out.iter().any(|o| o.contains(&word)) {
            out.push(word);
        }
    }
    out
}

/// Nouns written without spaces, longest first so that a part of a longer one does not count twice.
fn wide_nouns(text: &str) -> Vec<String> {
    if !text.chars().any(words::is_cjk) {
        return Vec::new();
    }
    let mut hits: Vec<_> = NOUNS.iter().filter(|n| n.chars().any(words::is_cjk) && text.contains(*n)).collect();
    hits.sort_by_key(|n| (std::cmp::Reverse(n.chars().count()), text.find(*n)));
    hits.into_iter().map(|n| (*n).to_owned()).collect()
}

static NOUNS: LazyLock<HashSet<&str>> = LazyLock::new(|| include_str!("cues/nouns.txt").split_whitespace().collect());

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    marks: BTreeMap<Mark, Vec<String>>,
    rules: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    kind: Kind,
    layer: Layer,
    weight: i32,
    #[serde(default)]
    needs: Needs,
    #[serde(default)]
    order_ok: bool,
    #[serde(default)]
    voice: Voice,
    any: Vec<String>,
}

/// Reads a table; the error names what is wrong with it (a test keeps the shipped ones right).
fn compile(text: &str) -> Result<Table, String> {
    let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
    let marks = file.marks.iter().map(|(mark, any)| Ok((*mark, Pattern::of(any)?))).collect::<Result<_, String>>()?;
    let rules = file.rules.into_iter().map(|row| {
        let Row { name, kind, layer, weight, needs, order_ok, voice, any } = row;
        Ok(Rule { pattern: Pattern::of(&any)?, name, kind, layer, weight, needs, order_ok, voice })
    });
    Ok(Table { marks, rules: rules.collect::<Result<_, String>>()? })
}

/// The cues of one row as one pattern. It reads text in small letters: the case of every letter would be half its cost.
#[derive(Debug)]
struct Pattern {
    regex: Regex,
    /// The row looks at capitals.
    cased: bool,
}

impl Pattern {
    /// A space is any white space, `’` any apostrophe or none, `\b` a border of ASCII words (so that `用pnpm` has one).
    fn of(any: &[String]) -> Result<Self, String> {
        let joined = any.iter().map(|p| format!("(?:{p})")).collect::<Vec<_>>().join("|");
        let cased = joined.contains("(?-i:");
        let joined = ascii_classes(&joined.replace('’', "['’]?")).replace(r"\b", r"(?-u:\b)");
        let regex = RegexBuilder::new(&joined).case_insensitive(cased).build().map_err(|e| e.to_string())?;
        Ok(Self { regex, cased })
    }

    /// Small letters of ASCII only, so that bytes stay where they are.
    fn fold<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let plain = self.cased || !text.bytes().any(|b| b.is_ascii_uppercase());
        if plain { Cow::Borrowed(text) } else { Cow::Owned(text.to_ascii_lowercase()) }
    }

    fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(&self.fold(text))
    }

    fn find(&self, text: &str) -> Option<(usize, usize)> {
        self.regex.find(&self.fold(text)).map(|m| (m.start(), m.end()))
    }

    /// Where the first group that took part is.
    fn group(&self, text: &str) -> Option<(usize, usize)> {
        let folded = self.fold(text);
        let hit = self.regex.captures(&folded)?;
        hit.iter().skip(1).flatten().next().map(|m| (m.start(), m.end()))
    }
}

/// `\w`, `\d` and `\S` of ASCII: tables of the whole of Unicode make a pattern hundreds of times as dear to compile.
fn ascii_classes(pattern: &str) -> String {
    let (mut out, mut inside, mut chars) = (String::new(), false, pattern.chars());
    while let Some(c) = chars.next() {
        let class = match c {
            '\\' => match chars.next() {
                Some('w') => "0-9A-Za-z_",
                Some('d') => "0-9",
                Some('s') => r" \t\n\r",
                Some('S') if !inside => r"^ \t\n\r",
                other => {
                    out.push(c);
                    out.extend(other);
                    continue;
                }
            },
            _ => {
                inside = (inside || c == '[') && c != ']';
                out.push(c);
                continue;
            }
        };
        let (open, close) = if inside { ("", "") } else { ("[", "]") };
        for part in [open, class, close] {
            out.push_str(part);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_compiles_and_has_every_mark() {
        for (name, text) in [
            ("en", include_str!("cues/en.toml")),
            ("zh", include_str!("cues/zh.toml")),
            ("ja", include_str!("cues/ja.toml")),
            ("ko", include_str!("cues/ko.toml")),
        ] {
            let table = compile(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(table.marks.len(), Mark::Nouns as usize + 1, "{name}");
            assert!(table.rules.iter().any(Rule::is_marker), "{name}");
        }
    }

    #[test]
    fn cues_are_written_small() {
        let large = |table: &Table| {
            let all = table.marks.values().chain(table.rules.iter().map(|r| &r.pattern));
            all.filter(|p| !p.cased && p.regex.as_str().replace("A-Z", "").bytes().any(|b| b.is_ascii_uppercase())).count()
        };
        for language in [Language::English, Language::Chinese, Language::Japanese, Language::Korean] {
            assert_eq!(large(table(language)), 0, "{language:?}");
        }
    }

    #[test]
    fn fillers_go() {
        assert_eq!(table(Language::English).body("ok so, yeah let's go"), "let's go");
        assert_eq!(table(Language::Chinese).body("嗯，另外，提交用中文"), "提交用中文");
        assert_eq!(table(Language::English).body("ok"), "ok");
    }
}
