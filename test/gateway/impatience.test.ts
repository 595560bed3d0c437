/** Connections with further requests after refusals, on real sockets. */
import { once } from "node:events";
import { Agent, type IncomingMessage, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { writeFault } from "@sluice/gateway/edge/http/errors.js";
import {
  maxHastyBeforeDelay,
  maxHastyRequests,
  recordAnswer,
  waitAfterRefusals,
} from "@sluice/gateway/edge/http/impatience.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { networkRefusal } from "@sluice/proto/lib/policy/allowed-networks.js";

const retryAfterMs = 40;

let fault: Fault | undefined;
let delayed: number;
let agent: Agent;
let sendRequest: (key?: string) => Promise<IncomingMessage>;
let stop: () => Promise<unknown>;

beforeEach(async () => {
  fault = new Fault(FaultReason.RATE_LIMITED, "", { retryAfterMs });
  delayed = 0;
  const server = createServer((req, res) => {
    const given = fault;
    const waiting = waitAfterRefusals(req, res);
    res.on("close", () => recordAnswer(req, res, given));
    if (waiting) delayed++;
    void Promise.resolve(waiting).then(() => (given ? writeFault(res, given) : res.end("{}")));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  agent = new Agent({ keepAlive: true, maxSockets: 1 });
  sendRequest = async (key = "one") => {
    const headers = { authorization: `Bearer ${key}` };
    const asked = request({ port, host: "127.0.0.1", agent, headers }).end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    await once(answer.resume(), "end");
    return answer;
  };
  stop = () => {
    agent.destroy();
    server.close();
    return once(server, "close");
  };
});
afterEach(() => stop());

const askMany = async (count: number) => {
  const answers: IncomingMessage[] = [];
  while (answers.length < count) answers.push(await sendRequest());
  return answers;
};
const closedBy = (answers: readonly IncomingMessage[]) =>
  answers.findIndex(({ headers }) => headers.connection === "close");

describe("a client that keeps sending while it is refused", () => {
  test("is slowed, and its connection is closed after a fixed number", async () => {
    fault = new Fault(FaultReason.RATE_LIMITED, "", { retryAfterMs: 60_000 });
    // The first request follows no refusal, so it does not count.
    const answers = await askMany(maxHastyRequests + 1);
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 429));
    expect(closedBy(answers)).toBe(maxHastyRequests);
    expect(delayed).toBe(maxHastyRequests - maxHastyBeforeDelay);
  });

  test.each([FaultReason.UNAUTHENTICATED, FaultReason.PAYMENT_REQUIRED, FaultReason.RATE_LIMITED])(
    "for reason %i is slowed",
    async (reason) => {
      fault = new Fault(reason);
      await askMany(maxHastyBeforeDelay + 2);
      expect(delayed).toBe(1);
    },
  );

  test("with a key for other networks is slowed", async () => {
    fault = networkRefusal("192.0.2.1");
    await askMany(maxHastyBeforeDelay + 2);
    expect(delayed).toBe(1);
  });

  test.each([FaultReason.INVALID_REQUEST, FaultReason.PERMISSION_DENIED])(
    "for reason %i is not slowed, because the next request may succeed",
    async (reason) => {
      fault = new Fault(reason);
      await askMany(maxHastyBeforeDelay + 2);
      expect(delayed).toBe(0);
    },
  );

  test("does not slow another client on the same connection of an ingress", async () => {
    fault = new Fault(FaultReason.RATE_LIMITED, "", { retryAfterMs: 60_000 });
    await askMany(maxHastyBeforeDelay + 1);
    const other = await sendRequest("two");
    expect([delayed, other.headers.connection]).toEqual([0, "keep-alive"]);
  });

  test("is counted anew once it is served", async () => {
    fault = new Fault(FaultReason.RATE_LIMITED, "", { retryAfterMs: 60_000 });
    await askMany(maxHastyBeforeDelay);
    fault = undefined;
    await sendRequest();
    fault = new Fault(FaultReason.RATE_LIMITED, "", { retryAfterMs: 60_000 });
    await askMany(maxHastyBeforeDelay + 1);
    expect(delayed).toBe(0);
  });
});

describe("a client that waits as long as requested", () => {
  test("is never slowed and never closed, however often it is refused", async () => {
    const answers: IncomingMessage[] = [];
    while (answers.length < 2 * maxHastyRequests) {
      const answer = await sendRequest();
      answers.push(answer);
      await wait(Number(answer.headers["retry-after-ms"]));
    }
    expect([closedBy(answers), delayed]).toEqual([-1, 0]);
  });
});
