#!/bin/sh
# The real Claude Code client with claude-mem wired in, against a mock on loopback, in a scratch HOME.
#
#   tests/real-client.sh            CLAUDE_CLIENT_DIR=DIR keeps the client (about 400 MB) in DIR between runs
#                                   CLAUDE_MEM_BIN=FILE   is the program to test [target/release or target/debug]
#
# Prints one line per step; exit 1 if one failed. Where there is no npm, network or Python it says so and exits 0.
set -u
VERSION=2.1.332
ROOT=$(cd "$(dirname "$0")/.." && pwd)
SCRATCH=$(mktemp -d "${TMPDIR:-/tmp}/real-client.XXXXXX")
MOCK=
FAILED=0
skip() { echo "skipped: $1"; exit 0; }
finish() { [ -n "$MOCK" ] && kill "$MOCK" 2>/dev/null; [ -n "${KEEP:-}" ] && echo "kept: $SCRATCH" || rm -rf "$SCRATCH"; }
trap finish EXIT
trap 'exit 1' INT TERM
ok() { echo "ok      $1"; }
failed() { echo "FAILED  $1"; FAILED=1; }
# check NAME COMMAND…: the command must succeed.
check() { name=$1; shift; if "$@" >"$SCRATCH/last" 2>&1; then ok "$name"; else failed "$name"; sed 's/^/        /' "$SCRATCH/last" | tail -5; fi; }
# until SECONDS COMMAND…: tries again until it succeeds.
until_ok() { left=$(($1 * 5)); shift; while ! "$@"; do left=$((left - 1)); [ "$left" -gt 0 ] || return 1; sleep 0.2; done; }

command -v python3 >/dev/null || skip "there is no python3 for the mock"
BIN=${CLAUDE_MEM_BIN:-}
for file in "$ROOT/target/release/claude-mem" "$ROOT/target/debug/claude-mem"; do [ -z "$BIN" ] && [ -x "$file" ] && BIN=$file; done
[ -n "$BIN" ] || skip "there is no program; cargo build makes one"
CLIENT=${CLAUDE_CLIENT_DIR:-$SCRATCH/client}
CLAUDE=$CLIENT/node_modules/.bin/claude
if ! "$CLAUDE" --version 2>/dev/null | grep -qF "$VERSION"; then
    command -v npm >/dev/null || skip "there is no npm to install the client with"
    mkdir -p "$CLIENT"
    # --force: the package asks for a newer Node, but is a native program that needs none.
    (cd "$CLIENT" && timeout 600 npm install --force --no-audit --no-fund --fetch-retries=1 "@anthropic-ai/claude-code@$VERSION") >"$SCRATCH/npm" 2>&1 ||
        skip "npm cannot install the client"
    "$CLAUDE" --version >/dev/null 2>&1 || skip "the client does not run on this machine"
fi

HOME_=$SCRATCH/home
REPO=$SCRATCH/shop
LOG=$SCRATCH/log
mkdir -p "$HOME_/.claude" "$REPO" "$LOG"
git -c init.defaultBranch=main init -q "$REPO" 2>/dev/null || { mkdir -p "$REPO/.git" && echo "ref: refs/heads/main" >"$REPO/.git/HEAD"; }
python3 "$ROOT/tests/real-client/mock.py" "$LOG" & MOCK=$!
until_ok 10 test -s "$LOG/port" || { failed "the mock starts"; exit 1; }
clean() {
    (cd "$REPO" && env -i PATH="$PATH" TERM=xterm LANG=C.UTF-8 HOME="$HOME_" ANTHROPIC_BASE_URL="http://127.0.0.1:$(cat "$LOG/port")" \
        ANTHROPIC_API_KEY=dummy CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1 \
        DISABLE_ERROR_REPORTING=1 CLAUDE_CODE_MAX_RETRIES=1 "$@")
}
claude() { clean timeout 120 "$CLAUDE" "$@" </dev/null; }
mem() { clean "$BIN" "$@"; }
says() { mem "$@" 2>&1; }
has() { words=$1; shift; "$@" 2>&1 | grep -qF -- "$words"; }
# sent FROM WORDS: a request after number FROM held these words.
newest() { ls -t "$HOME_"/.claude/projects/*/*.jsonl | head -1; }
requests() { find "$LOG" -name '0*.json' | wc -l; }
sent() { from=$1; for file in "$LOG"/0*.json; do number=$(basename "$file" .json | sed 's/^0*//'); [ "$number" -gt "$from" ] && grep -qF -- "$2" "$file" && return 0; done; return 1; }

# Settings with a shape of their own, and a hook of somebody else.
printf '{"model":"claude-haiku-5-5",\n     "hooks": { "SessionStart" : [ {"hooks":[{"type":"command","command":"true"}]} ] },\n  "cleanupPeriodDays": 60 }' >"$HOME_/.claude/settings.json"
cp "$HOME_/.claude/settings.json" "$SCRATCH/settings.before"

# At a terminal install asks, and says what each choice costs.
asks() {
    clean env HOME="$SCRATCH/asked" python3 "$ROOT/tests/real-client/type.py" "2:rules" '0.2:\r' "2:y" '0.2:\r' -- "$BIN" install >"$SCRATCH/asked.txt"
    grep -q "free and offline" "$SCRATCH/asked.txt" && grep -q "your API key pays" "$SCRATCH/asked.txt" && grep -q "subscription" "$SCRATCH/asked.txt" &&
        grep -q 'auto_ingest = "rules"' "$SCRATCH/asked/.claude-mem/config.toml" && grep -q SessionStart "$SCRATCH/asked/.claude/settings.json"
}
mkdir -p "$SCRATCH/asked"
check "install asks who reads conversations, and says what it costs" asks

echo "client $(claude --version)"
check "install --yes" mem install --yes --auto-ingest rules
check "install again changes nothing" has "in place already" mem install --yes
check "doctor finds no fault" mem doctor
check "the client knows the MCP server" has "claude-mem" claude mcp list

check "first conversation: the user decides" claude -p "Decision: we use PostgreSQL for the order service, because we need row locks."
check "SessionEnd queued it, and the rules stored it" until_ok 30 has "PostgreSQL" mem list

before=$(requests)
check "second conversation" claude -p "Which database did we settle on?"
check "SessionStart put the memory in front of it" sent "$before" "PostgreSQL for the order service"
check "SessionStart hook is named as the source" sent "$before" "SessionStart hook additional context"
SECOND=$(newest)

# What a session has been given at its start does not come again with a prompt; what was stored since then does.
prompt() { printf '{"type":"user","message":{"role":"user","content":[{"type":"text","text":"%s"}]}}\n' "$1"; }
two_prompts() {
    { prompt "Good morning"; until_ok 20 sent "$before" "Good morning" && sleep 1
      mem remember "The nightly export of invoices runs at 03:40" >&2
      prompt "When does the nightly export of invoices run?"; sleep 3; } |
        clean timeout 120 "$CLAUDE" -p --input-format stream-json --output-format stream-json --verbose
}
before=$(requests)
check "third conversation, with a memory stored elsewhere meanwhile" two_prompts
check "UserPromptSubmit added it to the prompt that asks for it" sent "$before" "export of invoices runs at 03:40"
check "UserPromptSubmit hook is named as the source" sent "$before" "UserPromptSubmit hook additional context"
THIRD=$(newest)

# What was injected stands in these transcripts, and nobody said anything new in them.
gives_nothing() {
    grep -qF "$2" "$1" && mem --json --home "$SCRATCH/empty" ingest "$1" --extractor rules >"$SCRATCH/echo" &&
        python3 -c 'import json,sys; r=json.load(open(sys.argv[1])); sys.exit(any(r[k] for k in ("added", "confirmed", "conflicts", "superseded", "review")))' "$SCRATCH/echo"
}
check "what SessionStart injected gives 0 memories when it is read back" gives_nothing "$SECOND" "PostgreSQL for the order service"
check "what UserPromptSubmit injected gives 0 memories when it is read back" gives_nothing "$THIRD" "export of invoices runs at 03:40"

cat >"$LOG/script.json" <<'JSON'
[{"when": "keep the colour", "steps": [
   {"tool": "ToolSearch", "input": {"query": "select:mcp__claude-mem__manual_remember"}},
   {"tool": "mcp__claude-mem__manual_remember", "input": {"content": "The brand colour of the shop is teal", "kind": "fact"}}]},
 {"when": "ask for the colour", "steps": [
   {"tool": "ToolSearch", "input": {"query": "select:mcp__claude-mem__get_relevant_memories"}},
   {"tool": "mcp__claude-mem__get_relevant_memories", "input": {"query": "brand colour"}}]},
 {"when": "gift cards", "json": {"memories": [{"ref": "n1", "topic": "checkout", "kind": "decision", "layer": "working",
   "summary": "Gift cards are left out of the first release", "reason": null, "state": "valid", "until_date": null, "until_event": null,
   "scope": null, "speaker": "user", "keywords": ["gift cards"], "relations": [],
   "evidence": [{"turn": 1, "quote": "we leave gift cards out of the first release"}]}], "open_threads": []}},
 {"when": "numbered anew", "json": {"memories": [{"ref": "n1", "topic": "invoices", "kind": "decision", "layer": "working",
   "summary": "Invoices are numbered anew every year", "reason": null, "state": "valid", "until_date": null, "until_event": null,
   "scope": null, "speaker": "user", "keywords": ["invoice numbers"], "relations": [],
   "evidence": [{"turn": 1, "quote": "invoices are numbered anew every year"}]}], "open_threads": []}}]
JSON
check "MCP: the model stores" claude -p "keep the colour" --allowedTools mcp__claude-mem__manual_remember
check "MCP: it is in the store" has "teal" mem list
before=$(requests)
# The reading tools were allowed by install, so nothing has to be allowed here.
check "MCP: the model asks" claude -p "ask for the colour"
found_by_tool() { python3 - "$LOG" "$before" <<'PY'
import json, pathlib, sys
for file in sorted(pathlib.Path(sys.argv[1]).glob("0*.json")):
    if int(file.stem) > int(sys.argv[2]):
        for message in json.loads(file.read_text()).get("messages", []):
            content = message.get("content")
            for block in content if isinstance(content, list) else []:
                if block.get("type") == "tool_result" and "teal" in json.dumps(block):
                    sys.exit(0)
sys.exit(1)
PY
}
check "MCP: the answer holds the memory" found_by_tool

python3 - "$HOME_/.claude.json" "$REPO" <<'PY'
import json, os, sys
path, repo = sys.argv[1], os.path.realpath(sys.argv[2])
state = json.load(open(path)) if os.path.exists(path) else {}
state.update({"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["dummy"], "rejected": []}})
state.setdefault("projects", {}).setdefault(repo, {}).update({"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True})
json.dump(state, open(path, "w"), indent=2)
PY
# In one sitting: a preference, a prompt that matches what was stored elsewhere meanwhile, and a tool call.
interactive() {
    clean python3 "$ROOT/tests/real-client/type.py" "4:From now on we always use pnpm instead of npm in this repository." '1:\r' \
        "$LOG/meanwhile:When does the weekly report of refunds go out?" '1:\r' "5:ask for the colour" '1:\r' "6:/exit" '1:\r' -- "$CLAUDE" &
    typing=$!
    until_ok 30 sent "$before" "pnpm instead of npm" && mem remember "The weekly report of refunds goes out on Thursdays"
    touch "$LOG/meanwhile"
    wait $typing
}
before=$(requests)
check "interactive: a conversation" interactive
check "interactive: SessionStart put memories in front" sent "$before" "PostgreSQL for the order service"
check "interactive: UserPromptSubmit added what matches" sent "$before" "report of refunds goes out on Thursdays"
check "interactive: the tool's answer holds the memory" found_by_tool
check "interactive: it was stored" until_ok 30 has "pnpm" mem list

mem config set claude.base_url "http://127.0.0.1:$(cat "$LOG/port")" >/dev/null 2>&1
check "opted in to claude" mem install --yes --auto-ingest claude
check "a conversation for the API to read" claude -p "After all we leave gift cards out of the first release."
check "it was read by the API, and stored" until_ok 30 has "Gift cards are left out" mem list
check "the ledger has the call" has "claude-haiku" mem stats --cost

transcripts() { find "$HOME_/.claude" "$HOME_/.claude-mem" -name '*.jsonl' -path '*/projects/*' | wc -l; }
# A login that is as much a dummy as the key. The client takes the key for the conversation, and must not get it for the reading.
printf '{"claudeAiOauth":{"accessToken":"dummy","refreshToken":"dummy","expiresAt":4102444800000,"scopes":["user:inference","user:profile"],"subscriptionType":"max"}}' >"$HOME_/.claude/.credentials.json"
asked_by_subscription() { python3 - "$LOG" "$before" <<'PY'
import json, pathlib, sys
asked = []
for file in sorted(pathlib.Path(sys.argv[1]).glob("0*.json")):
    body = json.loads(file.read_text())
    tools = {tool.get("name") for tool in body.get("tools") or []}
    if int(file.stem) > int(sys.argv[2]) and "StructuredOutput" in tools:
        others = tools - {"StructuredOutput", "DeferredToolPlaceholder"}
        asked.append((body["_paid_by"], "hook additional context" in json.dumps(body), len(others)))
print(asked)
sys.exit(not asked or any(a != ("subscription", False, 0) for a in asked))
PY
}
mem config set claude_code.command "$CLAUDE" >/dev/null 2>&1
check "opted in to claude-code" has "subscription" mem install --yes --auto-ingest claude-code
before=$(requests); files=$(transcripts)
check "a conversation for the subscription to read" claude -p "By the way, invoices are numbered anew every year."
check "claude -p read it, and it is stored" until_ok 60 has "Invoices are numbered anew" mem list
check "it was asked by the subscription, without hooks or tools" asked_by_subscription
check "the reading left no transcript" test "$(transcripts)" = "$((files + 1))"
mem config set hooks.auto_ingest rules >/dev/null 2>&1

count() { mem --json list | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["memories"]))'; }
all_read() { [ -z "$(find "$HOME_/.claude-mem/.state/queue" -name '*.json' -o -name '*.claimed')" ]; }
check "the queue is empty" until_ok 20 all_read
entries=$(count)
check "every transcript is read once more" mem ingest --all-history --extractor rules
check "what was injected does not come back as memories" test "$(count)" = "$entries"
check "the work tree is untouched" test -z "$(ls -A "$REPO" | grep -v '^\.git$')"
check "every file of the store is whole" mem verify
check "doctor finds no fault after all that" mem doctor
check "plugin validate --strict" claude plugin validate --strict "$ROOT/plugin"

check "uninstall" mem uninstall --yes
check "settings are byte for byte as before" cmp "$SCRATCH/settings.before" "$HOME_/.claude/settings.json"
no_server() { ! grep -q '"claude-mem"' "$HOME_/.claude.json"; }
check "the MCP server is out" no_server
check "memories stay" has "PostgreSQL" mem list

# For one repository alone, wired into files of that repository.
before=$(requests)
check "install for this repository" mem install --yes --scope project
check "this repository: a conversation" claude -p "Good afternoon"
check "this repository: SessionStart put memories in front" sent "$before" "PostgreSQL for the order service"
check "this repository: the tools are there" sent "$before" "mcp__claude-mem__get_relevant_memories"
check "this repository: uninstall" mem uninstall --yes
check "this repository: nothing of ours is left in it" test -z "$(ls -A "$REPO" | grep -v '^\.git$')"

# The same as a plugin: nothing in the settings, the program on PATH.
mkdir -p "$SCRATCH/bin" && ln -sf "$BIN" "$SCRATCH/bin/claude-mem"
before=$(requests)
as_plugin() { clean env PATH="$SCRATCH/bin:$PATH" timeout 120 "$CLAUDE" --plugin-dir "$ROOT/plugin" -p "Good evening" </dev/null; }
check "as a plugin: a conversation" as_plugin
check "as a plugin: SessionStart put memories in front" sent "$before" "PostgreSQL for the order service"
check "as a plugin: the tools are there" sent "$before" "mcp__plugin_localmem_claude-mem__get_relevant_memories"
check "as a plugin: the conversation was read, too" until_ok 20 all_read
no_process() { ! ps ax -o args | grep -F "$HOME_" | grep -qF hook-worker; }
check "no process of ours is left" until_ok 10 no_process
exit $FAILED
