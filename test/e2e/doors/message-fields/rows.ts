/** Parts of requests in Anthropic's format, and expectations for a field. */
export const textBlock = (words: string, more: object = {}) => ({ type: "text", text: words, ...more });
export const userMessage = (...content: readonly object[]) => ({ messages: [{ role: "user", content }] });
export const assistantMessage = (...content: readonly object[]) => ({
  messages: [
    { role: "user", content: "Hi" },
    { role: "assistant", content },
    { role: "user", content: "Go on." },
  ],
});
export const declaredTool = (more: object = {}) => ({ name: "a", input_schema: { type: "object" }, ...more });
export const typedTool = (type: string, more: object = {}) => ({ tools: [{ type, name: "a", ...more }] });
export const toolResultTurn = (result: object) => ({
  tools: [declaredTool()],
  messages: [
    { role: "user", content: "Hi" },
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "a", input: { b: 1 } }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", ...result }] },
  ],
});

export const base64 = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
export const imageBlock = { type: "image", source: base64 };
export const pdfSource = { type: "base64", media_type: "application/pdf", data: "JVBERi0x" };
export const documentBlock = (source: object, more: object = {}) => ({ type: "document", source, ...more });
export const searchResultBlock = {
  type: "search_result",
  source: "https://a.example/",
  title: "Moons",
  content: [textBlock("Phobos")],
};
export const contextEdits = { edits: [{ type: "clear_thinking_20251015", keep: "all" }] };
export const answerSchema = {
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
  additionalProperties: false,
};
export const schemaFormat = { type: "json_schema", schema: answerSchema };

/** The expectation for a field: a part of the body sent to the provider, or its path in a warning or in an error. */
export type FieldFate = { readonly carried: string } | { readonly noted: string } | { readonly refused: string };
export type FieldRow = readonly [field: string, body: object, atClaude: FieldFate, elsewhere?: FieldFate];

export const sentAs = (words: string): FieldFate => ({ carried: words });
export const namedAsNotSent = (path: string): FieldFate => ({ noted: path });
export const refusedWith = (path: string): FieldFate => ({ refused: path });
export const innerJson = (value: unknown): string => JSON.stringify(value).slice(1, -1);
