import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Client, status } from "@grpc/grpc-js";
import { Lane } from "@sluice/gateway/lane/lane.js";
import type { TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";
import { sessionConnector } from "@sluice/gateway/lane/link.js";
import { Health, HealthCheckResponse_ServingStatus as Serving } from "@sluice/proto/gen/grpc/health/v1/health_pb.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { RunTurnRequest, TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { create } from "@bufbuild/protobuf";
import { type Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { hashKey } from "@sluice/proto/lib/ids/key.js";
import { call, dial, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import { findShortest } from "../../support/clock.ts";
import { type Installation, startInstallation } from "../../support/installation.ts";
import { faultOf, runTurn, turnRequest } from "../../support/answers/run-turn.ts";
import { type Upstream, chatAnswer, chatChunk, chatStream, startUpstream } from "../../support/providers/upstream.ts";

const serviceToken = "t".repeat(64);

describe("the inference service without the gateway", () => {
  let upstream: Upstream;
  let installation: Installation;
  let client: Client;
  let lane: Lane;

  beforeAll(async () => {
    upstream = await startUpstream();
    installation = await startInstallation({
      environment: { SLUICE_SERVICE_TOKEN: serviceToken },
      config: `
providers:
  - {id: acme, name: Acme, dialect: chat, base_url: "${upstream.url}/v1"}
models:
  - {id: acme/large-2, endpoints: [{provider: acme}]}
`,
    });
    const address = `127.0.0.1:${installation.ports.inference}`;
    client = dial(address);
    lane = new Lane(address, sessionConnector(address, serviceToken));
  });
  afterAll(async () => {
    lane?.stop();
    client?.close();
    await installation?.stop();
    await upstream?.stop();
  });

  /** Runs a turn over the session, and collects its listener's events. */
  async function overLane(request: RunTurnRequest): Promise<{ events: TurnEvent[]; fault?: Fault }> {
    while (!lane.ready) await new Promise((resolve) => setImmediate(resolve));
    const events: TurnEvent[] = [];
    return new Promise((resolve) => {
      const listener: TurnListener = {
        events: (batch) => events.push(...batch),
        ended: () => resolve({ events }),
        failed: (fault) => resolve({ events, fault }),
      };
      lane.open(
        {
          $typeName: "sluice.inference.v1.Open",
          request,
          keyHash: hashKey(installation.apiKey),
          requestId: "r",
          generationId: "gen-1",
          policyGeneration: 0n,
          deadlineMs: 0,
          credit: 0,
          atMostOnce: true,
          traceparent: "",
          tracestate: "",
        },
        listener,
      );
    });
  }

  async function overRunTurn(request: RunTurnRequest): Promise<{ events: TurnEvent[]; fault?: Fault }> {
    const turn = runTurn(client, installation.apiKey, request);
    const fault = await turn.over.then(
      () => undefined,
      async () => (await faultOf(turn)).fault,
    );
    return { events: turn.batches.flat(), ...(fault && { fault }) };
  }

  const comparable = ({ events, fault }: { events: TurnEvent[]; fault?: Fault }) => ({
    events: readable(events),
    fault: fault && { reason: fault.reason, message: fault.message, metadata: fault.metadata },
  });

  const failing = {
    status: 400,
    chunks: [{ json: { error: { message: "bad tool", type: "invalid_request_error" } } }],
  };
  const lost = { chunks: [{ sse: [chatChunk({ content: "half" })] }], cut: true };
  test.each([
    ["a stream", chatStream("One, ", "two."), turnRequest("acme/large-2", "Count.", { stream: true })],
    ["a whole answer", chatAnswer({ role: "assistant", content: "Two." }), turnRequest("acme/large-2", "Count.")],
    ["a failure before commit", failing, turnRequest("acme/large-2", "x", { stream: true })],
    ["a failure after commit", lost, turnRequest("acme/large-2", "x", { stream: true })],
    ["input that is not JSON", chatStream("x"), { ...turnRequest("acme/large-2", ""), inputJson: Buffer.from("{") }],
    ["an unknown model", chatStream("x"), turnRequest("nobody/nothing", "x")],
  ] as const)("gives the same result over HTTP and gRPC for %s", async (_, reply, request) => {
    upstream.script([reply]);
    const session = await overLane(request);
    upstream.script([reply]);
    expect(comparable(session)).toEqual(comparable(await overRunTurn(request)));
    expect(session.events.length + (session.fault ? 1 : 0)).toBeGreaterThan(0);
  });

  test("streams a turn in batches as the provider sends them, with one end event", async () => {
    let speak = () => {};
    const spoken = new Promise<void>((resolve) => {
      speak = resolve;
    });
    upstream.script([
      {
        chunks: [
          { sse: [chatChunk({ content: "One, " }), chatChunk({ content: "two, " })] },
          { after: spoken, sse: [chatChunk({ content: "three." }), chatChunk({}, "stop"), "[DONE]"] },
        ],
      },
    ]);
    const turn = runTurn(client, installation.apiKey, turnRequest("acme/large-2", "Count.", { stream: true }));
    await turn.begun;
    expect(turn.batches.flat().map(({ event }) => event.case)).toEqual([
      "start",
      "itemStart",
      "textDelta",
      "textDelta",
    ]);
    speak();
    await turn.over;
    const cases = turn.batches.flat().map(({ event }) => event.case);
    expect(cases.slice(4)).toEqual(["textDelta", "itemEnd", "end"]);
  });

  test("ends a turn and its provider call at the deadline", async () => {
    upstream.script([{ hang: true }]);
    const closed = upstream.nextClose();
    const before = upstream.requests.length;
    // The limit doubles, because with a short limit the turn may end before the call of the provider.
    for (let limitMs = 250; upstream.requests.length === before; limitMs *= 2) {
      const turn = runTurn(client, installation.apiKey, turnRequest("acme/large-2", "x", { stream: true }), limitMs);
      expect((await faultOf(turn)).code).toBe(status.DEADLINE_EXCEEDED);
    }
    await closed;
  });

  test("stops the provider call within 100 ms of a cancel", async () => {
    upstream.script([{ chunks: [{ sse: [chatChunk({ content: "One" })] }], hang: true }]);
    const cancelOnce = async () => {
      const turn = runTurn(client, installation.apiKey, turnRequest("acme/large-2", "x", { stream: true }));
      await turn.begun;
      const closed = upstream.nextClose();
      const at = performance.now();
      turn.cancel();
      const tookMs = (await closed) - at;
      expect((await faultOf(turn)).code).toBe(status.CANCELLED);
      return tookMs;
    };
    expect(await findShortest(100, cancelOnce)).toBeLessThan(100);
  });

  test("sends failures as a Fault with reason, message and metadata", async () => {
    const unset = { ...turnRequest("acme/large-2", "x"), temperature: 3, maxToolCalls: 31 };
    const { code, fault } = await faultOf(runTurn(client, installation.apiKey, unset));
    expect(code).toBe(status.INVALID_ARGUMENT);
    expect(fault.reason).toBe(FaultReason.INVALID_REQUEST);
    expect(fault.metadata).toMatchObject({
      issues: [{ path: expect.any(String) }, { path: expect.any(String) }],
    });
  });

  test("refuses a field of a later contract instead of ignoring it", async () => {
    const later = {
      ...turnRequest("acme/large-2", "x"),
      $unknown: [{ no: 99, wireType: 0, data: new Uint8Array([1]) }],
    };
    const { code, fault } = await faultOf(runTurn(client, installation.apiKey, later));
    expect(code).toBe(status.INVALID_ARGUMENT);
    expect(fault.message).toBe("99: a field that this build does not know");
  });

  test("refuses a missing or wrong key, and a key of the wrong kind", async () => {
    const turn = turnRequest("acme/large-2", "x");
    const outcome = async (key: string | undefined) => (await faultOf(runTurn(client, key, turn))).fault.reason;
    expect(await outcome(undefined)).toBe(FaultReason.UNAUTHENTICATED);
    expect(await outcome("sk-sl-nonsense")).toBe(FaultReason.UNAUTHENTICATED);
    expect(await outcome(installation.managementKey)).toBe(FaultReason.PERMISSION_DENIED);
  });

  test("runs turns for a key by its hash, for a service with the service token only", async () => {
    const turn = turnRequest("acme/large-2", "x");
    const asService = (keyHash: string, token = serviceToken) =>
      runTurn(client, undefined, turn, 60_000, {
        "x-sluice-service-token": token,
        ...(keyHash !== "" && { "x-sluice-key-hash": keyHash }),
      });
    upstream.script([chatAnswer({ role: "assistant", content: "Hello" })]);
    const served = asService(hashKey(installation.apiKey));
    await served.over;
    expect(served.batches.flat().at(-1)?.event.case).toBe("end");
    const outcome = async (...given: Parameters<typeof asService>) => (await faultOf(asService(...given))).fault.reason;
    expect(await outcome(hashKey(installation.apiKey), "w".repeat(64))).toBe(FaultReason.UNAUTHENTICATED);
    expect(await outcome("")).toBe(FaultReason.UNAUTHENTICATED);
    expect(await outcome(hashKey("sk-sl-nonsense"))).toBe(FaultReason.UNAUTHENTICATED);
    expect(await outcome(hashKey(installation.managementKey))).toBe(FaultReason.PERMISSION_DENIED);
  });

  test("opens a session only with the service token", async () => {
    const stranger = sessionConnector(`127.0.0.1:${installation.ports.inference}`, "w".repeat(64));
    const refused = new Promise<Error | undefined>((resolve) => {
      stranger({ message: () => {}, drained: () => {}, closed: resolve });
    });
    expect((await refused)?.message).toContain("UNAUTHENTICATED");
  });

  test("answers grpc.health.v1, as does admin-svc", async () => {
    for (const [port, service] of [
      [installation.ports.inference, InferenceService.typeName],
      [installation.ports.admin, ""],
    ] as const) {
      const probe = dial(`127.0.0.1:${port}`);
      const request = create(Health.method.check.input, { service });
      const answer = await call(probe, Health.method.check, request, serviceMetadata(serviceToken), 60_000);
      expect(answer.status).toBe(Serving.SERVING);
      probe.close();
    }
  });
});

/** Bytes as text, and masked ids, which differ in each turn. */
function readable(value: unknown): unknown {
  if (value instanceof Uint8Array)
    return Buffer.from(value)
      .toString()
      .replaceAll(/\b(msg|fc|rs)_\w+/g, "$1_masked");
  if (Array.isArray(value)) return value.map(readable);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, readable(entry)]));
}
