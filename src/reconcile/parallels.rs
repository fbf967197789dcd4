//! What many statements of one make teach: "payments in the ward display go through A", "payments in the grade book go
//! through B" disagree about nothing. The words that vary from one to the next at one place are what each is about (its
//! key); only claims with one key can disagree. Learned from the claims at hand, without a model and without word lists.

use std::collections::{HashMap, HashSet};

use super::conflict::forms;
use super::makes::{self, Make, Other, Run, filler, runs, worth};
use super::rows::{LONGEST_NAME, Numbered, Phrase, Row, Sort, Word, beside, contains, gaps, phrase, phrases};
use crate::text::amounts::measure;

/// A key of so many times as many makes of statement is the better one.
const STRONGER: usize = 3;

/// Others that have the same plain words at the same place, from which on these are a value.
const KNOWN: usize = 3;

/// Most letters of a value in which some may have a role elsewhere.
const INNER: usize = 5;

/// Letters of units beside an amount.
const UNITS: &str = "年月周天日小时分钟秒字元个半底";

/// Claims around a new one of which is learned what they are about.
const AROUND: usize = 40;

/// What is known about one claim.
#[derive(Debug, Default)]
pub(super) struct About {
    /// What it is about: words that tell it from statements of the same make.
    pub key: Phrase,
    /// The value it gives, and what stands at that place elsewhere.
    pub value: Phrase,
    pub values: HashSet<Phrase>,
}

/// What two claims say beside what they are about and the values they give it.
pub(super) struct Said {
    /// How much the shorter and the longer one say, and how much of it both do.
    pub least: f64,
    pub most: f64,
    pub both: f64,
    /// Whether the first, the second one says nothing that the other does not.
    pub within: (bool, bool),
}

/// What is known about all claims at hand.
#[derive(Debug, Default)]
pub(super) struct Parallels {
    rows: Vec<Row>,
    about: Vec<About>,
    /// In how many makes of statement a word stands.
    makes: HashMap<u32, usize>,
    all_makes: usize,
    /// Words that are values somewhere.
    values: HashSet<u32>,
    /// Words that look like names somewhere.
    names: HashSet<u32>,
    words: Numbered,
}

impl Parallels {
    /// Of claims without their reasons, all of them.
    pub fn of<'a>(heads: impl IntoIterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        all.rows = heads.into_iter().map(|head| all.words.row(head)).collect();
        let pairs = makes::pairs(&all.rows);
        let asked = (0..all.rows.len()).map(|_| true).collect();
        all.learned(&pairs, asked)
    }

    /// Of a claim and those around it, as far as it is about one of these: the first is the claim, some others are asked for.
    pub fn around<'a>(heads: impl IntoIterator<Item = &'a str>, asked: impl IntoIterator<Item = usize>) -> Self {
        let mut all = Self::default();
        all.rows = heads.into_iter().map(|head| all.words.row(head)).collect();
        let pairs = makes::pairs(&all.rows);
        let near: HashSet<usize> =
            makes::nearest(&all.rows, 0, &pairs, AROUND).into_iter().chain(asked).chain(std::iter::once(0)).collect();
        let asked = (0..all.rows.len()).map(|at| near.contains(&at)).collect();
        all.learned(&pairs, asked)
    }

    fn learned(mut self, pairs: &makes::Pairs, asked: Vec<bool>) -> Self {
        self.names = self.rows.iter().flatten().filter(|w| w.sort == Sort::Name).map(|w| w.text).collect();
        let others: Vec<Vec<Other>> =
            asked.iter().enumerate().map(|(at, asked)| if *asked { makes::others(&self.rows, at, pairs) } else { Vec::new() }).collect();
        let made: Vec<Option<Make>> = others.iter().enumerate().map(|(at, others)| makes::make(&self.rows, at, others)).collect();
        let spread = self.spread(&made);
        for (at, (others, make)) in others.iter().zip(&made).enumerate() {
            let about = make.as_ref().map(|make| self.about(at, others, make, &spread)).unwrap_or_default();
            self.about.push(about);
        }
        self.know_again(&made);
        self.values = self.about.iter().flat_map(|about| about.value.iter().copied()).collect();
        self
    }

    /// In how many makes of statement the words of a varying place stand.
    fn spread(&mut self, made: &[Option<Make>]) -> HashMap<Phrase, (usize, usize)> {
        let mut makes: HashSet<(Phrase, u64)> = HashSet::new();
        let mut words: HashSet<(u32, u64)> = HashSet::new();
        for (row, make) in self.rows.iter().zip(made) {
            let Some(make) = make else { continue };
            let frame = make.of(row);
            words.extend(make.words(row).map(|w| (w.text, frame)));
            makes.extend(make.runs.iter().map(|(run, _)| (phrase(&row[run.0..run.1]), frame)));
        }
        self.all_makes = makes.iter().map(|(_, frame)| frame).collect::<HashSet<_>>().len();
        for (word, _) in words {
            *self.makes.entry(word).or_default() += 1;
        }
        let mut spread: HashMap<Phrase, (usize, usize)> = HashMap::new();
        for (phrase, _) in makes {
            spread.entry(phrase).or_default().1 += 1;
        }
        for row in &self.rows {
            let texts: Phrase = row.iter().map(|w| w.text).collect();
            for phrase in phrases(&texts) {
                if let Some((rows, _)) = spread.get_mut(phrase) {
                    *rows += 1;
                }
            }
        }
        spread
    }

    /// The place that tells most: whose words many makes of statement speak of, and that has them only here.
    fn about(&self, at: usize, others: &[Other], make: &Make, spread: &HashMap<Phrase, (usize, usize)>) -> About {
        let row = &self.rows[at];
        let known = |run: &Run| {
            let (rows, makes) = spread.get(&phrase(&row[run.0..run.1])).copied().unwrap_or_default();
            (makes, rows)
        };
        // A subject comes back only where it is spoken of again; a value, where others have it, too.
        let better = |x: &(Run, usize), y: &(Run, usize)| if x.1.abs_diff(y.1) > 1 { x.1 < y.1 } else { known(&x.0) >= known(&y.0) };
        let Some((key, _)) = make.runs.iter().copied().reduce(|x, y| if better(&x, &y) { x } else { y }) else { return About::default() };
        let in_key = |i: usize| i >= key.0 && i < key.1;
        // Statements about something else: where they differ, too, stands the value.
        let apart: Vec<&Other> = others
            .iter()
            .filter(|o| (o.same & make.frame).count_ones() * 2 >= make.frame.count_ones() && !phrase(filler(&self.rows, o, key)).is_empty())
            .collect();
        // Letters of names are often the same by chance: one in five tells, beside a place that varies.
        let differ = |i: usize| apart.iter().filter(|o| o.same >> i & 1 == 0).count();
        let varies = |i: usize| i < row.len() && differ(i) * 4 > apart.len();
        let beside = |i: usize| varies(i + 1) || i > 0 && varies(i - 1);
        let often = |i: usize| varies(i) || row[i].wide && !row[i].small && beside(i) && differ(i) * 5 > apart.len();
        let frame: u64 = (0..row.len()).filter(|i| !in_key(*i) && !often(*i)).map(|i| 1 << i).sum();
        let value = runs(frame, row.len()).into_iter().filter(|run| !in_key(run.0) && run.1 - run.0 <= LONGEST_NAME.0).max_by_key(|run| {
            let fillers: HashSet<Phrase> = apart.iter().map(|o| phrase(filler(&self.rows, o, *run))).collect();
            fillers.len()
        });
        let mut about = About { key: phrase(&row[key.0..key.1]), ..About::default() };
        if let Some(run) = value {
            let whole = |o: &&&Other| o.same & frame == frame;
            let fillers: Vec<&[Word]> = apart.iter().filter(whole).map(|o| filler(&self.rows, o, run)).collect();
            (about.value, about.values) = makes::values(&row[run.0..run.1], &fillers);
        }
        about
    }

    /// What many claims are about is also meant where it is named in words of no known make, or in a longer piece.
    fn know_again(&mut self, made: &[Option<Make>]) {
        let mut makes: HashMap<(&Phrase, u64), usize> = HashMap::new();
        for ((about, make), row) in self.about.iter().zip(made).zip(&self.rows) {
            if let Some(make) = make {
                makes.insert((&about.key, make.of(row)), worth(row, make.frame));
            }
        }
        let mut strength: HashMap<&[u32], usize> = HashMap::new();
        for ((key, _), worth) in makes {
            *strength.entry(key.as_slice()).or_default() += worth;
        }
        let mut valued: HashMap<&[u32], usize> = HashMap::new();
        for about in self.about.iter().filter(|about| !about.value.is_empty()) {
            *valued.entry(about.value.as_slice()).or_default() += 1;
        }
        let rows: HashMap<&[u32], usize> = self.about.iter().fold(HashMap::new(), |mut rows, about| {
            *rows.entry(about.key.as_slice()).or_default() += 1;
            rows
        });
        strength.retain(|key, _| valued.get(key) <= rows.get(key));
        let better: Vec<Option<Phrase>> = (self.rows.iter().zip(&self.about).zip(made))
            .map(|((row, about), make)| {
                let own = strength.get(about.key.as_slice()).copied().unwrap_or(0);
                let (key, other) = named(row, &strength)?;
                // What all of a make have may be the subject of them all.
                let frame = |make: &Make| make.words(row).filter(|w| !w.small && !w.verb).all(|w| key.contains(&w.text));
                let turned = other > own && make.as_ref().is_some_and(frame);
                let within = other * 2 >= own * 3 && about.key.len() > key.len() && about.key.windows(key.len()).any(|w| *w == *key);
                (turned || within || own * STRONGER <= other).then_some(key)
            })
            .collect();
        for (about, key) in self.about.iter_mut().zip(better) {
            if let Some(key) = key.filter(|key| *key != about.key) {
                *about = About { key, ..About::default() };
            }
        }
    }

    /// Whether two claims are about the same: `None` if nothing is known of either.
    pub fn agree(&self, a: usize, b: usize) -> Option<bool> {
        let (x, y) = (self.about.get(a)?, self.about.get(b)?);
        let has = |row: usize, key: &Phrase| self.rows.get(row).is_some_and(|row| contains(row, key));
        (!x.key.is_empty() || !y.key.is_empty()).then(|| has(b, &x.key) && has(a, &y.key))
    }

    /// The words of what two claims are about.
    pub fn key_words(&self, a: usize, b: usize) -> Vec<&str> {
        let keys = [a, b].into_iter().filter_map(|at| self.about.get(at)).flat_map(|about| &about.key);
        keys.flat_map(|id| self.words.text(*id).split('-')).collect()
    }

    /// Whether some claim writes a word like a name, not at its beginning.
    pub fn is_name(&self, word: &str) -> bool {
        self.words.known(word).is_some_and(|id| self.names.contains(&id))
    }

    /// How much it tells that two claims both have a word.
    fn rarity(&self, word: &Word) -> f64 {
        let makes = self.makes.get(&word.text).copied().unwrap_or(0);
        ((self.all_makes + 2) as f64 / (makes + 1) as f64).ln().max(0.0)
    }

    /// What two claims say beside what they are about and the values they give it.
    pub fn said(&self, a: usize, b: usize, values: &[&str]) -> Said {
        let key = self.key_words(a, b);
        let values: Vec<&str> = values.iter().flat_map(|v| v.split([' ', '-'])).collect();
        let counts = |w: &&Word| {
            let text = self.words.text(w.text);
            !w.small && !w.valued && !text.split('-').any(|part| key.contains(&part) || values.contains(&part))
        };
        let words = |at: usize| self.rows.get(at).into_iter().flatten().filter(counts).copied().collect::<Row>();
        let (x, y) = (words(a), words(b));
        let shared = |p: &[Word], q: &[Word]| -> Vec<bool> { (0..p.len()).map(|at| self.both(p, at, q)).collect() };
        // A verb with a role says something only where both have it.
        let weigh = |words: &[Word], shared: &[bool]| -> (f64, f64) {
            let rows = || words.iter().zip(shared);
            let all = rows().filter(|(w, both)| !w.verb || **both).map(|(w, _)| self.rarity(w)).sum();
            (all, rows().filter(|(_, both)| **both).map(|(w, _)| self.rarity(w)).sum())
        };
        let ((p, m), (q, n)) = (weigh(&x, &shared(&x, &y)), weigh(&y, &shared(&y, &x)));
        Said { least: p.min(q), most: p.max(q), both: m.min(n), within: (m >= p, n >= q) }
    }

    /// Whether another row has a word, too. A letter of a script without spaces is no word: two that stand together are.
    fn both(&self, row: &[Word], at: usize, other: &[Word]) -> bool {
        let Some(word) = row.get(at) else { return false };
        let same = |x: &Word, y: &Word| {
            let (x, y) = (self.words.text(x.text), self.words.text(y.text));
            x == y || if x.len() < y.len() { forms(x, y) } else { forms(y, x) }
        };
        if !word.wide {
            return other.iter().any(|o| same(word, o));
        }
        let two =
            |at: usize| row.get(at..at + 2).is_some_and(|two| other.windows(2).any(|w| two.iter().zip(w).all(|(x, y)| x.text == y.text)));
        two(at) || at > 0 && two(at - 1) || (row.len() == 1 || other.len() == 1) && other.iter().any(|o| o.text == word.text)
    }

    /// Two values of one place that two claims about the same give, and whether one of them names both.
    pub fn values(&self, a: usize, b: usize) -> Option<(String, String, bool)> {
        let say = |p: &Phrase| p.iter().map(|id| self.words.text(*id)).collect::<Vec<_>>().join(" ");
        let valued = |at: usize| self.rows.get(at).is_some_and(|row| row.iter().any(|w| w.valued));
        if valued(a) || valued(b) {
            return None;
        }
        let one = |x: usize, y: usize| {
            let (about, there) = (self.about.get(x)?, self.rows.get(y)?);
            let sort = |at: usize, words: &Phrase| self.rows.get(at)?.iter().filter(|w| words.contains(&w.text)).map(|w| w.sort).max();
            let alike = |p: &&Phrase| there.iter().any(|w| w.wide) || sort(x, &about.value) == sort(y, p);
            let other = about.values.iter().filter(|p| **p != about.value && contains(there, p)).max_by_key(|p| (p.len(), (*p).clone()));
            let other = other.filter(alike)?;
            Some((say(&about.value), say(other), contains(there, &about.value)))
        };
        one(a, b).or_else(|| one(b, a).map(|(w, v, both)| (v, w, both)))
    }

    /// Whether a claim is known to give a value at a place where others give theirs, and which.
    pub fn value(&self, at: usize) -> Option<Vec<&str>> {
        let about = self.about.get(at).filter(|about| !about.value.is_empty())?;
        Some(about.value.iter().flat_map(|id| self.words.text(*id).split('-')).collect())
    }

    /// Whether a word stands at that place in others.
    pub fn is_value(&self, at: usize, word: &str) -> bool {
        self.about.get(at).is_some_and(|about| about.values.iter().flatten().any(|id| self.words.text(*id).split('-').any(|w| w == word)))
    }

    /// Whether two claims are the same but for one place, where each has words that the other has nowhere: then they speak of
    /// two properties of a thing.
    pub fn two_slots(&self, a: usize, b: usize, but: &dyn Fn(&str) -> bool) -> bool {
        let (Some(x), Some(y)) = (self.rows.get(a), self.rows.get(b)) else { return false };
        let pairs = beside(x, y);
        if pairs.len() * 10 < x.len().min(y.len()) * 6 {
            return false;
        }
        let alone = |words: &[Word], there: &[Word]| {
            words.iter().any(|w| !w.small && !w.valued && !but(self.words.text(w.text)) && !there.iter().any(|o| o.text == w.text))
        };
        gaps(x, y, &pairs).any(|(here, there)| alone(&x[here], y) && alone(&y[there], x))
    }

    /// Two claims that are the same but for what stands at one place: the values that stand there, if they are of one kind.
    /// Words of one sort are, and words that others have, too. What two bans name is two things; their limits are values.
    pub fn one_value(&self, a: usize, b: usize, bans: bool) -> Option<Option<(String, String)>> {
        let (x, y) = (self.rows.get(a)?, self.rows.get(b)?);
        let same = |(p, q): &(&Word, &Word)| p.text == q.text;
        let from = x.iter().zip(y).take_while(same).count();
        let to = x[from..].iter().rev().zip(y[from..].iter().rev()).take_while(same).count();
        let (v, w) = (&x[from..x.len() - to], &y[from..y.len() - to]);
        let wide = v.iter().chain(w).any(|w| w.wide);
        let longest = if wide { LONGEST_NAME.1 } else { LONGEST_NAME.0 };
        let frame = x[..from].iter().chain(&x[x.len() - to..]);
        let key = self.key_words(a, b);
        let text = |w: &Word| self.words.text(w.text);
        let says = frame.filter(|w| !w.small && !text(w).split('-').any(|part| key.contains(&part)));
        let says = says.map(|w| if w.wide { 1 } else { 2 }).sum::<usize>() > 1;
        // "Every week", "every two weeks".
        let unit = |words: &[Word]| matches!(words, [one] if !one.wide && measure(text(one)).is_some());
        let sort = |words: &[Word]| if unit(words) { Some(Sort::Amount) } else { sort_of(words) };
        let (p, q) = (sort(v)?, sort(w)?);
        if !says || v.len().max(w.len()) > longest {
            return None;
        }
        let amounts = p == Sort::Amount && q == p;
        let like = |words: &[Word]| words.iter().find(|w| w.sort == p).map(|w| w.like);
        // Beside amounts only units, beside names only small words, and no word of both.
        let fits = |words: &[Word], there: &[Word]| {
            let opened = words.first().is_some_and(|w| w.small && !w.wide && !matches!(text(w), "a" | "an" | "the" | "every"));
            let one = |w: &Word| match p {
                Sort::Amount if amounts => {
                    w.sort == p
                        || w.small
                        || measure(text(w)).is_some()
                        || measure(&format!("{}es", text(w))).is_some()
                        || UNITS.contains(text(w))
                }
                Sort::Name if !w.wide && p == q => w.sort == p || w.small,
                // Letters with a role may stand inside a name: 保管箱, 华为.
                _ => {
                    (!w.verb || w.wide && words.len() <= INNER && words.first().is_some_and(|first| first.text != w.text))
                        && (w.small || !there.iter().any(|o| o.text == w.text))
                }
            };
            let glued = |w: Option<&Word>| w.is_some_and(|w| w.small && w.wide);
            let named = self.about.iter().any(|o| !o.key.is_empty() && contains(words, &o.key));
            !opened && !glued(words.first()) && words.iter().all(one) && !named
        };
        let before = from.checked_sub(1).and_then(|i| x.get(i)).map(|w| w.text);
        // Others have it at the same place, or at another one.
        let known = |words: &[Word]| {
            let is = |w: &&[Word]| w.iter().zip(words).all(|(x, y)| x.text == y.text);
            let places = |(i, row): (usize, &Row)| -> Option<Option<u32>> {
                let at = row.windows(words.len()).position(|w| is(&w)).filter(|_| i != a && i != b)?;
                Some(at.checked_sub(1).and_then(|at| row.get(at)).map(|w| w.text))
            };
            let found: Vec<Option<u32>> = self.rows.iter().enumerate().filter_map(places).collect();
            found.iter().filter(|p| **p == before).count() >= KNOWN || found.iter().any(|p| *p != before)
        };
        let plain = |words: &[Word]| words.iter().all(|w| w.sort == Sort::Plain);
        let alike = fits(v, w) && fits(w, v) && (!amounts || unit(v) || unit(w) || like(v) == like(w)) && (!bans || amounts);
        // In letters without spaces every word is plain; elsewhere a plain one may be a verb, unless it ends the row.
        let alike = alike && (amounts || p == q && !plain(v) || (wide || p == q && to == 0) && known(v) && known(w));
        let say = |words: &[Word]| words.iter().map(text).collect::<Vec<_>>().join(" ");
        Some(alike.then(|| (say(v), say(w))))
    }

    /// Whether one of two claims is the other, said of a part of its subject: "the notes", "the title of the notes".
    pub fn of_a_part(&self, a: usize, b: usize) -> bool {
        let (Some(x), Some(y)) = (self.rows.get(a), self.rows.get(b)) else { return false };
        let pairs = beside(x, y);
        let (mut mine, mut theirs, mut part) = (false, false, false);
        for (here, there) in gaps(x, y, &pairs) {
            (mine, theirs) = (mine || !here.is_empty(), theirs || !there.is_empty());
            let more = if here.is_empty() { &y[there] } else { &x[here] };
            let links = more.iter().any(|w| matches!(self.words.text(w.text), "的" | "of"));
            part |= links && more.iter().any(|w| !w.small && !w.verb && !w.valued);
        }
        part && mine != theirs
    }

    /// Whether two claims are the same but for a few words at one place, all of which say something.
    pub fn one_place(&self, a: usize, b: usize) -> bool {
        let (Some(x), Some(y), Some(about)) = (self.rows.get(a), self.rows.get(b), self.about.get(a)) else { return false };
        let pairs = beside(x, y);
        // Other numbers at a place of their own are one more.
        let apart: Vec<usize> = pairs.iter().filter(|(i, j)| x[*i].text != y[*j].text).map(|(i, _)| *i).collect();
        let beyond = pairs.iter().filter(|(i, _)| !about.key.contains(&x[*i].text)).count();
        let mut places = usize::from(!apart.is_empty()) + apart.windows(2).filter(|w| w[1] > w[0] + 2).count();
        for (here, there) in gaps(x, y, &pairs) {
            if here.is_empty() != there.is_empty() || x[here.clone()].iter().chain(&y[there]).any(|w| w.verb || w.small) {
                return false;
            }
            places += usize::from(!here.is_empty());
        }
        places <= 1 && beyond > 1
    }

    /// What a claim says of what it is about, whatever that is and whichever value it gives.
    pub fn make_of(&self, at: usize) -> Vec<u32> {
        let (Some(row), Some(about)) = (self.rows.get(at), self.about.get(at)) else { return Vec::new() };
        let skips = |w: &&Word| {
            !w.small && !w.valued && !about.key.contains(&w.text) && !about.value.contains(&w.text) && !self.values.contains(&w.text)
        };
        row.iter().filter(skips).map(|w| w.like).collect()
    }
}

/// What the words of a value look like.
fn sort_of(words: &[Word]) -> Option<Sort> {
    words.iter().map(|w| w.sort).max()
}

/// The key that a row names, of most makes of statement; the longest of them.
fn named(row: &[Word], strength: &HashMap<&[u32], usize>) -> Option<(Phrase, usize)> {
    let texts: Phrase = row.iter().map(|w| w.text).collect();
    phrases(&texts)
        .filter_map(|phrase| strength.get(phrase).map(|n| (phrase, *n)))
        .max_by_key(|(phrase, n)| (*n, phrase.len()))
        .map(|(phrase, n)| (phrase.to_vec(), n))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECTS: &[&str] = &["ward display", "grade book", "exam portal", "bus tracker", "cold store"];
    const SUBJECTS_WIDE: &[&str] = &["病房大屏", "成绩册", "考试门户", "公交追踪", "冷库监测"];

    fn learned(makes: &[&str], subjects: &[&str], last: &str) -> (Parallels, usize) {
        let values = ["Stripe", "Adyen"];
        let fill = |make: &str, n: usize| make.replace("{s}", subjects[n]).replace("{v}", values[n % 2]);
        let mut all: Vec<String> = makes.iter().flat_map(|make| (0..subjects.len()).map(move |n| fill(make, n))).collect();
        all.push(last.to_owned());
        (Parallels::of(all.iter().map(String::as_str)), all.len() - 1)
    }

    #[test]
    fn what_varies_in_a_list_is_what_each_is_about() {
        let english = ["Payments in the {s} go through {v}.", "The {s} has to work offline."];
        let wide = ["{s}通过 {v} 收款。", "{s}必须支持离线使用。"];
        for (makes, subjects, last) in
            [(&english, SUBJECTS, "The grade book takes money with Stripe."), (&wide, SUBJECTS_WIDE, "成绩册的钱由 Stripe 收。")]
        {
            let (all, at) = learned(makes, subjects, last);
            assert_eq!(all.agree(0, 1), Some(false), "{last}");
            assert_eq!(all.agree(1, at), Some(true), "{last}");
            assert_eq!(all.agree(0, at), Some(false), "{last}");
            assert_eq!(all.values(1, at), Some(("adyen".to_owned(), "stripe".to_owned(), false)), "{last}");
        }
    }

    #[test]
    fn a_few_that_differ_are_no_list() {
        let all =
            Parallels::of(["Releases go out on the main branch.", "Releases go out on the stable branch.", "Releases go out on trunk."]);
        assert_eq!(all.agree(0, 1), None);
    }
}
