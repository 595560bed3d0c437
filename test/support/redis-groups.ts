/** Groups of Redis servers in which a replica can replace its primary: a Redis Cluster of three primaries, and a primary under a Sentinel. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe } from "@jest/globals";
import { eventually } from "./processes.ts";
import { RedisServer, hasRedisServer } from "./redis-server.ts";
import { freePorts } from "./runner/free-ports.ts";

export const describeWithRedisServer: typeof describe.skip = (await hasRedisServer()) ? describe : describe.skip;

export interface RedisGroup {
  readonly url: string;
  /** The server whose replica can replace it. */
  readonly primary: RedisServer;
  readonly stop: () => Promise<void>;
}

const host = "127.0.0.1";
const slots = 16_384;
const nodeTimeoutMs = 1_000;

/** Three primaries, each with a third of the slots, and a replica of the first one. */
export async function startRedisCluster(folder: string): Promise<RedisGroup> {
  const ports = await freePorts(4);
  const buses = await freePorts(4);
  const servers = ports.map((port) => new RedisServer(port, folder));
  const [first, ...others] = servers as [RedisServer, ...RedisServer[]];
  for (const [n, server] of servers.entries()) {
    await server.start({
      "cluster-enabled": "yes",
      "cluster-config-file": `nodes-${server.port}.conf`,
      "cluster-node-timeout": nodeTimeoutMs,
      "cluster-port": buses[n] as number,
    });
  }
  const part = Math.ceil(slots / 3);
  for (const [n, server] of servers.slice(0, 3).entries())
    await server.send("cluster", "addslotsrange", n * part, Math.min(slots, (n + 1) * part) - 1);
  for (const [n, server] of others.entries())
    await first.send("cluster", "meet", host, server.port, buses[n + 1] as number);
  const replica = servers[3] as RedisServer;
  const id = await first.send("cluster", "myid");
  await eventually(async () => (await replica.send("cluster", "nodes")).includes(id));
  await replica.send("cluster", "replicate", id);
  await replica.untilFollowing();
  for (const server of servers)
    await eventually(async () => (await server.send("cluster", "info")).includes("cluster_state:ok"));
  return {
    url: `redis+cluster://${ports.map((port) => `${host}:${port}`).join(",")}`,
    primary: first,
    stop: () => killAll(servers),
  };
}

/** A primary with a replica, watched by one Sentinel. The URL first names a server that accepts connections and answers nothing. */
export async function startRedisSentinel(folder: string): Promise<RedisGroup> {
  const silent = createServer(() => {}).listen(0, host);
  await once(silent, "listening");
  const servers = (await freePorts(3)).map((port) => new RedisServer(port, folder));
  const [primary, replica, sentinel] = servers as [RedisServer, RedisServer, RedisServer];
  await primary.start();
  await replica.start();
  await replica.follow(primary);
  await sentinel.watch("main", primary);
  await eventually(async () => (await sentinel.send("sentinel", "replicas", "main")).includes(String(replica.port)));
  return {
    url: `redis+sentinel://${host}:${(silent.address() as AddressInfo).port},${host}:${sentinel.port}/main`,
    primary,
    stop: async () => {
      silent.close();
      await killAll(servers);
    },
  };
}

async function killAll(servers: readonly RedisServer[]): Promise<void> {
  for (const server of servers) await server.kill();
}
