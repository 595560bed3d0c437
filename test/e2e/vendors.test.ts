/** The body sent to a provider depends on its vendor: the vendor of its host, regional hosts and clouds included, or the one named in the configuration. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Installation, startInstallation } from "../support/installation.ts";

/** Providers by dialect, with whether the vendor of the format answers there. */
const hosts = {
  chat: [
    ['base_url: "https://api.openai.com/v1"', true],
    ['base_url: "https://eu.api.openai.com/v1"', true],
    ['base_url: "https://us.api.openai.com/v1"', true],
    ['base_url: "https://acme.openai.azure.com/openai/v1"', true],
    ['base_url: "https://acme.services.ai.azure.com/openai/v1"', true],
    ["azure: {resource: acme}, api_keys: [k]", true],
    ['base_url: "http://proxy.acme.test/v1", vendor: openai', true],
    ['base_url: "http://proxy.acme.test/v1"', false],
    ['base_url: "https://api.openai.com.acme.test/v1"', false],
    ['base_url: "https://api.openai.com/v1", vendor: groq', false],
  ],
  responses: [
    ['base_url: "https://api.openai.com/v1"', true],
    ['base_url: "https://eu.api.openai.com/v1"', true],
    ["azure: {resource: acme}, api_keys: [k]", true],
    ['base_url: "http://proxy.acme.test/v1", vendor: openai', true],
    ['base_url: "http://proxy.acme.test/v1"', false],
  ],
  messages: [
    ['base_url: "https://api.anthropic.com/v1"', true],
    ['base_url: "https://eu.api.anthropic.com/v1"', true],
    ["azure: {resource: acme}, api_keys: [k]", true],
    ['base_url: "http://proxy.acme.test/v1", vendor: anthropic', true],
    ['base_url: "http://proxy.acme.test/v1"', false],
    ['base_url: "https://api.openai.com/v1"', false],
  ],
} as const;

const rows = Object.entries(hosts).flatMap(([dialect, places]) =>
  places.map(([settings, isVendor], index) => ({ id: `${dialect}-${index}`, dialect, settings, isVendor })),
);

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({
    config: [
      "providers:",
      ...rows.map(({ id, dialect, settings }) => `  - {id: ${id}, dialect: ${dialect}, ${settings}}`),
      '  - {id: switched, dialect: chat, base_url: "http://own.acme.test/v1", stream_options: false, extra_body: {n: 1, seed: 7, deep: {a: [true]}}}',
      "models:",
      ...[...rows.map(({ id }) => id), "switched"].map(
        (id) => `  - {id: t/${id}, endpoints: [{provider: ${id}, upstream_model: m}]}`,
      ),
    ].join("\n"),
  });
});
afterAll(() => installation?.stop());

interface Sent {
  readonly body: Record<string, unknown>;
  readonly dropped: readonly string[];
}

async function send(id: string, request: object): Promise<Sent> {
  const response = await fetch(`${installation.baseUrl}/responses/dry-run`, {
    method: "POST",
    headers: { authorization: `Bearer ${installation.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: `t/${id}`, input: "Hi", debug: { echo_upstream_body: true }, ...request }),
  });
  const receipt = (await response.json()) as {
    readonly candidates: readonly { readonly not_sent: readonly { readonly path: string }[] }[];
    readonly upstream_body: Record<string, unknown>;
  };
  expect(response.status).toBe(200);
  return { body: receipt.upstream_body, dropped: receipt.candidates[0]!.not_sent.map(({ path }) => path) };
}

const developer = [
  { type: "message", role: "developer", content: "D" },
  { type: "message", role: "user", content: "Hi" },
];
const combined = { type: "object", properties: { a: { type: "string" } }, anyOf: [{ required: ["a"] }] };
const tools = [{ type: "function", name: "f", parameters: combined }];

/** How a request shows whether the vendor's rules are kept. */
const fields: Readonly<Record<string, readonly (readonly [request: object, isKept: (sent: Sent) => boolean])[]>> = {
  chat: [
    [{ input: developer }, ({ body }) => JSON.stringify(body).includes('"developer"')],
    [{ max_output_tokens: 99 }, ({ body }) => body.max_completion_tokens === 99],
    [{ top_k: 5 }, ({ dropped }) => dropped.includes("top_k")],
    [{ text: { verbosity: "low" } }, ({ body }) => body.verbosity === "low"],
    [{ prompt_cache_key: "k" }, ({ body }) => body.prompt_cache_key !== undefined],
    [{ tools }, ({ body }) => !JSON.stringify(body).includes("anyOf")],
  ],
  responses: [
    [{ top_k: 5 }, ({ dropped }) => dropped.includes("top_k")],
    [{ seed: 5 }, ({ dropped }) => dropped.includes("seed")],
    [{ tools }, ({ body }) => !JSON.stringify(body).includes("anyOf")],
  ],
  messages: [
    [{ service_tier: "default" }, ({ body }) => body.service_tier === "standard_only"],
    [
      { context_management: { edits: [{ type: "clear_tool_uses_20250919" }] } },
      ({ body }) => body.context_management !== undefined,
    ],
  ],
};

describe.each(rows)("for $dialect at $settings", ({ id, dialect, isVendor }) => {
  test.each(fields[dialect]!.map(([request, isKept]) => ({ request, isKept })))(
    `$request is ${isVendor ? "sent in the vendor's form" : "not sent in another vendor's form"}`,
    async ({ request, isKept }) => {
      expect(isKept(await send(id, request))).toBe(isVendor);
    },
  );
});

test("stream_options can be disabled, and configured fields replace those of the client", async () => {
  const { body } = await send("switched", { stream: true, seed: 5 });
  expect(body).toMatchObject({ stream: true, n: 1, seed: 7, deep: { a: [true] } });
  expect(body).not.toHaveProperty("stream_options");
  expect((await send("chat-7", { stream: true })).body).toHaveProperty("stream_options", { include_usage: true });
});
