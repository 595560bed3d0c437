/** Content parts, roles and reasoning that only servers of some vendors accept in chat completions. */
import { describe, expect, test } from "@jest/globals";
import type { Target } from "@sluice/inference-svc/models/upstream/dialect.js";
import { chatUsage } from "@sluice/inference-svc/models/upstream/chat/usage.js";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import { otherChat, refuseChatRequest, translateChat } from "./chat-translation.js";

const of = (vendor: string): Target => ({ ...otherChat, vendor });
const user: InputItem = { type: "message", role: "user", content: "u" };
const asked = { role: "user", content: "u" };
const pdf = "data:application/pdf;base64,JVBERi0xLjQ=";

const sentTo = (vendor: string, ...items: readonly InputItem[]) => {
  const { body, losses } = translateChat({ input: [user, ...items] }, of(vendor));
  return { messages: (body.messages as object[]).slice(1), losses };
};

describe("roles at vendors of chat completions", () => {
  const developer: InputItem = { type: "message", role: "developer", content: "Be brief." };

  test.each([
    ["openrouter", "developer"],
    ["mistral", "system"],
    ["an unknown server", "user"],
  ])("give %s a later message of the developer with the role %s", (vendor, role) => {
    const target = vendor === "an unknown server" ? otherChat : of(vendor);
    const { body } = translateChat({ input: [user, developer] }, target);
    expect(body.messages).toEqual([asked, { role, content: "Be brief." }]);
  });

  test("at servers of open models exclude a system message amid a conversation", () => {
    for (const vendor of ["together", "fireworks", "cerebras", "moonshotai"])
      expect(sentTo(vendor, developer).messages).toEqual([{ role: "user", content: "Be brief." }]);
  });
});

describe("tool results with images at vendors of chat completions", () => {
  const result: InputItem = {
    type: "function_call_output",
    call_id: "c12345678",
    output: [
      { type: "input_image", image_url: "data:image/png;base64,AA" },
      { type: "input_text", text: "A picture." },
    ],
  };
  const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } };

  test.each(["openrouter", "mistral"])("keep their images in order at %s", (vendor) => {
    const [message] = sentTo(vendor, result).messages;
    expect(message).toMatchObject({ role: "tool", content: [picture, { type: "text", text: "A picture." }] });
  });

  test("have their images in a message of the user at other servers, as the receipt notes", () => {
    const { messages, losses } = sentTo("together", result);
    expect(messages).toMatchObject([
      { role: "tool", content: "A picture." },
      { role: "user", content: [picture] },
    ]);
    expect(losses).toEqual([["input.1.output", expect.stringMatching(/^repaired: pictures and files follow/)]]);
  });
});

describe("documents at vendors of chat completions", () => {
  const asking = (part: object): InputItem => ({
    type: "message",
    role: "user",
    content: [part] as InputItem["content"],
  });
  const named = { type: "input_file", file_data: pdf, filename: "a.pdf" };
  const linked = { type: "input_file", file_url: "https://example.com/a.pdf" };

  test.each([
    ["mistral", named, { type: "document_url", document_url: pdf, document_name: "a.pdf" }],
    ["mistral", linked, { type: "document_url", document_url: "https://example.com/a.pdf" }],
    ["perplexity", named, { type: "file_url", file_url: { url: "JVBERi0xLjQ=" }, file_name: "a.pdf" }],
    ["perplexity", linked, { type: "file_url", file_url: { url: "https://example.com/a.pdf" } }],
    ["openrouter", named, { type: "file", file: { filename: "a.pdf", file_data: pdf } }],
  ])("at %s are sent for %j in their own part", (vendor, part, sent) => {
    expect(sentTo(vendor, asking(part)).messages).toEqual([{ role: "user", content: [sent] }]);
  });

  test("are refused by address where they must be files", () => {
    expect(refuseChatRequest({ input: [asking(linked)] }, of("openrouter"))?.message).toContain("files by file_url");
    expect(refuseChatRequest({ input: [asking({ type: "input_file" })] }, of("mistral"))).toBeDefined();
  });
});

describe("unsealed reasoning at vendors of chat completions", () => {
  const thought: InputItem = { type: "reasoning", content: [{ type: "reasoning_text", text: "Hm." }] };
  const answer: InputItem = { type: "message", role: "assistant", content: "Yes." };

  test.each([
    ["deepseek", { reasoning_content: "Hm.", content: "Yes." }],
    ["moonshotai", { reasoning_content: "Hm.", content: "Yes." }],
    ["groq", { reasoning: "Hm.", content: "Yes." }],
    ["openrouter", { reasoning: "Hm.", content: "Yes." }],
    [
      "mistral",
      {
        content: [
          { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
          { type: "text", text: "Yes." },
        ],
      },
    ],
  ])("goes back to a model of %s that the catalogue does not have", (vendor, sent) => {
    expect(sentTo(vendor, thought, answer)).toEqual({ messages: [{ role: "assistant", ...sent }], losses: [] });
  });

  test.each(["unknown", "anthropic-claude-v1"])("goes back to OpenRouter in the format %s as details", (format) => {
    const detailed: InputItem = { ...thought, format, signature: "s", id: "call_1" };
    const id = "call_1";
    expect(sentTo("openrouter", detailed, answer).messages).toEqual([
      {
        role: "assistant",
        content: "Yes.",
        reasoning_details: [{ type: "reasoning.text", text: "Hm.", signature: "s", format, id, index: 0 }],
      },
    ]);
  });

  const blank: InputItem = { type: "reasoning", summary: [], content: [] };
  const call: InputItem = { type: "function_call", call_id: "call_1", name: "f", arguments: "{}" };
  const result: InputItem = { type: "function_call_output", call_id: "call_1", output: "1" };

  test("goes back to DeepSeek even when empty before a call, and not to others", () => {
    expect(sentTo("deepseek", blank, call, result).messages[0]).toMatchObject({
      reasoning_content: "",
      tool_calls: [{}],
    });
    const { messages, losses } = sentTo("groq", blank, call, result);
    expect(messages[0]).not.toHaveProperty("reasoning");
    expect(losses).toEqual([]);
  });

  test("does not go back to a model whose supported parameters lack it", () => {
    const target = { ...of("mistral"), supportedParameters: ["temperature"] };
    const { body, losses } = translateChat({ input: [user, thought, answer] }, target);
    expect(body.messages).toEqual([asked, { role: "assistant", content: "Yes." }]);
    expect(losses).toEqual([["input.1", "the endpoint takes no reasoning of this kind back"]]);
  });
});

test("audio tokens that a provider counts separately belong to the prompt, and reasoning tokens to the answer", () => {
  const heard = {
    prompt_tokens: 9,
    completion_tokens: 248,
    total_tokens: 632,
    prompt_tokens_details: { audio_tokens: 375 },
  };
  expect(chatUsage(heard)).toMatchObject({ inputTokens: 384, outputTokens: 248, reasoningTokens: 0 });
  const within = { ...heard, prompt_tokens: 384 };
  expect(chatUsage(within)).toMatchObject({ inputTokens: 384, outputTokens: 248 });
  const thought = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 31 };
  expect(chatUsage(thought)).toMatchObject({ inputTokens: 9, outputTokens: 22, reasoningTokens: 20 });
});
