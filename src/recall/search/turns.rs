//! The ranking of turns: a turn counts its neighbours, its author, its time, and what its best rivals are about.
//!
//! A question is often answered in the turn behind the one that has its words, hence the neighbours. The measured worth of each
//! part is in ARCHITECTURE.md, "Search". Not here: memories (`memories`), the database of turns (`store::turns`).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::LazyLock;

use jiff::civil::Date;
use regex::Regex;

use super::bm25;
use super::query::{Query, Range, terms_per_word};
use crate::error::Result;
use crate::store::turns::Turn;
use crate::text::{stems, terms};

/// How many turns of a project are looked at closely, besides their neighbours.
pub const CANDIDATES: usize = 400;
/// How far around a candidate turns are scored, and how far they are read, since each counts its own neighbours.
pub const SCORED: u32 = 2;
/// See [`SCORED`].
pub const READ: u32 = 4;

/// What the turns before and behind count: distance, share.
const NEIGHBOURS: [(i64, f64); 4] = [(-1, 0.6), (1, 0.4), (-2, 0.3), (2, 0.2)];
const COVERAGE: f64 = 0.5;
const PHRASE: f64 = 0.7;
/// The best of its conversation.
const SESSION: f64 = 0.2;
/// In average words: the author is named; the role fits; it tells a time; it is of the time; it is a bare question; it is long.
const AUTHOR: f64 = 2.0;
const ROLE: f64 = 1.0;
const TELLS_TIME: f64 = 0.7;
const DATED: f64 = 1.5;
const QUESTION: f64 = -0.3;
const LENGTH: f64 = 0.3;
/// Feedback: weight, turns it looks at, terms it takes.
const FEEDBACK: (f64, usize, usize) = (0.05, 5, 8);

/// What the score of a turn is made of; the parts add up to the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct TurnBreakdown {
    /// Its own words, and how much they say.
    pub text: f64,
    /// The words of the turns around it and of its conversation.
    pub neighbours: f64,
    /// Who speaks.
    pub author: f64,
    /// When it was said, or that it tells a time.
    pub date: f64,
    /// Neighbouring words of the query.
    pub phrase: f64,
    /// Words of the best turns that the query does not have.
    pub feedback: f64,
    /// The sum.
    pub total: f64,
}

/// One turn that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnHit {
    /// The turn.
    pub turn: Turn,
    /// [`TurnBreakdown::total`].
    pub score: f64,
    /// Where the score comes from.
    pub breakdown: TurnBreakdown,
}

/// Where [`find`] looks: the kept turns of one project.
pub trait Turns {
    /// Number of turns, and of their terms in all.
    fn size(&self) -> (usize, usize);
    /// In how many turns a term is.
    fn holders(&self, term: &str) -> Result<usize>;
    /// Everybody who speaks.
    fn authors(&self) -> Result<Vec<String>>;
    /// Every day on which something was said.
    fn days(&self) -> Result<Vec<Date>>;
    /// The best `most` turns that hold one of the terms, those of a range of days if there is one, and [`READ`] turns around
    /// each. The flag says which are candidates themselves.
    fn around(&self, terms: &[String], most: usize, days: Option<Range>) -> Result<Vec<(Turn, bool)>>;
}

/// The turns that answer a query, best first.
///
/// # Errors
/// If the turns cannot be read.
pub fn find(corpora: &[&dyn Turns], text: &str, limit: usize) -> Result<Vec<TurnHit>> {
    let query = Query::of(text);
    let (docs, length) = corpora.iter().map(|c| c.size()).fold((0, 0), |(n, l), (dn, dl)| (n + dn, l + dl));
    if docs == 0 || query.terms.is_empty() {
        return Ok(Vec::new());
    }
    let mut authors = BTreeSet::new();
    let mut days = BTreeSet::new();
    for corpus in corpora {
        authors.extend(corpus.authors()?.into_iter().map(|a| a.to_lowercase()).filter(|a| !a.bytes().all(|b| b.is_ascii_digit())));
        days.extend(corpus.days()?);
    }
    let days: Vec<Date> = days.into_iter().collect();
    let is_named = |a: &&String| query.words.contains(a) || (a.contains(' ') && query.folded.contains(a.as_str()));
    let named: BTreeSet<String> = if query.cjk { BTreeSet::new() } else { authors.iter().filter(is_named).cloned().collect() };
    let names: HashSet<String> = named.iter().map(|n| stems::stem(n)).collect();
    let mut weights: Vec<(String, f64)> = query.terms.iter().filter(|(t, _)| !names.contains(t)).cloned().collect();
    if weights.is_empty() {
        weights.clone_from(&query.terms);
    }
    let range = query.range(&days);
    let day = range.filter(|r| query.cjk && r.is_day());
    let mut pool = Vec::new();
    let asked: Vec<String> = weights.iter().map(|(t, _)| t.clone()).collect();
    for corpus in corpora {
        pool.extend(corpus.around(&asked, CANDIDATES, day)?);
    }
    pool.sort_by(|(a, _), (b, _)| (&a.project, &a.session, a.seq).cmp(&(&b.project, &b.session, b.seq)));
    let holders = |term: &str| corpora.iter().try_fold(0, |n, c| Ok::<_, crate::error::Error>(n + c.holders(term)?));
    let ranking = Ranking {
        query: &query,
        pool: Pool::of(&pool),
        docs,
        average: length as f64 / docs as f64,
        role: (named.is_empty() && (authors.contains("user") || authors.contains("assistant"))).then(|| role(&query)),
        named: if named.len() < authors.len() { named } else { BTreeSet::new() },
        range: range.map(|r| (r, day.is_some())),
    };
    let mut rarity = HashMap::new();
    ranking.learn(&mut rarity, weights.iter().map(|(t, _)| t).chain(query.pairs.iter().flat_map(|(a, b)| [a, b])), &holders)?;
    let first = ranking.scores(&weights, weights.len(), &rarity);
    let best = top(&first, FEEDBACK.1);
    ranking.learn(&mut rarity, best.iter().flat_map(|i| ranking.pool.turns[*i].terms.iter()), &holders)?;
    let own = weights.len();
    weights.extend(ranking.feedback(&best, &first, &weights, &rarity));
    let scores = ranking.scores(&weights, own, &rarity);
    let order = top(&scores, limit);
    Ok(order.into_iter().map(|i| TurnHit { turn: ranking.pool.turns[i].clone(), score: scores[i].total, breakdown: scores[i] }).collect())
}

/// Indexes of the best, best first; what scores nothing is not among them.
fn top(scores: &[TurnBreakdown], most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).filter(|i| scores[*i].total > 0.0).collect();
    order.sort_by(|a, b| scores[*b].total.total_cmp(&scores[*a].total).then_with(|| a.cmp(b)));
    order.truncate(most);
    order
}

/// The turns at hand, in order, with what a ranking asks of them.
struct Pool<'a> {
    turns: Vec<&'a Turn>,
    /// Whether a turn may be shown.
    scored: Vec<bool>,
    /// Number of the conversation.
    session: Vec<usize>,
    /// By term: turns that hold it, and how often.
    postings: HashMap<&'a str, Vec<(usize, f64)>>,
}

impl<'a> Pool<'a> {
    fn of(pool: &'a [(Turn, bool)]) -> Self {
        let turns: Vec<&Turn> = pool.iter().map(|(t, _)| t).collect();
        let mut session = Vec::with_capacity(turns.len());
        let mut postings: HashMap<&str, Vec<(usize, f64)>> = HashMap::new();
        for (i, turn) in turns.iter().enumerate() {
            let same = i > 0 && turns[i - 1].session == turn.session && turns[i - 1].project == turn.project;
            let number = session.last().map_or(0, |n| if same { *n } else { n + 1 });
            session.push(number);
            for term in &turn.terms {
                let list = postings.entry(term).or_default();
                match list.last_mut() {
                    Some((last, n)) if *last == i => *n += 1.0,
                    _ => list.push((i, 1.0)),
                }
            }
        }
        let mut all = Self { turns, scored: Vec::new(), session, postings };
        let near = i64::from(SCORED);
        all.scored = (0..pool.len()).map(|i| (-near..=near).any(|d| all.neighbour(i, d).is_some_and(|n| pool[n].1))).collect();
        all
    }

    /// The turn `distance` behind another in the same conversation.
    fn neighbour(&self, i: usize, distance: i64) -> Option<usize> {
        let seq = self.turns[i].seq + distance;
        // Turns are dense, so it is where it should be, or nearer if some between were not read.
        let from = i.saturating_sub(distance.unsigned_abs() as usize);
        let to = (i + distance.unsigned_abs() as usize).min(self.turns.len().saturating_sub(1));
        (from..=to).find(|n| self.session[*n] == self.session[i] && self.turns[*n].seq == seq)
    }
}

struct Ranking<'a> {
    query: &'a Query,
    pool: Pool<'a>,
    docs: usize,
    average: f64,
    /// Authors that the query names, unless that is everybody.
    named: BTreeSet<String>,
    /// Who is asked about where nobody is named.
    role: Option<&'static str>,
    /// The time it names, and whether only that very day will do.
    range: Option<(Range, bool)>,
}

type Holders<'a> = dyn Fn(&str) -> Result<usize> + 'a;

impl Ranking<'_> {
    /// Looks up how rare terms are; 0 for those that nobody holds.
    fn learn<'t>(&self, rarity: &mut HashMap<String, f64>, terms: impl Iterator<Item = &'t String>, holders: &Holders<'_>) -> Result<()> {
        for term in terms {
            if !rarity.contains_key(term) {
                let held = holders(term)?;
                rarity.insert(term.clone(), if held == 0 { 0.0 } else { bm25::rarity(self.docs, held) });
            }
        }
        Ok(())
    }

    /// The strongest terms of the best turns that the query does not have.
    fn feedback(
        &self,
        best: &[usize],
        scores: &[TurnBreakdown],
        weights: &[(String, f64)],
        rarity: &HashMap<String, f64>,
    ) -> Vec<(String, f64)> {
        let most = best.first().map_or(1.0, |i| scores[*i].total.max(1e-9));
        let mut sums: BTreeMap<&String, f64> = BTreeMap::new();
        for i in best {
            let terms: BTreeSet<&String> = self.pool.turns[*i].terms.iter().collect();
            for term in terms.into_iter().filter(|t| !weights.iter().any(|(w, _)| w == *t)) {
                *sums.entry(term).or_default() += scores[*i].total / most * rarity.get(term).copied().unwrap_or(0.0);
            }
        }
        let mut sums: Vec<(&String, f64)> = sums.into_iter().collect();
        sums.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        sums.into_iter().take(FEEDBACK.2).map(|(t, _)| (t.clone(), FEEDBACK.0)).collect()
    }

    /// The score of every turn at hand. The first `own` terms are the query's, the others feedback.
    fn scores(&self, weights: &[(String, f64)], own: usize, rarity: &HashMap<String, f64>) -> Vec<TurnBreakdown> {
        let n = self.pool.turns.len();
        let rare = |t: &String| rarity.get(t).copied().unwrap_or(0.0);
        let unit = weights.iter().map(|(t, _)| rare(t)).sum::<f64>() / weights.len() as f64;
        let unit = if unit > 0.0 { unit } else { 1.0 } * if self.query.cjk { terms_per_word(weights) } else { 1.0 };
        let mass = |t: &String| if rare(t) > 0.0 { rare(t) } else { (1.0 + self.docs as f64).ln() };
        let total_mass: f64 = weights.iter().map(|(t, w)| mass(t) * w).sum();
        let sessions = self.pool.session.last().map_or(0, |s| s + 1);
        let mut out = vec![TurnBreakdown::default(); n];
        let (mut covered, mut session_best) = (vec![0.0; n], vec![0.0; sessions]);
        for (at, (term, weight)) in weights.iter().enumerate() {
            let mut row = vec![0.0; n];
            for (i, frequency) in self.pool.postings.get(term.as_str()).into_iter().flatten() {
                let length = self.pool.turns[*i].terms.len() as f64;
                row[*i] = weight * rare(term) * bm25::saturate(*frequency, length.max(1.0), self.average);
            }
            let mut best = vec![0.0_f64; sessions];
            for i in 0..n {
                best[self.pool.session[i]] = best[self.pool.session[i]].max(row[i]);
                let around: f64 = NEIGHBOURS.iter().filter_map(|(d, share)| Some(share * row[self.pool.neighbour(i, *d)?])).sum();
                if row[i] + around > 0.0 {
                    covered[i] += mass(term) * weight;
                }
                if at < own {
                    out[i].text += row[i];
                    out[i].neighbours += around;
                } else {
                    out[i].feedback += row[i] + around;
                }
            }
            for (sum, best) in session_best.iter_mut().zip(best) {
                *sum += best;
            }
        }
        for i in 0..n {
            let found = out[i].text + out[i].neighbours + out[i].feedback > 0.0;
            let part = &mut out[i];
            let factor = 1.0 + COVERAGE * covered[i] / total_mass.max(f64::MIN_POSITIVE);
            part.text *= factor;
            part.neighbours *= factor;
            part.feedback *= factor;
            if found {
                part.neighbours += SESSION * session_best[self.pool.session[i]];
            }
            self.extras(i, part, found, unit, rarity);
            part.total = part.text + part.neighbours + part.author + part.date + part.phrase + part.feedback;
            if !self.pool.scored[i] {
                *part = TurnBreakdown::default();
            }
        }
        out
    }

    /// What does not come from single words.
    fn extras(&self, i: usize, part: &mut TurnBreakdown, found: bool, unit: f64, rarity: &HashMap<String, f64>) {
        let turn = self.pool.turns[i];
        let rare = |t: &String| rarity.get(t).copied().unwrap_or(0.0);
        for (a, b) in &self.query.pairs {
            if rare(a) > 0.0 && rare(b) > 0.0 && turn.terms.windows(2).any(|w| matches!(w, [x, y] if x == a && y == b)) {
                part.phrase += PHRASE * (rare(a) + rare(b)) / 2.0;
            }
        }
        let fit = self.range.zip(turn.day()).map_or(0.0, |((range, day_only), day)| {
            let fit = range.fit(day);
            if day_only && fit < 1.0 { 0.0 } else { fit }
        });
        let day_only = self.range.is_some_and(|(_, day_only)| day_only);
        if !found && part.phrase <= 0.0 && !(day_only && fit > 0.0) {
            return;
        }
        let author = turn.speaker.to_lowercase();
        if self.named.contains(&author) {
            part.author += AUTHOR * unit;
        }
        if self.role.is_some_and(|role| role == author) {
            part.author += ROLE * unit;
        }
        if self.query.asks_when() && tells_time(&turn.text) {
            part.date += TELLS_TIME * unit;
        }
        part.date += DATED * unit * fit;
        let bare = turn.text.trim_end().ends_with('?') && !turn.text.contains(['.', '!']);
        let long = (turn.terms.len().max(1) as f64 / (2.0 * self.average)).min(1.0);
        part.text += unit * (if bare { QUESTION } else { 0.0 } + LENGTH * long);
    }
}

/// Whether the query asks for what the assistant said; else it asks for what the user said.
fn role(query: &Query) -> &'static str {
    static ENGLISH: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"\byour? (?:[a-z]+ )?(?:told|said|recommend|suggest|mention|gave|provid|explain|list|wrote|creat|shar)",
            r"|remind me|our (?:previous|last|earlier)|previous (?:chat|conversation)"
        ))
        .ok()
    });
    static CHINESE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?:^|[^和跟给向对与])[你您](?:曾经|曾|之前|上次|以前)?[给和跟向对为]?了?我?.{0,3}",
            r"(?:推荐|告诉|分享|教|建议|介绍|提供|给了|说过)"
        ))
        .ok()
    });
    let pattern = if query.cjk { &CHINESE } else { &ENGLISH };
    if pattern.as_ref().is_some_and(|p| p.is_match(&query.folded)) { "assistant" } else { "user" }
}

/// Whether a text has a word of time.
fn tells_time(text: &str) -> bool {
    static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
        "yesterday today tonight tomorrow ago last next week weekend month year morning night monday tuesday wednesday thursday \
         friday saturday sunday january february march april may june july august september october november december recently \
         since until days weeks months years hours summer winter spring fall autumn"
            .split_whitespace()
            .collect()
    });
    terms::plain_words(text).iter().any(|w| WORDS.contains(w.as_str()))
}
