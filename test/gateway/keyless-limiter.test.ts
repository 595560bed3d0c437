/** Requests without a valid key: a limited number a minute of each address is answered at once. */
import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "@jest/globals";
import type { Exchange } from "@sluice/gateway/edge/http/context.js";
import { type ExchangeDeps, answerFailure } from "@sluice/gateway/edge/http/exchange.js";
import { NetworkRefusals, type NetworkRefusalsDeps } from "@sluice/proto/lib/rpc/network-refusals.js";
import { KeylessLimiter } from "@sluice/gateway/edge/http/keyless-limiter.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { networkOf } from "@sluice/proto/lib/limits/client-network.js";
import { networkRefusal } from "@sluice/proto/lib/policy/allowed-networks.js";

const shares = { turnOf: () => undefined };
const from = (remoteAddress: string, destroy = () => {}, headers: IncomingHttpHeaders = {}) =>
  ({ socket: { remoteAddress, destroy }, headers }) as IncomingMessage;
const addressOf = ({ socket }: IncomingMessage) => socket.remoteAddress ?? "";

describe("requests without a key", () => {
  test("are delayed above 600 a minute from one address, without delaying other addresses", async () => {
    let now = 0;
    const keyless = new KeylessLimiter(shares, addressOf, () => now);
    for (let count = 0; count < 600; count++) expect(keyless.note(from("192.0.2.1"))).toBeUndefined();
    const began = performance.now();
    const delayed = keyless.note(from("192.0.2.1"));
    expect(keyless.note(from("192.0.2.2"))).toBeUndefined();
    const fault = await delayed;
    expect(performance.now() - began).toBeGreaterThan(400);
    expect([fault?.status, fault?.message, fault?.retryAfterMs]).toEqual([
      429,
      "Rate limit exceeded: 600 requests a minute without a key",
      100,
    ]);
    now += 100;
    expect(keyless.note(from("192.0.2.1"))).toBeUndefined();
    expect(keyless.note(from("192.0.2.1"))).toBeDefined();
  });

  test.each<[string, IncomingHttpHeaders]>([
    ["authorization", { authorization: "Bearer sk-sl-abcd0123456789" }],
    ["x-api-key", { "x-api-key": "sk-sl-abcd9876543210" }],
  ])("are delayed above 600 a minute with keys of one prefix, from all addresses together: %s", async (_, headers) => {
    const keyless = new KeylessLimiter(shares, addressOf, () => 0);
    const guess = (n: number, given = headers) => keyless.note(from(`192.0.${n >> 8}.${n & 255}`, undefined, given));
    for (let n = 0; n < 600; n++) expect(guess(n)).toBeUndefined();
    expect(await guess(600)).toMatchObject({ status: 429 });
    expect(guess(601, { authorization: "Bearer sk-sl-efgh0123456789" })).toBeUndefined();
    expect(guess(602, {})).toBeUndefined();
  });

  test("of many addresses and keys take bounded memory in the limiter", () => {
    let now = 0;
    const keyless = new KeylessLimiter(shares, addressOf, () => now);
    for (let n = 0; n < 100_000; n++) {
      now += 0.5;
      void keyless.note(
        from(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`, undefined, { authorization: `Bearer ${n}` }),
      );
    }
    expect(keyless.size).toBeLessThan(4_096);
  });

  test("of an address wait in limited number, and further connections are closed", () => {
    const keyless = new KeylessLimiter(shares, addressOf, () => 0);
    let closed = 0;
    const note = () => keyless.note(from("192.0.2.1", () => closed++));
    for (let count = 0; count < 600 + 1_024; count++) void note();
    expect(closed).toBe(0);
    void note();
    expect(closed).toBe(1);
  });

  test.each([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "::ffff:192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["2001:db8:1:2:3::", "2001:db8:1:2"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    ["::1", "0:0:0:0"],
    ["", ""],
  ])("from the address %s count for the network %s", (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

test.each<[string, Fault, boolean]>([
  ["an unknown key", new Fault(FaultReason.UNAUTHENTICATED), true],
  ["a key for other networks", networkRefusal("192.0.2.1"), true],
  ["a key without a permission", new Fault(FaultReason.PERMISSION_DENIED), false],
])("the limiter of requests without a valid key counts a request with %s, or does not", async (_, fault, isCounted) => {
  const keylessLimiter = new KeylessLimiter(shares, addressOf);
  // Only refusals of management keys would reach admin-svc, so no connection is needed.
  const networkRefusals = new NetworkRefusals({} as NetworkRefusalsDeps);
  const server = createServer((req, res) => {
    const exchange = { req, res, requestId: "req_1", caller: {} } as Exchange;
    void answerFailure({ keylessLimiter, networkRefusals, addressOf } as ExchangeDeps, exchange, fault);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const { status } = await fetch(`http://127.0.0.1:${port}/`, { headers: { authorization: "Bearer one" } });
  expect([status, keylessLimiter.size > 0]).toEqual([fault.status, isCounted]);
  server.close();
  server.closeAllConnections();
});
