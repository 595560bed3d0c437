/** How the memory of a process is divided between requests before it reads them. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { type Fault, FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import { type Registry, openMetrics } from "@sluice/proto/lib/metrics/metrics.js";
import { samplesOf } from "../../support/metrics.ts";

let registry: Registry;
let budget: ByteBudget;
beforeEach(() => {
  registry = openMetrics("test");
  budget = new ByteBudget({ origin: FaultOrigin.GATEWAY, registry, bytes: 1_000, maxWaitMs: 50 });
});

const statusOf = (waiting: Promise<void> | undefined) =>
  Promise.resolve(waiting).then(
    () => 200,
    (fault: Fault) => fault.status,
  );

describe("a key in the byte budget", () => {
  test("without reservations may take all free memory", () => {
    expect([budget.open("a").tryGrow(1_000), budget.reserved]).toEqual([true, 1_000]);
  });

  test("with reservations may hold half of the sum of its own and the free memory, in any number of requests", () => {
    const [first, second, other] = [budget.open("a"), budget.open("a"), budget.open("b")];
    expect([first.tryGrow(300), second.tryGrow(200), second.tryGrow(1), first.tryGrow(1)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect([other.tryGrow(250), other.tryGrow(1), other.bytes]).toEqual([true, false, 250]);
  });

  test("is removed when it holds no memory", () => {
    for (let count = 0; count < 10; count++) {
      const reservation = budget.open("a");
      expect(reservation.tryGrow(1_000)).toBe(true);
      reservation.shrink(400);
      expect(budget.reserved).toBe(600);
      reservation.release();
      reservation.release();
      expect([budget.reserved, reservation.tryGrow(1)]).toEqual([0, false]);
    }
  });
});

describe("a request without room in the byte budget", () => {
  test("waits for released memory in order, and smaller requests overtake those too large to fit yet", async () => {
    const holder = budget.open("a");
    holder.tryGrow(900);
    const order: string[] = [];
    const asks = (["large", "small"] as const).map((name) =>
      budget
        .open(name)
        .grow(name === "large" ? 600 : 300)
        ?.then(() => order.push(name)),
    );
    holder.shrink(300);
    await asks[1];
    holder.release();
    await asks[0];
    expect([order, budget.reserved]).toEqual([["small", "large"], 900]);
  });

  test("is refused with 503 and a Retry-After after the longest wait, and counted", async () => {
    budget.open("a").tryGrow(1_000);
    const fault = await (budget.open("b").grow(1) as Promise<void>).catch((error: unknown) => error as Fault);
    expect(fault).toMatchObject({ status: 503, shouldRetry: true });
    expect((fault as Fault).retryAfterMs).toBeGreaterThanOrEqual(1_000);
    const refused = samplesOf(await registry.metrics()).find(({ name }) => name === "sluice_byte_budget_refused_total");
    expect(refused?.value).toBe(1);
  });

  test("is refused at once when it can never fit", async () => {
    const patient = new ByteBudget({
      origin: FaultOrigin.GATEWAY,
      registry: openMetrics("test"),
      bytes: 1_000,
      maxWaitMs: 3_600_000,
    });
    expect(await statusOf(patient.open("a").grow(1_001))).toBe(503);
  });

  test("stops waiting when it is cancelled, and free memory stays free", async () => {
    const holder = budget.open("a");
    holder.tryGrow(1_000);
    const leaving = budget.open("b");
    const waiting = statusOf(leaving.grow(500));
    leaving.release();
    expect(await waiting).toBe(503);
    holder.release();
    expect(budget.reserved).toBe(0);
  });
});

test("random requests never hold more than the budget, and return everything", async () => {
  let seed = 1;
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const one = async () => {
    const reservation = budget.open(`key ${random(4)}`);
    for (let grown = 0; grown < 3; grown++) {
      await statusOf(reservation.grow(random(400)));
      expect(budget.reserved).toBeLessThanOrEqual(1_000);
      if (random(2) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    reservation.release();
  };
  await Promise.all(Array.from({ length: 300 }, one));
  expect(budget.reserved).toBe(0);
});
