#!/usr/bin/env python3
"""A Claude on loopback for tests/real-client.sh: streams scripted answers and keeps every request.

usage: mock.py FOLDER
FOLDER/port gets the port. FOLDER/0001.json … are the request bodies, in order.
FOLDER/script.json (read anew each time) is a list of {"when": words in the user's prompt, "steps": [{"tool": …, "input": …}, …]}:
the answers to that prompt are these tool calls, one after the other, then a line of text. Every other prompt gets the line.
A rule with "json" instead of "steps" answers a request for structured output whose prompt has those words, be it asked for by
a format (the Messages API) or by a tool (`claude -p --json-schema`). "_paid_by" in a kept request says which login it came with.
"""
import json
import pathlib
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FOLDER = pathlib.Path(sys.argv[1])
FORM = "StructuredOutput"
LOCK = threading.Lock()
COUNT = 0


def texts(content):
    """The text of a message, tool results left out."""
    if isinstance(content, str):
        return content
    return "\n".join(b.get("text", "") for b in content or [] if b.get("type") == "text")


def results_since_prompt(messages):
    """The last prompt of the user, and how many tool results came after it."""
    results = 0
    for message in reversed(messages):
        if message.get("role") != "user":
            continue
        content = message.get("content")
        if isinstance(content, list) and any(b.get("type") == "tool_result" for b in content):
            results += 1
            continue
        return texts(content), results
    return "", results


def answer(body):
    """The one content block of the answer."""
    prompt, done = results_since_prompt(body.get("messages") or [])
    script = FOLDER / "script.json"
    rules = json.loads(script.read_text()) if script.exists() else []
    fitting = [rule["json"] for rule in rules if "json" in rule and rule["when"] in prompt]
    if (body.get("output_config") or {}).get("format"):
        return {"type": "text", "text": json.dumps(fitting[0] if fitting else {"title": "A scripted talk"})}
    if fitting and not done and any(tool.get("name") == FORM for tool in body.get("tools") or []):
        return {"type": "tool_use", "id": f"toolu_{COUNT:04}", "name": FORM, "input": fitting[0]}
    for rule in rules if body.get("tools") else []:
        if rule["when"] in prompt and done < len(rule.get("steps", [])):
            step = rule["steps"][done]
            return {"type": "tool_use", "id": f"toolu_{COUNT:04}", "name": step["tool"], "input": step["input"]}
    return {"type": "text", "text": "Understood."}


def events(body):
    """The server-sent events of one answer (Messages API, streaming)."""
    block = answer(body)
    calls = block["type"] == "tool_use"
    message = {
        "id": f"msg_{COUNT:04}", "type": "message", "role": "assistant", "model": body.get("model"), "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    yield {"type": "message_start", "message": message}
    empty = {**block, "input": {}} if calls else {"type": "text", "text": ""}
    yield {"type": "content_block_start", "index": 0, "content_block": empty}
    if calls:
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        delta = {"type": "text_delta", "text": block["text"]}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "tool_use" if calls else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 5}}
    yield {"type": "message_stop"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, kind, data):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_GET(self):
        self.reply(200, "application/json", b"{}")

    do_HEAD = do_GET

    def do_POST(self):
        global COUNT
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if "count_tokens" in self.path:
            return self.reply(200, "application/json", b'{"input_tokens": 10}')
        with LOCK:
            COUNT += 1
            body["_paid_by"] = "subscription" if self.headers.get("authorization") else "key" if self.headers.get("x-api-key") else "nobody"
            (FOLDER / f"{COUNT:04}.json").write_text(json.dumps(body, ensure_ascii=False))
            if body.get("stream"):
                kind, data = "text/event-stream", "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events(body))
            else:
                message = {"id": f"msg_{COUNT:04}", "type": "message", "role": "assistant", "model": body.get("model"),
                           "content": [answer(body)], "stop_reason": "end_turn", "usage": {"input_tokens": 10, "output_tokens": 5}}
                kind, data = "application/json", json.dumps(message)
        self.reply(200, kind, data.encode())


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
(FOLDER / "port").write_text(str(server.server_port))
server.serve_forever()
