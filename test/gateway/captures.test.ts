/** The bounds of captured content in a gateway without admin-svc. */
import { expect, test } from "@jest/globals";
import { create } from "@bufbuild/protobuf";
import { Captures } from "@sluice/gateway/edge/turns/captures.js";
import { CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { freePort } from "../support/runner/free-ports.ts";

const mebibyte = 1_048_576;
const body = Buffer.alloc(2 * mebibyte, "x");

test("captured content takes at most 64 MiB, and is dropped and counted without room or at shutdown", async () => {
  const registry = new Registry();
  const admin = dial(`127.0.0.1:${await freePort()}`);
  const captures = new Captures({
    admin,
    token: "a-service-token-of-at-least-thirty-two-characters",
    log: openLog("test", "silent"),
    registry,
    settings: () => ({ max_bytes: mebibyte }),
  });
  const begin = (id: number) =>
    captures.begin(
      {
        caller: create(CallerSchema, { capturesContent: true }),
        requestId: `req_${id}`,
        startedAt: performance.now(),
      },
      { request: create(RunTurnRequestSchema), generationId: `gen-${id}` },
      body,
    );
  const valueOf = async (series: string) =>
    Number(
      (await registry.metrics())
        .split("\n")
        .find((line) => line.startsWith(`${series} `))
        ?.split(" ")[1] ?? 0,
    );
  const held = () => valueOf("sluice_captured_contents_held_bytes");
  const dropped = (reason: string) => valueOf(`sluice_captured_contents_dropped_total{reason="${reason}"}`);

  const turns = Array.from({ length: 70 }, (_, id) => begin(id));
  expect([await held(), await dropped("memory")]).toEqual([64 * mebibyte, 6]);
  // An answer without room also drops its request, and makes room for the next one.
  turns[0]?.add("answer");
  expect([await held(), await dropped("memory")]).toEqual([63 * mebibyte, 7]);
  turns[1]?.add("y".repeat(2 * mebibyte));
  expect([await held(), await dropped("memory")]).toEqual([64 * mebibyte, 7]);
  for (const turn of turns) turn?.end();
  await captures.stop();
  admin.close();
  expect(await dropped("undelivered")).toBe(63);
});
