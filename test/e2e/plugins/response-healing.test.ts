/** response-healing with running services: an answer requested as JSON is repaired before guardrails scan it, over HTTP and RunTurn. */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { PluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { sampleJson } from "../../support/contract.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { parseSse } from "../../support/answers/sse.ts";
import { type Reply, type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";

interface Answer {
  readonly output: readonly { readonly content: readonly { readonly text: string }[] }[];
  readonly service_metadata: { readonly pipeline: readonly object[] };
}

const broken = 'Here you are:\n```json\n{"name": "Ada", "age": 36,}\n```';
const whole = '{"name": "Ada", "age": 36}';

const said = (content: string): Reply => ({
  chunks: [
    {
      json: {
        choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
        usage: { prompt_tokens: 40, completion_tokens: 9, total_tokens: 49 },
      },
    },
  ],
});

describe("response healing", () => {
  let upstream: Upstream;
  let installation: Installation;
  let client: Client;
  let guarded: string;
  const request = sampleJson("17-structured.request.json") as { readonly text: { readonly format: object } };

  beforeAll(async () => {
    upstream = await startUpstream();
    installation = await startInstallation({
      config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${upstream.url}/v1", api_keys: [upstream-key]}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
`,
    });
    client = dial(`127.0.0.1:${installation.ports.inference}`);
    const rule = ["--redact", '"name": "Ada", "age": 36}$', "--label", "<person>", "--applies-to", "output"];
    const made = await installation.admin("guardrails", "create", "--name", "people", ...rule, "--json");
    const created = await installation.admin("keys", "create", "--name", "guarded", "--json");
    guarded = (JSON.parse(created.stdout) as { key: string }).key;
    await installation.admin("guardrails", "assign", (JSON.parse(made.stdout) as { id: string }).id, hashKey(guarded));
  });
  afterAll(async () => {
    client?.close();
    await installation?.stop();
    await upstream?.stop();
  });

  const post = (more: object = {}, key = installation.apiKey) =>
    fetch(`${installation.baseUrl}/responses`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${key}`,
        "content-type": "application/json",
        "x-service-metadata": "enabled",
      },
      body: JSON.stringify({ ...request, ...more }),
    });

  test("repairs the answer, with a note in the receipt", async () => {
    upstream.script([said(broken)]);
    const response = await post();
    const { output, service_metadata } = (await response.json()) as Answer;
    expect([response.status, output[0]?.content[0]?.text]).toEqual([200, whole]);
    expect(service_metadata.pipeline).toEqual([
      {
        type: "response_healing",
        name: "response-healing",
        summary: "Healed: repaired",
        data: {
          mode: "json_schema",
          improved: true,
          original_length: broken.length,
          healed_length: whole.length,
          how: "repaired",
        },
      },
    ]);
  });

  test("leaves valid, excluded and streamed answers as the provider wrote them", async () => {
    upstream.script([said(' {"age":36, "name":"Ada"}\n')]);
    const right = (await (await post()).json()) as Answer;
    expect(right.output[0]?.content[0]?.text).toBe(' {"age":36, "name":"Ada"}\n');
    expect(right.service_metadata.pipeline).toEqual([]);
    upstream.script([said(broken)]);
    const off = (await (await post({ plugins: [{ id: "response-healing", enabled: false }] })).json()) as Answer;
    expect(off.output[0]?.content[0]?.text).toBe(broken);
    upstream.script([{ chunks: [{ sse: [chatChunk({ content: broken }), chatChunk({}, "stop"), "[DONE]"] }] }]);
    const streamed = parseSse(await (await post({ stream: true })).text());
    const { response } = streamed.events.at(-1) as unknown as { response: Answer };
    expect([response.output[0]?.content[0]?.text, response.service_metadata.pipeline]).toEqual([broken, []]);
  });

  test("runs before the guardrails of an answer", async () => {
    upstream.script([said(broken)]);
    const { output, service_metadata } = (await (await post({}, guarded)).json()) as Answer;
    // The rule matches only the healed JSON, not the provider's text.
    expect(output[0]?.content[0]?.text).toBe("{<person>");
    expect(service_metadata.pipeline).toMatchObject([{ type: "response_healing" }, { type: "guardrail" }]);
  });

  test("does the same for a turn over gRPC", async () => {
    upstream.script([said(broken)]);
    const plugin = { case: "responseHealing", value: {} } as const;
    const turn = turnRequest("acme/large-2", "Parse: Ada, 36", {
      textFormatJson: Buffer.from(JSON.stringify(request.text.format)),
      plugins: [create(PluginSchema, { plugin })],
    });
    const running = runTurn(client, installation.apiKey, turn);
    await running.over;
    const items = running.batches.flat().flatMap(({ event }) => (event.case === "itemEnd" ? [event.value] : []));
    expect(
      items.map(
        ({ itemJson }) => (JSON.parse(Buffer.from(itemJson).toString()) as Answer["output"][0]).content[0]?.text,
      ),
    ).toEqual([whole]);
  });
});
