//! Checks of the fields themselves: secrets, orders to an AI, empty words, width, dates, tombstones, pointers, keywords.

use jiff::ToSpan;
use jiff::civil::Date;

use super::exacts::has_time;
use super::{Draft, Finding, Scene, cues};
use crate::model::{Candidate, Code, Speaker};
use crate::text::alike::Fingerprint;
use crate::text::dates;
use crate::text::phrases::has_any;
use crate::text::redact::{has_secret, redact};
use crate::text::words::{MAX_WIDTH, clip, exact, fold, is_cjk, width};

/// Keywords of a memory: at least and at most, and the longest one in characters (design: section 3).
const KEYWORDS: std::ops::RangeInclusive<usize> = 2..=5;
const LONGEST_KEYWORD: usize = 20;

/// A reason may be twice as wide as a summary.
const REASON_WIDTH: f64 = 2.0 * MAX_WIDTH;

/// How far around the quotes a word of time may stand for a date to be believed.
const TIME_REACH: usize = 4;

/// Every text field that a model fills freely, but the summary.
fn free_fields(candidate: &mut Candidate) -> [&mut Option<String>; 4] {
    [&mut candidate.topic, &mut candidate.reason, &mut candidate.until_event, &mut candidate.scope]
}

/// A secret in the summary drops the candidate; elsewhere it is taken out (a quote then reads as the redacted talk does).
pub(super) fn no_secret(draft: &mut Draft, _: &Scene) -> Finding {
    if has_secret(&draft.candidate.summary) {
        draft.candidate.summary = redact(&draft.candidate.summary).text;
        clean_fields(draft);
        return Finding::Refuse(Code::ESecret);
    }
    if clean_fields(draft) {
        draft.note(Code::ESecret, "a secret was taken out of a field");
    }
    Finding::Fine
}

fn clean_fields(draft: &mut Draft) -> bool {
    let mut found = false;
    let mut clean = |text: &mut String| {
        let redacted = redact(text);
        found |= !redacted.found.is_empty();
        *text = redacted.text;
    };
    free_fields(&mut draft.candidate).into_iter().flatten().for_each(&mut clean);
    draft.candidate.keywords.iter_mut().for_each(&mut clean);
    draft.candidate.evidence.iter_mut().map(|q| &mut q.quote).for_each(&mut clean);
    found
}

/// Whether words speak to an AI or close a block of a prompt.
pub fn speaks_to_an_ai(text: &str) -> bool {
    let text = fold(text);
    has_any(&text, cues::ADDRESSES_AI) || cues::CLOSING_TAGS.iter().any(|tag| text.contains(tag))
}

/// Whether words say what a memory is to hold of its user.
pub fn speaks_for_the_user(text: &str) -> bool {
    has_any(&fold(text), cues::ORDERS_MEMORY)
}

/// Text that addresses an AI, closes our blocks, or gives orders to a memory without being the user's.
pub(super) fn no_injection(draft: &mut Draft, _: &Scene) -> Finding {
    let fields = [
        Some(&draft.candidate.summary),
        draft.candidate.reason.as_ref(),
        draft.candidate.topic.as_ref(),
        draft.candidate.until_event.as_ref(),
    ];
    let claims: Vec<String> = fields.into_iter().flatten().map(|t| fold(t)).collect();
    let quotes = |user: bool| draft.evidence.iter().filter(move |e| (e.speaker == Speaker::User) == user).map(|e| fold(&e.quote));
    let all = || claims.iter().cloned().chain(quotes(true)).chain(quotes(false));
    let from_user = draft.evidence.iter().any(|e| e.speaker == Speaker::User);
    let attack = all().any(|t| has_any(&t, cues::ADDRESSES_AI) || cues::CLOSING_TAGS.iter().any(|tag| t.contains(tag)))
        || quotes(false).any(|t| has_any(&t, cues::ORDERS_MEMORY) && draft.evidence.iter().any(|e| e.speaker == Speaker::Tool))
        || (!from_user && claims.iter().any(|t| has_any(t, cues::ORDERS_MEMORY)));
    if attack { Finding::Refuse(Code::EInject) } else { Finding::Fine }
}

/// "N/A" and its kin become null; as a summary they are nothing.
pub(super) fn no_literal_null(draft: &mut Draft, _: &Scene) -> Finding {
    if says_nothing(&draft.candidate.summary) {
        return Finding::Refuse(Code::ELiteralNull);
    }
    let candidate = &mut draft.candidate;
    let mut mended = 0;
    let fields = free_fields(candidate);
    for field in fields {
        mended += usize::from(field.take_if(|text| says_nothing(text)).is_some());
    }
    mended += usize::from(candidate.until_date.take_if(|text| says_nothing(text)).is_some());
    let before = candidate.keywords.len();
    candidate.keywords.retain(|k| !says_nothing(k));
    mended += before - candidate.keywords.len();
    if mended > 0 {
        draft.note(Code::ELiteralNull, format!("{mended} empty words became null"));
    }
    Finding::Fine
}

fn says_nothing(text: &str) -> bool {
    let folded = fold(text);
    let bare = folded.trim_matches(|c: char| c.is_whitespace() || matches!(c, '.' | '。' | '"' | '(' | ')' | '[' | ']' | '<' | '>'));
    bare.is_empty() || cues::NOTHING.contains(&bare)
}

/// A summary wider than 100 wide characters is no summary. A long reason is clipped.
pub(super) fn not_too_long(draft: &mut Draft, _: &Scene) -> Finding {
    if width(&draft.candidate.summary) > MAX_WIDTH {
        return Finding::Refuse(Code::ELong);
    }
    if let Some(reason) = draft.candidate.reason.as_mut().filter(|r| width(r) > REASON_WIDTH) {
        *reason = clip(reason, REASON_WIDTH);
        draft.note(Code::ELong, "the reason was clipped");
    }
    Finding::Fine
}

/// `until_date` is a day of the calendar, not before yesterday as the talk saw it, and some word of time was said.
pub(super) fn real_date(draft: &mut Draft, scene: &Scene) -> Finding {
    let Some(text) = draft.candidate.until_date.clone() else { return Finding::Fine };
    let day = (text.len() == 10).then(|| text.parse::<Date>().ok()).flatten();
    let today = scene.context.day.parse::<Date>().ok();
    let earliest = today.and_then(|today| today.checked_sub(1.day()).ok());
    let talk = scene.sheet.window(&draft.evidence, TIME_REACH);
    let problem = match day {
        None => "is not a day of the calendar",
        Some(day) if earliest.is_some_and(|earliest| day < earliest) => "lies before the conversation",
        Some(_) if !has_time(&talk) => "rests on no word of time",
        Some(_) if another_day(&text, &talk, scene.context.day) => "is not the day that was said",
        Some(_) => return Finding::Fine,
    };
    draft.note(Code::EDate, format!("until_date {} {problem}", clip(&text, 20.0)));
    draft.candidate.until_date = None;
    Finding::Doubt(Code::EDate)
}

/// Whether the talk names days, and this is none of them.
fn another_day(text: &str, talk: &str, today: &str) -> bool {
    let named = dates::find(talk, today);
    !named.is_empty() && named.iter().all(|found| found.day != text)
}

/// What a person rejected does not come back.
pub(super) fn not_buried(draft: &mut Draft, scene: &Scene) -> Finding {
    let mine = Fingerprint::of(&draft.candidate.summary);
    let day = scene.context.day;
    // What lost against another memory may be said again on a later day; what was thrown out may not.
    let stones = scene.context.tombstones.iter().filter(|s| !(s.lost && s.at.get(..10).is_some_and(|at| day > at)));
    let buried =
        stones.map(|s| Fingerprint { hash: s.hash.clone(), tokens: s.tokens.clone(), exact: s.exact.clone() }).any(|stone| mine.is(&stone));
    if buried { Finding::Refuse(Code::ETombstone) } else { Finding::Fine }
}

/// A pointer to something that was not shown is left out.
pub(super) fn known_pointers(draft: &mut Draft, scene: &Scene) -> Finding {
    let own = draft.candidate.reference.clone();
    let shown = |id: &str| {
        id != own && (scene.references.contains(id) || scene.context.known.iter().any(|k| k.alias == id || k.memory.id.as_str() == id))
    };
    let (kept, lost): (Vec<_>, Vec<_>) = std::mem::take(&mut draft.candidate.relations).into_iter().partition(|r| shown(&r.id));
    draft.candidate.relations = kept;
    for pointer in lost {
        draft.note(Code::UnknownPointer, format!("{} points to {:?}, which was not shown", pointer.kind, clip(&pointer.id, 20.0)));
    }
    Finding::Fine
}

/// 2 to 5 distinct keywords, filled up from topic, exact tokens and words of the summary.
pub(super) fn enough_keywords(draft: &mut Draft, _: &Scene) -> Finding {
    let candidate = &mut draft.candidate;
    let given = std::mem::take(&mut candidate.keywords);
    candidate.keywords = keywords(&given, candidate.topic.as_deref(), &candidate.summary);
    Finding::Fine
}

/// 2 to 5 keywords: those given, filled up from topic, names and plain words of the summary.
pub fn keywords(given: &[String], topic: Option<&str>, summary: &str) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut add = |word: &str, most: usize| {
        let word = word.trim();
        let fits = (1..=LONGEST_KEYWORD).contains(&word.chars().count());
        if fits && kept.len() < most && !kept.iter().any(|k| fold(k) == fold(word)) {
            kept.push(word.to_owned());
        }
    };
    given.iter().for_each(|word| add(word, *KEYWORDS.end()));
    let enough = *KEYWORDS.start();
    let fill = exact_names(summary).chain(plain_words(summary)).chain(pieces(summary));
    for word in topic.map(str::to_owned).into_iter().chain(fill) {
        add(&word, enough);
    }
    kept
}

fn exact_names(summary: &str) -> impl Iterator<Item = String> {
    exact(summary).into_iter().filter(|t| t.chars().any(char::is_alphabetic))
}

/// Chinese letters that glue words together: keywords end at them.
const GLUE: &str = "的了吧呢啊吗就都也还再把被给是要会将已在和与或用由不没别等后前中上下为因从到让";

/// Latin words of four letters or more as written, and CJK runs between glue letters.
fn plain_words(summary: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut wide = false;
    for c in summary.chars() {
        let ends = !c.is_alphanumeric() || GLUE.contains(c);
        if (ends || is_cjk(c) != wide)
            && let Some(last) = words.last()
            && !last.is_empty()
        {
            words.push(String::new());
        }
        wide = is_cjk(c);
        if let Some(last) = words.last_mut().filter(|_| !ends) {
            last.push(c);
        }
    }
    words.retain(|word| {
        let letters = word.chars().count();
        if word.chars().any(is_cjk) { (2..=8).contains(&letters) } else { letters >= 4 && word.chars().any(char::is_alphabetic) }
    });
    words
}

/// The last resort of a short summary: CJK letters in twos, and any Latin word.
fn pieces(summary: &str) -> Vec<String> {
    let wide: Vec<char> = summary.chars().filter(|c| is_cjk(*c)).collect();
    let latin = summary.split(|c: char| !c.is_alphanumeric() || is_cjk(c)).filter(|w| w.chars().count() >= 2).map(str::to_owned);
    wide.chunks(2).filter(|two| two.len() == 2).map(|two| two.iter().collect()).chain(latin).collect()
}
