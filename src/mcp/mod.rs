//! The MCP server over stdio: six tools for the model in Claude Code, on the same store and checks as the commands.
//!
//! Three threads, no lock between them: one reads lines (`wire`), one runs the protocol (`server`), and the caller's own does
//! one call after the other (`desk`), so that a slow call never keeps the protocol from answering. `arguments` reads what
//! models send, `answer` words what they get.

mod answer;
pub mod arguments;
mod desk;
pub mod server;
mod wire;

pub use desk::{Desk, Kept, Place};

use std::io::{Read, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use rmcp::ServiceExt;

use crate::error::{Error, Result};

/// Without a call for this long, the desk lets go of what it keeps between calls.
const REST: Duration = Duration::from_secs(1);

/// Serves until the client closes the input; what it has asked for by then is still answered.
///
/// # Errors
/// If the protocol's thread or runtime cannot be started. A failing call is an answer, not an error.
pub fn serve(desk: &Desk<'_>, input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> Result<()> {
    let (sender, jobs) = mpsc::channel();
    let server = server::Server::new(sender)?;
    let cannot = |what: &str, cause: String| Error::failure(format!("the {what} of the server cannot be started: {cause}"));
    // With time: the protocol gives answers that are under way some seconds when the input ends.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(|e| cannot("runtime", e.to_string()))?;
    let protocol = std::thread::Builder::new().name("protocol".to_owned()).spawn(move || {
        runtime.block_on(async {
            // An input that ends before anything was asked is no failure, and nothing else ends the wire early.
            if let Ok(service) = server.serve(wire::Wire::new(input, output)).await {
                let _ = service.waiting().await;
            }
        });
    });
    let protocol = protocol.map_err(|e| cannot("thread", e.to_string()))?;
    loop {
        let job = match jobs.recv_timeout(REST) {
            Ok(job) => Ok(job),
            Err(RecvTimeoutError::Timeout) => {
                desk.rest();
                jobs.recv()
            }
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let Ok(job) = job else { break };
        // Cancelled while it waited: then it is never begun.
        if job.reply.is_closed() {
            continue;
        }
        let (answer, used) = match desk.call(&job.tool, &job.arguments) {
            Ok(answer) => (Ok(answer.text), answer.used),
            Err(error) => (Err(error), None),
        };
        let _ = job.reply.send(answer);
        if let Some(used) = used {
            desk.note(&used);
        }
    }
    protocol.join().map_err(|_| Error::failure("the server's protocol ended by a fault").hint("start it again; nothing was lost"))
}
