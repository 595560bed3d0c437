/** Every kind of item, content part and cache mark of the contract: what is sent to chat servers, what is named as not sent, and what is refused. */
import { describe, expect, test } from "@jest/globals";
import type { InputItem } from "@sluice/inference-svc/turn/request.js";
import { inputItem } from "@sluice/proto/contract/items/input.js";
import { refuseChatRequest, translateChat, otherChat, vendorChat } from "./chat-translation.js";

const itemKinds = [...inputItem.kinds.keys()];

const user: InputItem = { type: "message", role: "user", content: "u" };
const asked = { role: "user", content: "u" };
const moved: readonly [string, string] = [
  "input.1.output",
  "repaired: pictures and files follow in a message of the user, because most servers take only texts here",
];
const noWords = "the format has no field for it";

const called = (id: string, name: string, args: unknown) => ({
  role: "assistant",
  content: null,
  tool_calls: [
    { id, type: "function", function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) } },
  ],
});
const answered = (id: string, content: unknown) => ({ role: "tool", tool_call_id: id, content });
const image = { type: "input_image", image_url: "data:image/png;base64,AA" };
const sentImage = { type: "image_url", image_url: { url: "data:image/png;base64,AA" } };
/** An item sent as text. */
const described = (content: string) => ({ role: "assistant", content });

interface Row {
  readonly items: readonly InputItem[];
  /** The messages after the first message of the user. */
  readonly sent?: readonly object[];
  readonly lost?: readonly (readonly [string, string])[];
  readonly target?: typeof otherChat;
}

const rows: Readonly<Record<string, Row>> = {
  message: {
    items: [{ type: "message", role: "assistant", content: "a" }],
    sent: [{ role: "assistant", content: "a" }],
  },
  "message with a phase": {
    items: [{ type: "message", role: "assistant", content: "a", phase: "commentary" }],
    sent: [{ role: "assistant", content: "a" }],
    lost: [["input.1.phase", noWords]],
  },
  "message with citations": {
    items: [
      {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "a", annotations: [{ type: "url_citation" }] }],
      },
    ],
    sent: [{ role: "assistant", content: "a" }],
    lost: [["input.1.content.0.annotations", "the format takes no annotations back"]],
  },
  reasoning: {
    items: [{ type: "reasoning", content: [{ type: "reasoning_text", text: "t" }] }],
    lost: [["input.1", "the endpoint takes no reasoning of this kind back"]],
  },
  function_call: {
    items: [{ type: "function_call", call_id: "c", name: "f", arguments: "{}" }],
    sent: [called("c", "f", {})],
  },
  "function_call with what chat lacks": {
    items: [
      {
        type: "function_call",
        call_id: "c",
        name: "f",
        namespace: "crm",
        arguments: "{}",
        async: true,
        subagent_id: "s",
        subagent_items: [{ type: "message" }],
      },
    ],
    sent: [called("c", "crm__f", {})],
    lost: [
      ["input.1.async", "the format has no asynchronous calls"],
      ["input.1.subagent_id", noWords],
      ["input.1.subagent_items", noWords],
    ],
  },
  function_call_output: {
    items: [{ type: "function_call_output", call_id: "c", output: [{ type: "input_text", text: "1" }, image] }],
    sent: [answered("c", "1"), { role: "user", content: [sentImage] }],
    lost: [moved],
  },
  custom_tool_call: {
    items: [{ type: "custom_tool_call", call_id: "c", name: "sql", input: 'select "1"' }],
    sent: [called("c", "sql", { input: 'select "1"' })],
  },
  "custom_tool_call with the vendor": {
    items: [{ type: "custom_tool_call", call_id: "c", name: "sql", input: "x" }],
    sent: [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c", type: "custom", custom: { name: "sql", input: "x" } }],
      },
    ],
    target: vendorChat,
  },
  custom_tool_call_output: {
    items: [{ type: "custom_tool_call_output", call_id: "c", output: "rows" }],
    sent: [answered("c", "rows")],
  },
  apply_patch_call: {
    items: [{ type: "apply_patch_call", call_id: "c", operation: { type: "delete_file", path: "a" } }],
    sent: [called("c", "apply_patch", { type: "delete_file", path: "a" })],
  },
  apply_patch_call_output: {
    items: [{ type: "apply_patch_call_output", call_id: "c", status: "failed", output: "no such file" }],
    sent: [answered("c", "failed\nno such file")],
  },
  local_shell_call: {
    items: [{ type: "local_shell_call", id: "i", call_id: "c", action: { type: "exec", command: ["ls"], env: {} } }],
    sent: [called("c", "local_shell", { type: "exec", command: ["ls"], env: {} })],
  },
  local_shell_call_output: {
    items: [
      { type: "local_shell_call", id: "i", call_id: "c", action: { type: "exec", command: ["ls"], env: {} } },
      { type: "local_shell_call_output", id: "i", output: "a" },
      { type: "local_shell_call_output", id: "c", output: "b" },
    ],
    sent: [
      called("c", "local_shell", { type: "exec", command: ["ls"], env: {} }),
      answered("c", "a"),
      answered("c", "b"),
    ],
  },
  shell_call: {
    items: [{ type: "shell_call", call_id: "c", action: { commands: ["ls"] } }],
    sent: [called("c", "shell", { commands: ["ls"] })],
  },
  shell_call_output: {
    items: [
      {
        type: "shell_call_output",
        call_id: "c",
        output: [{ stdout: "a", stderr: "", outcome: { type: "exit", exit_code: 0 } }],
      },
    ],
    sent: [answered("c", '[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]')],
  },
  computer_call: {
    items: [{ type: "computer_call", id: "i", call_id: "c", action: { type: "click", x: 1 } }],
    sent: [called("c", "computer", { type: "click", x: 1 })],
  },
  computer_call_output: {
    items: [
      {
        type: "computer_call_output",
        call_id: "c",
        output: { type: "computer_screenshot", image_url: image.image_url },
      },
    ],
    sent: [answered("c", ""), { role: "user", content: [sentImage] }],
    lost: [moved],
  },
  code_interpreter_call: {
    items: [{ type: "code_interpreter_call", id: "i", code: "1+1", outputs: [{ type: "logs", logs: "2" }] }],
    sent: [called("i", "code_interpreter", { code: "1+1" }), answered("i", "2")],
  },
  mcp_call: {
    items: [{ type: "mcp_call", id: "i", name: "find", arguments: '{"q":1}', server_label: "crm", output: "found" }],
    sent: [called("i", "find", '{"q":1}'), answered("i", "found")],
  },
  mcp_list_tools: {
    items: [
      {
        type: "mcp_list_tools",
        id: "i",
        server_label: "crm",
        tools: [{ name: "find", description: "Finds.", input_schema: { type: "object" } }],
      },
    ],
    sent: [described('[mcp_list_tools] {"server_label":"crm","tools":[{"name":"find","description":"Finds."}]}')],
  },
  mcp_approval_request: {
    items: [{ type: "mcp_approval_request", id: "i", name: "f", arguments: "{}", server_label: "crm" }],
    sent: [described('[mcp_approval_request] {"server_label":"crm","name":"f","arguments":"{}"}')],
  },
  mcp_approval_response: {
    items: [{ type: "mcp_approval_response", approval_request_id: "i", approve: false, reason: "Too much." }],
    sent: [{ role: "user", content: '[mcp_approval_response] {"approve":false,"reason":"Too much."}' }],
  },
  web_search_call: {
    items: [
      { type: "web_search_call", id: "i" },
      {
        type: "web_search_call",
        id: "j",
        status: "completed",
        action: {
          type: "search",
          query: "cup",
          sources: [
            { type: "url", url: "https://a.test" },
            { type: "url", url: "https://b.test" },
          ],
        },
      },
      { type: "web_search_call", id: "k", status: "failed", action: { type: "search", query: "cup" } },
      { type: "web_search_call", id: "l", action: { type: "open_page", url: "https://a.test" } },
      { type: "web_search_call", id: "m", action: { type: "find_in_page", url: "https://a.test", pattern: "x" } },
    ],
    sent: [
      "[Web search.]",
      '[Web search for "cup". Found: https://a.test https://b.test.]',
      '[Web search for "cup". It failed.]',
      "[Web page read: https://a.test.]",
      '[Web page https://a.test searched for "x".]',
    ].map((content) => ({ role: "assistant", content })),
  },
  file_search_call: {
    items: [{ type: "file_search_call", id: "i", queries: ["q"], results: [{ filename: "a.txt", text: "found" }] }],
    sent: [described('[file_search_call] {"queries":["q"],"results":[{"filename":"a.txt","text":"found"}]}')],
  },
  image_generation_call: {
    items: [{ type: "image_generation_call", id: "i", prompt: "A moon", result: "AA" }],
    sent: [described('[image_generation_call] {"prompt":"A moon"}')],
    lost: [["input.1.result", "the format takes no generated images back"]],
  },
  context_compaction: { items: [{ type: "context_compaction" }], lost: [["input.1", "it holds nothing"]] },
  additional_tools: {
    items: [{ type: "additional_tools", role: "developer", tools: [{ type: "function", name: "f", parameters: {} }] }],
    lost: [["input.1", "its tools are sent with the others"]],
  },
  tool_search_call: {
    items: [{ type: "tool_search_call", id: "i", arguments: {} }],
    lost: [["input.1", "all tools are sent"]],
  },
  tool_search_output: {
    items: [{ type: "tool_search_output", id: "i", tools: [{ type: "function", name: "f", parameters: {} }] }],
    lost: [["input.1", "its tools are sent with the others"]],
  },
  agent_message: {
    items: [
      { type: "agent_message", author: "a", recipient: "b", content: [{ type: "input_text", text: "do" }, image] },
    ],
    sent: [
      {
        role: "user",
        content: [{ type: "text", text: "Message from a to b:" }, { type: "text", text: "do" }, sentImage],
      },
    ],
  },
  configuration_update: { items: [{ type: "configuration_update", reasoning: { effort: "low" } }] },
  item_reference: {
    items: [
      { type: "function_call", id: "fc", call_id: "c", name: "f", arguments: "{}" },
      { type: "item_reference", id: "fc" },
      { type: "function_call_output", call_id: "c", output: "o" },
    ],
    sent: [called("c", "f", {}), answered("c", "o")],
  },
};

describe("an input item for a server of chat completions", () => {
  test.each(Object.entries(rows))(
    "%s reaches the provider or is named as not sent",
    (_, { items, sent = [], lost = [], target = otherChat }) => {
      const { body, losses } = translateChat({ input: [user, ...items] }, target);
      expect(body.messages).toEqual([asked, ...sent]);
      expect(losses).toEqual(lost);
    },
  );

  test("of every kind of the contract is sent, named as not sent, or refused", () => {
    // Compaction triggers are removed before a dialect gets the input.
    const refused = ["compaction", "compaction_trigger"];
    const kinds = itemKinds.filter((kind) => !kind.startsWith("service:"));
    expect(kinds.filter((kind) => !Object.hasOwn(rows, kind) && !refused.includes(kind))).toEqual([]);
  });

  test.each(itemKinds.filter((kind) => kind.startsWith("service:")))("%s is sent as text", (type) => {
    const item = {
      type,
      id: "i",
      call_id: "c",
      status: "completed",
      note: "n",
      none: null,
      nested: { signature: "s" },
    };
    const images = { imageB64: "AA", screenshotB64: "AA", imageUrl: "data:image/png;base64,AA" };
    const { body, losses } = translateChat({ input: [user, { ...item, ...images }] }, otherChat);
    const content = `[${type.slice("service:".length)}] {"note":"n","nested":{}}`;
    expect([body.messages, losses]).toEqual([[asked, described(content)], []]);
  });

  test.each<[string, InputItem, string, string, typeof otherChat?]>([
    ["compaction", { type: "compaction", encrypted_content: "x" }, "", "items of type compaction"],
    [
      "context_compaction",
      { type: "context_compaction", encrypted_content: "x" },
      "",
      "items of type context_compaction",
    ],
    [
      "a sealed agent_message",
      { type: "agent_message", content: [{ type: "encrypted_content", encrypted_content: "x" }] },
      ".content.0",
      "encrypted content",
    ],
    [
      "an image by id",
      { type: "message", role: "user", content: [{ type: "input_image", file_id: "f" }] },
      ".content.0",
      "images by file_id",
    ],
    [
      "a file by URL",
      { type: "message", role: "user", content: [{ type: "input_file", file_url: "https://a.example/" }] },
      ".content.0",
      "files by file_url",
    ],
    [
      "an output with an image by id",
      { type: "function_call_output", call_id: "c", output: [image, { type: "input_image", file_id: "f" }] },
      ".output.1",
      "images by file_id",
    ],
    [
      "a screenshot by id",
      { type: "computer_call_output", call_id: "c", output: { type: "computer_screenshot", file_id: "f" } },
      ".output",
      "images by file_id",
    ],
    [
      "video with the vendor",
      { type: "message", role: "user", content: [{ type: "input_video", video_url: "https://a.example/" }] },
      ".content.0",
      "video",
      vendorChat,
    ],
  ])("%s is refused", (_, item, path, what, target = otherChat) => {
    expect(refuseChatRequest({ input: [user, item] }, target)).toEqual({
      path: `input.1${path}`,
      message: `no provider of this model takes ${what}`,
    });
  });

  test("with an image made by the vendor of the format is refused", () => {
    expect(refuseChatRequest({ outputModalities: ["text", "image"] }, vendorChat)).toEqual({
      path: "modalities",
      message: "no provider of this model gives images",
    });
    expect(refuseChatRequest({ outputModalities: ["text", "image"] })).toBeUndefined();
  });

  test("that changes the effort is replaced by a later change", () => {
    const change = (effort: string): InputItem => ({ type: "configuration_update", reasoning: { effort } });
    const input = [change("low"), user, change("xhigh")];
    const { body, losses } = translateChat({ input, reasoning: { effort: "medium" } }, otherChat);
    expect([body.reasoning_effort, losses]).toEqual(["high", [["input.2.reasoning.effort", "sent as high"]]]);
    const fixed = translateChat({ input }, { ...otherChat, supportedParameters: ["tools"] });
    expect(fixed.body).not.toHaveProperty("reasoning_effort");
    expect(fixed.losses.map(([path]) => path)).toEqual(["input.0", "input.2"]);
  });
});

describe("a content part for a server of chat completions", () => {
  const part = (value: object) =>
    translateChat({ input: [{ type: "message", role: "user", content: [value] }] }, otherChat);

  test.each<[string, object, object, [string, string][]]>([
    ["file by id", { type: "input_file", file_id: "f" }, { type: "file", file: { file_id: "f" } }, []],
    [
      "video",
      { type: "input_video", video_url: "https://a.example/", processing: "agentic" },
      { type: "video_url", video_url: { url: "https://a.example/" } },
      [["input.0.content.0.processing", noWords]],
    ],
    [
      "original detail",
      { ...image, detail: "original" },
      { type: "image_url", image_url: { url: image.image_url, detail: "high" } },
      [["input.0.content.0.detail", "sent as high"]],
    ],
  ])("%s is written in the format, or refused by name", (_, value, sent, lost) => {
    const { body, losses } = part(value);
    expect([body.messages, losses]).toEqual([[{ role: "user", content: [sent] }], lost]);
  });
});

describe("reasoning goes back to a server of chat completions", () => {
  const thought = (more: object): InputItem => ({
    type: "reasoning",
    summary: [],
    content: [{ type: "reasoning_text", text: "t" }],
    ...more,
  });
  const call: InputItem = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
  const open = { ...otherChat, supportedParameters: ["reasoning_content"] };
  const sealed = { ...otherChat, supportedParameters: ["reasoning_details.anthropic-claude-v1"] };
  const no = "the endpoint takes no reasoning of this kind back";

  test("in the assistant's next text or call, if the server takes plain reasoning", () => {
    const input = [user, thought({}), call, thought({ format: "unknown" }), { ...call, call_id: "d" }];
    const { body, losses } = translateChat({ input }, open);
    expect(losses).toEqual([]);
    expect(body.messages).toMatchObject([asked, { role: "assistant", reasoning_content: "tt", tool_calls: [{}, {}] }]);
  });

  test("in the field of Groq", () => {
    const groq = { ...otherChat, supportedParameters: ["message.reasoning"] };
    const { body, losses } = translateChat({ input: [user, thought({}), call] }, groq);
    expect([body.messages, losses]).toMatchObject([[asked, { reasoning: "t", content: null, tool_calls: [{}] }], []]);
  });

  test("as parts of the content before its text, in Mistral's form", () => {
    const mistral = { ...otherChat, supportedParameters: ["message.thinking"] };
    const says = (content: string): InputItem => ({ type: "message", role: "assistant", content });
    const part = (text: string) => ({ type: "thinking", thinking: [{ type: "text", text }] });
    const second = thought({ content: [{ type: "reasoning_text", text: "u" }] });
    const sentFor = (...items: InputItem[]) => {
      const { body, losses } = translateChat({ input: [user, ...items] }, mistral);
      expect(losses).toEqual([]);
      return (body.messages as { content?: unknown }[])[1];
    };
    expect(sentFor(thought({}), says("a"))).toMatchObject({ content: [part("t"), { type: "text", text: "a" }] });
    expect(sentFor(thought({}), call)).toMatchObject({ content: [part("t")], tool_calls: [{}] });
    expect(sentFor(thought({}), call, second, says("a"))).toMatchObject({
      content: [part("t"), part("u"), { type: "text", text: "a" }],
      tool_calls: [{}],
    });
    expect(sentFor(thought({}), says("a"), second, call)).toMatchObject({
      content: [part("t"), part("u"), { type: "text", text: "a" }],
    });
    expect(sentFor(says("a"), call)).toMatchObject({ content: "a" });
  });

  test("sealed, to the model family that sealed it", () => {
    const format = "anthropic-claude-v1";
    const input = [
      user,
      thought({ format, signature: "s", summary: [{ type: "summary_text", text: "m" }], encrypted_content: "e" }),
      { type: "message", role: "assistant", content: "a" },
    ];
    expect(translateChat({ input }, sealed).body.messages).toEqual([
      asked,
      {
        role: "assistant",
        content: "a",
        reasoning_details: [
          { type: "reasoning.text", text: "t", signature: "s", format },
          { type: "reasoning.summary", summary: "m", format },
          { type: "reasoning.encrypted", data: "e", format },
        ],
      },
    ]);
  });

  test.each<[string, object, typeof otherChat]>([
    ["another family", { format: "google-gemini-v1", signature: "s" }, sealed],
    ["a seal, to a server that takes text", { format: "anthropic-claude-v1" }, open],
    ["a text, to a server that takes seals", {}, sealed],
    ["what somebody unknown sealed", { encrypted_content: "e" }, open],
    ["anything, to the vendor of the format", { format: "openai-responses-v1", encrypted_content: "e" }, vendorChat],
  ])("in no case with %s", (_, more, target) => {
    const { body, losses } = translateChat({ input: [user, thought(more), call] }, target);
    expect(losses).toEqual([["input.1", no]]);
    expect(JSON.stringify(body.messages)).not.toContain("reasoning");
  });

  test("only with a following message of the assistant", () => {
    const { losses } = translateChat({ input: [user, thought({}), user, thought({})] }, open);
    const reason = "no message of the assistant follows it";
    expect(losses).toEqual([
      ["input.1", reason],
      ["input.3", reason],
    ]);
  });
});

describe("cache marks of chat completions", () => {
  const controls = { ...otherChat, supportedParameters: ["cache_control"] };
  const marked = (text: string, mark: object) => ({ type: "input_text", text, ...mark });
  const control = { cache_control: { type: "ephemeral", ttl: "1h" } };
  const breakpoint = { prompt_cache_breakpoint: { mode: "explicit" } };
  const input: InputItem[] = [
    { type: "message", role: "user", content: [marked("a", control)] },
    { type: "message", role: "user", content: [marked("b", breakpoint)] },
  ];

  test("are sent as cache_control where the operator names it, also breakpoints", () => {
    const { body, losses } = translateChat({ input }, controls);
    expect([body.messages, losses]).toEqual([
      [
        { role: "user", content: [{ type: "text", text: "a", ...control }] },
        { role: "user", content: [{ type: "text", text: "b", cache_control: { type: "ephemeral" } }] },
      ],
      [],
    ]);
  });

  test("are breakpoints at the vendor of the format", () => {
    const { body, losses } = translateChat({ input }, vendorChat);
    expect([body.messages, losses]).toEqual([
      [
        { role: "user", content: "a" },
        { role: "user", content: [{ type: "text", text: "b", ...breakpoint }] },
      ],
      [["input.0.content.0.cache_control", "the endpoint does not support it"]],
    ]);
  });

  test("are named as not sent at other servers", () => {
    const { body, losses } = translateChat({ input, cacheControl: { ttl: "5m" } }, otherChat);
    expect(body.messages).toEqual([
      { role: "user", content: "a" },
      { role: "user", content: "b" },
    ]);
    expect(losses).toEqual([
      ["input.0.content.0.cache_control", "the endpoint does not support it"],
      ["input.1.content.0.prompt_cache_breakpoint", "the endpoint does not support it"],
      ["cache_control", "the endpoint does not support it"],
    ]);
  });

  test("of a request are at the last block, also in a tool's output", () => {
    const items: InputItem[] = [user, { type: "function_call_output", call_id: "c", output: "1" }];
    const { body } = translateChat({ input: items, cacheControl: { ttl: "1h" } }, controls);
    expect(body.messages).toEqual([asked, answered("c", [{ type: "text", text: "1", ...control }])]);
  });

  test("are sent at most four times, for the last ones", () => {
    const items: InputItem[] = [
      { type: "message", role: "user", content: ["a", "b", "c", "d"].map((text) => marked(text, control)) },
      { type: "function_call_output", call_id: "x", output: [marked("e", breakpoint)] },
    ];
    const { body, losses } = translateChat({ input: items }, controls);
    expect(losses).toEqual([["input.0.content.0.cache_control", "at most 4 marks are sent, the last ones"]]);
    expect(JSON.stringify(body.messages).match(/"cache_control"/g)).toHaveLength(4);
  });
});
