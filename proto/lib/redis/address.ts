/** Parses addresses of Redis: of one server, of a primary found through Sentinels, or of a Redis Cluster. */

export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

export interface RedisLogin {
  readonly username?: string;
  readonly password?: string;
}

/** Several servers through which others are found, and the login at the servers with data. */
interface GroupAddress {
  readonly nodes: readonly RedisNode[];
  /** Login at the servers with data. */
  readonly login: RedisLogin;
  readonly hasTls: boolean;
}

export interface ServerAddress {
  readonly kind: "server";
  /** URL of the server in the form that the client library (ioredis) reads. */
  readonly url: string;
}
export interface SentinelAddress extends GroupAddress {
  readonly kind: "sentinel";
  /** Name under which the Sentinels know the primary. */
  readonly primary: string;
  readonly db: number;
  /** Login at the Sentinels themselves. */
  readonly sentinelLogin: RedisLogin;
}
export interface ClusterAddress extends GroupAddress {
  readonly kind: "cluster";
}
export type RedisAddress = ServerAddress | SentinelAddress | ClusterAddress;

export const redisAddressRule =
  "must be redis://host:port, redis+sentinel://host:port,host:port/primary or redis+cluster://host:port,host:port, with rediss for TLS";

const usualPorts = { sentinel: 26_379, cluster: 6379 } as const;
const form = /^redis(s?)\+(sentinel|cluster):\/\/(?:([^@/?]*)@)?([^@/?]+)(?:\/([^?]*))?(?:\?(.*))?$/;
const sentinelOptions = ["sentinel_username", "sentinel_password"];

/** Parses an address. @returns undefined for a text of another form */
export function readRedisAddress(url: string): RedisAddress | undefined {
  if (/^rediss?:\/\//.test(url)) return URL.canParse(url) ? { kind: "server", url } : undefined;
  try {
    return readGroup(url);
  } catch {
    // The text has a percent sign that encodes nothing.
    return undefined;
  }
}

function readGroup(url: string): RedisAddress | undefined {
  const [, tls = "", kind, userinfo = "", hosts = "", path = "", query = ""] = form.exec(url) ?? [];
  if (kind !== "sentinel" && kind !== "cluster") return undefined;
  const nodes = hosts.split(",").map((host) => readNode(host, usualPorts[kind]));
  if (!nodes.every((node) => node !== undefined)) return undefined;
  const [username, ...password] = userinfo.split(":");
  const group = { nodes, login: loginOf(username, password.join(":")), hasTls: tls !== "" };
  if (kind === "cluster") return path === "" && query === "" ? { kind, ...group } : undefined;
  const [primary = "", db = "0", ...rest] = path.split("/");
  const options = new URLSearchParams(query);
  const isKnown = [...options.keys()].every((name) => sentinelOptions.includes(name));
  if (primary === "" || !/^\d{1,4}$/.test(db) || rest.length > 0 || !isKnown) return undefined;
  const [sentinelName, sentinelPassword] = sentinelOptions.map((name) => encodeURIComponent(options.get(name) ?? ""));
  const sentinelLogin = loginOf(sentinelName, sentinelPassword);
  return { kind, ...group, primary: decodeURIComponent(primary), db: Number(db), sentinelLogin };
}

/**
 * Builds a key in the same slot of a Redis Cluster as another key. If a key has no braces, the whole key determines its
 * slot.
 */
export const inSlotOf = (key: string, name: string): string => `${key.includes("{") ? key : `{${key}}`}:${name}`;

function readNode(text: string, usualPort: number): RedisNode | undefined {
  const url = `redis://${text}`;
  if (!URL.canParse(url)) return undefined;
  const { hostname, port } = new URL(url);
  if (hostname === "") return undefined;
  // The brackets around an IPv6 address belong to the URL and not to the address.
  return { host: hostname.replace(/^\[|\]$/g, ""), port: port === "" ? usualPort : Number(port) };
}

const loginOf = (username = "", password = ""): RedisLogin => ({
  ...(username !== "" && { username: decodeURIComponent(username) }),
  ...(password !== "" && { password: decodeURIComponent(password) }),
});
