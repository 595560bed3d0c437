/** Compaction of a conversation: over its own path, by a trigger in the input, and how a later turn of any model reads the result. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { changeDigit } from "../../support/altered.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";

interface Item {
  readonly type: string;
  readonly encrypted_content: string;
}

/** Fields of an answer or of its failure. */
interface Answered {
  readonly object: string;
  readonly output: readonly Item[];
  readonly usage: object;
  readonly error: { readonly message: string };
}

let upstream: Upstream;
let installation: Installation;
let otherKey: string;

beforeAll(async () => {
  upstream = await startUpstream();
  installation = await startInstallation({
    config: `
providers:
  - {id: acme, dialect: chat, base_url: "${upstream.url}/v1"}
  - {id: anthropic, dialect: messages, base_url: "${upstream.url}", api_keys: [k]}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
  - {id: acme/small-1, endpoints: [{provider: acme}]}
  - {id: anthropic/one, endpoints: [{provider: anthropic}], max_output_tokens: 1000}
internal_models: {compactor: {model: acme/small-1, max_output_tokens: 500}}
`,
  });
  await installation.admin("workspaces", "create", "--name", "elsewhere");
  const { stdout } = await installation.admin(
    "keys",
    "create",
    "--name",
    "other",
    "--workspace",
    "elsewhere",
    "--json",
  );
  otherKey = (JSON.parse(stdout) as { key: string }).key;
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

async function post(
  path: string,
  body: object,
  key = installation.apiKey,
): Promise<{ status: number; body: Answered }> {
  const response = await fetch(`${installation.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/large-2", ...body }),
  });
  return { status: response.status, body: (await response.json()) as Answered };
}

const conversation = [
  { type: "message", role: "user", content: "Rename parse to read in src/a.ts." },
  { type: "function_call", call_id: "c_1", name: "edit", arguments: '{"file":"src/a.ts"}' },
  { type: "function_call_output", call_id: "c_1", output: "3 places changed" },
];
const summary = "parse is called read now, in 3 places of src/a.ts.";
const sent = () => JSON.stringify(upstream.requests.at(-1)?.json);

async function compact(): Promise<Item> {
  upstream.script([chatAnswer({ role: "assistant", content: summary })]);
  const { body } = await post("/responses/compact", { input: conversation });
  return body.output[0] as Item;
}

describe("POST /responses/compact", () => {
  test("sends the conversation as one text to the operator's model, and seals the summary", async () => {
    upstream.script([chatAnswer({ role: "assistant", content: summary })]);
    const { status, body } = await post("/responses/compact", {
      input: conversation,
      tools: [{ type: "function", name: "edit", parameters: {} }],
    });
    expect([status, body.object, body.output.map(({ type }) => type)]).toEqual([
      200,
      "response.compaction",
      ["compaction"],
    ]);
    expect(body.usage).toMatchObject({ total_tokens: expect.any(Number) });
    expect(JSON.stringify(body)).not.toContain("src/a.ts");
    expect(upstream.requests.at(-1)?.json).toMatchObject({
      model: "acme/small-1",
      messages: [{ role: "system" }, { role: "user" }],
    });
    expect(sent()).toMatch(/Rename parse.*call of edit.*3 places changed/);
    expect(sent()).not.toContain('"tools"');
  });

  test.each([
    ["no input", {}, /^input/],
    ["an empty input", { input: [] }, /holds nothing to compact/],
    ["a stream", { input: "x", stream: true }, /^stream/],
  ])("refuses %s", async (_, body, message) => {
    const answer = await post("/responses/compact", body);
    expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringMatching(message)]);
  });

  test("fails when the model writes no summary", async () => {
    upstream.script([chatAnswer({ role: "assistant", content: "" })]);
    expect((await post("/responses/compact", { input: conversation })).status).toBe(502);
  });
});

describe("a compacted conversation", () => {
  test.each(["acme/large-2", "anthropic/one"])(
    "continues with %s, which reads the summary and the user's messages",
    async (model) => {
      const item = await compact();
      upstream.script([
        model === "anthropic/one"
          ? {
              chunks: [
                {
                  json: {
                    type: "message",
                    role: "assistant",
                    content: [{ type: "text", text: "ok" }],
                    stop_reason: "end_turn",
                    usage: {},
                  },
                },
              ],
            }
          : chatAnswer({ role: "assistant", content: "ok" }),
      ]);
      const { status } = await post("/responses", {
        model,
        input: [item, { type: "message", role: "user", content: "And the tests?" }],
      });
      expect(status).toBe(200);
      expect(sent()).toMatch(/parse is called read now.*Rename parse to read.*And the tests\?/);
    },
  );

  test("can be compacted again", async () => {
    const item = await compact();
    upstream.script([chatAnswer({ role: "assistant", content: "shorter" })]);
    const { status } = await post("/responses/compact", {
      input: [item, { type: "message", role: "user", content: "more" }],
    });
    expect([status, sent()]).toEqual([200, expect.stringContaining("parse is called read now")]);
  });

  test("is refused after a change, and in another workspace", async () => {
    const item = await compact();
    const changed = { ...item, encrypted_content: changeDigit(item.encrypted_content) };
    for (const [key, input] of [
      [installation.apiKey, [changed]],
      [otherKey, [item]],
    ] as const) {
      const { status, body } = await post("/responses", { input }, key);
      expect([status, body.error.message]).toEqual([
        400,
        expect.stringContaining("input.0.encrypted_content: was changed, or made for another workspace"),
      ]);
    }
  });
});

describe("a compaction trigger", () => {
  const input = [...conversation, { type: "compaction_trigger" }];

  test("at the end of an input gives the compacted item in a stream as well", async () => {
    upstream.script([chatAnswer({ role: "assistant", content: summary })]);
    const response = await fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/large-2", stream: true, input }),
    });
    const text = await response.text();
    expect(text).toMatch(/response.output_item.done[^\n]*\n[^\n]*"type":"compaction"/);
    expect(text).toMatch(/event: response.completed/);
  });

  test("at another place is refused", async () => {
    const { status, body } = await post("/responses", {
      input: [...input, conversation[0]],
    });
    expect([status, body.error.message]).toEqual([400, expect.stringContaining("must be the last item")]);
  });
});
