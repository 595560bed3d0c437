/** How the memory of answers under way is shared out: the largest one fails, and all others go on. */
import { describe, expect, test } from "@jest/globals";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { FaultOrigin } from "@sluice/proto/lib/faults/fault.js";
import { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { HeldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import { openMetrics } from "@sluice/proto/lib/metrics/metrics.js";

/** Accounts with a list of the failed ones. The limit of all is 500. */
function openAccounts() {
  const held = new HeldBytes({ budget: 1_000 });
  const failed: string[] = [];
  const open = (key: string, name: string) =>
    held.open(key, ({ message }: Fault) => failed.push(`${name}: ${message.replace(/.*may hold (\d+).*/, "$1")}`));
  return { held, failed, open };
}

describe("answers above their common memory limit", () => {
  test("fail the largest answer of the key with the most bytes, which throws from then on", () => {
    const { held, failed, open } = openAccounts();
    const [large, small, other] = [open("a", "large"), open("a", "small"), open("b", "other")];
    large.grow(150);
    small.grow(110);
    other.grow(240);
    expect([held.bytes, failed]).toEqual([500, []]);
    small.grow(1);
    expect([held.bytes, failed]).toEqual([351, ["large: 500"]]);
    expect(() => large.grow(1)).toThrow("The answer is too large");
    expect([large.tryGrow(1), small.tryGrow(1), other.tryGrow(1), held.failed]).toEqual([false, true, true, 1]);
  });

  test("fail the answer read the furthest, whatever its parser takes", () => {
    const { failed, open } = openAccounts();
    const [parsed, read] = [open("a", "parsed"), open("a", "read")];
    read.grow(100);
    parsed.grow(80, 320);
    expect([read.tryGrow(1), failed]).toEqual([false, ["read: 500"]]);
  });

  test("fail a single answer above the limit, and no other", () => {
    const { held, failed, open } = openAccounts();
    const [bomb, read] = [open("a", "bomb"), open("a", "read")];
    read.grow(400);
    expect(() => bomb.grow(10, 600)).toThrow("The answer is too large");
    expect([failed, held.bytes]).toEqual([["bomb: 500"], 400]);
  });

  test("return all memory at their end, once", () => {
    const { held, open } = openAccounts();
    const account = open("a", "a");
    account.grow(100, 200);
    account.shrink(20, 30);
    expect(held.bytes).toBe(250);
    account.release();
    account.release();
    account.shrink(1);
    expect([held.bytes, account.tryGrow(1), held.bytes]).toEqual([0, true, 0]);
  });
});

describe("the memory of requests while answers run", () => {
  const openBudget = (held: HeldBytes, bytes: number) =>
    new ByteBudget({ origin: FaultOrigin.GATEWAY, registry: openMetrics("test"), bytes, maxWaitMs: 60_000, held });

  test("may be all that answers do not hold", () => {
    const { held, open } = openAccounts();
    const budget = openBudget(held, 1_000);
    open("a", "a").grow(400);
    expect([budget.open("b").tryGrow(601), budget.open("b").tryGrow(600)]).toEqual([false, true]);
  });

  test("is the same share of either budget when the process has two", () => {
    const { held, open } = openAccounts();
    const budget = openBudget(held, 500);
    open("a", "a").grow(400);
    expect([budget.open("b").tryGrow(301), budget.open("b").tryGrow(300)]).toEqual([false, true]);
  });

  test("is given to waiting requests when an answer ends", async () => {
    const { held, open } = openAccounts();
    const budget = openBudget(held, 1_000);
    const answer = open("a", "a");
    answer.grow(400);
    const waiting = budget.open("b").grow(1_000);
    answer.release();
    await waiting;
    expect([budget.reserved, held.onFreed.size]).toEqual([1_000, 0]);
  });
});
