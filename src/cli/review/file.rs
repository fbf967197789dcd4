//! The queue as one file in the owner's editor.

use std::collections::BTreeSet;

use super::{Queue, show};
use crate::cli::app::{App, fields};
use crate::cli::edit;
use crate::cli::editor::Draft;
use crate::cli::test::Tested;
use crate::cli::ui::count;
use crate::error::{Error, Result};
use crate::model::plan::Plan;
use crate::model::{Change, Id, Memory};
use crate::pipeline::by_hand::{self, Wish};
use crate::pipeline::review::sheet::{self, Answers};
use crate::pipeline::review::{Decision, Item, Keep, Matter, Voice, decide};
use crate::store::{Snapshot, Store};

/// Opens the queue, and carries out what the file says in the end.
pub fn run(app: &App, store: &Store, queue: &Queue, tested: Tested) -> Result<()> {
    if queue.items.is_empty() {
        app.ui.say("nothing to review");
        return Ok(());
    }
    let text = sheet::print(&queue.items, |item| about(app, queue.snapshot(item), item));
    let mut draft = Draft::new("review", &text)?;
    loop {
        let edited;
        (draft, edited) = draft.edit(app)?;
        match sheet::read(&edited, &queue.items) {
            Ok(answers) => return draft.or_kept(carry_out(app, store, queue, &answers, tested)),
            Err(what) => {
                let error = Error::failure(format!("the edited queue cannot be read, so nothing was changed: {what}"));
                if !app.ui.can_ask() {
                    return draft.or_kept(Err(error));
                }
                app.ui.fail(&error);
                if !app.ui.confirm("open it again?")? {
                    app.ui.say(&format!("your text is kept in {}", draft.keep().display()));
                    return Ok(());
                }
            }
        }
    }
}

fn carry_out(app: &App, store: &Store, queue: &Queue, answers: &Answers, tested: Tested) -> Result<()> {
    if answers.is_empty() {
        app.ui.unchanged();
        return Ok(());
    }
    let added = answers.added.iter().map(|text| new_memory(app, text)).collect::<Result<Vec<_>>>()?;
    for (n, snapshot) in queue.snapshots.iter().enumerate() {
        let mine = if n == 0 { added.as_slice() } else { &[] };
        let touched = |item: &usize| queue.items.get(*item).is_some_and(|i| i.project == snapshot.project);
        if mine.is_empty()
            && !answers.decided.iter().map(|(item, _)| item).chain(answers.reworded.iter().map(|(item, _)| item)).any(touched)
        {
            continue;
        }
        tested.update(app, store, &snapshot.project, &mut |now| plan(app, now, queue, answers, mine))?;
    }
    say(app, queue, answers);
    Ok(())
}

/// The comments above an item: why it waits, and what is known of each side.
fn about(app: &App, snapshot: Option<&Snapshot>, item: &Item) -> Vec<String> {
    let mut lines = vec![format!("{} ({})", show::headline(app, item), item.project)];
    let side = |name: &str, memory: &Memory| {
        let said = memory.evidence.first().map(|e| format!(", “{}”", e.quote)).unwrap_or_default();
        let file = snapshot.and_then(|s| s.entry(&memory.id)).map(|e| format!(", {}:{}", e.file, e.line)).unwrap_or_default();
        format!("  {name}{}, {}, {}{said}{file}", show::day(memory), memory.kind, show::source(memory))
    };
    match (&item.other, &item.matter) {
        (Some(older), Matter::Conflict) => lines.extend([side("old: ", older), side("new: ", &item.memory)]),
        (Some(other), Matter::Changed) => {
            lines.push(side("", &item.memory));
            lines.extend(edit::changes(other, &item.memory).into_iter().map(|change| format!("  {change}")));
        }
        (Some(other), _) => lines.extend([side("", &item.memory), format!("  replaced: {}", other.summary)]),
        (None, _) => lines.push(side("", &item.memory)),
    }
    lines
}

fn new_memory(app: &App, text: &str) -> Result<Memory> {
    by_hand::memory(&Wish { text: text.to_owned(), ..Wish::default() }, app.env.new_id()?, &app.env.now())
}

/// Everything that the file says about one project, as one commit.
fn plan(app: &App, now: &Snapshot, queue: &Queue, answers: &Answers, added: &[Memory]) -> Result<Plan> {
    let mut plan = app.plan(now, "review");
    let item = |n: usize| queue.items.get(n).filter(|item| item.project == now.project);
    for (n, decision) in &answers.decided {
        if let Some(item) = item(*n) {
            plan.changes.extend(decide::plan(now, item, decision, Voice::Owner, &app.env.now())?.changes);
        }
    }
    let reworded = answers.reworded.iter().filter(|(n, _)| item(*n).is_some());
    plan.changes.extend(reworded.flat_map(|(_, memory)| by_hand::amend(now, memory)));
    let gone = in_order(&mut plan.changes);
    let mut left = now.clone();
    left.entries.retain(|e| !gone.contains(&e.memory.id));
    for memory in added {
        plan.changes.extend(by_hand::remember(&left, memory, &app.env.now()).plan.changes);
    }
    Ok(plan)
}

/// Words first, so that what is settled afterwards keeps them; in the end what is forgotten, once, however many questions were
/// about it: with it all of them are settled. Gives what goes.
fn in_order(changes: &mut Vec<Change>) -> BTreeSet<Id> {
    let forgets = changes.iter().filter_map(|c| if let Change::Forget { id, .. } = c { Some(id.clone()) } else { None });
    let gone: BTreeSet<Id> = forgets.collect();
    let mut seen = BTreeSet::new();
    changes.retain(|change| match change {
        Change::Forget { id, .. } => seen.insert(id.clone()),
        Change::Amend(memory) => !gone.contains(&memory.id),
        Change::Settle { older, newer, .. } => !gone.contains(older) && !gone.contains(newer),
        _ => true,
    });
    changes.sort_by_key(|change| match change {
        Change::Amend(_) => 0,
        Change::Forget { .. } => 2,
        _ => 1,
    });
    gone
}

fn say(app: &App, queue: &Queue, answers: &Answers) {
    let number = |wanted: &dyn Fn(&Item, &Decision) -> bool| {
        let found = answers.decided.iter().filter(|(n, decision)| queue.items.get(*n).is_some_and(|item| wanted(item, decision)));
        found.count()
    };
    let rejected = number(&|item, d| {
        matches!(d, Decision::Keep(Keep::Old) | Decision::Neither) && item.matter != Matter::Conflict || *d == Decision::Neither
    });
    let reworded = number(&|_, d| matches!(d, Decision::Merge(_))) + answers.reworded.len();
    let settled = answers.decided.len() + answers.reworded.len() - rejected - reworded;
    let parts: Vec<String> = [(settled, "kept"), (rejected, "rejected"), (reworded, "reworded"), (answers.added.len(), "added")]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, verb)| format!("{n} {verb}"))
        .collect();
    let row = fields([
        ("kept", settled.into()),
        ("rejected", rejected.into()),
        ("reworded", reworded.into()),
        ("added", answers.added.len().into()),
    ]);
    let what = format!("{} of {}", parts.join(", "), count(queue.all, "item", "items"));
    app.ui.done("review", row, ("done:", "do:"), &what);
}
