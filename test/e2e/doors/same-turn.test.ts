/** One request through three doors: the provider is asked the same, the guardrail decides the same, and the ledger differs in the door alone. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type House, startHouse } from "../../support/house.ts";
import { eventually } from "../../support/processes.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";
import fc from "../../support/properties.ts";

/** A conversation in words that every format has. */
interface Conversation {
  readonly system: string;
  readonly said: readonly string[];
  readonly temperature: number;
  readonly maxTokens: number;
  readonly stop: string;
  readonly tool: boolean;
  /** The question and the answer of a call after the conversation; undefined without one. */
  readonly call: { readonly q: string; readonly found: string } | undefined;
  /** Whether the last message of the user has a picture. */
  readonly picture: boolean;
}

const parameters = { type: "object", properties: { q: { type: "string" } }, required: ["q"] };

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The messages, with the content of the last one and what follows it in the words of a format. */
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

const doors = {
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
type DoorName = keyof typeof doors;
const paths: Readonly<Record<DoorName, string>> = {
  responses: "/responses",
  chat: "/chat/completions",
  messages: "/messages",
};
const names = Object.keys(doors) as DoorName[];

let upstream: Upstream;
let house: House;

beforeAll(async () => {
  upstream = await startUpstream([chatAnswer({ role: "assistant", content: "Fine." })]);
  house = await startHouse({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/large-2, input_modalities: [text, image], endpoints: [{provider: acme}]}
`,
  });
});
afterAll(async () => {
  await house?.stop();
  await upstream?.stop();
});

const post = (name: DoorName, conversation: Conversation, key = house.apiKey) =>
  fetch(`${house.baseUrl}${paths[name]}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(doors[name](conversation)),
  });

/** The body that the provider got. */
async function asked(name: DoorName, conversation: Conversation): Promise<string> {
  const response = await post(name, conversation);
  const text = await response.text();
  expect([name, response.status, text]).toEqual([name, 200, expect.any(String)]);
  return (upstream.requests.at(-1) as { body: string }).body;
}

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }).filter((text) => text.trim() !== "");
const conversations: fc.Arbitrary<Conversation> = fc.record({
  system: words,
  said: fc
    .integer({ min: 0, max: 4 })
    .chain((pairs) => fc.array(words, { minLength: 2 * pairs + 1, maxLength: 2 * pairs + 1 })),
  temperature: fc.integer({ min: 0, max: 10 }).map((tenths) => tenths / 10),
  maxTokens: fc.integer({ min: 1, max: 4_000 }),
  stop: words,
  tool: fc.boolean(),
  call: fc.option(fc.record({ q: words, found: words }), { nil: undefined }),
  picture: fc.boolean(),
});

const one: Conversation = {
  system: "Be brief.",
  said: ["Hello"],
  temperature: 1,
  maxTokens: 100,
  stop: "END",
  tool: true,
  call: undefined,
  picture: false,
};

test("leads to the same bytes at the provider", async () => {
  const property = fc.asyncProperty(conversations, async (conversation) => {
    const bodies = [];
    for (const name of names) bodies.push(await asked(name, conversation));
    expect(new Set(bodies).size).toBe(1);
  });
  await fc.assert(property, { numRuns: Number(process.env["DOOR_RUNS"] ?? 100) });
}, 600_000);

describe.each(names)("through the door of %s", (name) => {
  test("a guardrail refuses it with its words", async () => {
    const { stdout } = await house.admin("keys", "create", "--name", `guarded ${name}`, "--json");
    const { key, hash } = JSON.parse(stdout) as { key: string; hash: string };
    const named = ["--name", `no secrets ${name}`, "--block", "secret", "--json"];
    const guardrail = JSON.parse((await house.admin("guardrails", "create", ...named)).stdout) as { id: string };
    await house.admin("guardrails", "assign", guardrail.id, hash);
    const from = upstream.requests.length;
    const refused = await post(name, { ...one, said: ["a secret"] }, key);
    expect([refused.status, await refused.text()]).toEqual([
      403,
      expect.stringContaining("blocked by content filter: secret"),
    ]);
    expect(upstream.requests).toHaveLength(from);
  });

  test("its record names the door", async () => {
    const response = await post(name, one);
    await response.arrayBuffer();
    const id = response.headers.get("x-generation-id");
    const record = async () => {
      const found = await fetch(`${house.baseUrl}/generation?id=${id}`, {
        headers: { authorization: `Bearer ${house.apiKey}` },
      });
      return found.ok ? ((await found.json()) as { data: { door: string } }).data.door : undefined;
    };
    await eventually(async () => (await record()) !== undefined);
    expect(await record()).toBe(name);
    const requestId = response.headers.get("x-request-id") as string;
    expect(await house.logged("inference-svc", requestId)).toContain(`"door":"${name}"`);
    const health = `http://127.0.0.1:${house.ports.inference_health}/metrics`;
    expect(await (await fetch(health)).text()).toMatch(
      new RegExp(`sluice_turns_total\\{[^}]*door="${name}"[^}]*\\} [1-9]`),
    );
  });
});
