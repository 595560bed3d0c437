/** One conversation in the formats of three doors. */

/** A conversation of elements that every format has. */
export interface Conversation {
  readonly system: string;
  readonly said: readonly string[];
  readonly temperature: number;
  readonly maxTokens: number;
  readonly stop: string;
  readonly tool: boolean;
  /** Question and answer of a tool call after the conversation; undefined without a call. */
  readonly call: { readonly q: string; readonly found: string } | undefined;
  /** Whether the last user message contains a picture. */
  readonly picture: boolean;
}

const parameters = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The messages in the syntax of a format. @returns them with the last message's content and the items after it */
function told(
  { said, picture, call }: Conversation,
  withPicture: (text: string) => object[],
  withCall: (args: string, found: string) => object[],
): object[] {
  const last = said.length - 1;
  const messages = said.map((text, index) => ({
    role: index % 2 === 0 ? "user" : "assistant",
    content: picture && index === last ? withPicture(text) : text,
  }));
  return [...messages, ...(call ? withCall(JSON.stringify({ q: call.q }), call.found) : [])];
}

/** The body of a conversation in each format. */
export const conversationBodies = {
  responses: (asked: Conversation) => ({
    model: "acme/large-2",
    instructions: asked.system,
    input: told(
      asked,
      (text) => [
        { type: "input_text", text },
        { type: "input_image", image_url: `data:image/png;base64,${pixel}` },
      ],
      (args, output) => [
        { type: "function_call", call_id: "call_1", name: "find", arguments: args },
        { type: "function_call_output", call_id: "call_1", output },
      ],
    ),
    temperature: asked.temperature,
    max_output_tokens: asked.maxTokens,
    stop: [asked.stop],
    ...(asked.tool && {
      tools: [{ type: "function", name: "find", description: "Finds.", parameters }],
      tool_choice: "auto",
    }),
  }),
  chat: (asked: Conversation) => ({
    model: "acme/large-2",
    messages: [
      { role: "system", content: asked.system },
      ...told(
        asked,
        (text) => [
          { type: "text", text },
          { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } },
        ],
        (args, content) => [
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "call_1", type: "function", function: { name: "find", arguments: args } }],
          },
          { role: "tool", tool_call_id: "call_1", content },
        ],
      ),
    ],
    temperature: asked.temperature,
    max_completion_tokens: asked.maxTokens,
    stop: [asked.stop],
    ...(asked.tool && {
      tools: [{ type: "function", function: { name: "find", description: "Finds.", parameters } }],
      tool_choice: "auto",
    }),
  }),
  messages: (asked: Conversation) => ({
    model: "acme/large-2",
    system: asked.system,
    messages: told(
      asked,
      (text) => [
        { type: "text", text },
        { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
      ],
      (args, content) => [
        {
          role: "assistant",
          content: [{ type: "tool_use", id: "call_1", name: "find", input: JSON.parse(args) as object }],
        },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content }] },
      ],
    ),
    temperature: asked.temperature,
    max_tokens: asked.maxTokens,
    stop_sequences: [asked.stop],
    ...(asked.tool && {
      tools: [{ name: "find", description: "Finds.", input_schema: parameters }],
      tool_choice: { type: "auto" },
    }),
  }),
};
export type DoorName = keyof typeof conversationBodies;
export const doorPaths: Readonly<Record<DoorName, string>> = {
  responses: "/responses",
  chat: "/chat/completions",
  messages: "/messages",
};
export const doorNames = Object.keys(conversationBodies) as DoorName[];

export const shortConversation: Conversation = {
  system: "Be brief.",
  said: ["Hello"],
  temperature: 1,
  maxTokens: 100,
  stop: "END",
  tool: true,
  call: undefined,
  picture: false,
};
