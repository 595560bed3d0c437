/** The Redis of the run: tests of state shared between processes need one, and are skipped, and reported as such, when REDIS_URL names none. */
import { describe } from "@jest/globals";

const given = process.env["REDIS_URL"] ?? "";

/** Has an explicit port, so that a test can put a proxy in between. */
export const redisUrl = withPort(given === "" ? "redis://127.0.0.1" : given);

export const describeWithRedis: typeof describe.skip = given === "" ? describe.skip : describe;

function withPort(text: string): string {
  const url = new URL(text);
  if (url.port === "") url.port = "6379";
  // A separate database number, away from other data on the server.
  if (url.pathname.length <= 1) url.pathname = `/${1 + (process.pid % 15)}`;
  return url.href;
}
