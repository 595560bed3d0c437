/** The Redis of the run: tests of state shared between processes need one, and are skipped, and reported as such, when REDIS_URL names none. */
import { describe } from "@jest/globals";
import { Redis } from "ioredis";

const given = process.env["REDIS_URL"] ?? "";

/** Has an explicit port, so that a test can put a proxy in between. */
export const redisUrl = withPort(given === "" ? "redis://127.0.0.1" : given);

/** Time for the server to answer, in milliseconds. */
const answerMs = 3_000;

/** @throws at once, naming the server, when it does not answer */
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

// Before the tests of the file, each of which would wait for Redis by itself.
if (given !== "") await demandRedis(redisUrl);

export const describeWithRedis: typeof describe.skip = given === "" ? describe.skip : describe;

function withPort(text: string): string {
  const url = new URL(text);
  if (url.port === "") url.port = "6379";
  // A separate database number, away from other data on the server.
  if (url.pathname.length <= 1) url.pathname = `/${1 + (process.pid % 15)}`;
  return url.href;
}
