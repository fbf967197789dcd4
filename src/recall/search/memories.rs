//! The ranking of memories: the words of each field, how much of the query is covered, then a little for age and use.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use jiff::civil::Date;

use super::filter::{gate, gate_by_text};
use super::query::{Query, Range, terms_per_word};
use super::words::{Shared, Words};
use super::{Breakdown, Corpus, Hit, SearchOptions, bm25};
use crate::error::{Error, Result};
use crate::model::plan::MemoryRecord;
use crate::model::{Id, State};
use crate::recall::score::days_between;
use crate::store::index::{Doc, FIELDS};
use crate::text::{stems, terms};

/// How many words of a long prompt are looked for, the rarest that somebody has.
const TERMS: usize = 120;

/// How many memories of a project are looked at closely.
pub const CANDIDATES: usize = 100;

/// Memories to look through for candidates, as far as the rarer words of the query are in so many: what only shares the commoner
/// ones with it comes in where there are too few others.
const LOOKED_THROUGH: usize = 1000;

/// What a candidate's word counts that it only has in reason or evidence.
const BEHIND: f64 = 0.5;

/// What a word weighs in topic, keywords, summary, reason, evidence.
const WEIGHTS: [f64; FIELDS] = [1.2, 1.5, 1.5, 0.8, 0.6];
/// A misspelled word counts this much.
const SLIP: f64 = 0.6;
/// A memory that covers the whole query rises by this share.
const COVERAGE: f64 = 0.5;
/// Neighbouring words of the query that are neighbours in the memory.
const PHRASE: f64 = 0.7;
/// The newest memory, in words.
const RECENCY: f64 = 0.1;
/// Days in which recency halves.
const HALF_LIFE_DAYS: f64 = 60.0;
/// A memory of the time that the query names, in words.
const DATED: f64 = 1.0;
/// A memory used without end, in words.
const USAGE: f64 = 0.1;
/// Hits at which half of that is reached.
const HALF_USE: f64 = 3.0;

/// A term of the query with everything the corpora know of it.
struct Asked {
    /// What to count in a memory: the term, or its neighbours if nobody holds it.
    forms: Vec<String>,
    weight: f64,
    /// How many memories have it.
    held: usize,
    /// Plain idf, for coverage.
    idf: f64,
    /// What ranking weighs.
    rarity: f64,
    /// How telling a match is: 1 for a rare word, less for common ones.
    telling: f64,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The best, as many as were asked for.
    pub hits: Vec<Hit>,
    /// How many there are, up to [`CANDIDATES`] a project.
    pub all: usize,
    /// How many share a word with the query and are kept out by their state alone.
    pub closed: Closed,
}

/// The memories of several corpora that share a word with the query, best first.
///
/// # Errors
/// What a corpus says; one in memory never fails.
pub fn find(corpora: &[&dyn Corpus], query: &str, options: &SearchOptions) -> Result<Vec<Hit>> {
    find_counted(corpora, query, options).map(|found| found.hits)
}

/// The same, and how many there are besides.
///
/// # Errors
/// As [`find`].
pub fn find_counted(corpora: &[&dyn Corpus], query: &str, options: &SearchOptions) -> Result<Found> {
    let query = Query::of(query);
    let (docs, length) = corpora.iter().map(|c| c.size()).fold((0, 0), |(n, l), (dn, dl)| (n + dn, l + dl));
    if docs == 0 || query.terms.is_empty() {
        return Ok(Found::default());
    }
    let mut asked = asked(corpora, &query, docs)?;
    // Of a long prompt, the words that tell memories apart. Sorting keeps the order of equals.
    asked.sort_by(|a, b| (b.weight * b.rarity).total_cmp(&(a.weight * a.rarity)));
    asked.truncate(TERMS);
    let rare = rare(&asked);
    let (mut candidates, mut closed) = candidates(corpora, &rare, options)?;
    if candidates.len() < CANDIDATES && rare.len() < asked.len() {
        (candidates, closed) = self::candidates(corpora, &asked.iter().collect::<Vec<_>>(), options)?;
    }
    let days: Vec<Option<Date>> = candidates.iter().map(|(_, doc)| doc.facts.day.as_deref()?.parse().ok()).collect();
    let dated: Vec<Date> = days.iter().flatten().copied().collect();
    let scale = Scale {
        average: length as f64 / docs as f64,
        newest: days.iter().flatten().max().copied(),
        unit: unit(&asked) * if query.cjk { terms_per_word(&query.terms) } else { 1.0 },
        idf: asked.iter().map(|a| a.idf * a.weight).sum(),
        range: query.range(&dated),
    };
    let forms: Vec<&[String]> = asked.iter().map(|a| a.forms.as_slice()).collect();
    let words = Words::of(&forms, &query.pairs);
    let mut shared = Shared::default();
    let scored = candidates.into_iter().zip(days);
    let scored = scored.filter_map(|((at, doc), day)| {
        words.look(&doc, &mut shared);
        Some((at, score(&doc, day, &asked, &shared, &scale)?, doc))
    });
    let mut scored: Vec<(usize, Score, Doc)> = scored.collect();
    scored.sort_by(|(_, x, a), (_, y, b)| y.parts.total.total_cmp(&x.parts.total).then_with(|| a.facts.id.cmp(&b.facts.id)));
    let all = scored.len();
    scored.truncate(options.limit);
    let mut hits: Vec<Option<Hit>> = scored.iter().map(|_| None).collect();
    for (at, corpus) in corpora.iter().enumerate() {
        let mine: Vec<usize> = (0..scored.len()).filter(|place| scored[*place].0 == at).collect();
        let docs: Vec<&Doc> = mine.iter().map(|place| &scored[*place].2).collect();
        for (place, record) in mine.iter().zip(corpus.records(&docs)?) {
            hits[*place] = hit(&scored[*place].1, record);
        }
    }
    Ok(Found { hits: hits.into_iter().flatten().collect(), all, closed })
}

/// The words by which candidates are found: the most telling ones, until they are in many memories.
fn rare(asked: &[Asked]) -> Vec<&Asked> {
    let mut seen = 0;
    let mut enough = |term: &&Asked| {
        let comes_in = seen < 2 * CANDIDATES || seen + term.held <= LOOKED_THROUGH;
        seen += if comes_in { term.held } else { 0 };
        comes_in
    };
    asked.iter().filter(&mut enough).collect()
}

/// How many memories of each state.
pub type Closed = BTreeMap<State, usize>;

/// The memories of each corpus that have one of these words, with the place of the corpus, the best [`CANDIDATES`] by the rarity of
/// what they have, then the latest; and those that have one and are kept out by their state.
fn candidates(corpora: &[&dyn Corpus], asked: &[&Asked], options: &SearchOptions) -> Result<(Vec<(usize, Doc)>, Closed)> {
    let by_text = options.topic.is_some() || options.keyword.is_some();
    let mut candidates = Vec::new();
    let mut closed = Closed::default();
    let open = SearchOptions { any_state: true, ..options.clone() };
    for (at, corpus) in corpora.iter().enumerate() {
        let mut accept = |doc: &Doc| -> Result<bool> {
            if gate(&doc.facts, &open).is_some() {
                return Ok(false);
            }
            if by_text && corpus.records(&[doc])?.iter().any(|record| gate_by_text(record, options).is_some()) {
                return Ok(false);
            }
            let shown = gate(&doc.facts, options).is_none();
            if !shown {
                *closed.entry(doc.facts.state_on(&options.today)).or_default() += 1;
            }
            Ok(shown)
        };
        candidates.extend(best(*corpus, asked, &mut accept)?.into_iter().map(|doc| (at, doc)));
    }
    Ok((candidates, closed))
}

/// The best [`CANDIDATES`] of a corpus that are accepted.
fn best(corpus: &dyn Corpus, asked: &[&Asked], accept: &mut dyn FnMut(&Doc) -> Result<bool>) -> Result<Vec<Doc>> {
    let ranked = ranked(corpus, asked)?;
    let mut groups = ranked.chunk_by(|a, b| a.0 == b.0);
    let mut found = Vec::new();
    loop {
        let wanted = CANDIDATES - found.len();
        let mut next: Vec<i64> = Vec::new();
        while let (true, Some(equals)) = (next.len() < wanted, groups.next()) {
            let mut places: Vec<i64> = equals.iter().map(|(_, place)| *place).collect();
            // Which of equals comes first matters only where not all of them are looked at.
            if next.len() + places.len() > wanted {
                corpus.sort(&mut places)?;
            }
            next.extend(places);
        }
        if next.is_empty() {
            return Ok(found);
        }
        let mut rest = next.as_slice();
        while found.len() < CANDIDATES && !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(CANDIDATES - found.len()));
            for doc in corpus.docs(now)? {
                if accept(&doc)? {
                    found.push(doc);
                }
            }
            rest = later;
        }
    }
}

/// All memories of a corpus that have one of these words, by their places, with what they are worth; the best first.
fn ranked(corpus: &dyn Corpus, asked: &[&Asked]) -> Result<Vec<(f64, i64)>> {
    let mut shares: Vec<(i64, usize, f64)> = Vec::new();
    for (number, term) in asked.iter().enumerate() {
        for form in &term.forms {
            let share = |first| term.weight * term.rarity * if first { 1.0 } else { BEHIND };
            shares.extend(corpus.having(form)?.into_iter().map(|(place, first)| (place, number, share(first))));
        }
    }
    // One that is in a memory twice, or in two forms, counts once.
    shares.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.total_cmp(&a.2)));
    shares.dedup_by_key(|(place, number, _)| (*place, *number));
    let of_place = |all: &[(i64, usize, f64)]| Some((all.iter().map(|(.., share)| share).sum(), all.first()?.0));
    let mut ranked: Vec<(f64, i64)> = shares.chunk_by(|a, b| a.0 == b.0).filter_map(of_place).collect();
    ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    Ok(ranked)
}

fn hit(score: &Score, record: MemoryRecord) -> Option<Hit> {
    let Score { parts, coverage, strength } = *score;
    let id = Id::parse(&record.id)?;
    Some(Hit { project: record.project.clone(), id, score: parts.total, breakdown: parts, coverage, strength, record })
}

/// What a candidate is worth.
struct Score {
    parts: Breakdown,
    coverage: f64,
    strength: f64,
}

/// The mean rarity of the terms that somebody holds.
fn unit(asked: &[Asked]) -> f64 {
    let held: Vec<f64> = asked.iter().filter(|a| a.held > 0).map(|a| a.rarity).collect();
    held.iter().sum::<f64>() / held.len().max(1) as f64
}

fn asked(corpora: &[&dyn Corpus], query: &Query, docs: usize) -> Result<Vec<Asked>> {
    let holders = |terms: &[&str]| {
        let mut sum = vec![0; terms.len()];
        for corpus in corpora {
            sum.iter_mut().zip(corpus.holders(terms)?).for_each(|(sum, n)| *sum += n);
        }
        Ok::<Vec<usize>, Error>(sum)
    };
    let terms: Vec<&str> = query.terms.iter().map(|(term, _)| term.as_str()).collect();
    let mut all = Vec::new();
    for ((term, weight), held) in query.terms.iter().zip(holders(&terms)?) {
        let (mut forms, mut weight, mut held) = (vec![term.clone()], *weight, held);
        if held == 0 {
            let mut near = Vec::new();
            for corpus in corpora {
                near.extend(corpus.near(term)?);
            }
            near.sort_unstable();
            near.dedup();
            if !near.is_empty() {
                weight *= SLIP;
                held = holders(&near.iter().map(String::as_str).collect::<Vec<_>>())?.into_iter().max().unwrap_or(0);
                forms = near;
            }
        }
        let common = docs >= 20 && held * 5 > docs;
        let telling = weight * telling(term) * if common { 0.5 } else { 1.0 };
        all.push(Asked {
            held,
            forms,
            weight,
            idf: bm25::idf(docs, held),
            rarity: if held > 0 { bm25::rarity(docs, held) } else { 0.0 },
            telling,
        });
    }
    Ok(all)
}

/// What does not depend on the memory.
struct Scale {
    average: f64,
    newest: Option<Date>,
    /// Score of one average word.
    unit: f64,
    /// Of the whole query.
    idf: f64,
    /// The time that the query names.
    range: Option<Range>,
}

fn score(doc: &Doc, day: Option<Date>, asked: &[Asked], shared: &Shared, scale: &Scale) -> Option<Score> {
    let length = doc.length as f64;
    let mut parts = [0.0; FIELDS];
    let (mut covered, mut strength) = (0.0, 0.0);
    for (term, counts) in asked.iter().zip(&shared.counts) {
        let counts: [f64; FIELDS] = std::array::from_fn(|f| WEIGHTS[f] * f64::from(counts[f]));
        let frequency: f64 = counts.iter().sum();
        if frequency <= 0.0 {
            continue;
        }
        let worth = term.weight * term.rarity * bm25::saturate(frequency, length, scale.average);
        for (part, count) in parts.iter_mut().zip(counts) {
            *part += worth * count / frequency;
        }
        covered += term.idf * term.weight;
        // Words that only a quote shares say less about what the memory is about.
        let about = counts[..FIELDS - 1].iter().any(|c| *c > 0.0);
        strength += term.telling * if about { 1.0 } else { 0.5 };
    }
    if parts.iter().sum::<f64>() <= 0.0 {
        return None;
    }
    let coverage = covered / scale.idf.max(f64::MIN_POSITIVE);
    for part in &mut parts {
        *part *= 1.0 + COVERAGE * coverage;
    }
    for field in shared.pairs.iter().flatten() {
        parts[*field] += PHRASE * scale.unit;
    }
    let age = day.zip(scale.newest).map(|(day, newest)| f64::from(days_between(day, newest)));
    let dated = scale.range.zip(day).map_or(0.0, |(range, day)| range.fit(day));
    let recency = scale.unit * (DATED * dated + age.map_or(0.0, |age| RECENCY * (-age / HALF_LIFE_DAYS).exp2()));
    let hits = doc.facts.hits as f64;
    let usage = scale.unit * USAGE * hits / (hits + HALF_USE);
    let [topic, keywords, summary, reason, evidence] = parts;
    let total = topic + keywords + summary + reason + evidence + recency + usage;
    let parts = Breakdown { topic, keywords, summary, reason, evidence, recency, usage, total };
    Some(Score { parts, coverage, strength })
}

/// Words of every piece of work: a prompt that shares only these with a memory is not about it. Stems.
static COMMON: LazyLock<HashSet<String>> = LazyLock::new(|| {
    "use add fix file test code write make run new project help need want change update check create function error work please \
     look find show tell know get set put call name line issue bug problem task thing way try start stop keep move remove delete \
     review read implement explain question answer example user data value type class method always never first next last back \
     good better right wrong done todo still already today version feature support build app page list item current default"
        .split_whitespace()
        .map(stems::stem)
        .chain(
            "使用 文件 代码 测试 项目 问题 修改 添加 增加 需要 怎么 一下 帮我 实现 功能 看看 检查 可以 现在 这个 那个 我们 应该 如何 进行 \
             写一 一个 不要 不用 什么 为什 今天 更新 创建 删除 继续 开始 完成 处理 方法 函数 错误 数据 用户 请帮 改成 改为 已经 还是 就是 \
             ファ イル コー ード する して です ます ください 파일 코드 하는 해줘 합니"
                .split_whitespace()
                .map(str::to_owned),
        )
        .collect()
});

/// How telling it is that a memory has a term: single characters say nothing, a pair is two thirds of a word.
fn telling(term: &str) -> f64 {
    let common = if COMMON.contains(term) { 0.3 } else { 1.0 };
    let size = match (terms::is_cjk_term(term), term.chars().count()) {
        (true, 1) => 0.0,
        (true, _) => 0.67,
        // A number or a letter alone is hardly ever what a prompt is about.
        (false, 1 | 2) => 0.5,
        (false, _) if term.bytes().all(|b| b.is_ascii_digit()) => 0.5,
        (false, _) => 1.0,
    };
    common * size
}

/// Strength and coverage that are enough together: a few telling words whatever else the query says, or fewer that are more of it.
const CLEAR: [(f64, f64); 3] = [(2.0, 0.0), (1.2, 0.3), (0.6, 0.75)];

/// Whether a hit is clearly about the query: it shares two telling words with it, or one that is nearly all of it. For callers
/// that must be silent in doubt (the prompt hook); a person who searches gets every hit.
pub fn is_match(hit: &Hit) -> bool {
    CLEAR.iter().any(|(strength, coverage)| hit.strength >= *strength && hit.coverage >= *coverage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(held: &[usize]) -> Vec<Asked> {
        let one = |held: &usize| Asked { forms: Vec::new(), weight: 1.0, held: *held, idf: 1.0, rarity: 1.0, telling: 1.0 };
        held.iter().map(one).collect()
    }

    #[test]
    fn common_words_come_in_only_while_there_are_few_memories() {
        for (held, taken) in [
            (vec![0, 3, 90], vec![0, 3, 90]),
            (vec![50_000], vec![50_000]),
            (vec![10, 50_000, 7], vec![10, 50_000]),
            (vec![500, 50_000, 7, 1400, 100], vec![500, 7, 100]),
        ] {
            let all = asked(&held);
            assert_eq!(rare(&all).iter().map(|a| a.held).collect::<Vec<_>>(), taken, "{held:?}");
        }
    }
}
