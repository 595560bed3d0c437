/** Blocks of Anthropic's format. */
import {
  textBlock,
  userMessage,
  assistantMessage,
  toolResultTurn,
  base64,
  imageBlock,
  pdfSource,
  documentBlock,
  searchResultBlock,
  type FieldRow,
  sentAs,
  namedAsNotSent,
  refusedWith,
  innerJson,
} from "./rows.ts";

export const blockFieldRows: readonly FieldRow[] = [
  ["text", userMessage(textBlock("Hello there")), sentAs("Hello there")],
  ["image in base64", userMessage(imageBlock), sentAs(base64.data)],
  [
    "image by URL",
    userMessage({ type: "image", source: { type: "url", url: "https://a.example/a.png" } }),
    sentAs("https://a.example/a.png"),
  ],
  [
    "image by file",
    userMessage({ type: "image", source: { type: "file", file_id: "file_1" } }),
    sentAs('"file_id":"file_1"'),
    refusedWith("messages.0.content.0"),
  ],
  [
    "image.transformations",
    userMessage({ ...imageBlock, transformations: {} }),
    namedAsNotSent("messages.0.content.0.transformations"),
  ],
  ["document in base64", userMessage(documentBlock(pdfSource, { title: "T" })), sentAs(pdfSource.data)],
  [
    "document of text",
    userMessage(documentBlock({ type: "text", media_type: "text/plain", data: "Words" })),
    sentAs("Words"),
    sentAs(Buffer.from("Words").toString("base64")),
  ],
  [
    "document of blocks",
    userMessage(documentBlock({ type: "content", content: [textBlock("Words")] }, { title: "T" })),
    sentAs("Words"),
  ],
  [
    "document by URL",
    userMessage(documentBlock({ type: "url", url: "https://a.example/a.pdf" })),
    sentAs("https://a.example/a.pdf"),
    refusedWith("messages.0.content.0"),
  ],
  ["document.context", userMessage(documentBlock(pdfSource, { context: "Of old" })), sentAs("Of old")],
  [
    "document.citations",
    userMessage(documentBlock(pdfSource, { citations: { enabled: true } })),
    namedAsNotSent("messages.0.content.0.citations"),
  ],
  ["search_result", userMessage(searchResultBlock), sentAs("Phobos")],
  [
    "search_result.citations",
    userMessage({ ...searchResultBlock, citations: { enabled: true } }),
    namedAsNotSent("messages.0.content.0.citations"),
  ],
  [
    "container_upload",
    userMessage({ type: "container_upload", file_id: "f" }),
    refusedWith("messages.0.content.0.type"),
  ],
  ["compaction", assistantMessage({ type: "compaction", content: "c" }), refusedWith("messages.1.content.0.type")],
  ["fallback", assistantMessage({ type: "fallback", from: {}, to: {} }), refusedWith("messages.1.content.0.type")],
  [
    "system inside",
    {
      messages: [
        { role: "user", content: "Hi" },
        { role: "system", content: "Be kind." },
      ],
    },
    sentAs("Be kind."),
  ],
  [
    "system.clear_at",
    {
      messages: [
        { role: "user", content: "Hi" },
        { role: "system", content: "Be kind.", clear_at: "never" },
      ],
    },
    namedAsNotSent("messages.1.clear_at"),
  ],
  [
    "thinking",
    assistantMessage({ type: "thinking", thinking: "Hm.", signature: "c2ln" }, textBlock("Yes")),
    sentAs('"signature":"c2ln"'),
    namedAsNotSent("messages.1.content.0"),
  ],
  [
    "redacted_thinking",
    assistantMessage({ type: "redacted_thinking", data: "aGlk" }, textBlock("Yes")),
    sentAs('"data":"aGlk"'),
    namedAsNotSent("messages.1.content.0"),
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
    sentAs("Yes"),
  ],
  [
    "citations of a document",
    assistantMessage(textBlock("Yes", { citations: [{ type: "char_location", document_index: 0 }] })),
    namedAsNotSent("messages.1.content.0.citations"),
  ],
  [
    "tool_use",
    toolResultTurn({ content: "1" }),
    sentAs('"input":{"b":1}'),
    sentAs(innerJson(JSON.stringify({ b: 1 }))),
  ],
  ["tool_result of blocks", toolResultTurn({ content: [textBlock("one"), imageBlock] }), sentAs(base64.data)],
  ["tool_result of a document", toolResultTurn({ content: [documentBlock(pdfSource)] }), sentAs(pdfSource.data)],
  ["tool_result of a search_result", toolResultTurn({ content: [searchResultBlock] }), sentAs("Phobos")],
  [
    "tool_result of a tool_reference",
    toolResultTurn({ content: [{ type: "tool_reference", tool_name: "a" }] }),
    sentAs("Tool found: a"),
  ],
  [
    "tool_result.is_error",
    toolResultTurn({ content: "no", is_error: true }),
    sentAs('"is_error":true'),
    namedAsNotSent("messages.2.content.0.is_error"),
  ],
  [
    "tool_result.toolset_name",
    toolResultTurn({ content: "1", toolset_name: "t" }),
    namedAsNotSent("messages.2.content.0.toolset_name"),
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
    sentAs("Mars"),
  ],
  [
    "mcp_tool_use",
    assistantMessage(
      { type: "mcp_tool_use", id: "mcptoolu_1", name: "find", server_name: "m", input: { q: "Mars" } },
      { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", content: [textBlock("Phobos")] },
    ),
    sentAs("Phobos"),
  ],
  [
    "advisor_tool_result",
    assistantMessage(
      { type: "server_tool_use", id: "srvtoolu_1", name: "advisor", input: {} },
      { type: "advisor_tool_result", tool_use_id: "srvtoolu_1", content: "Wait." },
    ),
    sentAs("Wait."),
  ],
];
