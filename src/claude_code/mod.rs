//! Everything that knows Claude Code: its settings, its hooks, its folders. The MCP server is in `mcp`.

pub mod doctor;
pub mod settings;
pub mod wiring;
