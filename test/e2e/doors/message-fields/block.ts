/** Blocks of Anthropic's format. */
import {
  textBlock,
  userMessage,
  assistantMessage,
  toolResultTurn,
  base64,
  image,
  pdf,
  documentBlock,
  search,
  type FieldRow,
  carried,
  noted,
  refused,
  innerJson,
} from "./rows.ts";

export const blockFieldRows: readonly FieldRow[] = [
  ["text", userMessage(textBlock("Hello there")), carried("Hello there")],
  ["image in base64", userMessage(image), carried(base64.data)],
  [
    "image by URL",
    userMessage({ type: "image", source: { type: "url", url: "https://a.example/a.png" } }),
    carried("https://a.example/a.png"),
  ],
  [
    "image by file",
    userMessage({ type: "image", source: { type: "file", file_id: "file_1" } }),
    carried('"file_id":"file_1"'),
    refused("messages.0.content.0"),
  ],
  [
    "image.transformations",
    userMessage({ ...image, transformations: {} }),
    noted("messages.0.content.0.transformations"),
  ],
  ["document in base64", userMessage(documentBlock(pdf, { title: "T" })), carried(pdf.data)],
  [
    "document of text",
    userMessage(documentBlock({ type: "text", media_type: "text/plain", data: "Words" })),
    carried("Words"),
    carried(Buffer.from("Words").toString("base64")),
  ],
  [
    "document of blocks",
    userMessage(documentBlock({ type: "content", content: [textBlock("Words")] }, { title: "T" })),
    carried("Words"),
  ],
  [
    "document by URL",
    userMessage(documentBlock({ type: "url", url: "https://a.example/a.pdf" })),
    carried("https://a.example/a.pdf"),
    refused("messages.0.content.0"),
  ],
  ["document.context", userMessage(documentBlock(pdf, { context: "Of old" })), carried("Of old")],
  [
    "document.citations",
    userMessage(documentBlock(pdf, { citations: { enabled: true } })),
    noted("messages.0.content.0.citations"),
  ],
  ["search_result", userMessage(search), carried("Phobos")],
  [
    "search_result.citations",
    userMessage({ ...search, citations: { enabled: true } }),
    noted("messages.0.content.0.citations"),
  ],
  ["container_upload", userMessage({ type: "container_upload", file_id: "f" }), refused("messages.0.content.0.type")],
  ["compaction", assistantMessage({ type: "compaction", content: "c" }), refused("messages.1.content.0.type")],
  ["fallback", assistantMessage({ type: "fallback", from: {}, to: {} }), refused("messages.1.content.0.type")],
  [
    "system inside",
    {
      messages: [
        { role: "user", content: "Hi" },
        { role: "system", content: "Be kind." },
      ],
    },
    carried("Be kind."),
  ],
  [
    "system.clear_at",
    {
      messages: [
        { role: "user", content: "Hi" },
        { role: "system", content: "Be kind.", clear_at: "never" },
      ],
    },
    noted("messages.1.clear_at"),
  ],
  [
    "thinking",
    assistantMessage({ type: "thinking", thinking: "Hm.", signature: "c2ln" }, textBlock("Yes")),
    carried('"signature":"c2ln"'),
    noted("messages.1.content.0"),
  ],
  [
    "redacted_thinking",
    assistantMessage({ type: "redacted_thinking", data: "aGlk" }, textBlock("Yes")),
    carried('"data":"aGlk"'),
    noted("messages.1.content.0"),
  ],
  [
    "citations of the web",
    assistantMessage(
      textBlock("Yes", {
        citations: [
          {
            type: "web_search_result_location",
            url: "https://a.example/",
            title: "A",
            cited_text: "x",
            encrypted_index: "",
          },
        ],
      }),
    ),
    carried("Yes"),
  ],
  [
    "citations of a document",
    assistantMessage(textBlock("Yes", { citations: [{ type: "char_location", document_index: 0 }] })),
    noted("messages.1.content.0.citations"),
  ],
  [
    "tool_use",
    toolResultTurn({ content: "1" }),
    carried('"input":{"b":1}'),
    carried(innerJson(JSON.stringify({ b: 1 }))),
  ],
  ["tool_result of blocks", toolResultTurn({ content: [textBlock("one"), image] }), carried(base64.data)],
  ["tool_result of a document", toolResultTurn({ content: [documentBlock(pdf)] }), carried(pdf.data)],
  ["tool_result of a search_result", toolResultTurn({ content: [search] }), carried("Phobos")],
  [
    "tool_result of a tool_reference",
    toolResultTurn({ content: [{ type: "tool_reference", tool_name: "a" }] }),
    carried("Tool found: a"),
  ],
  [
    "tool_result.is_error",
    toolResultTurn({ content: "no", is_error: true }),
    carried('"is_error":true'),
    noted("messages.2.content.0.is_error"),
  ],
  [
    "tool_result.toolset_name",
    toolResultTurn({ content: "1", toolset_name: "t" }),
    noted("messages.2.content.0.toolset_name"),
  ],
  [
    "server_tool_use",
    assistantMessage(
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "Mars" } },
      {
        type: "web_search_tool_result",
        tool_use_id: "srvtoolu_1",
        content: [{ type: "web_search_result", url: "https://a.example/", title: "A", encrypted_content: "e" }],
      },
    ),
    carried("Mars"),
  ],
  [
    "mcp_tool_use",
    assistantMessage(
      { type: "mcp_tool_use", id: "mcptoolu_1", name: "find", server_name: "m", input: { q: "Mars" } },
      { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", content: [textBlock("Phobos")] },
    ),
    carried("Phobos"),
  ],
  [
    "advisor_tool_result",
    assistantMessage(
      { type: "server_tool_use", id: "srvtoolu_1", name: "advisor", input: {} },
      { type: "advisor_tool_result", tool_use_id: "srvtoolu_1", content: "Wait." },
    ),
    carried("Wait."),
  ],
];
