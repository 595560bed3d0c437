/** Items of earlier answers in a Redis Cluster, whose servers each store a part of them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "@jest/globals";
import { RedisItems } from "@sluice/gateway/doors/responses/remembered/redis-items.js";
import { eventually } from "../support/processes.ts";
import { describeWithRedisServer, startRedisCluster } from "../support/redis-groups.ts";

describeWithRedisServer("with Redis servers of this test", () => {
  test("remembered items are on all servers of a Redis Cluster, and are found together", async () => {
    const folder = await mkdtemp(join(tmpdir(), "sluice-redis-"));
    const cluster = await startRedisCluster(folder);
    const items = new RedisItems(cluster.url, { warn: () => {} });
    const names = Array.from({ length: 30 }, (_, n) => `item-${n}`);
    try {
      await eventually(async () => {
        for (const name of names) items.put("key", name, Buffer.from(name), 60_000);
        const found = await items.get([...names, "none"]);
        return found.map((value) => value?.toString()).join() === `${names.join()},`;
      });
    } finally {
      items.stop();
      await cluster.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
});
