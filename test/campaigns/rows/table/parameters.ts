/** SPEC 2.1: parameters of a request, as providers of each format must get them. */
import type { Row, RowCase, RowDialect } from "../row.ts";
import { exampleFunction, greetingMessage } from "./asks.ts";
import { choiceRows } from "./parameter-choices.ts";
import { echoRows, textRows } from "./parameter-texts.ts";

type ByDialect = Partial<Record<RowDialect, unknown>>;

const row = (name: string, ...cases: readonly RowCase[]): Row => ({ name: `2.1 ${name}`, cases });

/** A value under its name in each format; a nested field has a path. */
const inBodies = (value: unknown, fields: Partial<Record<RowDialect, string>>): ByDialect =>
  Object.fromEntries(
    Object.entries(fields).map(([dialect, path]) => [
      dialect,
      path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value),
    ]),
  );

/** A row for a parameter with these names in some formats. The receipt must list it in `not_sent` for all other formats. */
function parameter(name: string, value: unknown, fields: Partial<Record<RowDialect, string>>): Row {
  const all: readonly RowDialect[] = ["chat", "responses", "messages", "gemini", "converse"];
  const lost = Object.fromEntries(all.filter((dialect) => !(dialect in fields)).map((dialect) => [dialect, name]));
  return row(name, { ask: { [name]: value }, sentBy: inBodies(value, fields), lost });
}

const same = (name: string) => ({ chat: name, responses: name, messages: name, gemini: name, converse: name });

/** A row for a setting's accepted values, and for values refused with its path in the message. */
const range = (name: string, accepted: readonly unknown[], refused: readonly unknown[]): Row =>
  row(
    `${name}: limits`,
    ...accepted.map((value) => ({ ask: { [name]: value }, on: ["chat"], back: { status: "completed" } })),
    ...refused.map((value) => ({
      ask: { [name]: value },
      on: ["chat"],
      refused: [400, new RegExp(`^${name}`)] as const,
    })),
  );

const chars = (count: number) => "x".repeat(count);
const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, "v"]));

const samplers: readonly Row[] = [
  parameter("temperature", 0.37, {
    ...same("temperature"),
    gemini: "generationConfig.temperature",
    converse: "inferenceConfig.temperature",
  }),
  parameter("top_p", 0.91, { ...same("top_p"), gemini: "generationConfig.topP", converse: "inferenceConfig.topP" }),
  parameter("top_k", 17, {
    chat: "top_k",
    responses: "top_k",
    messages: "top_k",
    gemini: "generationConfig.topK",
    converse: "additionalModelRequestFields.top_k",
  }),
  parameter("frequency_penalty", 0.5, { chat: "frequency_penalty", responses: "frequency_penalty" }),
  parameter("presence_penalty", 0.5, { chat: "presence_penalty", responses: "presence_penalty" }),
  parameter("top_logprobs", 3, { chat: "top_logprobs", responses: "top_logprobs" }),
  parameter("seed", 7, { chat: "seed", responses: "seed", gemini: "generationConfig.seed" }),
  parameter("logit_bias", { "5": -100 }, { chat: "logit_bias", responses: "logit_bias" }),
  parameter("stop", ["END"], {
    ...same("stop"),
    messages: "stop_sequences",
    gemini: "generationConfig.stopSequences",
    converse: "inferenceConfig.stopSequences",
  }),
  row("stop, one text", { ask: { stop: "END" }, on: ["chat"], sent: { stop: ["END"] } }),
  parameter("prediction", { type: "content", content: "a" }, { responses: "prediction" }),
  parameter("anthropic_betas", ["a"], { responses: "anthropic_betas" }),
  parameter("context_management", { edits: [{ type: "a" }] }, { responses: "context_management" }),
  row("max_output_tokens", {
    ask: { max_output_tokens: 321 },
    sentBy: {
      chat: /"max_(completion_)?tokens":321/,
      responses: { max_output_tokens: 321 },
      messages: { max_tokens: 321 },
      gemini: { generationConfig: { maxOutputTokens: 321 } },
      converse: { inferenceConfig: { maxTokens: 321 } },
    },
  }),
  row("parallel_tool_calls", {
    ask: { parallel_tool_calls: false, tools: [exampleFunction] },
    sentBy: {
      chat: { parallel_tool_calls: false },
      responses: { parallel_tool_calls: false },
      messages: { tool_choice: { disable_parallel_tool_use: true } },
      converse: /disable_parallel_tool_use/,
    },
    lost: { gemini: "parallel_tool_calls" },
  }),
  ...Object.entries({
    temperature: [
      [0, 2, null],
      [2.1, -0.1, "1"],
    ],
    top_p: [
      [0, 1, null],
      [1.1, -0.1, "1"],
    ],
    top_k: [[1], [-1, 0.5]],
    frequency_penalty: [
      [-2, 2, null],
      [2.1, -2.1],
    ],
    presence_penalty: [
      [-2, 2, null],
      [2.1, -2.1],
    ],
    top_logprobs: [
      [0, 20, null],
      [21, -1],
    ],
    max_output_tokens: [
      [16, null],
      [0, -1, 1.5],
    ],
    max_tool_calls: [
      [1, 30, null],
      [31, 0, -1],
    ],
    parallel_tool_calls: [[true, false, null], ["yes"]],
    session_id: [[chars(256)], [chars(257)]],
    user: [[chars(256)], [chars(257)]],
    safety_identifier: [["a", null], [5]],
    prompt_cache_key: [["a", null], [5]],
    metadata: [
      [pairs(16), { [chars(64)]: chars(512) }, null],
      [pairs(17), { [chars(65)]: "v" }, { k: chars(513) }, { "a[b]": "v" }, { k: 5 }],
    ],
    models: [[["t/chat"]], ["t/chat", [5]]],
    stream: [[false], ["yes"]],
    store: [[false], [true]],
    background: [[false, null], [true]],
    previous_response_id: [[null], ["resp_1"]],
    truncation: [
      ["auto", "disabled", null, { type: "auto" }],
      ["some", { type: "some" }],
    ],
    include: [[[], null], [["unknown"]]],
    modalities: [[["text"], ["text", "image"]], [["sound"]]],
    image_config: [[{ size: "1024x1024", n: 1 }], [5]],
    route: [["fallback", "sort", null], []],
    debug: [[{ echo_upstream_body: true }], [{ echo_upstream_body: "yes" }]],
    trace: [[{ trace_id: "a", more: 1 }], [5]],
    cache_control: [[{ type: "ephemeral" }, { type: "ephemeral", ttl: "1h" }], [{ type: "lasting" }]],
    prompt_cache_options: [[{ mode: "explicit" }], [5]],
    reasoning: [
      [{ effort: "low", summary: "auto" }, null],
      [{ effort: "huge" }, { summary: "long" }],
    ],
    text: [
      [{ verbosity: "low" }, { format: { type: "text" } }],
      [{ verbosity: "huge" }, { format: { type: "xml" } }],
    ],
    tool_choice: [
      ["auto", "none"],
      ["maybe", { type: "function", name: "missing" }],
    ],
    stop: [
      ["a", ["a"], Array<string>(16).fill("a"), chars(1_024), null],
      [5, "", [""], Array<string>(17).fill("a"), chars(1_025)],
    ],
    seed: [
      [0, -1, 2 ** 53 - 1, null],
      [1.5, 2 ** 53, "1"],
    ],
    logit_bias: [
      [{}, { "5": 100 }, null],
      [{ a: 1 }, { "5": 101 }, []],
    ],
    prediction: [
      [{ type: "content", content: [{ type: "text", text: "a" }] }, null],
      [{}, { type: "content", content: 5 }],
    ],
    anthropic_betas: [
      [[], ["a"]],
      [["a b"], "a"],
    ],
    context_management: [
      [{ edits: [] }, [{ type: "compaction" }], null],
      [{}, [{}], "a"],
    ],
    input: [
      ["Hi", [greetingMessage]],
      [5, [], [{ type: "unknown" }]],
    ],
    instructions: [["Be kind", null], [5]],
    model: [[], ["nobody"]],
    plugins: [[[]], [[{ id: "unknown" }], [{ id: "web" }, { id: "web" }]]],
    tools: [[[]], [[{ type: "unknown" }]]],
  } satisfies Record<string, [unknown[], unknown[]]>)
    .filter(([name]) => name !== "model")
    .map(([name, [accepted = [], refused = []]]) => range(name, accepted, refused)),
  row("an unknown field is ignored", { ask: { unheard_of: 1 }, on: ["chat"], unsent: /unheard_of/ }),
  row("max_tool_calls beside stop_server_tools_when", {
    ask: { max_tool_calls: 99, stop_server_tools_when: [{ type: "step_count_is", step_count: 1 }] },
    on: ["chat"],
    back: { status: "completed" },
  }),
  row("model: absent, the first of models serves", {
    ask: { model: undefined, models: ["t/chat"] },
    on: ["chat"],
    back: { model: "t/chat" },
  }),
];

const efforts = ["max", "xhigh", "high", "medium", "low", "minimal", "none"];
const reasonings: readonly Row[] = [
  ...efforts.map((effort) =>
    row(`reasoning.effort ${effort}`, { ask: { reasoning: { effort } }, back: { status: "completed" } }),
  ),
  row("reasoning.effort", {
    ask: { reasoning: { effort: "low" } },
    sentBy: {
      chat: { reasoning_effort: "low" },
      responses: { reasoning: { effort: "low" } },
      messages: /"effort":"low"/,
      gemini: { generationConfig: { thinkingConfig: { thinkingLevel: /low/i } } },
      converse: /"effort":"low"/,
    },
  }),
  ...["auto", "concise", "detailed"].map((summary) =>
    row(`reasoning.summary ${summary}`, {
      ask: { reasoning: { effort: "low", summary } },
      sentBy: {
        responses: { reasoning: { summary } },
        gemini: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
      },
    }),
  ),
  row("reasoning.max_tokens", { ask: { reasoning: { max_tokens: 2_000 } }, back: { status: "completed" } }),
  row("reasoning.enabled", { ask: { reasoning: { enabled: false } }, back: { status: "completed" } }),
  ...["auto", "all_turns", "current_turn"].map((context) =>
    row(`reasoning.context ${context}`, {
      ask: { reasoning: { context } },
      on: ["responses", "chat"],
      back: { status: "completed" },
    }),
  ),
  ...["standard", "pro"].map((mode) =>
    row(`reasoning.mode ${mode}`, {
      ask: { reasoning: { mode } },
      on: ["responses", "chat"],
      back: { status: "completed" },
    }),
  ),
  ...[
    "file_search_call.results",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "reasoning.encrypted_content",
    "code_interpreter_call.outputs",
    "web_search_call.action.sources",
    "message.output_text.logprobs",
  ].map((include) =>
    row(`include ${include}`, { ask: { include: [include] }, sentBy: { responses: { include: [include] } } }),
  ),
];

export const parameterRows: readonly Row[] = [...samplers, ...textRows, ...reasonings, ...choiceRows, ...echoRows];
