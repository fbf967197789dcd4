//! The queue at a terminal: one item, one key, one commit. Whoever leaves in the middle has kept what was decided.

use super::{Queue, settle, show};
use crate::cli::app::App;
use crate::cli::edit;
use crate::cli::editor::Draft;
use crate::cli::test::Tested;
use crate::cli::ui::{count, paint, style};
use crate::error::{Kind, Result};
use crate::model::{Id, Memory, differences};
use crate::pipeline::review::{self, Decision, Item, Keep, Matter, decide};
use crate::store::Store;

/// What a person said.
enum Answer {
    /// The draft is that of words typed for it.
    Decided(Decision, Option<Draft>),
    Postpone,
    Skip,
}

type Choices = &'static [(&'static str, &'static str)];

const POSTPONE: (&str, &str) = ("postpone", "leave it in the queue");
const SKIP: (&str, &str) = ("skip", "skip the rest; it stays in the queue");

const PAIR: Choices = &[
    ("new", "the newer one holds and replaces the older"),
    ("old", "the older one holds; the newer is set aside"),
    ("both", "both hold; they do not disagree"),
    ("merge", "write one that replaces both, in your editor"),
    POSTPONE,
    SKIP,
];
const ONE: Choices = &[
    ("keep", "it stays as it is, and is not asked about again"),
    ("drop", "it goes for good and does not come back"),
    ("edit", "keep it in other words, in your editor"),
    POSTPONE,
    SKIP,
];
const CHANGED: Choices = &[
    ("keep", "it stays as it reads now"),
    ("back", "back to what it said before"),
    ("edit", "keep it in other words, in your editor"),
    POSTPONE,
    SKIP,
];

/// Asks about every item.
pub fn session(app: &App, store: &Store, queue: &Queue, tested: Tested) -> Result<()> {
    let total = queue.items.len();
    let mut decided = 0;
    app.ui.say(&paint(style::DIM, "one letter and Enter for each; ? says what the letters do"));
    for (number, item) in queue.items.iter().enumerate() {
        let mut head = format!("{} of {total} · {}", number + 1, item.project);
        if number > 0 {
            head.insert(0, '\n');
        }
        match decide_one(app, store, &head, item, tested)? {
            Left::Decided => decided += 1,
            Left::Open => {}
            Left::Skip => break,
        }
    }
    let rest = queue.all.saturating_sub(decided);
    let rest = if rest > 0 { format!("; {}", count(rest, "item still waits", "items still wait")) } else { String::new() };
    app.ui.say(&format!("{decided} of {total} decided{rest}"));
    Ok(())
}

/// How one item was left.
enum Left {
    Decided,
    Open,
    Skip,
}

/// Asks about one item until the answer is carried out, or it is left as it is.
fn decide_one(app: &App, store: &Store, head: &str, item: &Item, tested: Tested) -> Result<Left> {
    loop {
        let snapshot = store.snapshot(&item.project)?;
        // An earlier decision may have settled this one, or changed what it shows.
        let Some(item) = review::again(review::open(store, &snapshot, &app.env.today()), item) else { return Ok(Left::Open) };
        app.ui.line(&paint(style::DIM, head));
        show::show(app, Some(&snapshot), &item);
        match ask(app, &item)? {
            Answer::Decided(decision, draft) => {
                let done = settle(app, store, &item, &decision, tested);
                match kept(draft, done) {
                    Ok(()) => return Ok(Left::Decided),
                    Err(error) if error.kind == Kind::Interrupted => return Err(error),
                    // A memory test may stand against it: the question stands.
                    Err(error) => app.ui.fail(&error),
                }
            }
            Answer::Postpone => return Ok(Left::Open),
            Answer::Skip => return Ok(Left::Skip),
        }
    }
}

/// Asks about the pairs that an injection is about to give. Says whether any was decided.
pub fn settle_pairs(app: &App, store: &Store, pairs: &[(Id, Id)]) -> Result<bool> {
    let mut decided = false;
    for snapshot in app.snapshots(store, false)? {
        let given = |item: &Item| item.pair().is_some_and(|(older, newer)| pairs.iter().any(|(a, b)| (a, b) == (older, newer)));
        for item in review::pairs(&snapshot).into_iter().filter(given) {
            let now = store.snapshot(&snapshot.project)?;
            let Some(item) = review::again(review::pairs(&now), &item) else { continue };
            show::show(app, Some(&now), &item);
            match ask(app, &item)? {
                Answer::Decided(decision, draft) => {
                    let done = settle(app, store, &item, &decision, Tested::default());
                    match kept(draft, done) {
                        Ok(()) => decided = true,
                        Err(error) if error.kind == Kind::Interrupted => return Err(error),
                        // What was asked for is the injection; the pair waits.
                        Err(error) => app.ui.warn(&app.ui.foreign(&format!("{}; it stays in the queue", error.message))),
                    }
                }
                Answer::Postpone => {}
                Answer::Skip => return Ok(decided),
            }
        }
    }
    Ok(decided)
}

/// Words that could not be stored stay in their file.
fn kept(draft: Option<Draft>, done: Result<()>) -> Result<()> {
    match draft {
        Some(draft) => draft.or_kept(done),
        None => done,
    }
}

/// Asks until there is an answer that can be carried out.
fn ask(app: &App, item: &Item) -> Result<Answer> {
    let (question, choices) = match item.matter {
        Matter::Conflict => ("which holds?", PAIR),
        Matter::Changed if item.other.is_some() => ("keep the change?", CHANGED),
        Matter::Dependant { .. } => ("does it still hold?", ONE),
        _ => ("keep it?", ONE),
    };
    loop {
        let keep = |keep| Ok(Answer::Decided(Decision::Keep(keep), None));
        return match app.ui.choose(question, choices)? {
            "new" | "keep" => keep(Keep::New),
            "old" | "drop" | "back" => keep(Keep::Old),
            "both" => keep(Keep::Both),
            "merge" | "edit" => match in_editor(app, item) {
                Ok((memory, _)) if differences(&decide::draft(item), &memory).is_empty() => {
                    app.ui.say("  the text is as it was, so nothing is decided yet");
                    continue;
                }
                Ok((memory, draft)) => Ok(Answer::Decided(Decision::Merge(Box::new(memory)), Some(draft))),
                // What was typed is kept in its file; the question stands.
                Err(error) => {
                    app.ui.fail(&error);
                    continue;
                }
            },
            "postpone" => Ok(Answer::Postpone),
            _ => Ok(Answer::Skip),
        };
    }
}

fn in_editor(app: &App, item: &Item) -> Result<(Memory, Draft)> {
    let older = item.other.as_ref().filter(|_| item.matter == Matter::Conflict);
    let sides = older.map(|older| {
        let side = |name: &str, memory| format!("{name} ({}): {}", show::day(memory), app.ui.foreign(&memory.summary));
        ["One entry that replaces both:".to_owned(), side("old", older), side("new", &item.memory)]
    });
    edit::in_editor(app, &decide::draft(item), &sides.into_iter().flatten().collect::<Vec<_>>())
}
