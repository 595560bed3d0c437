/** Tools of Anthropic's format. */
import { declaredTool, typedTool, type FieldRow, sentAs, namedAsNotSent, refusedWith } from "./rows.ts";

export const toolFieldRows: readonly FieldRow[] = [
  ["a function", { tools: [declaredTool({ description: "Reads." })] }, sentAs('"description":"Reads."')],
  ["strict", { tools: [declaredTool({ strict: true })] }, sentAs('"strict":true')],
  [
    "cache_control",
    { tools: [declaredTool({ cache_control: { type: "ephemeral" } })] },
    sentAs('"cache_control":{'),
    namedAsNotSent("tools.0.cache_control"),
  ],
  [
    "defer_loading",
    { tools: [declaredTool(), { ...declaredTool({ defer_loading: true }), name: "b" }] },
    namedAsNotSent("tools.1"),
  ],
  ...["allowed_callers", "eager_input_streaming", "input_examples"].map(
    (name): FieldRow => [name, { tools: [declaredTool({ [name]: [] })] }, namedAsNotSent(`tools.0.${name}`)],
  ),
  ["bash", typedTool("bash_20250124"), sentAs('"type":"bash_20250124"'), namedAsNotSent("tools.0.type")],
  [
    "text_editor",
    typedTool("text_editor_20250728", { max_characters: 9 }),
    sentAs('"max_characters":9'),
    namedAsNotSent("tools.0.type"),
  ],
  [
    "computer",
    typedTool("computer_20251124", { display_width_px: 1, display_height_px: 1, enable_zoom: true }),
    sentAs('"enable_zoom":true'),
    namedAsNotSent("tools.0.type"),
  ],
  ["memory", typedTool("memory_20250818"), sentAs('"type":"memory_20250818"'), namedAsNotSent("tools.0.type")],
  [
    "web_search",
    typedTool("web_search_20260209", { max_uses: 3, allowed_domains: ["a.example"] }),
    sentAs('"type":"web_search_20260209"'),
    sentAs('"name":"web_search"'),
  ],
  [
    "web_search, other",
    typedTool("web_search_20260209", { allowed_callers: ["direct"] }),
    namedAsNotSent("tools.0.allowed_callers"),
  ],
  ["web_fetch", typedTool("web_fetch_20260309", { use_cache: false }), namedAsNotSent("tools.0.use_cache")],
  ["code_execution", typedTool("code_execution_20250825"), sentAs("code_interpreter")],
  [
    "tool_search",
    {
      tools: [
        { type: "tool_search_tool_regex_20251119", name: "s" },
        declaredTool(),
        { ...declaredTool({ defer_loading: true }), name: "b" },
      ],
    },
    sentAs("tool_search"),
  ],
  [
    "mcp_toolset.configs",
    typedTool("mcp_toolset", { mcp_server_name: "m", configs: {} }),
    namedAsNotSent("tools.0.configs"),
  ],
  ["advisor", typedTool("advisor_20260301", { model: "m" }), refusedWith("tools.0.type")],
  ["browser_toolset", typedTool("browser_toolset_20260801"), refusedWith("tools.0.type")],
];
