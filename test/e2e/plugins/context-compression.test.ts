/**
 * context-compression and truncation with running services: the request to the provider, the receipt, a dry run, and the
 * affected models.
 */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { PluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { type Upstream, startUpstream } from "../../support/providers/upstream.ts";

interface Answer {
  readonly model: string;
  readonly error: { readonly message: string; readonly metadata: object };
  readonly candidates: readonly { readonly estimate: { readonly input_tokens: number } }[];
  readonly service_metadata: { readonly pipeline: readonly { readonly type: string; readonly data: object }[] };
}

const said = {
  chunks: [
    {
      json: {
        choices: [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }],
        usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
      },
    },
  ],
};

const long = Array.from({ length: 4_000 }, (_, i) => `line ${i}`).join("\n");
const plugins = [{ id: "context-compression", engine: "middle-out" }];

describe("context compression", () => {
  let upstream: Upstream;
  let installation: Installation;
  let client: Client;

  beforeAll(async () => {
    upstream = await startUpstream([said]);
    installation = await startInstallation({
      config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${upstream.url}/v1", api_keys: [upstream-key]}
models:
  - {id: acme/small, context_length: 4000, endpoints: [{provider: acme}]}
  - {id: acme/middle, context_length: 9000, endpoints: [{provider: acme}]}
  - {id: acme/large, context_length: 128000, endpoints: [{provider: acme}]}
`,
    });
    client = dial(`127.0.0.1:${installation.ports.inference}`);
  });
  afterAll(async () => {
    client?.close();
    await installation?.stop();
    await upstream?.stop();
  });

  const post = async (path: string, body: object, key = installation.apiKey) => {
    const response = await fetch(`${installation.baseUrl}${path}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "x-service-metadata": "enabled",
      },
      body: JSON.stringify({ model: "acme/middle", input: long, ...body }),
    });
    return { status: response.status, answer: (await response.json()) as Answer };
  };

  /** Messages of the last request to the provider. */
  const sent = (): string => JSON.stringify(upstream.requests.at(-1)?.json["messages"]);

  test.each<[string, object]>([
    ["the plugin", { plugins }],
    ["truncation: auto", { truncation: "auto" }],
    ["a small window", { model: "acme/small" }],
  ])("makes a long input fit with %s", async (_, body) => {
    const { status, answer } = await post("/responses", body);
    expect([status, answer.service_metadata.pipeline]).toEqual([
      200,
      [
        {
          type: "context_compression",
          name: "context-compression",
          summary: expect.stringMatching(/^Compressed: about \d+ tokens to \d+$/),
          data: {
            engine: "middle-out",
            input_type: "text",
            original_count: 1,
            compressed_count: 1,
            est_before: expect.any(Number),
            est_after: expect.any(Number),
            steps: ["texts"],
            model: answer.model,
          },
        },
      ],
    ]);
    expect(sent()).toMatch(/line 0\\n.*characters omitted.*line 3999/);
  });

  test.each<[string, object]>([
    ["nobody asks", {}],
    ["it is turned off", { model: "acme/small", plugins: [{ id: "context-compression", enabled: false }] }],
    ["truncation is disabled", { model: "acme/small", truncation: "disabled" }],
    ["the window is large enough", { model: "acme/large", plugins }],
  ])("removes nothing where %s", async (_, body) => {
    const { status, answer } = await post("/responses", body);
    expect([status, answer.service_metadata.pipeline]).toEqual([200, []]);
    expect(sent()).toContain(JSON.stringify(long).slice(1, -1));
  });

  test("is refused with 400 if nothing more may be left out", async () => {
    const before = upstream.requests.length;
    const { status, answer } = await post("/responses", { instructions: long, input: "Hi", plugins });
    expect([status, answer.error.message]).toEqual([400, expect.stringMatching(/^input: about \d+ tokens are left/)]);
    expect(answer.error.metadata).toMatchObject({ error_type: "context_length_exceeded", param: "input" });
    expect(upstream.requests).toHaveLength(before);
  });

  test("is refused with 400 for another engine", async () => {
    const { status, answer } = await post("/responses", {
      plugins: [{ id: "context-compression", engine: "summary" }],
    });
    expect([status, answer.error.message]).toEqual([400, "plugins.0.engine: must be middle-out"]);
  });

  test("prefers a model with room for half of the input", async () => {
    const models = ["acme/small", "acme/middle", "acme/large"];
    const { answer } = await post("/responses", { model: undefined, models, plugins });
    expect([answer.model, answer.service_metadata.pipeline.length]).toEqual(["acme/middle", 1]);
    const { answer: unasked } = await post("/responses", { model: undefined, models });
    expect(unasked.model).toBe("acme/small");
  });

  test("has the same result in a dry run, without a call", async () => {
    const before = upstream.requests.length;
    const { status, answer } = await post("/responses/dry-run", { plugins });
    expect([status, answer.service_metadata.pipeline]).toMatchObject([200, [{ type: "context_compression" }]]);
    expect(answer.candidates[0]?.estimate.input_tokens).toBeLessThan(9_000);
    expect(upstream.requests).toHaveLength(before);
  });

  test("runs after the redaction by guardrails", async () => {
    const made = await installation.admin("guardrails", "create", "--name", "lines", "--redact", "line 3999", "--json");
    const created = await installation.admin("keys", "create", "--name", "guarded", "--json");
    const { key } = JSON.parse(created.stdout) as { key: string };
    await installation.admin("guardrails", "assign", (JSON.parse(made.stdout) as { id: string }).id, hashKey(key));
    const { answer } = await post("/responses", { plugins }, key);
    expect(answer.service_metadata.pipeline.map(({ type }) => type)).toEqual(["guardrail", "context_compression"]);
    expect(sent()).toMatch(/characters omitted.*line 3998\\n\[REDACTED\]/);
  });

  test("works over gRPC", async () => {
    const plugin = { case: "contextCompression", value: {} } as const;
    const running = runTurn(
      client,
      installation.apiKey,
      turnRequest("acme/middle", long, { plugins: [create(PluginSchema, { plugin })] }),
    );
    await running.over;
    expect(sent()).toContain("characters omitted");
  });
});
