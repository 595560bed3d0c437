/** Tests with Redis fail at once, and name the server, where no Redis answers. */
import { once } from "node:events";
import { type AddressInfo, type Socket, createServer } from "node:net";
import { expect, test } from "@jest/globals";
import { demandRedis } from "../support/redis.ts";
import { freePort } from "../support/runner/free-ports.ts";

const secret = "a-password-of-redis";

async function failureAt(port: number): Promise<string> {
  const failure = await demandRedis(`redis://:${secret}@127.0.0.1:${port}/3`).catch((error: Error) => error.message);
  return failure ?? "none";
}

test("a test file with Redis fails at a closed port with the name of the server, without its password", async () => {
  const port = await freePort();
  const failure = await failureAt(port);
  expect(failure).toContain(`REDIS_URL names 127.0.0.1:${port}, where no Redis answers: `);
  expect(failure).not.toContain(secret);
});

test("a test file with Redis fails in seconds at a server that never answers", async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  expect(await failureAt(port)).toContain(`REDIS_URL names 127.0.0.1:${port}, where no Redis answers: `);
  expect(sockets.size).toBeGreaterThan(0);
  for (const socket of sockets) socket.destroy();
  server.close();
});
