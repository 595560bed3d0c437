/** The warm-up of a start: it leaves nothing behind, and cannot keep a process from serving. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ServerHttp2Stream } from "node:http2";
import { create } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { SessionClient } from "@sluice/inference-svc/assembly/warm-up/session-client.js";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { SessionResponseSchema } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { LogFields } from "@sluice/proto/lib/log/log.js";
import { pathOf } from "@sluice/proto/lib/rpc/dial.js";
import { ServerStream } from "@sluice/proto/lib/rpc/server-stream.js";
import { decodeSessionRequest } from "@sluice/proto/lib/lane/decode-request.js";
import { encodeSessionResponse } from "@sluice/proto/lib/lane/encode-response.js";
import { warmBeforeReady } from "@sluice/proto/lib/warm-up/before-ready.js";
import { createWarmUpParts } from "@sluice/proto/lib/warm-up/parts.js";
import { type Peer, openPeer } from "@sluice/proto/lib/warm-up/peer.js";
import { type Installation, startInstallation } from "../support/installation.ts";
import { samplesOf, scrape } from "../support/metrics.ts";

const linesOf = (log: string): Record<string, unknown>[] =>
  log
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("an installation after its warm-up", () => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await startInstallation({ environment: { SLUICE_WARM_UP_MS: "300" } });
  });
  afterAll(() => installation?.stop());

  test.each(["gateway", "inference-svc"])("has logged no request and no failure: %s", async (name) => {
    await installation.logged(name, '"msg":"ready"');
    const unexpected = linesOf(installation.logs(name)).filter(
      ({ level, msg }) => level !== 30 || msg === "request" || msg === "turn",
    );
    expect(unexpected).toEqual([]);
  });

  test("has counted no request in its metrics", async () => {
    const counted = samplesOf(await scrape(installation)).filter(
      ({ name, value }) =>
        value > 0 && /^sluice_(http_requests|turns|turn_seconds|attempts|tokens|cost|ledger|open)/.test(name),
    );
    expect(counted).toEqual([]);
  });

  test("has neither usage nor files from the warm-up", async () => {
    const answer = await fetch(`${installation.baseUrl}/activity`, {
      headers: { authorization: `Bearer ${installation.managementKey}` },
    });
    expect([answer.status, ((await answer.json()) as { data: unknown[] }).data]).toEqual([200, []]);
    expect(existsSync(join(installation.dataDir, "spool/0/warm-up"))).toBe(false);
  });
});

describe("a warm-up", () => {
  const warned: LogFields[] = [];
  const log = { warn: (fields: LogFields | string) => void warned.push(fields as LogFields) };

  test("logs its failure, and the start continues", async () => {
    await warmBeforeReady(1, log, () => Promise.reject(new Error("no port")));
    expect(warned).toEqual([{ err: new Error("no port") }]);
  });

  test("opens its service twice, with half of its time for each", async () => {
    const limits: number[] = [];
    await warmBeforeReady(60_000, log, async (limitMs) => void limits.push(limitMs));
    expect(limits).toEqual([30_000, 30_000]);
  });

  test("opens no second service after its time is used up", async () => {
    let rounds = 0;
    await warmBeforeReady(1, log, () => {
      rounds++;
      return delay(5);
    });
    expect(rounds).toBe(1);
  });

  test("of 0 ms does not begin", async () => {
    await warmBeforeReady(0, log, () => Promise.reject(new Error("begun")));
    expect(warned).toHaveLength(1);
  });

  test("that does not end delays the start only for its time limit", async () => {
    const startedAt = performance.now();
    await warmBeforeReady(1, log, () => new Promise(() => {}));
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(String(warned[1]?.err)).toContain("did not come to its end");
  });
});

describe("a turn of the warm-up", () => {
  let peer: Peer;
  let client: SessionClient;
  afterEach(async () => {
    client.close();
    await peer.close();
  });

  /** Runs a turn over a session that the function serves, and calls the function for each opened turn. */
  async function run(open: (session: ServerStream, turn: number, stream: ServerHttp2Stream) => void): Promise<void> {
    const parts = createWarmUpParts("inference-svc", "silent");
    const serve = (stream: ServerHttp2Stream) => {
      const session = new ServerStream(stream, 1_000_000, {
        message: (bytes, start, end) => {
          for (const { turn, frame } of decodeSessionRequest(bytes, start, end).frames)
            if (frame.case === "open") open(session, turn, stream);
        },
        drained: () => {},
        closed: () => {},
      });
    };
    peer = await openPeer(parts, {
      routes: () => {},
      internalCalls: new Map([[pathOf(InferenceService.method.session), serve]]),
    });
    client = new SessionClient(peer.address, parts.token);
    return client.run(create(RunTurnRequestSchema, {}), "0".repeat(64));
  }

  test("ends the warm-up when it fails", async () => {
    const value = new Fault(FaultReason.PROVIDER_FAILED, "no answer").toMessage();
    const turn = run((session, id) => {
      const message = create(SessionResponseSchema, {
        frames: [{ turn: id, last: true, frame: { case: "fault", value } }],
      });
      session.write(encodeSessionResponse(message, () => {}));
    });
    await expect(turn).rejects.toMatchObject({ reason: FaultReason.PROVIDER_FAILED, message: "no answer" });
  });

  test("ends the warm-up when its session is lost", async () => {
    await expect(run((_, __, stream) => stream.session?.destroy())).rejects.toThrow("the connection was lost");
  });
});
