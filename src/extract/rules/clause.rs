//! One clause or sentence of the user: what marks it has, which rule it matches, and how the points add up.
//!
//! The sum is the whole policy. A rule brings its weight; a named thing, a stated reason, a contrast and the way the
//! assistant takes it support it; reserve, a pronoun for a subject, the form of an order, and talk about what is on
//! the screen weaken it. From [`STRONG`] on it is stored without asking.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::cues::{Mark, Needs, Rule, Table, known_nouns, table};
use crate::model::Kind;
use crate::text::words::{self, Language};

/// Points from which a clause is stored without asking a person.
pub const STRONG: i32 = 3;

/// What went on around a clause.
#[derive(Clone, Debug, Default)]
pub struct Around {
    /// The assistant only takes note of the turn: nothing was to be done, so something was to be known.
    pub acknowledged: bool,
    /// Content words of what the assistant offered before.
    pub offered: BTreeSet<String>,
    /// It follows a correction: what holds instead.
    pub corrected: bool,
}

/// The user's words from one place, with the table that reads them.
#[derive(Clone, Debug)]
pub struct Clause<'a> {
    /// Verbatim.
    pub text: &'a str,
    /// Without fillers, line breaks as spaces.
    pub body: String,
    /// The text and the body without what they only quote: words of others are no cues.
    own: (String, String),
    /// The language it is read in.
    pub language: Language,
}

/// The rule that fits best, and the points.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// The row.
    pub rule: &'static Rule,
    /// The sum.
    pub points: i32,
}

impl<'a> Clause<'a> {
    /// Reads a piece of text; `conversation` decides about pieces in Han only.
    pub fn new(text: &'a str, conversation: Language) -> Self {
        let own = words::language(text);
        let language = match (own, conversation) {
            (Language::Chinese, Language::Japanese) => conversation,
            // 用 memcached: one long name outweighs the few words around it.
            (Language::English, Language::Chinese) if text.chars().any(words::is_cjk) => conversation,
            _ => own,
        };
        let flat = text.replace(['\n', '\r'], " ");
        let body = table(language).body(&flat).to_owned();
        let own = (unquoted(&flat), unquoted(&body));
        Self { text, body, own, language }
    }

    /// The table of its language.
    pub fn table(&self) -> &'static Table {
        table(self.language)
    }

    /// Whether the body has a mark, in its own language or, in mixed text, in English.
    pub fn has(&self, mark: Mark) -> bool {
        let own = &self.own.1;
        self.table().has(mark, own) || (self.mixed() && table(Language::English).has(mark, own))
    }

    /// [`Clause::has`] on the words as they stand: "actually, no" is a filler and a correction.
    pub fn raw_has(&self, mark: Mark) -> bool {
        self.table().has(mark, &self.own.0) || self.has(mark)
    }

    /// Takes something back, not only a value.
    pub fn is_correction(&self) -> bool {
        [Mark::Correct, Mark::Revoke].iter().any(|m| self.raw_has(*m)) || self.revives()
    }

    /// Takes up again, now; "then we go back to 10" is part of what holds until then.
    pub fn revives(&self) -> bool {
        self.raw_has(Mark::Revive) && !self.raw_has(Mark::Scheduled)
    }

    /// The same place in the text, saying only this.
    #[must_use]
    pub fn saying(&self, body: String) -> Self {
        let own = (self.own.0.clone(), unquoted(&body));
        Self { body, own, ..self.clone() }
    }

    /// The clause without a mark and what went before it.
    #[must_use]
    pub fn without(mut self, mark: Mark) -> Self {
        while let Some((_, end)) = self.table().find(mark, &self.body) {
            let rest = self.body.get(end..).unwrap_or_default().trim_start_matches([' ', ',', '，', '、', '.', '。', ':', '：', '!', '！']);
            if rest.len() == self.body.len() || words::tokens(rest).len() < 2 {
                break;
            }
            self.body = self.table().body(rest).to_owned();
            self.own.1 = unquoted(&self.body);
        }
        self
    }

    fn mixed(&self) -> bool {
        self.language != Language::English && self.body.split(|c: char| !c.is_ascii_alphabetic()).filter(|w| w.len() > 1).count() >= 3
    }

    /// Content words, as stems and bigrams.
    pub fn tokens(&self) -> BTreeSet<String> {
        words::token_set(&self.body)
    }

    /// A question, also one that does not end in a question mark.
    pub fn asks(&self) -> bool {
        self.has(Mark::Question) || self.text.trim_end().ends_with(['?', '？'])
    }

    /// Something nobody decided: a question, a supposition, a joke, a false friend of a cue.
    pub fn is_open(&self) -> bool {
        self.asks() || [Mark::Undecided, Mark::Joke, Mark::FalseFriend].iter().any(|m| self.has(*m))
    }

    /// The best rule with its points, if the clause says anything. `None` for questions, jokes, small talk.
    pub fn read(&self, around: &Around) -> Option<Reading> {
        let mut rules: Vec<&'static Rule> = self.table().rules.iter().filter(|r| r.matches(&self.own.1)).collect();
        if self.mixed() {
            rules.extend(table(Language::English).rules.iter().filter(|r| r.matches(&self.own.1)));
        }
        let open = self.is_open();
        rules
            .into_iter()
            .filter(|r| r.is_marker() || !open)
            .map(|rule| Reading { rule, points: self.points(rule, around) })
            // The first of equals: the tables go from the special to the general.
            .reduce(|best, next| if next.points > best.points { next } else { best })
    }

    fn points(&self, rule: &Rule, around: &Around) -> i32 {
        let (concrete, value) = (is_concrete(&self.body), has_value(&self.body));
        if rule.is_marker() {
            return rule.weight;
        }
        let enough = match rule.needs {
            Needs::Object => concrete || value || self.tokens().len() >= 2,
            Needs::Word => !self.tokens().is_empty(),
            Needs::Concrete => concrete,
            Needs::Named => concrete || value,
            Needs::Value => value,
        };
        if !enough {
            return 0;
        }
        // "I always want that", "cut it to five": say nothing by themselves.
        let object = self.body.split_whitespace().nth(1).is_some_and(|w| matches!(w, "it" | "them" | "that" | "this"));
        let leans = self.has(Mark::Leans) && (self.tokens().len() < 3 || (object && rule.kind == Kind::Decision));
        if !concrete && (self.has(Mark::Pronoun) || leans) {
            return 0;
        }
        let tokens = self.tokens();
        let choice = matches!(rule.name.as_str(), "choice" | "proposal" | "contrasted" | "it-is" | "setting" | "parameter" | "take");
        let offered = choice && tokens.intersection(&around.offered).next().is_some();
        let supports = [
            concrete || (value && rule.needs == Needs::Value),
            self.has(Mark::Because) || self.has(Mark::Therefore),
            self.has(Mark::Contrast),
            around.acknowledged,
            around.corrected,
            offered,
        ];
        let light = |mark| i32::from(self.has(mark));
        let heavy = |on: bool| 2 * i32::from(on);
        rule.weight + supports.iter().map(|on| i32::from(*on)).sum::<i32>()
            - light(Mark::Hedge) * 2
            - light(Mark::Pronoun) * 2
            // "at 5 s until Friday, then back to 10": agreed, not to be done.
            - i32::from(rule.kind == Kind::Todo && self.has(Mark::Scheduled)) * 2
            - light(Mark::Cosmetic) * 2
            - heavy(!rule.order_ok && self.has(Mark::Order))
            // What is broken may well be what has to be done.
            - heavy(rule.kind != Kind::Todo && self.has(Mark::Observation))
    }
}

/// A text with long quotations blanked; a short one is a name ("Sign in").
fn unquoted(text: &str) -> String {
    static QUOTED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#""[^"\n]{12,}"|“[^”\n]{6,}”|「[^」\n]{8,}」|『[^』\n]{8,}』|(?:^|[\s(:])'[^'\n]{16,}'"#).ok());
    QUOTED.as_ref().map_or_else(|| text.to_owned(), |p| p.replace_all(text, "…").into_owned())
}

/// Whether a text names something that can be looked up: identifier, path, code, proper name, known technology.
pub fn is_concrete(text: &str) -> bool {
    !identifiers(text).is_empty() || !proper_names(text).is_empty() || !known_nouns(text).is_empty() || has_foreign_word(text)
}

/// A Latin word inside Chinese, Japanese or Korean is a name: `用 mq`, `dayjs を入れる`.
fn has_foreign_word(text: &str) -> bool {
    const PLAIN: &[&str] = &["ok", "okay", "todo", "bug", "pr", "ui", "demo", "hi", "thanks", "fyi", "no", "yes"];
    let latin = || text.split(|c: char| !c.is_ascii_alphabetic()).filter(|w| w.len() >= 2 && !PLAIN.contains(&w.to_lowercase().as_str()));
    text.chars().any(words::is_cjk) && latin().next().is_some()
}

/// Whether a text holds a number, version or address.
pub fn has_value(text: &str) -> bool {
    static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"[0-9]|(?-u:\b)(?i:two|three|four|five|six|seven|eight|nine|ten|twelve|zero)(?-u:\b)|[一二两三四五六七八九十百千半]+\s?(?:秒|分钟?|小时|天|周|个月|年|次|条|个|台|人|倍|行|字|页|份)|[이삼사오]\s?(?:개|번)").ok()
    });
    WORDS.as_ref().is_some_and(|p| p.is_match(text))
}

/// Identifiers, paths, versions and inline code, as written and in order.
pub fn identifiers(text: &str) -> Vec<String> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"`[^`\n]{2,60}`",
            r"|(?-u:\b)[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?::[0-9]+)?",
            r"|https?://[^\s，。）)]+",
            r"|[~.]{0,2}/?(?:[A-Za-z0-9_@.*{}-]+/)+[A-Za-z0-9_@.*{}-]*",
            r"|/[A-Za-z0-9_.-]{2,}",
            r"|--?[a-z][a-z0-9-]{2,}",
            r"|[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|_|::|:)[A-Za-z0-9_]+)+",
            r"|\.[a-z]{2,5}(?-u:\b)",
            r"|[A-Za-z]+[0-9][A-Za-z0-9]*|[A-Za-z][A-Za-z0-9]*_",
            r"|[a-z]+[A-Z][A-Za-z0-9]*",
            r"|[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]*",
        ))
        .ok()
    });
    let Some(pattern) = PATTERN.as_ref() else { return Vec::new() };
    let text = text.replace("...", "… ");
    let trim = |m: &str| m.trim_matches(['`', '.', ',', ':', ';']).to_owned();
    let plain = |t: &String| !t.is_empty() && !matches!(t.to_lowercase().as_str(), "e.g" | "i.e" | "and/or" | "he/she" | "n/a");
    pattern.find_iter(&text).map(|m| trim(m.as_str())).filter(plain).collect()
}

/// Latin names inside a sentence (a capital that is not at its beginning) and acronyms, as written.
pub fn proper_names(text: &str) -> Vec<String> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[A-Z][A-Za-z0-9+#]+|(?-u:\b)[A-Z]{2,}(?-u:\b)").ok());
    const PLAIN: &[&str] = &[
        "ok",
        "okay",
        "todo",
        "fyi",
        "lol",
        "not",
        "never",
        "always",
        "all",
        "only",
        "must",
        "no",
        "yes",
        "very",
        "before",
        "and",
        "i'm",
        "asap",
        "btw",
        "imo",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "do",
        "don",
        "the",
        "if",
        "we",
        "it",
        "this",
        "that",
        "hi",
        "hey",
        "please",
        "thanks",
        "remember",
        "decision",
        "now",
        "pr",
        "let",
    ];
    let Some(pattern) = PATTERN.as_ref() else { return Vec::new() };
    let inside = |m: &regex::Match<'_>| {
        let before = text.get(..m.start()).unwrap_or_default().trim_end();
        let starts = before.is_empty() || before.ends_with(['.', '!', '?', ':', '"', '(', '-', '。', '：']);
        let acronym = m.as_str().chars().all(|c| !c.is_lowercase());
        (!starts
            || acronym
            || before.ends_with(words::is_cjk)
            || text.get(m.end()..).is_some_and(|t| t.trim_start().starts_with(words::is_cjk)))
            && !PLAIN.contains(&m.as_str().to_lowercase().as_str())
    };
    pattern.find_iter(text).filter(inside).map(|m| m.as_str().to_owned()).collect()
}

/// Content words of a text that carry a subject: stems and bigrams without numbers.
pub fn subject_tokens(text: &str) -> BTreeSet<String> {
    words::tokens(text).into_iter().filter(|t| !t.chars().all(|c| c.is_ascii_digit())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(text: &str) -> i32 {
        Clause::new(text, words::language(text)).read(&Around::default()).map_or(0, |r| r.points)
    }

    #[test]
    fn norms_and_choices_are_strong() {
        for text in [
            "never edit files under vendor/",
            "we use uv here, not pip",
            "let's go with Postgres",
            "run make lint before every commit",
            "提交信息一律用英文",
            "我们用 pnpm",
            "コミットメッセージは必ず英語で書いてください",
            "커밋 메시지는 항상 영어로 써줘",
        ] {
            assert!(points(text) >= STRONG, "{text}: {}", points(text));
        }
    }

    #[test]
    fn orders_questions_and_talk_are_not() {
        for text in [
            "fix the flaky upload test",
            "should we use Redis?",
            "maybe we use Redis",
            "it always fails",
            "looks good, commit",
            "帮我看下这个接口为什么慢",
            "再加个进度条",
            "直して",
            "고쳐줘",
            "no worries",
        ] {
            assert!(points(text) < STRONG, "{text}: {}", points(text));
        }
    }

    #[test]
    fn things_with_names() {
        for text in ["see src/a.rs", "use `foo bar`", "on TLS", "with Redis", "用pnpm", "联合索引", "max_conns"] {
            assert!(is_concrete(text), "{text}");
        }
        for text in ["Make it bigger", "the next step", "好的继续", "OK", "on Friday"] {
            assert!(!is_concrete(text), "{text}");
        }
    }
}
