//! `E_COVER` and `E_NEG`: the summary says no more than the talk, and not its opposite. Both only raise a doubt.

use std::collections::BTreeSet;

use super::{Draft, Finding, Scene};
use crate::model::{Code, Evidence, State};
use crate::text::phrases::{Clause, clauses, has_any, without};
use crate::text::polarity::{Polarity, agree, common_marks, polarity, polarity_without};
use crate::text::words::{Language, fold, is_cjk, language, token_set};

/// Turns around the quotes that count: a proposal, its correction and the answer.
const REACH: usize = 2;

/// Part of the summary's words that must stand in the window.
const COVERED: f64 = 0.4;

/// At least 40 % of the content words stand in the quoted turns and around them, if both are in one script.
pub(super) fn covered(draft: &mut Draft, scene: &Scene) -> Finding {
    let window = format!("{}\n{}", scene.sheet.window(&draft.evidence, REACH), scene.pointed(draft));
    // A Chinese summary of English talk shares no words with it, and is no worse for that.
    if !same_script(draft) {
        return Finding::Fine;
    }
    let said = token_set(&window);
    let letters: BTreeSet<char> = window.chars().filter(|c| is_cjk(*c)).collect();
    let summary = without(&fold(&draft.candidate.summary), FRAMING);
    let claimed = token_set(&summary);
    let found: f64 = claimed.iter().map(|token| part_said(token, &said, &letters)).sum();
    // Of three words, one may be all that a good paraphrase keeps.
    let short = claimed.len() <= 3 && found >= 1.0;
    let covered = short || found >= COVERED * claimed.len() as f64 || by_letters(&summary, &draft.evidence, scene);
    if covered { Finding::Fine } else { Finding::Doubt(Code::ECover) }
}

/// Words of the note itself, which nobody says: who it is about, that something was considered.
const FRAMING: &[&str] = &[
    "the user",
    "user",
    "the assistant",
    "was considered",
    "considered",
    "rejected",
    "because",
    "用户",
    "助手",
    "曾考虑",
    "否决",
    "因为",
    "因",
    "ユーザー",
    "検討",
    "却下",
    "사용자",
    "검토",
    "기각",
];

/// Part of the CJK letters of a summary that must have been said, where word order and filler words hide the bigrams.
const LETTERS: f64 = 0.5;

/// More distinct letters than this hold any text by chance.
const FEW_LETTERS: usize = 120;

/// Whether the people's own short turns near the quotes hold half of a CJK summary, letter by letter.
fn by_letters(summary: &str, evidence: &[Evidence], scene: &Scene) -> bool {
    let content = |text: &str| text.chars().filter(|c| is_cjk(*c) && !GLUE.contains(*c)).collect::<BTreeSet<char>>();
    let spoken = scene.sheet.spoken(evidence, REACH);
    let (said, claimed) = (content(&spoken), content(summary));
    let common = claimed.intersection(&said).count();
    claimed.len() >= 4 && said.len() <= FEW_LETTERS && common as f64 >= LETTERS * claimed.len() as f64
}

/// 1 for a word that was said, ½ for a CJK bigram whose letters were said apart: 补索引 for 把索引补上.
fn part_said(token: &str, said: &BTreeSet<String>, letters: &BTreeSet<char>) -> f64 {
    if said.contains(token) || near(token, said) {
        1.0
    } else if token.chars().all(|c| letters.contains(&c)) {
        0.5
    } else {
        0.0
    }
}

/// Whether a word with the same first five letters was said: `filtering` for `filter`, `configured` for `configuration`.
fn near(token: &str, said: &BTreeSet<String>) -> bool {
    let Some(head) = token.get(..5).filter(|_| !token.chars().any(is_cjk)) else { return false };
    said.range(head.to_owned()..).next().is_some_and(|other| other.starts_with(head))
}

/// Least weight that two clauses must share to speak of the same thing; a Latin word weighs 2, a CJK letter 1.
const SHARED: usize = 3;

/// The same where one of the clauses is as light as this.
const SHARED_BY_LIGHT: (usize, usize) = (2, 6);

/// A clause of the summary and the clause of the quotes nearest to it must both affirm or both deny, and the summary may
/// not deny more often than the quotes give reason to.
pub(super) fn same_way_round(draft: &mut Draft, scene: &Scene) -> Finding {
    if draft.candidate.state != State::Valid {
        // "X was considered, rejected" turns its quote round by its nature.
        return Finding::Fine;
    }
    let quoted = draft.quoted();
    let ignored = common_marks(&fold(&draft.candidate.summary), &fold(&quoted));
    let mut said: Vec<Spoken> = clauses(&quoted).iter().map(|c| Spoken::of(c, &ignored)).collect();
    for (at, _) in clauses(&quoted).iter().enumerate().filter(|(_, c)| starts_with_any(&c.text, ELLIPTIC)) {
        // "It still asks. It should not.": the first clause is what the second denies.
        if let Some(before) = at.checked_sub(1).and_then(|before| said.get_mut(before)) {
            before.polarity.open = true;
        }
    }
    let around = token_set(&format!("{}\n{}", scene.sheet.window(&draft.evidence, REACH), scene.pointed(draft)));
    let parts = clauses(&draft.candidate.summary);
    let claimed: Vec<Spoken> = parts.iter().map(|c| Spoken::of(c, &ignored)).collect();
    let tail = |(at, _): &(usize, &Spoken)| *at > 0 && parts.get(*at).is_some_and(|c| is_tail(c, &around));
    let judged: Vec<&Spoken> = claimed.iter().enumerate().filter(|pair| !tail(pair)).map(|(_, c)| c).collect();
    let denials = judged.iter().filter(|c| c.polarity.denials > 0).count();
    let reasons = clauses(&quoted).iter().map(polarity).filter(|p| p.denials + p.removals > 0 || p.limited).count();
    // A tail that renders a denial of the quotes uses it up: it gives no reason for another one.
    let renders = |c: &Spoken| said.iter().any(|other| other.polarity.denials > 0 && other.shared(c) > 0);
    let used = claimed.iter().enumerate().filter(tail).filter(|(_, c)| renders(c)).count();
    if denials > reasons.saturating_sub(used) && same_script(draft) || judged.iter().any(|clause| clause.turned_round(&claimed, &said)) {
        return Finding::Doubt(Code::ENeg);
    }
    // "Always" that nobody said, where the quotes only deny: the sign of one of several clauses was turned.
    let whole = |text: &str| has_any(&fold(text), WHOLE);
    let denied = clauses(&quoted).iter().any(|c| polarity(c).denials > 0);
    if denials == 0 && denied && whole(&draft.candidate.summary) && !whole(&quoted) && same_script(draft) {
        return Finding::Doubt(Code::ENeg);
    }
    Finding::Fine
}

/// Words that claim the whole.
const WHOLE: &[&str] = &["always", "every time", "in every case", "总是", "一律", "始终", "必ず", "常に", "항상"];

/// Denials that mean the clause before them.
const ELLIPTIC: &[&str] = &[
    "it should not",
    "it shouldn't",
    "it must not",
    "it mustn't",
    "that should not",
    "that shouldn't",
    "this should not",
    "this shouldn't",
    "they should not",
    "they shouldn't",
    "which it should not",
    "which it shouldn't",
    "不应该",
    "不该",
    "这样不行",
];

/// Beginnings of a tail that names what the choice leaves behind: "…, no longer yarn", "，不再用 npm".
const TAILS: &[&str] =
    &["not ", "no longer ", "never ", "instead of ", "rather than ", "without ", "no ", "不再", "不是", "不用", "而不是", "而非", "别用"];

fn starts_with_any(text: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| text.starts_with(start))
}

/// Whether a later clause of the summary only names, as left behind, something that was spoken of. It says nothing new:
/// the choice itself stands in the first clause.
fn is_tail(clause: &Clause, around: &BTreeSet<String>) -> bool {
    let words: Vec<String> = token_set(&clause.text).into_iter().filter(|t| !DENYING.contains(&t.as_str())).collect();
    let known = words.iter().filter(|w| around.contains(*w)).count();
    starts_with_any(&clause.text, TAILS) && words.len() <= 8 && 2 * known >= words.len()
}

/// A clause with its content words and its sign.
struct Spoken {
    words: BTreeSet<String>,
    polarity: Polarity,
}

impl Spoken {
    fn of(clause: &Clause, ignored: &[&str]) -> Self {
        let letters = clause.text.chars().filter(|c| is_cjk(*c) && !GLUE.contains(*c)).map(String::from);
        let words = token_set(&clause.text).into_iter().filter(|t| !t.chars().any(is_cjk) && !DENYING.contains(&t.as_str()));
        Self { words: words.chain(letters).collect(), polarity: polarity_without(clause, ignored) }
    }

    fn shared(&self, other: &Self) -> usize {
        self.words.intersection(&other.words).map(|w| weight(w)).sum()
    }

    /// Whether the clauses of the quotes that are nearest to this one, and have no nearer one, all say the opposite.
    fn turned_round(&self, claimed: &[Self], said: &[Self]) -> bool {
        let best = said.iter().map(|other| self.shared(other)).max().unwrap_or(0);
        let light = |c: &Self| c.words.iter().map(|w| weight(w)).sum::<usize>() <= SHARED_BY_LIGHT.1;
        let mut nearest = said.iter().filter(|other| {
            let nearest_of_other = claimed.iter().map(|mine| mine.shared(other)).max().unwrap_or(0);
            let same_thing = best >= SHARED || (best >= SHARED_BY_LIGHT.0 && (light(self) || light(other)));
            self.shared(other) == best && nearest_of_other == best && same_thing
        });
        // A clause of the quotes that another, equally near clause of the summary renders well speaks for no change.
        let rendered = |other: &Self| claimed.iter().any(|mine| mine.shared(other) == best && agree(mine.polarity, other.polarity));
        match nearest.next() {
            Some(first) => std::iter::once(first).chain(nearest).all(|other| !rendered(other)),
            None => false,
        }
    }
}

fn weight(word: &str) -> usize {
    if word.chars().all(is_cjk) { 1 } else { 2 }
}

/// Words that deny are the sign, not the thing.
const DENYING: &[&str] =
    &["not", "no", "never", "don't", "doesn't", "didn't", "isn't", "aren't", "won't", "can't", "cannot", "none", "nothing", "only"];

/// CJK letters that deny or glue.
const GLUE: &str = "不别没勿无未的了是在就都也还再要会将把被给和与及或吧呢啊吗一、个这那はがをにでとものなしたまするる은는이가을를에의도";

fn same_script(draft: &Draft) -> bool {
    let english = |text: &str| language(text) == Language::English;
    english(&draft.candidate.summary) == english(&draft.quoted())
}
