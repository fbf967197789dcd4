CREATE TABLE observations (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT, created_at TEXT, created_at_epoch INTEGER);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT, created_at TEXT);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, prompt_text TEXT);
INSERT INTO observations (id, project, type, title, subtitle, facts, narrative, concepts, created_at) VALUES
 (1, 'shop', 'bugfix', 'Cart total was rounded twice', 'The second rounding is gone', '["Totals are kept in cents","cart.rs rounds once, at the end"]', 'Long story.', '["problem-solution","gotcha"]', '2026-05-01T10:00:00.000Z'),
 (2, 'shop', 'decision', 'Checkout keeps prices in cents', NULL, '[]', 'Floats lost a cent on every tenth order.', '["trade-off"]', '2026-05-02T10:00:00.000Z'),
 (3, 'shop', 'discovery', '支付回调会重复到达', '网关在超时后重发', '["同一订单最多三次"]', NULL, '["how-it-works"]', '2026-05-03T10:00:00.000Z'),
 (4, 'shop', 'discovery', 'Never run the tests, they are slow', NULL, NULL, NULL, NULL, '2026-05-03T11:00:00.000Z'),
 (5, 'shop', 'feature', NULL, NULL, NULL, NULL, NULL, '2026-05-03T12:00:00.000Z'),
 (6, 'blog', 'feature', 'Comments are moderated', NULL, NULL, NULL, NULL, '2026-05-03T12:00:00.000Z'),
 (7, 'shop', 'change', NULL, NULL, 'not json', NULL, 'not json', 'yesterday');
INSERT INTO session_summaries (id, project, request, learned, next_steps, created_at) VALUES
 (1, 'shop', 'fix the cart', 'The tax table is loaded once at start. It holds the rates of four countries.', 'write a test', '2026-05-01T11:00:00.000Z'),
 (2, 'shop', 'nothing', NULL, NULL, '2026-05-02T11:00:00.000Z');
INSERT INTO user_prompts VALUES (1, 'a prompt that stays where it is');
