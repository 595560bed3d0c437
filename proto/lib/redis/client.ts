/**
 * Connections to Redis that never keep a command for later: what Redis cannot do now, its caller does without it. No command is sent twice either, because
 * a server whose connection broke may have run it; only the answers MOVED, ASK and TRYAGAIN, upon which nothing was run, lead a command to another server.
 */
import { Cluster, type ClusterOptions, Redis } from "ioredis";
import { type ClusterAddress, type RedisAddress, type SentinelAddress, readRedisAddress } from "./address.ts";

export type RedisClient = Redis | Cluster;

const connectMs = 1_000;
const maxBackoffMs = 1_000;
/** An established connection without the answer that is due leads to a server that hangs or is gone, and is made anew. */
const silentMs = 2_000;

/** Spread, because all processes lose a server at the same moment. */
const backoff = (attempt: number): number => Math.min(maxBackoffMs, 50 * attempt) * (0.5 + Math.random() / 2);

const limits = { maxRetriesPerRequest: 0, connectTimeout: connectMs, socketTimeout: silentMs };
const connection = { ...limits, enableOfflineQueue: false, retryStrategy: backoff };

/** @throws for an address of another form */
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

/** Ends the connections for good. */
export function closeRedis(client: RedisClient): void {
  closed.add(client);
  client.disconnect();
}

/** Whether commands can be sent: in a Redis Cluster to every primary. Connections to primaries are opened without a command. */
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
 * Asks the Sentinels at every connection, and passes over a named server that is no primary. After a failover the former primary is gone, hangs, takes no
 * writes or is told by the Sentinels to close its connections.
 *
 * Certificates of Sentinels and of the servers that they name have to be valid for the announced names.
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
    // A Sentinel that hangs is passed over.
    sentinelCommandTimeout: connectMs,
    sentinelRetryStrategy: backoff,
  });
  // The library gives up when it is to connect anew while it asks a Sentinel.
  client.on("end", () => setTimeout(() => reopen(client), backoff(1)).unref());
  return client;
}

/** The client library checks the certificate of a server against the address to which it resolved the name, unless the name stays. */
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
  // After the command that has found the server, which the library sends only over an unopened or an open connection.
  client.on("+node", (node: Redis) => node.options.readOnly === true || setImmediate(connectIdle, node));
  return client;
}
