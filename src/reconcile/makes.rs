//! Which statements are of one make: the same words but for a few places, at which other words stand in each.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::rows::{LONGEST, LONGEST_NAME, Phrase, Row, Word, beside, gaps, phrase};

/// Statements that are laid beside one, at most.
const BESIDE: usize = 48;

/// Places of a pair of words that are looked at, at most.
const SAMPLE: usize = 64;

/// Fillers of a place from which on it varies. A real contradiction is a group of two, perhaps three.
pub(super) const VARIES: usize = 4;

/// What stands at a place so many times less often than the commonest value is something else.
const RARE: usize = 4;

/// A run of places in a row.
pub(super) type Run = (usize, usize);

/// Rows by the pairs of words that they have.
pub(super) type Pairs = HashMap<(u32, u32), Vec<usize>>;

/// A claim beside others of its make: which of its words are theirs, too, and where it differs.
pub(super) struct Make {
    /// A bit for every place of the row at which all have the same.
    pub frame: u64,
    /// Where it differs from the others, and how often words come back there.
    pub runs: Vec<(Run, usize)>,
}

impl Make {
    /// The words that all of this make have.
    pub fn of(&self, row: &[Word]) -> u64 {
        let mut hash = DefaultHasher::new();
        for word in self.words(row) {
            word.like.hash(&mut hash);
        }
        hash.finish()
    }

    /// Those words.
    pub fn words<'a>(&self, row: &'a [Word]) -> impl Iterator<Item = &'a Word> {
        let frame = self.frame;
        row.iter().enumerate().filter(move |(i, _)| frame >> i & 1 == 1).map(|(_, word)| word)
    }
}

/// Another row beside this one: for every word of this one its place there.
pub(super) struct Other {
    row: usize,
    /// A bit for every word that stands there, too.
    pub same: u64,
    places: Vec<Option<usize>>,
}

/// Where two neighbouring words stand.
pub(super) fn pairs(rows: &[Row]) -> Pairs {
    let mut pairs: Pairs = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        for (x, y) in neighbours(row) {
            let places = pairs.entry((x, y)).or_default();
            if places.last() != Some(&at) {
                places.push(at);
            }
        }
    }
    pairs
}

/// The rows that are most like one, and differ from it only here and there.
pub(super) fn others(rows: &[Row], at: usize, pairs: &Pairs) -> Vec<Other> {
    let Some(row) = rows.get(at) else { return Vec::new() };
    let like = nearest(rows, at, pairs, BESIDE);
    like.into_iter().filter_map(|place| other(row, rows.get(place)?, place)).collect()
}

/// The rows that have most pairs of words with one.
pub(super) fn nearest(rows: &[Row], at: usize, pairs: &Pairs, most: usize) -> Vec<usize> {
    let mut shared: HashMap<usize, usize> = HashMap::new();
    for pair in rows.get(at).into_iter().flat_map(|row| neighbours(row)) {
        let places = pairs.get(&pair).map(Vec::as_slice).unwrap_or_default();
        for place in places.iter().step_by(places.len().div_ceil(SAMPLE).max(1)).filter(|p| **p != at) {
            *shared.entry(*place).or_default() += 1;
        }
    }
    let mut like: Vec<(usize, usize)> = shared.into_iter().map(|(place, n)| (usize::MAX - n, place)).collect();
    like.sort_unstable();
    like.into_iter().take(most).map(|(_, place)| place).collect()
}

/// The largest part of a row that stands in others with other words at the places between.
pub(super) fn make(rows: &[Row], at: usize, others: &[Other]) -> Option<Make> {
    let row = rows.get(at)?;
    let frames: HashSet<u64> = others.iter().map(|o| o.same).collect();
    let mut best: Option<(usize, Make)> = None;
    for frame in frames {
        let members: Vec<&Other> = others.iter().filter(|o| o.same & frame == frame).collect();
        let (mut clean, mut all, mut varies) = (0, 0, false);
        let mut varying: Vec<(Run, usize)> = Vec::new();
        for run in runs(frame, row.len()).into_iter().filter(|run| is_key(&row[run.0..run.1]) && is_said(row, frame, *run)) {
            let own = phrase(&row[run.0..run.1]);
            let fillers: HashSet<&[Word]> = members.iter().map(|o| filler(rows, o, run)).filter(|f| !f.is_empty()).collect();
            let distinct: HashSet<Phrase> = fillers.iter().map(|f| phrase(f)).chain(std::iter::once(own.clone())).collect();
            if distinct.len() + 1 >= VARIES {
                varies |= distinct.len() >= VARIES;
                let filled = members.iter().filter(|o| !filler(rows, o, run).is_empty()).count();
                let again = (filled + 1).saturating_sub(distinct.len());
                varying.push((run, again));
                // What things are called has no small words; what is said of them mostly has.
                let whole = fillers.iter().copied().chain(std::iter::once(&row[run.0..run.1]));
                let named = |f: &[Word]| f.iter().all(|w| !w.small && !w.verb);
                all += fillers.len() + 1;
                clean += whole.filter(|f| named(f)).count();
            }
        }
        let runs = if varies { varying } else { Vec::new() };
        let worth = worth(row, frame) * 100 * clean / usize::max(all, 1);
        if !runs.is_empty() && best.as_ref().is_none_or(|(most, make)| (worth, frame) > (*most, make.frame)) {
            best = Some((worth, Make { frame, runs }));
        }
    }
    best.map(|(_, make)| make)
}

/// What stands in another row at a place of this one.
pub(super) fn filler<'a>(rows: &'a [Row], other: &Other, (from, to): Run) -> &'a [Word] {
    let before = from.checked_sub(1).and_then(|at| other.places.get(at).copied().flatten()).map_or(0, |at| at + 1);
    let Some(row) = rows.get(other.row) else { return &[] };
    let behind = other.places.get(to).copied().flatten().unwrap_or(row.len());
    row.get(before..behind).unwrap_or_default()
}

/// The value at a place, and the values that others have there: none if the place nearly always has the same words, or if
/// others say more there.
pub(super) fn values(own: &[Word], fillers: &[&[Word]]) -> (Phrase, HashSet<Phrase>) {
    let value = |words: &[Word]| {
        let from = words.iter().position(|w| !w.small)?;
        let to = words.iter().rposition(|w| !w.small)? + 1;
        let free = !words.iter().any(|w| w.verb || w.valued);
        free.then(|| words.get(from..to).unwrap_or_default().iter().map(|w| w.text).collect::<Phrase>())
    };
    let mut count: HashMap<Phrase, usize> = HashMap::new();
    let Some(mine) = value(own) else { return Default::default() };
    for found in fillers.iter().filter_map(|f| value(f)).chain(std::iter::once(mine.clone())) {
        *count.entry(found).or_default() += 1;
    }
    let (all, most) = (count.values().sum::<usize>(), count.values().copied().max().unwrap_or(0));
    // A word that most others have at one end, and this one has not, is no part of a value.
    let lacks = |end: fn(&[Word]) -> Option<&Word>| {
        let mut ends: HashMap<u32, usize> = HashMap::new();
        for word in fillers.iter().filter_map(|f| end(f)) {
            *ends.entry(word.text).or_default() += 1;
        }
        ends.into_iter().any(|(word, n)| n * 4 > fillers.len() * 3 && end(own).is_none_or(|w| w.text != word))
    };
    if most * 4 > all * 3 || lacks(|w| w.first()) || lacks(|w| w.last()) {
        return Default::default();
    }
    (mine, count.into_iter().filter(|(_, n)| n * RARE >= most).map(|(value, _)| value).collect())
}

/// Neighbouring words, and those with one between them, at least one of which says something.
fn neighbours(row: &[Word]) -> impl Iterator<Item = (u32, u32)> {
    let pair = |x: &Word, y: &Word| (!x.small || !y.small || x.wide && y.wide).then_some((x.like, y.like));
    let next = row.windows(2).filter_map(move |w| pair(w.first()?, w.get(1)?));
    next.chain(row.windows(3).filter_map(move |w| pair(w.first()?, w.get(2)?)))
}

/// How much a frame says: what is done tells more of a make than the words between.
pub(super) fn worth(row: &[Word], frame: u64) -> usize {
    row.iter().enumerate().filter(|(i, _)| frame >> i & 1 == 1).map(|(_, w)| if w.small && !w.verb { 1 } else { 2 }).sum()
}

/// Places of a row outside of a frame.
pub(super) fn runs(frame: u64, length: usize) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for at in (0..length).filter(|at| frame >> at & 1 == 0) {
        match runs.last_mut() {
            Some((_, to)) if *to == at => *to += 1,
            _ => runs.push((at, at + 1)),
        }
    }
    runs
}

/// Whether words can say what a claim is about: a few that are a name, and no more.
fn is_key(words: &[Word]) -> bool {
    let wide = words.iter().any(|w| w.wide);
    let longest = if wide { LONGEST_NAME.1 } else { LONGEST_NAME.0 };
    // A word with a role elsewhere may stand in a name: "release notes", "change logs".
    let glued = words.iter().filter(|w| w.small || w.verb).count();
    let said = |w: Option<&Word>| w.is_some_and(|w| !w.small);
    // Letters that stand inside a name do nothing there: 论文选题库.
    let inner = |at: usize| wide && at > 0 && at + 1 < words.len();
    words.len() > usize::from(wide)
        && glued <= usize::from(words.len() > if wide { 2 } else { 1 })
        && words.len() <= longest
        && !words.iter().enumerate().any(|(at, w)| w.valued || w.verb && (w.small || w.wide) && !inner(at))
        && if wide { said(words.last()) } else { said(words.first()) }
}

/// Whether what all of a make have says something of what stands in the run: by a word with a role, or by what follows.
fn is_said(row: &[Word], frame: u64, run: Run) -> bool {
    let in_frame = |i: &usize| frame >> i & 1 == 1;
    (0..row.len()).filter(in_frame).any(|i| row[i].verb) || (run.1..row.len()).filter(in_frame).any(|i| !row[i].small)
}

/// Another row, if it differs from this one only here and there.
fn other(row: &[Word], there: &[Word], at: usize) -> Option<Other> {
    let pairs = beside(row, there);
    let says =
        pairs.iter().filter(|(i, _)| !row[*i].small && !row[*i].valued).map(|(i, _)| if row[*i].wide { 1 } else { 2 }).sum::<usize>();
    if says < 1 || pairs.len() < 2 || says < 2 && pairs.len() < 4 {
        return None;
    }
    let (mut both, mut one) = (0, 0);
    for (here, other) in gaps(row, there, &pairs) {
        let wide = row.get(here.start).is_some_and(|w| w.wide) || there.get(other.start).is_some_and(|w| w.wide);
        if here.len().max(other.len()) > if wide { LONGEST_NAME.1 } else { LONGEST_NAME.0 } {
            return None;
        }
        match (here.len(), other.len()) {
            (0, 0) => {}
            (0, n) | (n, 0) => one += n,
            _ => both += 1,
        }
    }
    let mut places = vec![None; row.len()];
    let mut same = 0u64;
    for (x, y) in pairs {
        places[x] = Some(y);
        same |= 1 << x;
    }
    (both > 0 && both <= 3 && one <= 3 && row.len() <= LONGEST).then_some(Other { row: at, same, places })
}
