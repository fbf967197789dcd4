//! The queue as one file for an editor: a line for each claim, comments around it. What the file says in the end is the answer:
//! a line deleted rejects, a line reworded edits, a line added adds. Printing and reading back; no I/O.

use std::collections::{BTreeMap, BTreeSet};

use super::decide::draft;
use super::{Decision, Item, Keep, Matter};
use crate::model::{Id, Memory};
use crate::pipeline::by_hand;
use crate::text::sanitise;

/// What a person wrote in front of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// Not decided.
    Open,
    Keep,
    Reject,
}

/// One claim of an item.
struct Line<'a> {
    item: usize,
    memory: &'a Memory,
}

/// What an edited file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// Decisions by the number of the item, in the order of the queue.
    pub decided: Vec<(usize, Decision)>,
    /// A claim reworded in a pair that stays open: the number of the item, and how it reads now.
    pub reworded: Vec<(usize, Memory)>,
    /// New claims.
    pub added: Vec<String>,
}

impl Answers {
    /// Whether the file asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.decided.is_empty() && self.reworded.is_empty() && self.added.is_empty()
    }

    /// Whether a question about this claim is decided.
    fn decides(&self, items: &[Item], id: &Id) -> bool {
        let about = |item: &Item| item.memory.id == *id || item.pair().is_some_and(|(older, _)| older == id);
        self.decided.iter().any(|(n, _)| items.get(*n).is_some_and(about))
    }

    /// What this claim was merged into so far.
    fn merged(&self, id: &Id) -> Option<&Memory> {
        let merges = self.decided.iter().rev().filter_map(|(_, d)| if let Decision::Merge(memory) = d { Some(&**memory) } else { None });
        merges.into_iter().find(|memory| memory.id == *id)
    }
}

const HELP: &str = "\
# Each line below that begins with ? waits for you. Save and leave to apply; an empty file changes nothing.
#
#   ? ID text     leave it for later
#   + ID text     keep it
#   - ID text     reject it for good; deleting the line does the same
#   ? ID other    changing the words keeps it in those words
#   + text        a new line adds a memory
#
# Of a pair that disagrees: reject one to let the other hold; + before both if both hold; reword one and reject the
# other to merge them. Lines that begin with # are only for you.
";

/// The lines of the queue: every claim once, also where two questions are about it.
fn lines(items: &[Item]) -> Vec<Line<'_>> {
    let mut seen = BTreeSet::new();
    let sides = |n: usize| {
        let item = items.get(n);
        let older = item.and_then(|i| i.other.as_ref().filter(|_| i.matter == Matter::Conflict));
        older.into_iter().chain(item.map(|i| &i.memory)).map(move |memory| Line { item: n, memory })
    };
    (0..items.len()).flat_map(sides).filter(|line| seen.insert(&line.memory.id)).collect()
}

fn shown(memory: &Memory) -> String {
    by_hand::words_of(&sanitise::line(&memory.summary))
}

/// The queue as text; `about` gives the comment lines above an item.
pub fn print(items: &[Item], about: impl Fn(&Item) -> Vec<String>) -> String {
    let mut out = vec![HELP.to_owned()];
    let mut last = None;
    for line in lines(items) {
        if last.replace(line.item) != Some(line.item)
            && let Some(item) = items.get(line.item)
        {
            out.push(format!("\n# {} of {}\n", line.item + 1, items.len()));
            out.extend(about(item).iter().map(|text| format!("# {}\n", sanitise::line(text))));
        }
        out.push(format!("? {} {}\n", line.memory.id, shown(line.memory)));
    }
    out.concat()
}

/// What an edited file says about these items.
///
/// # Errors
/// A sentence that names the line, if it cannot be understood; then nothing of it may be applied.
pub fn read(text: &str, items: &[Item]) -> Result<Answers, String> {
    let mut answers = Answers::default();
    if text.trim().is_empty() {
        return Ok(answers);
    }
    let lines = lines(items);
    let mut said: BTreeMap<&Id, (Mark, String, usize)> = BTreeMap::new();
    for (number, line) in text.lines().enumerate().map(|(n, line)| (n + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mark = match line.chars().next() {
            Some('?' | '？') => Mark::Open,
            Some('+' | '＋') => Mark::Keep,
            Some('-' | '－') => Mark::Reject,
            _ => return Err(format!("line {number} begins with none of ? + - #: {line}")),
        };
        let rest = line.chars().skip(1).collect::<String>();
        let words = by_hand::words_of(&rest);
        let (first, tail) = words.split_once(' ').unwrap_or((&words, ""));
        match lines.iter().find(|l| l.memory.id.as_str() == first) {
            Some(line) if tail.is_empty() && mark != Mark::Reject => {
                return Err(format!("line {number} has no words; to reject {} delete the line", line.memory.id));
            }
            Some(line) => {
                if let Some((.., before)) = said.insert(&line.memory.id, (mark, tail.to_owned(), number)) {
                    return Err(format!("lines {before} and {number} are both about {first}"));
                }
                if tail != shown(line.memory) && mark != Mark::Reject {
                    checked(&Memory { summary: tail.to_owned(), ..line.memory.clone() }, number)?;
                }
            }
            None if Id::parse(first).is_some_and(|_| first.bytes().any(|b| b.is_ascii_digit())) => {
                return Err(format!("line {number}: nothing with the id {first} waits here"));
            }
            None if mark != Mark::Keep => return Err(format!("line {number} names no id; a new memory begins with +")),
            None => {
                let new = Memory::new(Id::from_bits(0), crate::model::Layer::Working, crate::model::Kind::Fact, words.clone());
                checked(&new, number)?;
                answers.added.push(words);
            }
        }
    }
    let answer = |memory: &Memory| match said.get(&memory.id) {
        None | Some((Mark::Reject, ..)) => (Mark::Reject, None),
        Some((mark, words, _)) if *words == shown(memory) => (*mark, None),
        Some((_, words, _)) => (Mark::Keep, Some(words.clone())),
    };
    let asked_under = |memory: &Memory| lines.iter().find(|l| l.memory.id == memory.id).map(|l| l.item);
    for (n, item) in items.iter().enumerate() {
        match item.other.as_ref().filter(|_| item.matter == Matter::Conflict) {
            // A claim that stands under another question has its answer there.
            Some(older) => {
                let side = |memory| match (asked_under(memory).and_then(|n| items.get(n)), answer(memory)) {
                    // There it goes back to what it said before.
                    (Some(Item { matter: Matter::Changed, other: Some(_), .. }), (Mark::Reject, _)) => (Mark::Open, None),
                    (_, said) => said,
                };
                pair(n, item, older, (side(older), side(&item.memory)), &mut answers);
            }
            None if asked_under(&item.memory) == Some(n) => {
                answers.decided.extend(single(item, answer(&item.memory)).map(|decision| (n, decision)));
            }
            None => {}
        }
    }
    tidy(&mut answers);
    for (id, (mark, _, number)) in said {
        let kept = mark == Mark::Keep;
        if kept && !answers.decides(items, id) && !answers.reworded.iter().any(|(_, memory)| memory.id == *id) {
            let sides = items.iter().filter_map(Item::pair).find(|(older, newer)| *older == id || *newer == id);
            let pair = sides.map_or_else(String::new, |(a, b)| format!("{a} and {b} disagree: "));
            return Err(format!("line {number}: {pair}reject one of them, or put + before both"));
        }
    }
    Ok(answers)
}

/// A claim in two questions is put into other words once; a merge has them already.
fn tidy(answers: &mut Answers) {
    let merged = answers.decided.iter().filter_map(|(_, d)| if let Decision::Merge(m) = d { Some(m.id.clone()) } else { None });
    let mut seen: BTreeSet<Id> = merged.collect();
    answers.reworded.retain(|(_, memory)| seen.insert(memory.id.clone()));
}

fn checked(memory: &Memory, number: usize) -> Result<(), String> {
    by_hand::check(memory).map_err(|error| format!("line {number}: {}", error.message))
}

fn single(item: &Item, (mark, words): (Mark, Option<String>)) -> Option<Decision> {
    match (mark, words) {
        (_, Some(summary)) => Some(Decision::Merge(Box::new(Memory { summary, ..draft(item) }))),
        (Mark::Open, None) => None,
        (Mark::Keep, None) => Some(Decision::Keep(Keep::New)),
        (Mark::Reject, None) => Some(Decision::Keep(Keep::Old)),
    }
}

type Said = (Mark, Option<String>);

fn pair(n: usize, item: &Item, old: &Memory, (older, newer): (Said, Said), answers: &mut Answers) {
    let reworded = |summary: &String, memory: &Memory| Memory { summary: summary.clone(), ..memory.clone() };
    let decision = match (&older, &newer) {
        ((Mark::Reject, _), (Mark::Reject, _)) => Some(Decision::Neither),
        ((Mark::Reject, _), (_, Some(summary))) => {
            // It may have replaced another one already.
            let before = answers.merged(&item.memory.id).unwrap_or(&item.memory).clone();
            let merged = draft(&Item { memory: before, ..item.clone() });
            Some(Decision::Merge(Box::new(Memory { summary: summary.clone(), ..merged })))
        }
        ((Mark::Reject, _), _) => Some(Decision::Keep(Keep::New)),
        (_, (Mark::Reject, _)) => Some(Decision::Keep(Keep::Old)),
        ((Mark::Keep, None), (Mark::Keep, None)) => Some(Decision::Keep(Keep::Both)),
        // One that is kept decides nothing while the other is open.
        ((Mark::Open | Mark::Keep, _), (Mark::Open | Mark::Keep, _)) => None,
    };
    if !matches!(decision, Some(Decision::Merge(_))) {
        answers.reworded.extend(older.1.iter().map(|words| (n, reworded(words, old))));
        answers.reworded.extend(newer.1.iter().map(|words| (n, reworded(words, &item.memory))));
    }
    answers.decided.extend(decision.map(|decision| (n, decision)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, Layer};

    fn memory(n: u64, summary: &str) -> Memory {
        Memory::new(Id::from_bits(n), Layer::Working, Kind::Decision, summary)
    }

    /// A pair, a single one, and a pair that shares a side with the first.
    fn items() -> Vec<Item> {
        let item = |n: u64, matter, summary: &str, other: Option<Memory>| Item {
            project: "shop".into(),
            id: Id::from_bits(n),
            matter,
            memory: memory(n, summary),
            other,
            reason: String::new(),
            risk: 1.0,
        };
        vec![
            item(2, Matter::Conflict, "Uploads up to 50 MB", Some(memory(1, "Uploads up to 20 MB"))),
            item(3, Matter::Vague { key: "k".into() }, "这个以后再改", None),
            item(4, Matter::Conflict, "Uploads up to 80 MB", Some(memory(1, "Uploads up to 20 MB"))),
        ]
    }

    fn sheet() -> String {
        print(&items(), |_| vec!["why".to_owned()])
    }

    fn line(n: u64) -> String {
        let found = sheet().lines().find(|l| l.contains(Id::from_bits(n).as_str())).unwrap().to_owned();
        format!("{found}\n")
    }

    /// The decisions, in a few words.
    fn says(text: &str) -> Result<Vec<String>, String> {
        let answers = read(text, &items())?;
        let decided = answers.decided.iter().map(|(n, decision)| match decision {
            Decision::Keep(keep) => format!("{n} {}", keep.name()),
            Decision::Merge(memory) => format!("{n} merge {}", memory.summary),
            Decision::Neither => format!("{n} neither"),
        });
        let reworded = answers.reworded.iter().map(|(n, memory)| format!("{n} reword {}", memory.summary));
        Ok(decided.chain(reworded).chain(answers.added.iter().map(|text| format!("add {text}"))).collect())
    }

    #[test]
    fn what_was_printed_asks_for_nothing() {
        assert_eq!(says(&sheet()), Ok(vec![]));
        assert_eq!(says("  \n"), Ok(vec![]));
        assert_eq!(sheet().matches(Id::from_bits(1).as_str()).count(), 1, "a claim stands once");
    }

    #[test]
    fn the_end_of_the_file_is_the_answer() {
        let without = |n| sheet().replace(&line(n), "");
        let marked = |mark: &str, n| sheet().replace(&line(n), &line(n).replacen('?', mark, 1));
        for (text, wanted) in [
            (without(1), vec!["0 new", "2 new"]),
            (without(2), vec!["0 old"]),
            (without(2).replace(&line(1), ""), vec!["0 neither", "2 new"]),
            // The third pair shares the first claim, and only the other one stands under it.
            (without(4), vec!["2 old"]),
            (sheet().replace("80 MB", "90 MB"), vec!["2 reword Uploads up to 90 MB"]),
            (without(1).replace("80 MB", "90 MB"), vec!["0 new", "2 merge Uploads up to 90 MB"]),
            (without(1).replace(&line(2), "").replace(&line(4), ""), vec!["0 neither", "2 neither"]),
            (marked("+", 1).replace(&line(2), &line(2).replacen('?', "+", 1)), vec!["0 both"]),
            (marked("-", 1), vec!["0 new", "2 new"]),
            (without(1).replace("50 MB", "40 MB"), vec!["0 merge Uploads up to 40 MB", "2 new"]),
            (sheet().replace("20 MB", "30 MB"), vec!["0 reword Uploads up to 30 MB"]),
            (sheet().replace("50 MB", "40 MB"), vec!["0 reword Uploads up to 40 MB"]),
            (without(3), vec!["1 old"]),
            (marked("+", 3), vec!["1 new"]),
            (sheet().replace("这个以后再改", "日志改成 JSON"), vec!["1 merge 日志改成 JSON"]),
            (sheet() + "＋ 部署只在周二进行\n", vec!["add 部署只在周二进行"]),
        ] {
            assert_eq!(says(&text).unwrap(), wanted, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        let wide = "字".repeat(101);
        for (text, says_so) in [
            (sheet() + "no mark", "begins with none of"),
            (sheet() + &line(3), "are both about"),
            (sheet() + "? 7k3f9qxa2m gone", "nothing with the id"),
            (sheet() + "? some words", "names no id"),
            (sheet() + "+ " + &wide, "wide characters"),
            (sheet().replace("50 MB", &wide), "wide characters"),
            (sheet().replace(" 这个以后再改", ""), "has no words"),
            (sheet().replace(&line(1), &line(1).replacen('?', "+", 1)), "disagree"),
            (sheet().replace(&line(4), &line(4).replacen('?', "+", 1)), "disagree"),
        ] {
            let error = says(&text).unwrap_err();
            assert!(error.contains(says_so), "{error}");
        }
    }
}
