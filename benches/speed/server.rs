//! The MCP server as a client sees it: its start, searches one after the other, what it costs to keep it.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::world::{Figure, World};

const QUERIES: &[&str] = &[
    "payment callback",
    "支付回调",
    "cache",
    "deploy the worker to the cluster",
    "缓存 迁移",
    "ledger_4711",
    "订单",
    "retry timeout queue",
    "告警 网关 超时",
    "which database has the invoice index",
];

/// Measures a server.
pub fn measure(world: &World, show: &mut dyn FnMut(Figure)) {
    let mut starts = Vec::new();
    for _ in 0..5 {
        let begun = Instant::now();
        let client = Client::new(world);
        starts.push(begun.elapsed());
        drop(client);
    }
    show(Figure::times("MCP, spawn to initialize", starts).at_most_ms(8.0));
    let mut client = Client::new(world);
    let tools = client.ask("tools/list", &json!({}));
    show(Figure::size("MCP tools/list", tools.len() as u64, 1, "").at_most_ms(8.0).alone());
    let mut times: Vec<Duration> = Vec::new();
    client.search(QUERIES[0]);
    for query in QUERIES.iter().cycle().take(200) {
        let begun = Instant::now();
        client.search(query);
        times.push(begun.elapsed());
    }
    let (half, most) = if world.size <= 10_000 { (Some(0.6), Some(2.0)) } else { (None, None) };
    show(Figure::times("MCP search, p50", times.clone()).at_most_ms_if(half));
    show(Figure::slow("MCP search, p99", &times).at_most_ms_if(most));
    if let Some(kb) = client.peak() {
        show(Figure::size("MCP peak memory", kb * 1024, 1, "").at_most_ms(15.0 * 1024.0).alone());
    }
}

struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
}

impl Client {
    /// Starts a server and greets it.
    fn new(world: &World) -> Self {
        let mut command = world.process(&["--project", "bench", "mcp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("a server");
        let output = BufReader::new(child.stdout.take().expect("an output"));
        let mut client = Self { input: child.stdin.take(), child, output, asked: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        client.ask("initialize", &hello);
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an input");
        writeln!(input, "{message}").expect("sent");
    }

    /// The line that answers a request.
    fn ask(&mut self, method: &str, parameters: &Value) -> String {
        self.asked += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": parameters}));
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        assert!(line.contains("\"result\""), "{line}");
        line
    }

    fn search(&mut self, query: &str) {
        self.ask("tools/call", &json!({"name": "get_relevant_memories", "arguments": {"query": query}}));
    }

    /// The most memory it had, in KB, where the system says so.
    fn peak(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?.split_whitespace().next()?.parse().ok()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        self.child.wait().expect("an end");
    }
}
