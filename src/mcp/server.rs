//! The protocol as the SDK carries it: who we are, which tools there are, and the queue to the desk that answers calls.
//!
//! The SDK answers `server/discover` and both lifecycles (`initialize` up to 2025-11-25, stateless from 2026-07-28 on).

use std::sync::{Arc, mpsc};

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, DiscoverResult, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::error::{Error, Result};

/// What the model is told about the server. At most 2,000 characters: older clients cut behind them.
pub const INSTRUCTIONS: &str = include_str!("../../prompts/mcp/instructions.md");
/// The tools with their schemas.
const TOOLS: &str = include_str!("../../prompts/mcp/tools.json");
/// For how long a client may keep the list of tools: it never changes while the program runs.
const FRESH_MS: u64 = 3_600_000;

/// The tools as clients see them.
///
/// # Errors
/// If the data file in the program is broken, which a test excludes.
pub fn tools() -> Result<Vec<Tool>> {
    serde_json::from_str(TOOLS).map_err(|e| Error::failure(format!("the program's own list of tools cannot be read: {e}")))
}

/// A call that waits for the desk.
pub struct Job {
    /// Tool.
    pub tool: Tool,
    /// Arguments as sent.
    pub arguments: Map<String, Value>,
    /// Where the answer goes; closed when the client does not want it any more.
    pub reply: oneshot::Sender<Result<String>>,
}

/// Takes requests and hands calls to the desk.
pub struct Server {
    tools: Arc<Vec<Tool>>,
    jobs: mpsc::Sender<Job>,
}

impl Server {
    /// A server whose calls are done by whoever receives the jobs.
    pub fn new(jobs: mpsc::Sender<Job>) -> Result<Self> {
        Ok(Self { tools: Arc::new(tools()?), jobs })
    }
}

/// Text for the model; a failure as one sentence and its hint.
fn result(answer: Result<String>) -> CallToolResult {
    match answer {
        Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Err(error) => {
            let hint = error.hint.as_deref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            CallToolResult::error(vec![ContentBlock::text(format!("{}{hint}", error.message))])
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let name = Implementation::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION")).with_title("claude-mem");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_server_info(name).with_instructions(INSTRUCTIONS)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()).with_ttl_ms(FRESH_MS))
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()).with_ttl_ms(FRESH_MS))
    }

    async fn call_tool(&self, call: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == call.name) else {
            let names: Vec<&str> = self.tools.iter().map(|tool| tool.name.as_ref()).collect();
            let message = format!("there is no tool `{}`; there are {}", call.name, names.join(", "));
            return Err(ErrorData::invalid_params(message, None));
        };
        let (reply, answer) = oneshot::channel();
        let gone = || ErrorData::internal_error("the server is closing", None);
        let job = Job { tool: tool.clone(), arguments: call.arguments.unwrap_or_default(), reply };
        self.jobs.send(job).map_err(|_| gone())?;
        tokio::select! {
            answer = answer => Ok(result(answer.map_err(|_| gone())?).into()),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::arguments;
    use crate::mcp::desk::HANDLERS;

    #[test]
    fn what_every_conversation_pays_for_is_small() {
        let list = serde_json::to_string(&tools().expect("tools")).expect("JSON");
        assert!(list.len() <= 8 * 1024, "{} bytes", list.len());
        assert!(INSTRUCTIONS.chars().count() <= 2000, "{} characters", INSTRUCTIONS.chars().count());
    }

    #[test]
    fn each_tool_is_done_and_says_what_it_does() {
        let tools = tools().expect("tools");
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, HANDLERS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        for tool in &tools {
            let hints = tool.annotations.as_ref().expect("annotations");
            assert_eq!(hints.open_world_hint, Some(false), "{}", tool.name);
            assert!(hints.read_only_hint.is_some() && hints.destructive_hint.is_some() && hints.idempotent_hint.is_some());
            assert!(tool.description.as_ref().is_some_and(|d| d.len() < 500), "{}", tool.name);
            let parameters = tool.input_schema["properties"].as_object().expect("parameters");
            assert!(parameters.keys().all(|name| arguments::ALIASES.iter().any(|(known, _)| known == name)), "{}", tool.name);
        }
    }
}
