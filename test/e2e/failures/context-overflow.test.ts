/** A prompt that is too long is refused at the messages door in Anthropic's words, whatever the provider's error: clients read the figures and compact. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { type Reply, type Upstream, startUpstream } from "../../support/providers/upstream.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  const provider = (id: string, dialect: string) => `{id: ${id}, dialect: ${dialect}, base_url: "${upstream.url}/v1"}`;
  const model = (id: string, more = "") => `{id: t/${id}${more}, endpoints: [{provider: ${id}, upstream_model: m}]}`;
  const dialects = ["chat", "responses", "messages", "gemini", "cohere"];
  installation = await startInstallation({
    config: `
providers:
${dialects.map((dialect) => `  - ${provider(dialect, dialect)}`).join("\n")}
models:
${dialects.map((dialect) => `  - ${model(dialect, ", context_length: 90000")}`).join("\n")}
  - {id: t/small, context_length: 1000, endpoints: [{provider: chat, upstream_model: m}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const refused = (body: object): Reply => ({ status: 400, chunks: [{ json: body }] });
const refusal = (error: object): Reply => refused({ error });
const words = (message: string): Reply => refusal({ message, type: "invalid_request_error", code: 400 });

interface Refused {
  readonly error: { readonly type: string; readonly message: string; readonly metadata: object };
}

async function sendRequest(model: string, more: object = {}): Promise<Refused & { readonly status: number }> {
  const answer = await fetch(`${installation.baseUrl}/messages`, {
    method: "POST",
    headers: { "x-api-key": installation.apiKey, "content-type": "application/json" },
    body: JSON.stringify({ model, max_tokens: 64, messages: [{ role: "user", content: "Hi" }], ...more }),
  });
  return { status: answer.status, ...((await answer.json()) as Refused) };
}

const openAi = "This model's maximum context length is 10 tokens. However, your messages resulted in 20 tokens.";

describe.each([{ stream: false }, { stream: true }])("an error for a prompt that is too long, with %j", (more) => {
  test.each([
    ["t/chat", words(openAi), "20 tokens > 10"],
    ["t/responses", words(openAi), "20 tokens > 10"],
    [
      "t/chat",
      refusal({ type: "exceed_context_size_error", message: "too long", n_prompt_tokens: 9, n_ctx: 8 }),
      "9 tokens > 8",
    ],
    [
      "t/gemini",
      words("The input token count (30) exceeds the maximum number of tokens allowed (20)."),
      "30 tokens > 20",
    ],
    ["t/cohere", refused({ message: "too many tokens: cannot exceed 40 - received 50." }), "50 tokens > 40"],
    ["t/chat", words("Your input exceeds the context window of this model."), "90001 tokens > 90000"],
  ] as const)("at %s has the token counts of %j", async (model, reply, figures) => {
    upstream.script([reply]);
    expect(await sendRequest(model, more)).toMatchObject({
      status: 400,
      error: { type: "invalid_request_error", message: `prompt is too long: ${figures} maximum` },
    });
  });

  test.each([
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
  ])("of Anthropic has Anthropic's own words: %s", async (message) => {
    upstream.script([words(message)]);
    expect((await sendRequest("t/messages", more)).error.message).toBe(message);
  });

  test("by Sluice's own refusal of an incompressible prompt has the token counts, too", async () => {
    const { status, error } = await sendRequest("t/small", { system: "word ".repeat(4_000), ...more });
    expect(status).toBe(400);
    const [, requested, maximum] = /^prompt is too long: (\d+) tokens > (\d+) maximum$/.exec(error.message) ?? [];
    expect(Number(requested)).toBeGreaterThan(Number(maximum));
  });
});

test("an error for a prompt that is too long has the provider's message in addition to the format's", async () => {
  upstream.script([words(openAi)]);
  const { error } = await sendRequest("t/chat");
  expect(error.metadata).toMatchObject({ provider_message: openAi, context_length: { requested: 20, maximum: 10 } });
});
