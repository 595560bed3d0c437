/** Settlements of ended calls: each is sent as soon as it is awaited, whatever calls follow it. */
import { expect, test } from "@jest/globals";
import { once } from "node:events";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { LedgerService, SettleHoldsRequestSchema } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { openLog } from "@sluice/proto/lib/log/log.js";
import { dial } from "@sluice/proto/lib/rpc/dial.js";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import type { MessageShape } from "@bufbuild/protobuf";
import { Settlements } from "@sluice/inference-svc/models/ledger/settlements.js";
import { serviceToken } from "../../../admin-svc/installation.ts";

const owner = { keyHash: "key", workspaceId: "workspace" };

test("an awaited settlement of a budget does not wait for later settlements, and each is sent once", async () => {
  const told: string[] = [];
  let more = () => {};
  const settleHolds = ({ calls }: MessageShape<typeof SettleHoldsRequestSchema>) => {
    told.push(...calls.map(({ turnId, costUsd }) => `${turnId} ${costUsd}`));
    more();
    return { busyCount: 0 };
  };
  const server = createServer(
    connectNodeAdapter({ routes: (router) => void router.service(LedgerService, { settleHolds }) }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = dial(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  const parts = { client, token: serviceToken, log: openLog("test", "silent"), bootId: "boot", instance: "test-1" };
  const woken: string[] = [];
  const settlements = new Settlements(parts, ({ keyHash }) => woken.push(keyHash));
  const add = (turnId: string, pico: bigint) => settlements.add({ turnId, attempt: 1, owner, pico });
  // Load is simulated: with each message sent, another call ends.
  let later = 0;
  more = () => add(`later-${++later}`, 0n);
  add("first", 5_000_000_000n);
  await settlements.report();
  expect(told).toContain("first 0.005");
  expect(later).toBeLessThan(3);
  more = () => {};
  await settlements.close();
  expect(told).toEqual([...new Set(told)]);
  expect(told.length).toBe(1 + later);
  expect(woken.length).toBe(told.length);
  client.close();
  server.close();
});
