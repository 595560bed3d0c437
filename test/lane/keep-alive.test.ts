/** A connection with a silent peer, and another with a peer answering each PING. */
import { EventEmitter, once } from "node:events";
import type { Http2Session } from "node:http2";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { sessionConnector } from "@sluice/gateway/lane/link.js";
import { keepAlive } from "@sluice/proto/lib/rpc/keep-alive.js";

beforeEach(() => void jest.useFakeTimers({ doNotFake: ["setImmediate", "nextTick", "queueMicrotask"] }));
afterEach(() => void jest.useRealTimers());

class Connection extends EventEmitter {
  destroyed = false;
  pings = 0;
  readonly #answers: boolean;

  constructor(answers: boolean) {
    super();
    this.#answers = answers;
  }

  ping(answered: (error: Error | null) => void): void {
    this.pings++;
    if (this.#answers) answered(null);
  }

  destroy(): void {
    this.destroyed = true;
    this.emit("close");
  }
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

test("a lane connection is destroyed five seconds after an unanswered PING, without another PING", async () => {
  const connection = new Connection(false);
  keepAlive(connection as unknown as Http2Session);
  await jest.advanceTimersByTimeAsync(14_900);
  await tick();
  expect(connection).toMatchObject({ destroyed: false, pings: 1 });
  await jest.advanceTimersByTimeAsync(200);
  await tick();
  expect(connection.destroyed).toBe(true);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(connection.pings).toBe(1);
});

test("a lane connection lasts while PINGs are answered", async () => {
  const connection = new Connection(true);
  keepAlive(connection as unknown as Http2Session);
  await jest.advanceTimersByTimeAsync(100_500);
  await tick();
  expect(connection).toMatchObject({ destroyed: false, pings: 10 });
});

test('a lane session to a silent process ends with "no answer to a PING" as the reason', async () => {
  const mute = createServer((socket) => void socket.resume().on("error", () => {}));
  await once(mute.listen(0, "127.0.0.1"), "listening");
  const address = `127.0.0.1:${(mute.address() as AddressInfo).port}`;
  const closed = new Promise<Error | undefined>((resolve) => {
    sessionConnector(address, "t".repeat(64))({ message: () => {}, drained: () => {}, closed: resolve });
  });
  await once(mute, "connection");
  await tick();
  await jest.advanceTimersByTimeAsync(15_100);
  expect((await closed)?.message).toBe("no answer to a PING within 5000 ms");
  mute.close();
});
