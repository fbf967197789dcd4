//! The detector without a model: do two memories about the same thing disagree?
//!
//! It looks only where two entries share their place and topic, and asks whether a value, a name or the sign differs.
//! What a clash leads to is decided in `reconcile`; here nothing is changed.

use std::collections::BTreeSet;

use super::claim::{Claim, topic_of};
use super::duplicate::{alike, scope_of};
use crate::model::{Kind, Memory, Speaker, State};
use crate::text::phrases::{Clause, clauses, find, has_any, without};
use crate::text::polarity::{agree, polarity};
use crate::text::words::{fold, is_cjk, token_set};

/// Two memories that disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// One line for a person.
    pub reason: String,
    /// Whether the newer one says itself that something changed.
    pub changed: bool,
    /// Whether subject and slot are plainly the same.
    pub same_slot: bool,
}

/// Words of a change in the newer entry or in its user quotes.
pub(super) const CHANGED: &[&str] = &[
    "moved to",
    "moved from",
    "move to",
    "moving to",
    "goes to",
    "go to",
    "switch to",
    "switched to",
    "switched from",
    "switching to",
    "replace",
    "replaces",
    "replaced",
    "instead of",
    "no longer",
    "from now on",
    "from today",
    "as of",
    "changed to",
    "change to",
    "bumped to",
    "bump to",
    "raise",
    "raised to",
    "lowered to",
    "upgrade",
    "upgraded to",
    "is stale",
    "is now",
    "are now",
    "back to",
    "we now",
    "not anymore",
    "any more",
    "new tables",
    "for anything new",
    "drop",
    "scratch",
    "改成",
    "改为",
    "改用",
    "改走",
    "换成",
    "换为",
    "不再",
    "从今天",
    "从现在起",
    "以后",
    "现在",
    "迁到",
    "升级到",
    "升到",
    "降到",
    "调整为",
    "调到",
    "先不",
    "暂不",
    "取消",
    "作废",
    "に変更",
    "に切り替え",
    "へ移行",
    "に移行",
    "今後は",
    "やめて",
    "変えた",
    "으로 변경",
    "로 변경",
    "로 바꾸",
    "로 바꿨",
    "로 전환",
    "더 이상",
    "이제",
];

/// Verbs right before a value: what follows may be exchanged.
const USE_VERBS: &[&str] = &[
    "use", "uses", "using", "with", "on", "via", "in", "through", "by", "is", "are", "to", "as", "run", "runs", "prefer", "prefers",
    "called", "named", "chose", "choose", "return", "returns", "support", "supports",
];
const USE_VERBS_WIDE: &[&str] = &["用", "由", "使用", "采用", "选", "放", "走", "是", "为", "成", "到", "は", "を", "로", "를", "을"];

/// Whether the newer memory disagrees with the older one, and why it is thought so.
pub fn clash(older: &Memory, newer: &Memory) -> Option<Clash> {
    if scope_of(older) != scope_of(newer)
        || !comparable(older, newer)
        || alike(&older.summary, &newer.summary) && older.state == newer.state
    {
        return None;
    }
    let (a, b) = (Claim::of(older), Claim::of(newer));
    if a.elsewhere(&b) {
        return None;
    }
    if older.state == State::Rejected || newer.state == State::Rejected {
        return turned_down(older, newer, &a, &b);
    }
    let changed = says_change(newer);
    let found = opposite(&a, &b).or_else(|| other_number(&a, &b)).or_else(|| other_value(&a, &b));
    if let Some((reason, same_slot)) = found {
        return Some(Clash { reason, changed, same_slot });
    }
    let shared = a.shared(&b);
    let news = b.topic.difference(&a.topic).next().is_some() && (a.topic.difference(&b.topic).next().is_some() || leaves_behind(newer, &a));
    let about = shared.len() as f64 >= CHANGE_SHARE * a.topic.len().min(b.topic.len()) as f64;
    (changed && news && shared.len() >= 2 && about).then(|| Clash {
        reason: "the newer one speaks of a change".to_owned(),
        changed,
        same_slot: false,
    })
}

/// Whether the newer memory says that it turns from something the older one names: "moved from yarn", 不再用 yarn.
fn leaves_behind(newer: &Memory, older: &Claim) -> bool {
    const FROM: &[&str] = &[
        "from",
        "instead of",
        "rather than",
        "replaces",
        "no longer",
        "drops",
        "away from",
        "不再用",
        "不再",
        "弃用",
        "替换",
        "取代",
        "从",
        "代替",
        "から",
        "대신",
    ];
    let folded = fold(&newer.summary);
    FROM.iter().filter_map(|cue| find(&folded, cue)).any(|range| {
        let next: String = folded.get(range.end..).unwrap_or_default().chars().take(24).collect();
        crate::text::words::tokens(&next).iter().take(3).any(|t| older.topic.contains(t))
    })
}

/// With a word of change, this share of the smaller topic must be common.
const CHANGE_SHARE: f64 = 0.25;

/// With opposite signs, this share of the smaller clause must be common.
const OPPOSITE_SHARE: f64 = 0.5;

/// Which pairs can disagree at all: both hold, or one was turned down; a todo only with a todo or a decision about it.
fn comparable(older: &Memory, newer: &Memory) -> bool {
    let live = |m: &Memory| matches!(m.state, State::Valid | State::Rejected);
    let todos = [older.kind, newer.kind].iter().filter(|k| **k == Kind::Todo).count();
    let both_rejected = older.state == State::Rejected && newer.state == State::Rejected;
    live(older) && live(newer) && !both_rejected && (todos != 1 || older.kind == Kind::Todo)
}

/// Whether the newer memory or the user's words behind it speak of a change.
pub(super) fn says_change(memory: &Memory) -> bool {
    let quotes = memory.evidence.iter().filter(|e| e.speaker == Speaker::User).map(|e| fold(&e.quote));
    std::iter::once(fold(&memory.summary)).chain(quotes).any(|t| has_any(&t, CHANGED))
}

/// One says it, the other denies it.
fn opposite(a: &Claim, b: &Claim) -> Option<(String, bool)> {
    let tokens = |text: &str| -> BTreeSet<String> { topic_of(text).into_iter().filter(|t| !SIGNS.contains(&t.as_str())).collect() };
    for x in clauses(&a.head) {
        for y in clauses(&b.head) {
            let (tx, ty) = (tokens(&x.text), tokens(&y.text));
            let shared: BTreeSet<String> = tx.intersection(&ty).cloned().collect();
            let least = tx.len().min(ty.len());
            let enough = shared.len() >= 2 || (least == 1 && shared.iter().any(|t| is_name(t, &a.head) || is_name(t, &b.head)));
            let near = enough && shared.len() as f64 >= OPPOSITE_SHARE * least as f64 && !two_objects(&tx, &ty);
            if near && (!agree(polarity(&x), polarity(&y)) || keeps_and_removes(&x, &y)) {
                return Some(("one affirms and one denies".to_owned(), true));
            }
        }
    }
    None
}

/// Whether a word is written as a name in a text: with a capital inside a sentence, or in Latin letters among CJK ones.
fn is_name(word: &str, text: &str) -> bool {
    let wide = text.chars().any(is_cjk);
    let pieces = text.split(|c: char| !c.is_alphanumeric() || is_cjk(c)).filter(|w| !w.is_empty());
    pieces.enumerate().any(|(at, w)| token_set(w).contains(word) && (wide || at > 0 && w.starts_with(char::is_uppercase)))
}

/// Whether both have a Latin word of their own: "no retry" and "timeout 5s" are two things about one endpoint.
fn two_objects(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let own = |x: &BTreeSet<String>, y: &BTreeSet<String>| x.difference(y).any(|t| !t.chars().any(is_cjk) && !SIGNS.contains(&t.as_str()));
    own(a, b) && own(b, a)
}

/// Words (stems) that carry the sign, not the object.
const SIGNS: &[&str] = &[
    "drop", "remov", "stay", "stop", "disabl", "enabl", "avoid", "may", "don't", "doesn't", "cannot", "can't", "nothing", "allow",
    "forbid", "reject", "ignor", "skip",
];

/// One keeps what the other takes away.
fn keeps_and_removes(x: &Clause, y: &Clause) -> bool {
    const KEEP: &[&str] = &["stay", "stays", "keep", "keeps", "remain", "remains", "保留", "留着", "继续", "残す", "維持", "유지"];
    let keeps = |c: &Clause| has_any(&c.text, KEEP) && polarity(c).denials + polarity(c).removals == 0;
    let removes = |c: &Clause| polarity(c).removals > 0 && polarity(c).denials == 0;
    keeps(x) && removes(y) || keeps(y) && removes(x)
}

/// Another number of the same unit in the same slot.
fn other_number(a: &Claim, b: &Claim) -> Option<(String, bool)> {
    let (x, y) = (a.set(), b.set());
    let shared: BTreeSet<String> = x.intersection(&y).cloned().collect();
    let least = x.len().min(y.len());
    if shared.is_empty() || shared.len() * 2 <= least && least > 1 || !same_subject(a, b, &x, &y) {
        return None;
    }
    let differs = a.numbers.iter().find_map(|(number, unit)| {
        let theirs: Vec<_> = b.numbers.iter().filter(|(_, u)| u == unit).collect();
        let said_too = theirs.iter().any(|(n, _)| n == number);
        theirs
            .first()
            .filter(|_| !said_too && !a.numbers.iter().any(|(n, u)| u == unit && theirs.iter().any(|(m, _)| m == n)))
            .map(|(n, u)| (number, n, u))
    })?;
    let (old, new, unit) = differs;
    Some((format!("{old}{unit} in one and {new}{unit} in the other"), true))
}

/// Words left over on both sides must not be the subject: then the claims are about two things.
fn same_subject(a: &Claim, b: &Claim, x: &BTreeSet<String>, y: &BTreeSet<String>) -> bool {
    let one_sided = x.difference(y).next().is_none() || y.difference(x).next().is_none();
    one_sided || a.words.first() == b.words.first()
}

/// Most words of a value that is exchanged for another (CJK bigrams overlap, so more of them).
const VALUE_WORDS: usize = 3;
const VALUE_BIGRAMS: usize = 5;

/// The same sentence with another name in the slot behind its verb.
fn other_value(a: &Claim, b: &Claim) -> Option<(String, bool)> {
    let (x, y) = (a.set(), b.set());
    let shared: BTreeSet<String> = x.intersection(&y).cloned().collect();
    let (only_a, only_b): (Vec<_>, Vec<_>) = (x.difference(&y).collect(), y.difference(&x).collect());
    let least = x.len().min(y.len());
    let small = |rest: &[&String]| {
        let wide = rest.iter().any(|t| t.chars().any(is_cjk));
        !rest.is_empty() && rest.len() <= if wide { VALUE_BIGRAMS } else { VALUE_WORDS }
    };
    let denies = |claim: &Claim| clauses(&claim.head).iter().any(|c| polarity(c).denials > 0);
    if shared.is_empty() || shared.len() * 2 < least || !small(&only_a) || !small(&only_b) || denies(a) || denies(b) {
        return None;
    }
    let (va, vb) = (value_in(&a.head, &only_a)?, value_in(&b.head, &only_b)?);
    let subject = a.words.first() == b.words.first() || (begins_with_verb(&a.head) && begins_with_verb(&b.head));
    subject.then(|| (format!("{va} in one and {vb} in the other"), true))
}

/// The first of these words that stands in a value's place: right behind a verb of use, or a name by its look.
fn value_in(head: &str, words: &[&String]) -> Option<String> {
    let pieces: Vec<&str> =
        head.split(|c: char| c.is_whitespace() || matches!(c, ',' | '.' | '，' | '。' | ';')).filter(|w| !w.is_empty()).collect();
    for (at, piece) in pieces.iter().enumerate() {
        let tokens = token_set(piece);
        if !words.iter().any(|w| tokens.contains(*w)) {
            continue;
        }
        let before = at.checked_sub(1).and_then(|b| pieces.get(b)).map(|w| fold(w)).unwrap_or_default();
        let verb = USE_VERBS.contains(&before.as_str()) || USE_VERBS_WIDE.iter().any(|v| before.ends_with(v));
        let wide = piece.chars().any(is_cjk) && USE_VERBS_WIDE.iter().any(|v| piece.contains(v));
        let name = at > 0 && piece.chars().any(|c| c.is_uppercase() || c.is_ascii_digit() || c == '_');
        // Anything else that differs first is another subject: then the claims are about two things.
        let value = verb || wide || name || (piece.is_ascii() && head.chars().any(is_cjk));
        return value.then(|| piece.trim_matches(|c: char| !c.is_alphanumeric()).to_owned());
    }
    None
}

fn begins_with_verb(head: &str) -> bool {
    let folded = fold(head);
    ["use ", "run ", "prefer ", "用", "使用", "采用"].iter().any(|verb| folded.starts_with(verb))
}

/// One of the two was turned down and the other takes it up.
fn turned_down(older: &Memory, newer: &Memory, a: &Claim, b: &Claim) -> Option<Clash> {
    const VERDICT: &[&str] = &[
        "was considered",
        "considered",
        "rejected",
        "was dropped",
        "dropped",
        "ruled out",
        "turned down",
        "not chosen",
        "曾考虑",
        "考虑",
        "否决",
        "放弃",
        "不采用",
        "検討",
        "却下",
        "見送",
        "검토",
        "기각",
    ];
    let (rejected, taken) = if older.state == State::Rejected { (a, b) } else { (b, a) };
    let folded = fold(&rejected.head);
    // The reason may follow the verdict without a "because": "rejected as too heavy".
    const END: &[&str] =
        &[", rejected", ", ruled out", ", dropped", " was rejected", " was ruled out", " was dropped", "，否决", "否决", "，放弃"];
    let end = END.iter().filter_map(|cue| folded.find(cue)).filter(|at| *at > 0).min().unwrap_or(folded.len());
    let option: BTreeSet<String> = topic_of(&without(folded.get(..end).unwrap_or_default(), VERDICT));
    let held: BTreeSet<String> = taken.words.iter().cloned().collect();
    (option.len() >= 2 && option.is_subset(&held)).then(|| Clash {
        reason: "turned down in one and holds in the other".to_owned(),
        changed: says_change(newer),
        same_slot: true,
    })
}
