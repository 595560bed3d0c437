/** Credentials with a lifetime: they are cached, renewed before their end, and requested once for all waiting requests. */
import { afterEach, expect, test } from "@jest/globals";
import { type IssuedCredential, RenewedCredentials } from "@sluice/inference-svc/models/upstream/credentials/source.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { newScope } from "../../asking.js";

interface Order {
  readonly issue: (credential: string, expiresAtMs?: number) => void;
  readonly fail: (message: string) => void;
}

/** A cloud that issues credentials when the test releases them. */
class Cloud {
  now = 1_000_000;
  readonly orders: Order[] = [];
  readonly errors: object[] = [];
  readonly credentials = new RenewedCredentials<string>(
    () =>
      new Promise<IssuedCredential<string>>((resolve, reject) => {
        this.orders.push({
          issue: (credential, expiresAtMs) => resolve({ credential, expiresAtMs }),
          fail: (message) => reject(new Error(message)),
        });
      }),
    {
      provider: "acme",
      log: { error: (line: object | string) => void (typeof line === "object" && this.errors.push(line)) },
      now: () => this.now,
    },
  );

  readonly take = (scope = newScope().scope) => this.credentials.take(scope);

  /** Waits until all begun work has gone as far as possible. */
  readonly settle = () => new Promise((resolve) => setImmediate(resolve));

  async hold(credential: string, lifeMs: number): Promise<void> {
    const taken = this.take();
    await this.settle();
    this.orders.at(-1)?.issue(credential, this.now + lifeMs);
    expect(await taken).toBe(credential);
  }
}

let cloud = new Cloud();
afterEach(() => {
  cloud = new Cloud();
});

test("many requests share one request for credentials of a cloud", async () => {
  const all = Promise.all(Array.from({ length: 50 }, () => cloud.take()));
  await cloud.settle();
  cloud.orders[0]?.issue("first");
  expect(new Set(await all)).toEqual(new Set(["first"]));
  expect(cloud.orders).toHaveLength(1);
});

test("credentials of a cloud are renewed shortly before their end, while requests use them", async () => {
  await cloud.hold("first", 3_600_000);
  cloud.now += 3_600_000 - 300_001;
  expect(await cloud.take()).toBe("first");
  expect(cloud.orders).toHaveLength(1);
  cloud.now += 1;
  expect(await Promise.all([cloud.take(), cloud.take()])).toEqual(["first", "first"]);
  expect(cloud.orders).toHaveLength(2);
  cloud.orders[1]?.issue("second", cloud.now + 3_600_000);
  await cloud.settle();
  expect(await cloud.take()).toBe("second");
});

test("old credentials of a cloud stay in use until their end after a failed renewal, and renewal pauses", async () => {
  await cloud.hold("first", 3_600_000);
  cloud.now += 3_400_000;
  await cloud.take();
  cloud.orders[1]?.fail("out of order");
  await cloud.settle();
  expect(await cloud.take()).toBe("first");
  expect([cloud.orders.length, cloud.errors]).toEqual([
    2,
    [{ provider: "acme", reason: "no credentials: out of order" }],
  ]);
  cloud.now += 200_000;
  const waiting = cloud.take();
  await cloud.settle();
  cloud.orders[2]?.issue("second");
  expect(await waiting).toBe("second");
});

test("after a failure of a cloud identity requests fail at once for a while, then one tries again", async () => {
  const first = cloud.take();
  await cloud.settle();
  cloud.orders[0]?.fail("denied for sk-very-secret-word");
  const failed = async (taken: Promise<string>) => (await taken.catch((error: unknown) => error)) as Fault;
  for (const taken of [first, cloud.take(), cloud.take()]) {
    const fault = await failed(taken);
    expect([fault.reason, String(fault.cause)]).toEqual([
      FaultReason.PROVIDER_FAILED,
      "Error: no credentials: denied for [redacted]",
    ]);
  }
  expect([cloud.orders.length, cloud.errors.length]).toEqual([1, 1]);
  cloud.now += 5_000;
  await cloud.hold("second", 3_600_000);
  expect(cloud.orders).toHaveLength(2);
});

test("an aborted or expired request stops waiting for credentials of a cloud, and others still wait", async () => {
  const { scope, abort } = newScope();
  const aborted = cloud.take(scope).catch((error: unknown) => (error as Fault).reason);
  const late = cloud
    .take(newScope().scope.with({ attempt: { withinMs: 1, last: false } }))
    .catch((error: unknown) => (error as Fault).reason);
  const patient = cloud.take();
  abort.abort(new Fault(FaultReason.DEADLINE_EXCEEDED));
  expect(await aborted).toBe(FaultReason.DEADLINE_EXCEEDED);
  expect(await late).toBe(FaultReason.PROVIDER_TIMEOUT);
  cloud.orders[0]?.issue("first");
  expect(await patient).toBe("first");
  expect(cloud.orders).toHaveLength(1);
});

test("refused credentials of a cloud are replaced once a minute, unless they were older ones", async () => {
  await cloud.hold("first", 3_600_000);
  cloud.credentials.refused("first");
  expect(cloud.credentials.isCurrent("first")).toBe(false);
  await cloud.hold("second", 3_600_000);
  cloud.credentials.refused("first");
  cloud.credentials.refused("second");
  expect(cloud.credentials.isCurrent("second")).toBe(true);
  cloud.now += 60_000;
  cloud.credentials.refused("second");
  expect(cloud.credentials.isCurrent("second")).toBe(false);
});
