/** Input items of every kind. Items from answers have every field of an answer. */
type Item = { readonly type: string; readonly [field: string]: unknown };

const settled = { id: "i_1", status: "completed" };
const call = { ...settled, call_id: "c_1" };
const citation = {
  type: "container_file_citation",
  container_id: "ct",
  file_id: "f",
  filename: "a.txt",
  start_index: 0,
  end_index: 1,
};
const annotations = [
  { type: "url_citation", url: "https://a.example", title: "", start_index: 0, end_index: 1 },
  { type: "file_citation", file_id: "f", filename: "a.txt", index: 0 },
  { type: "file_path", file_id: "f", index: 0 },
  citation,
];
const patch = { type: "update_file", path: "a", diff: "@@" };

/** Items that come from answers. */
export const answerItems: Readonly<Record<string, Item>> = {
  message: {
    ...settled,
    type: "message",
    role: "assistant",
    phase: "final_answer",
    content: [
      { type: "output_text", text: "a", annotations, logprobs: [] },
      { type: "refusal", refusal: "no" },
    ],
  },
  reasoning: {
    ...settled,
    type: "reasoning",
    summary: [{ type: "summary_text", text: "s" }],
    content: [{ type: "reasoning_text", text: "t" }],
    encrypted_content: "e",
    format: "openai-responses-v1",
    signature: "s",
  },
  function_call: {
    ...call,
    type: "function_call",
    name: "f",
    arguments: "{}",
    namespace: "n",
    async: true,
    subagent_id: "s",
    subagent_items: [{ type: "message" }],
  },
  custom_tool_call: { ...call, type: "custom_tool_call", name: "f", input: "x", namespace: "n", async: false },
  web_search_call: {
    ...settled,
    type: "web_search_call",
    action: { type: "search", query: "q", queries: ["q"], sources: [{ type: "url", url: "https://a.example" }] },
  },
  file_search_call: { ...settled, type: "file_search_call", queries: ["q"], results: [{ file_id: "f" }] },
  image_generation_call: { ...settled, type: "image_generation_call", result: "AA", prompt: "p" },
  code_interpreter_call: {
    ...settled,
    type: "code_interpreter_call",
    code: "1",
    container_id: "ct",
    outputs: [
      { type: "logs", logs: "1" },
      { type: "image", url: "https://a.example/i" },
      { type: "file", filename: "a.txt" },
    ],
  },
  computer_call: {
    ...call,
    type: "computer_call",
    action: { type: "click", x: 1, y: 2 },
    pending_safety_checks: [{ id: "s", code: "c", message: "m" }],
  },
  apply_patch_call: { ...call, type: "apply_patch_call", operation: patch },
  shell_call: {
    ...call,
    type: "shell_call",
    action: { commands: ["ls"], timeout_ms: 1, max_output_length: 1 },
    arguments: "{}",
  },
  local_shell_call: {
    ...call,
    type: "local_shell_call",
    action: { type: "exec", command: ["ls"], env: { A: "b" }, timeout_ms: 1, user: "u", working_directory: "/" },
  },
  mcp_list_tools: {
    id: "i_1",
    type: "mcp_list_tools",
    server_label: "s",
    tools: [{ name: "t", input_schema: {}, description: "d", annotations: {} }],
    error: null,
  },
  mcp_approval_request: { id: "i_1", type: "mcp_approval_request", name: "t", arguments: "{}", server_label: "s" },
  mcp_call: { ...settled, type: "mcp_call", name: "t", arguments: "{}", server_label: "s", output: "x", error: null },
  tool_search_call: { ...call, type: "tool_search_call", arguments: { query: "q" }, execution: "server" },
  compaction: { id: "i_1", type: "compaction", encrypted_content: "e" },
  "service:web_search": { ...settled, type: "service:web_search", action: { type: "search", query: "q" } },
  "service:web_fetch": { ...settled, type: "service:web_fetch", url: "https://a.example", title: "t", httpStatus: 200 },
  "service:datetime": {
    ...settled,
    type: "service:datetime",
    datetime: "2026-01-31T10:00:00+01:00",
    timezone: "Europe/Vienna",
  },
  "service:image_generation": { ...settled, type: "service:image_generation", prompt: "p", result: "AA" },
  "service:fusion": { ...settled, type: "service:fusion", responses: [{ model: "a/b", content: "c" }] },
  "service:advisor": { ...settled, type: "service:advisor", prompt: "p", advice: "a", model: "a/b" },
  "service:subagent": { ...call, type: "service:subagent", task_name: "t", outcome: "o" },
  "service:files": { ...call, type: "service:files", operation: "list", result: [], arguments: "{}" },
  "service:search_models": { ...settled, type: "service:search_models", query: "q", arguments: "{}" },
  "service:tool_search": { ...settled, type: "service:tool_search", query: "q" },
  "service:shell": { ...call, type: "service:shell", output: [{}], container_id: "ct", files: [citation] },
  "service:bash": { ...call, type: "service:bash", command: "ls", stdout: "", exitCode: 0, files: [citation] },
  "service:apply_patch": { ...call, type: "service:apply_patch", operation: patch },
  "service:code_interpreter": { ...settled, type: "service:code_interpreter", code: "1", exitCode: 0 },
  "service:file_search": { ...settled, type: "service:file_search", queries: ["q"] },
  "service:mcp": { ...settled, type: "service:mcp", serverLabel: "s", toolName: "t" },
  "service:memory": { ...settled, type: "service:memory", action: "read", key: "k", value: "v" },
  "service:browser_use": { ...settled, type: "service:browser_use", action: "click", screenshotB64: "AA" },
  "service:text_editor": { ...settled, type: "service:text_editor", command: "view", filePath: "a" },
};

/** Items that clients write, and items that either side may write. */
export const clientItems: Readonly<Record<string, Item>> = {
  function_call_output: { type: "function_call_output", call_id: "c_1", output: "x" },
  custom_tool_call_output: {
    type: "custom_tool_call_output",
    call_id: "c_1",
    output: [{ type: "input_text", text: "x" }],
  },
  apply_patch_call_output: { type: "apply_patch_call_output", call_id: "c_1", status: "failed", output: "why" },
  local_shell_call_output: { type: "local_shell_call_output", id: "c_1", output: "{}" },
  shell_call_output: {
    ...call,
    type: "shell_call_output",
    output: [
      { stdout: "a", stderr: "", outcome: { type: "exit", exit_code: 0 } },
      { stdout: "", stderr: "", outcome: { type: "timeout" } },
    ],
    max_output_length: 10,
  },
  computer_call_output: {
    type: "computer_call_output",
    call_id: "c_1",
    output: { type: "computer_screenshot", image_url: "data:image/png;base64,AA" },
    acknowledged_safety_checks: [{ id: "s" }],
  },
  tool_search_output: {
    type: "tool_search_output",
    call_id: "c_1",
    tools: [{ type: "function", name: "found", defer_loading: true }],
    execution: "client",
    status: "completed",
  },
  mcp_approval_response: { type: "mcp_approval_response", approval_request_id: "i_1", approve: true, reason: "r" },
  context_compaction: { type: "context_compaction", encrypted_content: "e" },
  compaction_trigger: { type: "compaction_trigger" },
  additional_tools: { type: "additional_tools", role: "developer", tools: [{ type: "function", name: "more" }] },
  agent_message: {
    type: "agent_message",
    author: "a",
    recipient: "b",
    content: [
      { type: "input_text", text: "x" },
      { type: "encrypted_content", encrypted_content: "e" },
    ],
    agent: { agent_name: "a" },
  },
  configuration_update: { type: "configuration_update", reasoning: { effort: "low" } },
};

/** Types of outputs, by the type of the call that must precede them. */
export const outputTypeByCall: Readonly<Record<string, string>> = {
  function_call_output: "function_call",
  custom_tool_call_output: "custom_tool_call",
  apply_patch_call_output: "apply_patch_call",
  local_shell_call_output: "local_shell_call",
  shell_call_output: "shell_call",
  computer_call_output: "computer_call",
  tool_search_output: "tool_search_call",
  mcp_approval_response: "mcp_approval_request",
};
