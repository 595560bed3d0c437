/** Names of providers during an outage of the name service. */
import { type LookupFunction, type Server, type Socket, createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { cacheLookups } from "@sluice/inference-svc/models/upstream/transport/dns-cache.js";
import { Client } from "undici";

const keptMs = 300_000;
const away = Object.assign(new Error("EAI_AGAIN"), { code: "EAI_AGAIN" });

/** A name service that can be made to fail. */
function nameService() {
  const state = { answers: true, now: 0 };
  const runRequest: LookupFunction = (_host, options, done) => {
    if (!state.answers) queueMicrotask(() => done(away, ""));
    else if (options.all) queueMicrotask(() => done(null, [{ address: "127.0.0.1", family: 4 }]));
    else queueMicrotask(() => done(null, "127.0.0.1", 4));
  };
  return { state, lookup: cacheLookups(runRequest, () => state.now) };
}

describe("a provider whose name cannot be resolved", () => {
  let provider: Server;
  const sockets = new Set<Socket>();

  beforeAll(async () => {
    provider = createServer((socket) => {
      sockets.add(socket);
      socket.on("data", () => socket.end("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"));
    });
    await new Promise<void>((listening) => provider.listen(0, "127.0.0.1", listening));
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    provider.close();
  });

  const runRequest = async (lookup: LookupFunction): Promise<unknown> => {
    const { port } = provider.address() as { port: number };
    const client = new Client(`http://provider.test:${port}`, { connect: { lookup } });
    try {
      return (await client.request({ path: "/", method: "GET" })).statusCode;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code;
    } finally {
      await client.destroy();
    }
  };

  test("is called at its last address, for five minutes", async () => {
    const { state, lookup } = nameService();
    expect(await runRequest(lookup)).toBe(204);
    state.answers = false;
    state.now = keptMs - 1;
    expect(await runRequest(lookup)).toBe(204);
    state.now = keptMs;
    expect(await runRequest(lookup)).toBe("EAI_AGAIN");
  });

  test("is not called if the name was never resolved", async () => {
    const { state, lookup } = nameService();
    state.answers = false;
    expect(await runRequest(lookup)).toBe("EAI_AGAIN");
  });
});
