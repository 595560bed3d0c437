/** The Redis of the test run. Tests of state that processes share need one; they are reported as skipped if REDIS_URL names none. */
import { describe } from "@jest/globals";
import { Redis } from "ioredis";

const given = process.env["REDIS_URL"] ?? "";

/** URL of the Redis with an explicit port, so a test can put a proxy in front of it. */
export const redisUrl = withPort(given === "" ? "redis://127.0.0.1" : given);

/** Milliseconds within which the server must answer. */
const answerMs = 3_000;

/** @throws an error that names the server, if it does not answer */
export async function demandRedis(url: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, connectTimeout: answerMs, retryStrategy: () => null });
  let cause: unknown;
  client.on("error", (error) => (cause = error));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${answerMs} ms`)), answerMs);
  });
  try {
    await Promise.race([client.connect().then(() => client.ping()), late]);
  } catch (error) {
    const { host } = new URL(url);
    throw new Error(`REDIS_URL names ${host}, where no Redis answers: ${String(cause ?? error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
    client.disconnect();
  }
}

// This check runs before the tests of a file, each of which would otherwise wait for Redis.
if (given !== "") await demandRedis(redisUrl);

export const describeWithRedis: typeof describe.skip = given === "" ? describe.skip : describe;

function withPort(text: string): string {
  const url = new URL(text);
  if (url.port === "") url.port = "6379";
  // The database number differs from that of other data on the server.
  if (url.pathname.length <= 1) url.pathname = `/${1 + (process.pid % 15)}`;
  return url.href;
}
