//! From a summary to the words of a claim: which belong to the subject and slot, which are a value, what is left behind.

use super::claim::{Look, Part, Unit};
use super::looks::{look_of, number_of, wide_value};
use super::pieces::{Piece, clauses, pieces, plain};
use super::roles::{self, Role};
use crate::text::amounts::{Dimension, measure};
use crate::text::phrases::Clause;
use crate::text::polarity::polarity;
use crate::text::stems::stem;
use crate::text::words::{fold, is_cjk};

/// What was read.
#[derive(Default)]
pub(super) struct Read {
    pub units: Vec<Unit>,
    pub left: Vec<Unit>,
    pub parts: Vec<Part>,
    pub changed: bool,
    pub also: bool,
}

/// Takes a claim apart.
pub(super) fn read(head: &str) -> Read {
    let mut reader = Reader { wide: head.chars().any(is_cjk), first: true, ..Reader::default() };
    let text = plain(head);
    let clauses = clauses(&text);
    for (at, clause) in clauses.iter().enumerate() {
        reader.clause(clause, at + 1 < clauses.len());
    }
    reader.finish()
}

/// What opened a value, and how many words ago.
#[derive(Clone)]
struct Open {
    by: String,
    words: usize,
    names_only: bool,
    /// By a verb of use: its object follows.
    uses: bool,
}

#[derive(Default)]
struct Reader {
    out: Read,
    /// Whether the claim has CJK letters: then a Latin word is a name.
    wide: bool,
    /// Before the first word: a capital there means nothing.
    first: bool,
    phrase: usize,
    at: usize,
    open: Option<Open>,
    /// Behind "has", "need", "able": a "to" comes before a verb.
    modal: bool,
    /// Behind "of": a name is part of the subject.
    of_subject: bool,
    /// What follows is left behind: how many words yet.
    leaving: usize,
    /// Words of the clause, where it began, and whether it says that its words no longer hold.
    start: usize,
    gone: bool,
    /// Words of the clause that would be left behind if the clause speaks of a change.
    from: Vec<Unit>,
    gone_clauses: Vec<(usize, bool)>,
    /// Behind a condition that denies: "unless A agrees, nobody may" allows it to who asks A.
    unless: bool,
    /// Names with a number behind them.
    numbered: Vec<usize>,
}

/// A value begins right behind what opens it, or one CJK letter later (小王, 小李).
const REACH: usize = 1;
const REACH_WIDE: usize = 2;
/// Stands for every verb of owning.
pub(super) const OWNS: &str = "(owns)";

/// Verbs before "to" and another verb.
const MODAL: &[&str] =
    &["has", "have", "had", "need", "needs", "needed", "want", "wants", "like", "likes", "able", "allowed", "free", "fine", "how"];

/// Most words left behind at once.
const LEFT: usize = 3;

impl Reader {
    /// Reads one clause; `more` will follow.
    fn clause(&mut self, text: &str, more: bool) {
        let part = Clause { text: fold(text), question: text.ends_with('?') };
        (self.start, self.gone, self.open, self.leaving) = (self.out.units.len(), false, None, 0);
        self.of_subject = false;
        self.from.clear();
        self.phrase += 1;
        let changed = std::mem::take(&mut self.out.changed);
        let pieces = pieces(text);
        let words: Vec<String> = pieces.iter().map(|p| if let Piece::Word(w) = p { w.to_lowercase() } else { String::new() }).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // Pieces, and letters of the next piece, that were read with the one before.
        let (mut skip, mut letters) = (0, 0);
        let contrast = self.at > 0;
        for (at, piece) in pieces.iter().enumerate() {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            match piece {
                // A colon opens what it announces; other marks end a phrase.
                Piece::Mark(':') if self.out.units.len() > self.start => self.opens(":", false),
                Piece::Mark(_) => {}
                Piece::Letters(run) => self.letters(run.get(std::mem::take(&mut letters)..).unwrap_or_default(), &words, at),
                Piece::Word(word) => {
                    let rest = words.get(at..).unwrap_or_default();
                    if let Some((number, rest)) = number_of(rest.first().copied().unwrap_or_default()) {
                        let next = match pieces.get(at + 1) {
                            Some(Piece::Word(next)) => next.to_lowercase(),
                            Some(Piece::Letters(run)) => run.iter().take(3).collect(),
                            _ => String::new(),
                        };
                        let found = measure(if rest.is_empty() { &next } else { rest });
                        if let Some((_, _, n)) = found.filter(|_| rest.is_empty()) {
                            match pieces.get(at + 1) {
                                Some(Piece::Word(_)) => skip = 1,
                                _ => letters = next.get(..n).unwrap_or_default().chars().count(),
                            }
                        }
                        self.first = false;
                        let unit = found.map_or("", |(unit, ..)| unit);
                        self.push(&format!("{number}{unit}"), Look::Number(found.map(|(_, dimension, _)| dimension)));
                    } else if let Some((role, n)) = roles::of_phrase(rest) {
                        self.role(role, rest.first().copied().unwrap_or_default(), rest.get(n).copied().unwrap_or_default());
                        skip = n - 1;
                    } else if contrast && at == 0 && *word == "not" {
                        self.role(Role::Leaves, "not", "");
                    } else {
                        self.word(word, rest.get(1..).unwrap_or_default());
                    }
                }
            }
        }
        if !self.out.changed {
            // "from" without a change opens a value.
            for unit in &mut self.from {
                if unit.look == Look::Plain {
                    unit.look = Look::Value;
                }
            }
            self.out.units.append(&mut self.from);
        }
        self.out.left.append(&mut self.from);
        self.out.changed |= changed;
        let mut sign = polarity(&part);
        sign.open |= std::mem::take(&mut self.unless) && sign.denials > 0;
        let odd = (sign.denials + sign.removals) % 2 == 1;
        // What a condition or a mere date says is neither affirmed nor denied.
        let (timing, words): (Vec<_>, Vec<_>) = self.out.units.iter().skip(self.start).partition(|u| is_timing(u));
        let condition = more && (is_condition(text) || !timing.is_empty() && words.len() < 2);
        self.unless = condition && (odd || text.to_lowercase().starts_with("unless") || text.starts_with("除非"));
        if !condition {
            self.gone_clauses.push((self.at, self.gone || odd));
        }
        let units = self.out.units.iter().skip(self.start).chain(self.out.left.iter().filter(|u| u.clause == self.at)).cloned().collect();
        let part = Part { units, clause: part, sign };
        match self.out.parts.last_mut().filter(|asked| asked.clause.question && part.units.is_empty()) {
            // "Emojis? No.": what is asked gets the sign of the answer.
            Some(asked) => (asked.clause, asked.sign) = (part.clause, part.sign),
            None if condition => {}
            None => self.out.parts.push(part),
        }
        self.at += 1;
        self.first = self.out.units.is_empty() || text.ends_with(['?', '!']);
    }

    /// Beside a clause that affirms, one that denies names what is left behind.
    fn finish(mut self) -> Read {
        for at in &self.numbered {
            if let Some(name) = self.out.units.get_mut(*at) {
                "#".clone_into(&mut name.by);
            }
        }
        let (denied, affirmed): (Vec<_>, Vec<_>) = self.gone_clauses.iter().partition(|(_, gone)| *gone);
        // "After 14 days, …" affirms nothing.
        let says = |clause: &usize| self.out.units.iter().any(|u| u.clause == *clause && !is_timing(u));
        if affirmed.iter().any(|(clause, _)| says(clause)) {
            for (clause, _) in denied {
                let all: Vec<Unit> = self.out.units.iter().filter(|u| u.clause == clause).cloned().collect();
                self.out.units.retain(|u| u.clause != clause || u.look == Look::Plain && all.len() > 1);
                self.out.changed |= !all.is_empty() && clause > 0;
                // The first clause also names the subject, which stays.
                self.out.left.extend(all.into_iter().filter(|u| clause > 0 || u.look != Look::Plain));
            }
        }
        self.out
    }

    fn opens(&mut self, by: &str, names_only: bool) {
        self.of_subject = false;
        self.phrase += 1;
        self.leaving = 0;
        self.open = Some(Open { by: roles::meaning(by).to_owned(), words: 0, names_only, uses: false });
    }

    fn subject(&mut self) {
        self.of_subject = true;
        self.phrase += 1;
        self.open = None;
        self.leaving = 0;
    }

    fn role(&mut self, role: Role, word: &str, next: &str) {
        match role {
            Role::Glue => {}
            Role::Sign => self.phrase += 1,
            Role::Copula => {
                self.mark_subject();
                if next == "the" && self.mark_value() {
                    self.subject();
                } else {
                    self.opens(word, true);
                }
            }
            // "Use it to format …", "needs Node 22 to start", "has to work": what follows is what it is for, or a verb.
            Role::Opens if word == "to" && self.before_verb() => self.subject(),
            // "in the old app": what is known already is where, not what; a name may still be a value.
            Role::Opens if is_locative(word) && is_definite(next) => {
                self.opens(word, true);
            }
            Role::Opens => {
                // From one value to another: that is a change, whatever the verb.
                // "Hard to read" leads from nothing.
                let typed = self.from.last().is_some_and(|u| u.look != Look::Plain);
                self.out.changed |= word == "to" && (typed || !self.from.is_empty() && look_of(next, "").is_some());
                if word == "是" && next.contains('的') && self.mark_value() {
                    self.subject();
                } else {
                    self.opens(word, false);
                }
            }
            Role::Uses => {
                self.opens(word, false);
                if let Some(open) = &mut self.open {
                    open.uses = true;
                }
            }
            Role::Subject => self.subject(),
            // 晚上十点以后, 交上来以后: "after", not "from now on".
            Role::Changes if word == "以后" && self.is_after(next) => {}
            // 改 before anything is named is a verb like others.
            Role::Changes if word == "改" && self.out.units.len() == self.start => {}
            Role::Changes => {
                self.out.changed = true;
                self.phrase += 1;
                self.leaving = 0;
                if word.ends_with(['成', '为', '到', '至', '往', '去', '给', '由', '用', '走', '改']) {
                    self.opens("to", false);
                }
            }
            Role::Leaves => {
                self.out.changed = true;
                self.leaving = LEFT;
            }
            Role::From => {
                self.phrase += 1;
                self.leaving = LEFT;
                self.open = None;
            }
            Role::Gone => self.gone = true,
            // 同时最多三人 is "at once", not "beside".
            Role::Also => self.out.also |= word != "同时" || self.out.units.len() == self.start && self.at > 0,
            Role::Owns => {
                let _ = self.mark_value();
                self.phrase += 1;
                self.leaving = 0;
                self.out.changed |= word == "took";
                self.push(OWNS, Look::Plain);
                self.open = Some(Open { by: OWNS.to_owned(), words: 0, names_only: true, uses: false });
            }
        }
    }

    /// Whether 以后 is said of a time or of something done.
    fn is_after(&self, next: &str) -> bool {
        let last = self.out.units.last().filter(|_| self.out.units.len() > self.start);
        last.is_some_and(|u| next.is_empty() || is_timing(u))
    }

    /// Whether "to" stands before a verb: behind "has", "need", a verb of use or a value that goes to no other.
    fn before_verb(&self) -> bool {
        let valued = || self.out.units.get(self.start..).and_then(<[Unit]>::last).is_some_and(|u| u.look != Look::Plain);
        self.open.as_ref().is_some_and(|open| open.uses) || self.modal || !self.out.changed && self.from.is_empty() && valued()
    }

    /// Before the verb stands the subject, whatever it looks like.
    fn mark_subject(&mut self) {
        for unit in self.out.units.iter_mut().skip(self.start).filter(|u| matches!(u.look, Look::Name | Look::Value)) {
            unit.look = Look::Plain;
        }
    }

    /// Before "is the …", 是…的 and a verb of owning stands the value, if it is one word.
    fn mark_value(&mut self) -> bool {
        let before = self.out.units.get_mut(self.start..).unwrap_or_default();
        let phrase = before.first().map_or(self.phrase, |u| u.phrase);
        let wide = |u: &Unit| u.text.chars().all(is_cjk);
        let plain = before.iter().all(|u| matches!(u.look, Look::Plain | Look::Value) && u.phrase == phrase);
        let name = plain && (before.len() == 1 || !before.is_empty() && before.len() <= 3 && before.iter().all(wide));
        for unit in before.iter_mut().filter(|_| name) {
            unit.look = if wide(unit) { Look::Value } else { Look::Name };
        }
        name
    }

    fn word(&mut self, word: &str, rest: &[&str]) {
        let lower = word.to_lowercase();
        let next = rest.first().copied().unwrap_or_default();
        if let Some(look) = look_of(&lower, next) {
            self.first = false;
            let look = match look {
                Look::Number(None) => Look::Number(
                    measure(next).map(|(_, dimension, _)| dimension).or_else(|| next.starts_with("year").then_some(Dimension::Time)),
                ),
                look => look,
            };
            return self.push(if look == Look::Day { lower.trim_end_matches('s') } else { &lower }, look);
        }
        // "written in Go": in the place of a value a capital makes a name of any word.
        let valued = !self.first && word.starts_with(char::is_uppercase) && self.open.as_ref().is_some_and(|open| open.words == 0);
        let role = roles::of_word(&lower).filter(|_| !valued).filter(|role| match role {
            Role::Changes => tells_change(&lower, rest),
            Role::Uses if lower.starts_with("call") || lower.starts_with("name") => lower.ends_with("ed"),
            Role::Owns => !lower.trim_end_matches('s').ends_with("al"),
            _ => true,
        });
        if let Some(role) = role {
            self.role(role, &lower, next);
            self.modal = MODAL.contains(&lower.as_str());
            // "I want British spelling": behind a verb a capital means something.
            self.first &= !self.modal && self.at == 0;
            return;
        }
        self.modal = false;
        if lower.ends_with("n't") {
            return self.role(Role::Sign, &lower, next);
        }
        let coded = lower.contains(['_', '.', '@', '+', '#']) || lower.chars().any(|c| c.is_ascii_digit());
        let inside = word.chars().skip(1).any(char::is_uppercase);
        let named = self.wide || inside || (word.starts_with(char::is_uppercase) && !self.first);
        self.first = false;
        for piece in lower.split('-').filter(|p| !p.is_empty()) {
            let look = if coded || named && (self.wide || !self.of_subject) { Look::Name } else { self.place(lower.contains('-')) };
            self.push(&stem(piece.trim_end_matches("'s")), look);
        }
    }

    /// A word in the place of a value, or of the subject. Behind a copula a verb form is no value, and opens none.
    /// A compound may also stand behind what it names: "in channel blue-sky".
    fn place(&self, compound: bool) -> Look {
        match &self.open {
            Some(open) if open.words < REACH + usize::from(compound) && !open.names_only => Look::Value,
            _ => Look::Plain,
        }
    }

    fn push(&mut self, text: &str, look: Look) {
        // "Node 22": a number behind a name is the name's.
        let so_far = if self.leaving > 0 { &self.from } else { &self.out.units };
        let last = so_far.last().filter(|u| u.look == Look::Name && u.phrase + usize::from(self.wide) == self.phrase);
        let by = match last.filter(|_| look == Look::Number(None)) {
            Some(name) => {
                if self.leaving == 0 {
                    self.numbered.push(so_far.len() - 1);
                }
                format!("#{}", name.text)
            }
            None => self.open.as_ref().map(|open| open.by.clone()).unwrap_or_default(),
        };
        let goes_on = |u: &Unit| u.phrase == self.phrase && u.clause == self.at && (u.tail || matches!(u.look, Look::Value | Look::Name));
        let inside = self.open.as_ref().is_some_and(|open| is_locative(&open.by));
        let tail = inside && look == Look::Plain && self.out.units.last().is_some_and(goes_on);
        let unit = Unit { text: text.to_owned(), look, by, phrase: self.phrase, clause: self.at, tail };
        // Among CJK letters a value in other letters is whole.
        match &mut self.open {
            Some(_) if self.wide && !text.chars().all(is_cjk) => {
                self.open = None;
                self.phrase += 1;
            }
            Some(open) => open.words += 1,
            None => {}
        }
        if self.leaving > 0 {
            self.leaving -= 1;
            self.from.push(unit);
        } else {
            self.out.units.push(unit);
        }
    }

    fn letters(&mut self, run: &[char], words: &[&str], piece: usize) {
        let after_number = piece.checked_sub(1).and_then(|b| words.get(b)).is_some_and(|w| w.starts_with(|c: char| c.is_ascii_digit()));
        let mut at = 0;
        self.first = false;
        while let Some(rest) = run.get(at..).filter(|r| !r.is_empty()) {
            if let Some((look, n, text)) = wide_value(rest, at.checked_sub(1).and_then(|b| run.get(b)).copied(), after_number && at == 0) {
                self.push(&text, look);
                at += n;
                continue;
            }
            match roles::of_letters(rest) {
                Some((Some(role), n)) => {
                    let word: String = rest.iter().take(n).collect();
                    self.role(role, &word, &rest.iter().skip(n).collect::<String>());
                    at += n;
                }
                other => {
                    let n = other.map_or(1, |(_, n)| n);
                    for c in rest.iter().take(n) {
                        let look = match &self.open {
                            Some(open) if open.words < REACH_WIDE && !open.names_only => Look::Value,
                            _ => Look::Plain,
                        };
                        self.push(&c.to_string(), look);
                    }
                    at += n;
                }
            }
        }
    }
}

/// Whether a clause before another one only says when that holds.
fn is_condition(clause: &str) -> bool {
    const FIRST: &[&str] = &["if", "unless", "while", "when", "whenever", "once", "until", "before", "after"];
    const FIRST_WIDE: &[&str] = &["如果", "若", "要是", "除非", "只要", "一旦", "没有"];
    const LAST_WIDE: &[&str] = &["时", "时候", "的话", "之前", "之后", "以前", "以后"];
    let first = clause.split(' ').next().unwrap_or_default().to_lowercase();
    let end = clause.trim_end_matches([',', '，']);
    FIRST.contains(&first.as_str()) || FIRST_WIDE.iter().any(|w| clause.starts_with(w)) || LAST_WIDE.iter().any(|w| end.ends_with(w))
}

fn is_timing(unit: &Unit) -> bool {
    matches!(unit.look, Look::Number(_) | Look::Day | Look::Date | Look::Time)
}

fn is_locative(word: &str) -> bool {
    matches!(word, "in" | "on" | "at" | "under" | "inside" | "within")
}

fn is_definite(word: &str) -> bool {
    matches!(word, "the" | "our" | "its" | "their" | "your" | "my" | "this" | "that" | "these" | "those")
}

/// Whether a verb of change says that something changed: in its past, or with what it goes to. "Before you change it" does not.
fn tells_change(word: &str, rest: &[&str]) -> bool {
    matches!(word, "now" | "since") || word.ends_with("ed") || rest.iter().any(|w| matches!(*w, "to" | "from" | "into"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_from_subjects() {
        let values =
            |text: &str| -> Vec<String> { read(text).units.into_iter().filter(|u| u.look != Look::Plain).map(|u| u.text).collect() };
        for (text, wanted) in [
            ("Alice owns the invoice printer.", "alic"),
            ("The login service is written in Kotlin.", "kotlin"),
            ("Errors in the importer are retried 3 times.", "3"),
            ("The ledger listens at 8,080", "8080"),
            ("I want British spelling in the notes.", "british"),
            ("The notes have to work offline.", ""),
            ("Commit messages are wrapped at 72 characters.", "72"),
            ("登录服务的超时时间是 30 秒。", "30s"),
            ("登录服务用 Kotlin 写。", "kotlin"),
            ("报表每周三发版", "三"),
        ] {
            assert_eq!(values(text).concat(), wanted, "{text}");
        }
        let left = |text: &str| read(text).left.into_iter().map(|u| u.text).collect::<String>();
        assert_eq!((left("Deploys moved from Jenkins to Argo."), left("事件走 NATS，不再用 Kafka。")), ("jenkin".into(), "kafka".into()));
    }
}
