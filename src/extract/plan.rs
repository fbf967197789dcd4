//! Calls, tokens and price of jobs before any call is made: `--plan`. Pure.

use super::chunk::{Chunk, cut};
use super::claude::{ClaudeSettings, most};
use super::ladder::piece_budget;
use super::{Job, Usage, prices, prompt};

/// What a run would take. Tokens are estimates, to be shown with `≈`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Requests, without repeats and repairs.
    pub calls: u32,
    /// Input tokens, the prompt included.
    pub input: u64,
    /// Output tokens as experience has them.
    pub output: u64,
    /// US dollars for these; `None` if the model's price is not known.
    pub cost_usd: Option<f64>,
    /// US dollars if every answer were as long as allowed: what caps are checked against.
    pub most_usd: Option<f64>,
}

impl Estimate {
    /// The sum of two.
    pub fn add(&mut self, other: &Self) {
        let both = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
        *self = Self {
            calls: self.calls + other.calls,
            input: self.input + other.input,
            output: self.output + other.output,
            cost_usd: both(self.cost_usd, other.cost_usd),
            most_usd: both(self.most_usd, other.most_usd),
        };
    }
}

/// The estimate for one job. Caching is not counted in: it can only make it cheaper.
pub fn estimate(job: &Job, settings: &ClaudeSettings) -> Estimate {
    let zero = prices::find(&settings.model).map(|_| 0.0);
    let mut sum = Estimate { cost_usd: zero, most_usd: zero, ..Estimate::default() };
    let budget = piece_budget(job, settings.max_input_tokens);
    let pieces: Vec<Chunk> = cut(&job.conversation.turns, job.after_turn, budget);
    for piece in pieces {
        let request = prompt::build(job, &piece, &[], &[]);
        let input = request.tokens();
        // Eight entries are some 1,200 tokens; long talk gives more, thinking comes on top.
        let output = (input / 8).clamp(600, settings.max_output_tokens.into());
        let usage = Usage { input, output, ..Usage::default() };
        sum.add(&Estimate { calls: 1, input, output, cost_usd: prices::cost(&settings.model, &usage), most_usd: most(settings, &request) });
    }
    sum
}
