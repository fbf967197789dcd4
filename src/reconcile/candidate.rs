//! From a checked candidate to the memory it would be.

use super::ReconcileContext;
use crate::extract::ground::Verdict;
use crate::model::{Id, Layer, Memory, Validity};

/// The memory of a candidate, without links to others.
pub(super) fn memory(verdict: &Verdict, id: Id, context: &ReconcileContext) -> Memory {
    let candidate = &verdict.candidate;
    let mut memory = Memory::new(id, candidate.layer, candidate.kind, candidate.summary.clone());
    memory.topic.clone_from(&candidate.topic);
    memory.reason.clone_from(&candidate.reason);
    memory.state = candidate.state;
    memory.validity = match (&candidate.until_date, candidate.layer) {
        (Some(day), _) => Validity::Until(day.clone()),
        (None, Layer::Transient) => Validity::Session,
        (None, _) => Validity::Lasting,
    };
    memory.lapses_when.clone_from(&candidate.until_event);
    memory.scope.clone_from(&candidate.scope);
    memory.branch = context.branch.map(str::to_owned);
    memory.keywords.clone_from(&candidate.keywords);
    memory.evidence.clone_from(&verdict.evidence);
    memory.origin = context.origin;
    memory.session = Some(context.session.to_owned());
    memory.created = Some(context.at.to_owned());
    memory
}
