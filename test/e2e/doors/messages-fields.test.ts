/** Every field of Anthropic's format at the messages door is sent, noted or refused by name, at providers of the same format and of others. */
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { claudeMessage } from "../../support/providers/anthropic.ts";
import { type Upstream, chatAnswer, startUpstream } from "../../support/providers/upstream.ts";
import { blockFieldRows } from "./message-fields/block.ts";
import { type FieldFate, userMessage, textBlock } from "./message-fields/rows.ts";
import { settingFieldRows } from "./message-fields/setting.ts";
import { toolFieldRows } from "./message-fields/tool.ts";

let upstream: Upstream;
let installation: Installation;

beforeAll(async () => {
  upstream = await startUpstream();
  const inputs = "input_modalities: [text, image, file]";
  installation = await startInstallation({
    config: `
providers:
  - {id: claude, dialect: messages, base_url: "${upstream.url}/v1"}
  - {id: chatty, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - id: t/claude
    ${inputs}
    max_output_tokens: 4096
    endpoints:
      - provider: claude
        supported_parameters:
          [tools, tool_choice, parallel_tool_calls, temperature, top_p, top_k, stop, reasoning, reasoning_effort,
           structured_outputs, response_format, cache_control, anthropic_betas, context_management, service_tier]
  - {id: t/chat, ${inputs}, endpoints: [{provider: chatty}]}
`,
  });
});
afterAll(async () => {
  await installation?.stop();
  await upstream?.stop();
});

const sendRequest = (body: object, headers: Record<string, string> = {}) =>
  fetch(`${installation.baseUrl}/messages`, {
    method: "POST",
    headers: {
      "x-api-key": installation.apiKey,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
      ...headers,
    },
    body: JSON.stringify(body),
  });

interface Answer {
  readonly error?: { readonly message: string };
  readonly service_metadata?: {
    readonly params: {
      readonly not_sent?: readonly { readonly path: string }[];
      readonly unknown_fields?: readonly { readonly name: string }[];
    };
  };
}

async function expectFate(body: object, fate: FieldFate): Promise<void> {
  const from = upstream.requests.length;
  const response = await sendRequest({ max_tokens: 2_048, messages: [{ role: "user", content: "Hi" }], ...body });
  const answer = (await response.json()) as Answer;
  if ("refused" in fate) {
    expect([response.status, answer.error?.message]).toEqual([400, expect.stringContaining(fate.refused)]);
    return;
  }
  expect([response.status, answer.error]).toEqual([200, undefined]);
  if ("carried" in fate) expect(response.headers.get("x-sluice-warning")).toBeNull();
  if ("carried" in fate) return expect(upstream.requests[from]?.body).toContain(fate.carried);
  const { not_sent: notSent = [], unknown_fields: unknown = [] } = answer.service_metadata?.params ?? {};
  expect([...notSent.map(({ path }) => path), ...unknown.map(({ name }) => name)]).toContain(fate.noted);
}

const rows = [...settingFieldRows, ...toolFieldRows, ...blockFieldRows];

beforeEach(() => upstream.script([claudeMessage([textBlock("Hello")])]));

test.each(rows)(
  "the field %s is sent, refused or reported as documented by a provider of the Messages format",
  (_, body, fate) => expectFate({ model: "t/claude", ...body }, fate),
);

test.each(rows)(
  "the field %s is sent, refused or reported as documented by a provider of another format",
  async (_, body, fate, elsewhere = fate) => {
    upstream.script([chatAnswer({ role: "assistant", content: "Hello" })]);
    await expectFate({ model: "t/chat", ...body }, elsewhere);
  },
);

test("Anthropic's beta names reach a provider with support for them, and are reported as unsent elsewhere", async () => {
  const betas = "context-1m-2025-08-07,later-2027-01-01";
  await sendRequest({ model: "t/claude", max_tokens: 9, ...userMessage(textBlock("Hi")) }, { "anthropic-beta": betas });
  expect(upstream.requests.at(-1)?.headers["anthropic-beta"]).toBe(betas);
  upstream.script([chatAnswer({ role: "assistant", content: "Hello" })]);
  const response = await sendRequest(
    { model: "t/chat", max_tokens: 9, ...userMessage(textBlock("Hi")) },
    { "anthropic-beta": betas },
  );
  expect(upstream.requests.at(-1)?.headers["anthropic-beta"]).toBeUndefined();
  expect(JSON.stringify(await response.json())).toContain('"path":"anthropic-beta"');
});
