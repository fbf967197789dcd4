//! Calls, tokens and price of jobs before any call is made: `--plan`. Pure.

use super::chunk::cut;
use super::claude::{ClaudeSettings, most};
use super::ladder::piece_budget;
use super::prompt::{self, Request};
use super::{Job, Usage, prices};

/// What a run would take. Tokens are estimates, to be shown with `≈`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Requests, without repeats and repairs.
    pub calls: u32,
    /// Input tokens, the prompt included.
    pub input_tokens: u64,
    /// Output tokens as experience has them.
    pub output_tokens: u64,
    /// US dollars for these; `None` if the model's price is not known.
    pub cost_usd: Option<f64>,
    /// US dollars if every answer were as long as allowed: what caps are checked against.
    pub most_usd: Option<f64>,
}

impl Estimate {
    /// The sum of two.
    pub fn add(&mut self, other: &Self) {
        let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        self.calls += other.calls;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cost_usd = both(self.cost_usd, other.cost_usd);
        self.most_usd = both(self.most_usd, other.most_usd);
    }
}

/// The estimate for a run. Caching is not counted in: it can only make it cheaper.
pub fn estimate(jobs: &[Job], settings: &ClaudeSettings) -> Estimate {
    let zero = prices::find(&settings.model).map(|_| 0.0);
    let start = Estimate { cost_usd: zero, most_usd: zero, ..Estimate::default() };
    let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
    requests(jobs, settings).fold(start, |sum, request| {
        let input = request.tokens();
        // Eight entries are some 1,200 tokens; a long talk gives more, thinking comes on top.
        let output = (input / 8).clamp(600, u64::from(settings.max_output_tokens).max(600));
        let cost = prices::cost(&settings.model, &Usage { input, output, ..Usage::default() });
        Estimate {
            calls: sum.calls + 1,
            input_tokens: sum.input_tokens + input,
            output_tokens: sum.output_tokens + output,
            cost_usd: both(sum.cost_usd, cost),
            most_usd: both(sum.most_usd, most(settings, &request)),
        }
    })
}

/// The requests as far as they are known before the first answer.
fn requests<'a>(jobs: &'a [Job], settings: &'a ClaudeSettings) -> impl Iterator<Item = Request> + 'a {
    jobs.iter().flat_map(move |job| {
        let budget = piece_budget(job, settings.max_input_tokens);
        let pieces = cut(&job.conversation.turns, job.after_turn, budget);
        pieces.into_iter().map(move |piece| prompt::build(job, &piece, &[], &[]))
    })
}
