//! What an answer binds to: a label picks an option, an acceptance takes the assistant's concrete proposal, a bare
//! noun answers a question for a choice. The assistant's words alone never make a memory.

use std::sync::LazyLock;

use regex::Regex;

use super::clause::{Clause, STRONG, has_value, is_concrete};
use super::cues::Mark;
use super::draft::Draft;
use super::{Scene, shape, thread};
use crate::model::candidate::Voice;
use crate::model::{Kind, Layer, Quote};
use crate::text::{sentences, words};

/// A longer message offers too many things for one "yes".
const LONG: usize = 1500;

/// The draft of an answer and how many of the turn's sentences it used.
pub fn read(scene: &Scene<'_>, said: &[&str]) -> Option<(Draft, usize)> {
    let first = said.first()?;
    option(scene, first).or_else(|| acceptance(scene, first)).map(|draft| (draft, 1)).or_else(|| answer(scene, said))
}

/// "2", "B)", 方案一, 1で, 1번으로: the item of the list with that label.
fn option(scene: &Scene<'_>, first: &str) -> Option<Draft> {
    static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)^(?:(?:ok|okay|yes|yeah|sure|let['’]?s|lets|do|go|use|take|with|for|the|option|number|variant|i['’]?d|i['’]?ll|pick|choose|say|prefer|好的?|嗯|就|选|用|第|那就|那|走|按|方案|选项|案|はい|좋아)[ ,.:，、]*)*",
            r"([a-e]|[1-9]|[一二三四五①②③④])",
            r"(?:[.)、）。,，!]|号|个|番|번|で|に|案|st|nd|rd|th|种)*(?:으로|로|で|にしよう|にする|가자|하자| 가자| 하자|がいい|でいい|でお願い(?:します)?|it is|please|吧|吧。|好|就行|就好|is fine|sounds good|then| |[.!。！])*$",
        ))
        .ok()
    });
    let raw = scene.turn.text.lines().next().unwrap_or(first).trim();
    let (head, tail) = cut_label(raw);
    let hit = LABEL.as_ref()?.captures(head)?;
    let label = hit.get(1)?.as_str();
    // A lone small letter is a word ("a") unless it is the whole answer.
    if label.chars().all(|c| c.is_ascii_lowercase()) && head.trim().len() > 2 {
        return None;
    }
    let before = scene.before?;
    let items: Vec<_> = before.text.lines().filter_map(|line| Some((line, sentences::item(line)?))).collect();
    let wanted = ordinal(label);
    let same: Vec<_> = items.iter().filter(|(_, (name, body))| ordinal(name) == wanted && !body.ends_with(['?', '？'])).collect();
    let [(line, (_, body))] = same.as_slice() else { return None };
    if items.len() < 2 {
        return None;
    }
    let chosen = sentences::split(body).first().map_or(*body, |s| s).replace("**", "");
    let mut summary = shape::tidy(&chosen);
    let mut evidence = vec![Quote { turn: before.number, quote: shape::quote(line.trim()) }, scene.quote(raw)];
    if let Some((turn, question)) = thread::choice_question(scene).or_else(|| thread::subject(scene, &[])) {
        summary = shape::fit(&format!("{}: {summary}", thread::phrase(question)));
        if turn != before.number {
            evidence.insert(0, Quote { turn, quote: shape::quote(question) });
        }
    }
    let mut draft = accepted(summary, "option", STRONG, evidence);
    draft.candidate.reason = Some(shape::tidy(tail))
        .filter(|t| t.chars().filter(|c| c.is_alphanumeric()).count() >= 4 && !Clause::new(tail, scene.language).asks());
    Some(draft)
}

/// A label with its mark, and what follows: `B, it is faster` → (`B`, `it is faster`).
fn cut_label(raw: &str) -> (&str, &str) {
    let at = raw.char_indices().find(|(_, c)| matches!(c, ',' | '，' | '。' | '—')).map(|(at, c)| (at, at + c.len_utf8()));
    match at {
        // "1, 2 and 3" picks several: no single option.
        Some((start, end)) if raw.get(end..).is_some_and(|t| !t.trim_start().starts_with(|c: char| c.is_ascii_digit())) => {
            let (head, tail) = (raw.get(..start).unwrap_or(raw), raw.get(end..).unwrap_or_default());
            // "ok, 2": the label is behind the comma.
            if head.chars().any(|c| c.is_ascii_digit() || c.is_ascii_uppercase()) && head.chars().count() <= 12 {
                (head, tail)
            } else {
                (raw, "")
            }
        }
        _ => (raw, ""),
    }
}

fn ordinal(label: &str) -> Option<u32> {
    let c = label.chars().next()?;
    match c {
        '1'..='9' => c.to_digit(10),
        'a'..='e' | 'A'..='E' => Some(u32::from(c.to_ascii_lowercase()) - u32::from('a') + 1),
        '一' | '①' => Some(1),
        '二' | '②' => Some(2),
        '三' | '③' => Some(3),
        '四' | '④' => Some(4),
        '五' => Some(5),
        _ => None,
    }
}

/// "yes, do that": the last thing the assistant advised, with what the user changed about it.
fn acceptance(scene: &Scene<'_>, first: &str) -> Option<Draft> {
    let clause = Clause::new(first, scene.language);
    let (_, end) = clause.table().find(Mark::Accept, first)?;
    let before = scene.before?;
    let own = thread::suggested(scene);
    if clause.asks() || clause.has(Mark::Undecided) || clause.has(Mark::Correct) || clause.has(Mark::Refuse) {
        return None;
    }
    let rest = first.get(end..).unwrap_or_default().trim_start_matches([',', '，', '、', '.', ' ', ';', '。', '-', '—']);
    let all: Vec<_> = sentences::split(&before.text).into_iter().map(|s| Clause::new(s, scene.language)).collect();
    let advised: Vec<_> = all.iter().filter(|c| c.has(Mark::Recommend) && (is_concrete(&c.body) || c.tokens().len() >= 3)).collect();
    let offered: Vec<_> = all.iter().filter(|c| c.has(Mark::Propose) && is_concrete(&c.body)).collect();
    let theirs = advised.last().or(offered.last());
    // The user's own words about something else: "yes. and the logo …" is not about the proposal.
    let bare = is_bare(&clause);
    let changes = !bare
        && (has_value(rest)
            || ["but", "only", "except", "instead", "with", "不过", "但", "改", "只", "ただ", "但し", "대신", "하지만"]
                .iter()
                .any(|w| rest.to_lowercase().starts_with(w)));
    if !rest.is_empty() && !changes && words::tokens(rest).len() > 3 && !bare {
        return None;
    }
    // What the user proposed himself is meant, unless the assistant advised one other thing.
    let other = |mine: &thread::Suggestion<'_>| {
        let said = words::token_set(&mine.core);
        advised.len() == 1 && theirs.is_some_and(|t| t.tokens().intersection(&said).count() * 2 < said.len())
    };
    if let Some(mine) = own.filter(|mine| !other(mine)) {
        return Some(taken_up(scene, mine, first, if changes { rest } else { "" }));
    }
    let proposal = theirs?;
    let lead = proposal.table().find(Mark::ProposeLead, &proposal.body).map_or(0, |(_, end)| end);
    let core = proposal.body.get(lead..).filter(|t| words::tokens(t).len() >= 2).unwrap_or(&proposal.body);
    let offer = proposal.saying(core.to_owned());
    let (mut summary, reason) = shape::split_reason(&offer);
    if changes {
        summary = shape::fit(&format!("{} — {}", words::clip(&summary, 70.0), shape::tidy(rest)));
    }
    let sure = !advised.is_empty() && advised.len() <= 2 && before.text.len() <= LONG;
    let mut draft = accepted(
        summary,
        "acceptance",
        if sure { STRONG } else { STRONG - 1 },
        vec![Quote { turn: before.number, quote: shape::quote(proposal.text) }, scene.quote(first)],
    );
    draft.candidate.reason = reason;
    Some(draft)
}

/// The user's own proposal, agreed to.
fn taken_up(scene: &Scene<'_>, mine: thread::Suggestion<'_>, accepting: &str, change: &str) -> Draft {
    let clause = Clause::new(mine.quote, scene.language);
    let (mut summary, reason) = shape::split_reason(&clause.saying(mine.core));
    if !change.is_empty() {
        summary = shape::fit(&format!("{} — {}", words::clip(&summary, 70.0), shape::tidy(change)));
    }
    let evidence = vec![Quote { turn: mine.turn, quote: shape::quote(mine.quote) }, scene.quote(accepting)];
    let mut draft = Draft::new(summary, Kind::Decision, Layer::Working, "own-proposal", STRONG, evidence);
    draft.candidate.reason = reason;
    draft
}

/// Whether a clause only accepts: it is about something else and never a claim of its own.
pub fn is_bare(clause: &Clause<'_>) -> bool {
    let mut rest = clause.text;
    let mut accepts = false;
    while let Some((_, end)) = clause.table().find(Mark::Accept, rest).filter(|(_, end)| *end > 0) {
        accepts = true;
        rest = rest.get(end..).unwrap_or_default().trim_start_matches([',', '，', '、', '.', ' ', '!', '！', '。', '吧', '了']);
    }
    accepts && words::tokens(rest).len() <= 1 && !is_concrete(rest) && !has_value(rest)
}

/// What is asked for on top of what was just agreed: "and log the id on every job", 另外用户 ID 也要一起校验.
pub fn added(scene: &Scene<'_>, sentence: &str) -> Option<Draft> {
    let clause = Clause::new(sentence, scene.language);
    let adds = clause.table().has(Mark::Adds, sentence) && !clause.is_open() && clause.tokens().len() >= 3;
    let silent = clause.read(&scene.around).is_none_or(|r| r.points < STRONG);
    if !adds || !silent || clause.has(Mark::Cosmetic) || clause.is_correction() {
        return None;
    }
    let (summary, reason) = shape::split_reason(&clause);
    let mut draft = Draft::new(summary, Kind::Convention, Layer::Working, "added", STRONG, vec![scene.quote(sentence)]);
    draft.candidate.reason = reason;
    Some(draft)
}

fn accepted(summary: String, rule: &str, points: i32, evidence: Vec<Quote>) -> Draft {
    let mut draft = Draft::new(summary, Kind::Decision, Layer::Working, rule, points, evidence);
    draft.candidate.voice = Voice::AssistantAccepted;
    draft
}

/// "csv. the accountants open these in excel": a noun that the question or the offers hold, with what follows as reason.
fn answer(scene: &Scene<'_>, said: &[&str]) -> Option<(Draft, usize)> {
    let sentence = said.first()?;
    let first = sentences::clauses(sentence).first().copied()?;
    let clause = Clause::new(first, scene.language);
    let plain =
        clause.is_open() || [Mark::Order, Mark::Refuse, Mark::Observation, Mark::Pronoun, Mark::Correct].iter().any(|m| clause.has(*m));
    // "1. … 2. …" answers several questions at once.
    let several = scene.turn.text.trim_start().starts_with(|c: char| c.is_ascii_digit()) && scene.turn.text.contains("2.");
    if plain || several || clause.tokens().is_empty() || !is_short(&clause) {
        return None;
    }
    let (turn, question) = match thread::choice_question(scene) {
        Some((turn, question)) => {
            let known = words::token_set(question).union(&scene.around.offered).cloned().collect();
            let names = clause.tokens().intersection(&known).next().is_some();
            let chooses = words::token_set(question).len() > clause.tokens().len();
            (names && chooses).then_some((turn, question))?
        }
        // No question: every word must be of the offer.
        None => {
            let wholly = clause.tokens().is_subset(&scene.around.offered) && (is_concrete(&clause.body) || clause.tokens().len() >= 2);
            let offers = scene.before.is_some_and(|t| Clause::new(&t.text, scene.language).has(Mark::Propose));
            (wholly && offers).then(|| thread::subject(scene, &[]))??
        }
    };
    let summary = shape::fit(&format!("{}: {}", thread::phrase(question), shape::tidy(&clause.body)));
    let evidence = vec![Quote { turn, quote: shape::quote(question) }, scene.quote(sentence)];
    let mut draft = Draft::new(summary, Kind::Decision, Layer::Working, "answer", STRONG, evidence);
    let rest = sentence.get(first.len()..).unwrap_or_default();
    let own = words::tokens(rest).len() >= 2;
    let next = said.get(1).copied().filter(|s| is_reason(scene, s));
    draft.candidate.reason = if own { Some(rest) } else { next }.map(shape::tidy);
    Some((draft, if !own && next.is_some() { 2 } else { 1 }))
}

fn is_short(clause: &Clause<'_>) -> bool {
    let wide = clause.body.chars().filter(|c| words::is_cjk(*c)).count();
    if wide > 0 { wide <= 12 } else { clause.body.split_whitespace().count() <= 6 }
}

/// A plain statement beside a choice: no rule of its own, no order, no question.
pub fn is_reason(scene: &Scene<'_>, sentence: &str) -> bool {
    let clause = Clause::new(sentence, scene.language);
    let silent = clause.read(&scene.around).is_none_or(|r| r.points < STRONG);
    silent
        && !clause.is_open()
        && !clause.has(Mark::Order)
        && !clause.has(Mark::Accept)
        && clause.tokens().len() >= 2
        && words::width(sentence) <= words::MAX_WIDTH
}
