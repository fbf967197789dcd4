//! What a short answer is about: the question it answers, or the need named just before.

use std::sync::LazyLock;

use regex::Regex;

use super::Scene;
use super::clause::{Clause, subject_tokens};
use super::cues::Mark;
use super::{say, shape};
use crate::model::Kind;
use crate::text::{sentences, words};

/// The sentence that names the subject of an elliptic choice, with its turn: earlier in this turn, else the question
/// of the assistant, else the last question or need of the user.
pub fn subject<'a>(scene: &Scene<'a>, earlier: &[&'a str]) -> Option<(u32, &'a str)> {
    let full = |text: &&str| {
        let clause = Clause::new(text, scene.language);
        subject_tokens(text).len() >= 2
            && (clause.asks() || !(clause.is_open() || clause.has(Mark::Order) || clause.raw_has(Mark::Correct) || proposes(&clause)))
    };
    // "Let's use Redis" is an answer itself, and no heading for the next one.
    let own = earlier.iter().rev().copied().find(|s| full(s)).map(|s| (scene.turn.number, s));
    own.or_else(|| choice_question(scene)).or_else(|| {
        let turn = scene.user_before?;
        sentences::split(&turn.text).into_iter().rev().find(full).map(|s| (turn.number, s))
    })
}

fn proposes(clause: &Clause<'_>) -> bool {
    [Mark::Suggest, Mark::Propose, Mark::ProposeLead, Mark::Because].iter().any(|mark| clause.raw_has(*mark) || clause.has(*mark))
}

/// The last question for a choice: the assistant's of the turn before, else the user's own.
pub fn choice_question<'a>(scene: &Scene<'a>) -> Option<(u32, &'a str)> {
    let asks = |text: &&str| {
        let clause = Clause::new(text, scene.language);
        // "What should we use?" names nothing that an answer could be about.
        let names = || without_asking(text).chars().filter(|c| c.is_alphanumeric() && !"那用选放存走叫取".contains(*c)).count() >= 2;
        clause.asks() && clause.has(Mark::ChoiceQuestion) && subject_tokens(text).len() >= 2 && names()
    };
    [scene.before, scene.user_before].into_iter().flatten().find_map(|turn| {
        // Only what is asked at the end of a turn waits for an answer.
        let all = sentences::split(&turn.text);
        let last = if turn.number == scene.user_before.map_or(0, |t| t.number) { all.len() } else { all.len().min(2) };
        all.into_iter().rev().take(last).find(asks).map(|s| (turn.number, s))
    })
}

/// What the user proposed in the turn before.
#[derive(Clone, Debug)]
pub struct Suggestion<'a> {
    /// Turn it was said in.
    pub turn: u32,
    /// Verbatim, from the proposing words on.
    pub quote: &'a str,
    /// As a statement.
    pub core: String,
}

/// The last thing the user proposed in the turn before: "how about we …", 要不我们…吧. Alternatives propose nothing.
pub fn suggested<'a>(scene: &Scene<'a>) -> Option<Suggestion<'a>> {
    const ALTERNATIVES: &[&str] = &[" or ", "还是", "それとも", "아니면"];
    let turn = scene.user_before?;
    sentences::split(&turn.text).into_iter().rev().find_map(|sentence| {
        let clause = Clause::new(sentence, scene.language);
        let (start, _) = clause.table().find(Mark::Suggest, sentence)?;
        let quote = sentence.get(start..)?.trim();
        let core = shape::tidy(&say::statement(quote, Kind::Decision));
        let full = words::tokens(&core).len() >= 3 && !ALTERNATIVES.iter().any(|w| quote.contains(w));
        full.then_some(Suggestion { turn: turn.number, quote, core })
    })
}

/// A question or need as a heading: without question words and the alternatives it asks about.
pub fn phrase(sentence: &str) -> String {
    let text = sentence.trim_end_matches(['?', '？', '。', '.', '!']);
    let clause = Clause::new(sentence, words::language(sentence));
    if !clause.asks() {
        return words::clip(&shape::tidy(&clause.body), 40.0);
    }
    let short = without_asking(sentence);
    words::clip(if subject_tokens(&short).is_empty() { text } else { &short }, 40.0)
}

/// What a question asks about, without the words that ask.
fn without_asking(sentence: &str) -> String {
    static ASKING: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)(?-u:\b)(?:which|what|where|how|who|should|shall|do|does|would|could|can|we|you|i|want|like|to use|use|prefer|go for|go with|best|better|need|needs|somewhere|something|think|about|is|are|the|a|an|it|ok|so|have|already)(?-u:\b)",
            r"|选哪个好?|用哪个好?|哪个好|哪种好?|还是|怎么(?:做|存|放|选|处理|弄)?(?:比较好|好)?|要不要|什么|帮我|看下|吗|呢|好$",
            r"|は?(?:何がいい|何にする|どうする|どうしましょう|どれがいい|どれにする)|(?:은|는)? ?(?:뭐가 좋을까|어떻게 하지|어떻게 할까)",
        ))
        .ok()
    });
    let text = sentence.trim_end_matches(['?', '？', '。', '.', '!']);
    let stripped = match ASKING.as_ref() {
        Some(p) => p.replace_all(text, " ").into_owned(),
        None => text.to_owned(),
    };
    shape::tidy(&stripped.replace("  ", " "))
}
