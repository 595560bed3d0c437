/**
 * Connections to Redis without a queue: when Redis cannot take a command now, the command fails and the caller
 * continues without it. No command is sent twice, because a server may have run it before its connection broke. Only
 * the answers MOVED, ASK and TRYAGAIN, which mean that nothing was run, send a command to another server.
 */
import { Cluster, type ClusterOptions, Redis } from "ioredis";
import { type ClusterAddress, type RedisAddress, type SentinelAddress, readRedisAddress } from "./address.ts";

export type RedisClient = Redis | Cluster;

const connectMs = 1_000;
const maxBackoffMs = 1_000;
/** Milliseconds without a due answer after which a connection is replaced, because its server hangs or is gone. */
const silentMs = 2_000;

/** Pause before a reconnect. It is partly random, because all processes lose a server at the same moment. */
const backoff = (attempt: number): number => Math.min(maxBackoffMs, 50 * attempt) * (0.5 + Math.random() / 2);

const limits = { maxRetriesPerRequest: 0, connectTimeout: connectMs, socketTimeout: silentMs };
const connection = { ...limits, enableOfflineQueue: false, retryStrategy: backoff };

/** Opens connections to Redis. @throws Error for an invalid address */
export function openRedis(url: string): RedisClient {
  const address = readRedisAddress(url);
  if (address === undefined) throw new Error("no address of Redis");
  return openAddress(address);
}

function openAddress(address: RedisAddress): RedisClient {
  switch (address.kind) {
    case "server":
      return new Redis(address.url, connection);
    case "sentinel":
      return openBySentinel(address);
    case "cluster":
      return openCluster(address);
  }
}

const closed = new WeakSet<RedisClient>();

/** Closes the connections and prevents reconnects. */
export function closeRedis(client: RedisClient): void {
  closed.add(client);
  client.disconnect();
}

/**
 * Whether commands can be sent: in a Redis Cluster, to every primary. This also opens connections to primaries, for
 * which the library waits until the first command.
 */
export function isReady(client: RedisClient): boolean {
  if (client.status !== "ready") return false;
  if (client instanceof Redis) return true;
  const primaries = client.nodes("master");
  for (const primary of primaries) connectIdle(primary);
  return primaries.every(({ status }) => status === "ready");
}

function connectIdle(node: Redis): void {
  if (node.status === "wait") node.connect().catch(() => {});
}

function reopen(client: Redis): void {
  if (client.status === "end" && !closed.has(client)) client.connect().catch(() => {});
}

/**
 * Opens a connection to a primary that Sentinels name. They are asked at every connect, and a named server that is not
 * a primary is skipped. After a failover, the former primary is gone, hangs, refuses writes, or is made to close its
 * connections by the Sentinels.
 *
 * Certificates of the Sentinels and of the servers that they name must be valid for the announced names.
 */
function openBySentinel(address: SentinelAddress): Redis {
  const { nodes, primary, db, login, sentinelLogin, hasTls } = address;
  const client = new Redis({
    ...connection,
    ...login,
    sentinels: [...nodes],
    name: primary,
    db,
    ...(sentinelLogin.username !== undefined && { sentinelUsername: sentinelLogin.username }),
    ...(sentinelLogin.password !== undefined && { sentinelPassword: sentinelLogin.password }),
    ...(hasTls && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
    // Timeout after which a Sentinel that hangs is skipped.
    sentinelCommandTimeout: connectMs,
    sentinelRetryStrategy: backoff,
  });
  // The library ends the client when a reconnect is due while it asks a Sentinel, so the client is opened again.
  client.on("end", () => setTimeout(() => reopen(client), backoff(1)).unref());
  return client;
}

/**
 * Leaves host names unresolved: the library would check a server's certificate against the address instead of the name.
 */
const keepName: NonNullable<ClusterOptions["dnsLookup"]> = (name, callback) => callback(null, name, 0);

function openCluster({ nodes, login, hasTls }: ClusterAddress): Cluster {
  const client = new Cluster([...nodes], {
    enableOfflineQueue: false,
    clusterRetryStrategy: backoff,
    maxRedirections: 3,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 0,
    ...(hasTls && { dnsLookup: keepName }),
    redisOptions: { ...limits, ...login, ...(hasTls && { tls: {} }) },
  });
  // The connection is opened after the command that has found the server; otherwise the library would not send that
  // command.
  client.on("+node", (node: Redis) => node.options.readOnly === true || setImmediate(connectIdle, node));
  return client;
}
