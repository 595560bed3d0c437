/** A guardrail holds at every door alike, with its redacted answer and its refusal, and a running turn keeps the policy with which it began. */
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Client, status } from "@grpc/grpc-js";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { FaultSchema } from "@sluice/proto/gen/sluice/common/v1/fault_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { RunTurnRequest, TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { freePort } from "../../support/runner/free-ports.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { checkLadder } from "../../support/answers/ladder-rules.ts";
import { faultOf, runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { type SseStream, parseSse } from "../../support/answers/sse.ts";
import { type Upstream, chatChunk, startUpstream } from "../../support/providers/upstream.ts";
import { answersWithForbiddenWord, forbiddenWord, findForbiddenPart } from "./guarded-answers.ts";

const dialects = ["chat", "responses", "messages", "gemini", "converse", "cohere"];

let upstream: Upstream;
let installation: Installation;
let client: Client;
let door: string;

beforeAll(async () => {
  upstream = await startUpstream();
  const access = (dialect: string) =>
    dialect === "converse"
      ? "aws: {region: eu-central-1, access_key_id: A, secret_access_key: s}"
      : "api_keys: [upstream-key]";
  installation = await startInstallation({
    environment: { SLUICE_INFERENCE_HTTP_PORT: String(await freePort()) },
    config: `
providers:
${dialects.map((dialect) => `  - {id: ${dialect}, dialect: ${dialect}, base_url: "${upstream.url}", ${access(dialect)}}\n`).join("")}
models:
${dialects.map((dialect) => `  - {id: ${dialect}/model, endpoints: [{provider: ${dialect}, upstream_model: m}]}\n`).join("")}
`,
  });
  client = dial(`127.0.0.1:${installation.ports.inference}`);
  door = `http://127.0.0.1:${installation.ports.inference_http}`;
});
afterAll(async () => {
  client?.close();
  await installation?.stop();
  await upstream?.stop();
});

const send = (method: string, path: string, body: object, key = installation.managementKey) =>
  fetch(`${installation.baseUrl}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      "x-service-metadata": "enabled",
    },
    body: JSON.stringify(body),
  });

/** A guardrail, and its id. */
async function makeGuardrail(action: string, appliesTo: string): Promise<string> {
  const filters = [{ pattern: forbiddenWord, label: "<metal>", action }];
  const made = await send("POST", "/guardrails", { name: action, content_filters: filters, applies_to: appliesTo });
  return ((await made.json()) as { data: { id: string } }).data.id;
}

async function makeKey(): Promise<string> {
  return ((await (await send("POST", "/keys", { name: "guarded" })).json()) as { key: string }).key;
}

const assign = (id: string, key: string, remove = "") =>
  send("POST", `/guardrails/${id}/assignments/keys${remove}`, { key_hashes: [hashKey(key)] });

interface Told {
  readonly items: unknown[];
  readonly fault?: { readonly reason: FaultReason; readonly message: string; readonly metadata: unknown };
}

const told = (events: readonly TurnEvent[], fault?: Fault): Told => ({
  items: events.flatMap(({ event }) =>
    event.case === "itemEnd" ? [masked(JSON.parse(Buffer.from(event.value.itemJson).toString()))] : [],
  ),
  ...(fault && { fault: { reason: fault.reason, message: fault.message, metadata: fault.metadata } }),
});

const masked = (item: unknown): unknown =>
  JSON.parse(JSON.stringify(item), (name, value: unknown) => (/^(id|call_id)$/.test(name) ? "masked" : value));

async function overConnect(kind: string, key: string, request: RunTurnRequest): Promise<[Told, string]> {
  const options = { baseUrl: door, httpVersion: "1.1" } as const;
  const transport =
    kind === "gRPC-Web"
      ? createGrpcWebTransport(options)
      : createConnectTransport({ ...options, useBinaryFormat: kind === "Connect" });
  const events: TurnEvent[] = [];
  const headers = { authorization: `Bearer ${key}` };
  try {
    for await (const batch of createClient(InferenceService, transport).runTurn(request, { headers })) {
      events.push(...batch.events);
    }
    return [told(events), textOf(events)];
  } catch (thrown) {
    const error = ConnectError.from(thrown);
    expect(error.code).toBe(Code.PermissionDenied);
    const fault = Fault.fromMessage(error.findDetails(FaultSchema)[0]!);
    return [told(events, fault), textOf(events) + error.rawMessage];
  }
}

async function overGrpc(key: string, request: RunTurnRequest): Promise<[Told, string]> {
  const turn = runTurn(client, key, request);
  const failed = await turn.over.then(
    () => undefined,
    () => faultOf(turn),
  );
  const events = turn.batches.flat();
  if (failed) expect(failed.code).toBe(status.PERMISSION_DENIED);
  return [told(events, failed?.fault), textOf(events)];
}

/** All text of the events, with bytes read as text. */
const textOf = (events: readonly TurnEvent[]): string =>
  JSON.stringify(events, (_, value: unknown) => {
    if (typeof value === "bigint") return String(value);
    return value instanceof Uint8Array ? Buffer.from(value).toString() : value;
  });

const doors: Readonly<Record<string, (key: string, request: RunTurnRequest) => Promise<[Told, string]>>> = {
  gRPC: overGrpc,
  ...Object.fromEntries(
    ["Connect", "Connect with JSON", "gRPC-Web"].map((kind) => [
      kind,
      (key: string, request: RunTurnRequest) => overConnect(kind, key, request),
    ]),
  ),
};

const channels = answersWithForbiddenWord.filter(
  ({ dialect, channel }) => dialect !== "responses" || /^(message|reasoning|custom_tool_call) /.test(channel),
);

describe.each(["redact", "block"])("a guardrail with %s", (action) => {
  let key: string;
  beforeAll(async () => {
    key = await makeKey();
    await assign(await makeGuardrail(action, "output"), key);
  });

  test.each(channels)("applies to $dialect $channel at every door", async ({ dialect, streamed, whole }) => {
    const model = `${dialect}/model`;
    for (const stream of [true, false]) {
      // A server may send a stream that was not requested.
      upstream.script([stream ? streamed : whole]);
      const response = await send("POST", "/responses", { model, input: "Say it" }, key);
      const { output, error } = (await response.json()) as {
        output?: unknown[];
        error?: { message: string; metadata: Record<string, unknown> };
      };
      for (const [name, sendRequest] of Object.entries(doors)) {
        const [{ items, fault }, text] = await sendRequest(key, turnRequest(model, "Say it", { stream }));
        expect([name, findForbiddenPart(text)]).toEqual([name, undefined]);
        if (action === "redact") expect([name, items]).toEqual([name, output?.map(masked)]);
        // In a stream some output may have been sent by then.
        else if (fault || !stream) {
          const { patterns } = error?.metadata ?? {};
          const metadata = { patterns };
          expect(fault).toEqual({ reason: FaultReason.GUARDRAIL_BLOCKED, message: error?.message, metadata });
        }
      }
    }
  });
});

describe("a change of policy during a stream", () => {
  const model = "chat/model";

  /** An open stream; `ended` gives its whole content after `go` was called. */
  async function begun(key: string) {
    let go = () => {};
    const changed = new Promise<void>((resolve) => (go = resolve));
    upstream.script([
      {
        chunks: [
          { sse: [chatChunk({ content: "All is well. It is plu" })] },
          { after: changed, sse: [chatChunk({ content: "tonium now" }), chatChunk({}, "stop"), "[DONE]"] },
        ],
      },
    ]);
    const response = await send("POST", "/responses", { model, input: "Say it", stream: true }, key);
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("All is well.")) text += (await reader.read()).value ?? "";
    const ended = async () => {
      for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
      return parseSse(text);
    };
    return { go, ended };
  }

  interface Receipt {
    readonly params: { readonly policy_generation: number };
    readonly pipeline: readonly { readonly type: string; readonly data: { readonly action: string } }[];
  }

  function seen(stream: SseStream) {
    const response = checkLadder(stream, true) as unknown as Record<string, unknown>;
    const { params, pipeline } = response["service_metadata"] as Receipt;
    const deltas = stream.events.map(({ delta }) => (typeof delta === "string" ? delta : "")).join("");
    const deeds = pipeline.filter(({ type }) => type === "guardrail").map(({ data }) => data.action);
    return { said: deltas, deeds, generation: params.policy_generation };
  }

  const redacted = { said: "All is well. It is <metal> now", deeds: ["redacted"] };
  const flagged = { said: "All is well. It is plutonium now", deeds: ["flagged"] };
  const untouched = { ...flagged, deeds: [] };
  const asFlag = { content_filters: [{ pattern: forbiddenWord, label: "<metal>", action: "flag" }] };

  test.each<[string, boolean, (id: string, key: string) => Promise<Response>, object, object]>([
    ["edited", true, (id) => send("PATCH", `/guardrails/${id}`, asFlag), redacted, flagged],
    ["taken away", true, (id, key) => assign(id, key, "/remove"), redacted, untouched],
    ["deleted", true, (id) => send("DELETE", `/guardrails/${id}`, {}), redacted, untouched],
    ["given", false, (id, key) => assign(id, key), untouched, redacted],
  ])(
    "that changes %s holds for the next turn; the running turn keeps the old policy, as its receipt shows",
    async (...row) => {
      const [, isGiven, change, before, after] = row;
      const [id, key] = [await makeGuardrail("redact", "output"), await makeKey()];
      if (isGiven) await assign(id, key);
      const running = await begun(key);
      expect((await change(id, key)).status).toBe(200);
      const next = await begun(key);
      next.go();
      const then = seen(await next.ended());
      running.go();
      const first = seen(await running.ended());
      expect([first, then]).toMatchObject([before, after]);
      expect(first.generation).toBeLessThan(then.generation);
    },
  );

  test("that revokes the key stops the stream, including withheld text", async () => {
    const key = await makeKey();
    await assign(await makeGuardrail("redact", "output"), key);
    const running = await begun(key);
    expect((await send("DELETE", `/keys/${hashKey(key)}`, {})).status).toBe(200);
    const { events } = await running.ended();
    running.go();
    expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { error_type: "authentication" } });
    expect(findForbiddenPart(JSON.stringify(events))).toBeUndefined();
  });
});
