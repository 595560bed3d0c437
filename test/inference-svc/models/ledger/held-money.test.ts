/** The queue of calls that wait for reserved money of a budget: which calls retry, in which order, and for how long. */
import { expect, test } from "@jest/globals";
import { BudgetQueues } from "@sluice/inference-svc/models/ledger/budget-queues.js";
import { TurnAbort } from "@sluice/inference-svc/turn/signal.js";

const owner = { keyHash: "key", workspaceId: "workspace" };
const held = { held: true };
const signal = undefined;

test("freed money of a budget goes to calls of running turns first, then to new turns in order", async () => {
  const line = new BudgetQueues<{ readonly held: boolean }>();
  const served: string[] = [];
  let free = 0;
  const wait = (name: string, isBegun: boolean) =>
    line.wait("key", { isBegun, signal }, held, async () => {
      if (free === 0) return held;
      free--;
      served.push(name);
      return { held: false };
    });
  const waiting = [wait("new 1", false), wait("new 2", false), wait("begun 1", true), wait("begun 2", true)];
  free = 4;
  line.wake(owner);
  expect(await Promise.all(waiting)).toEqual(Array.from({ length: 4 }, () => ({ held: false })));
  expect(served).toEqual(["begun 1", "begun 2", "new 1", "new 2"]);
});

test("a call that waits for money in a budget retries by itself, and is refused when its time is over", async () => {
  const line = new BudgetQueues<{ readonly held: boolean }>();
  let asked = 0;
  const runRequest = () => Promise.resolve({ held: ++asked < 3 });
  expect(await line.wait("key", { isBegun: false, signal }, held, runRequest)).toEqual({ held: false });
  const never = () => Promise.resolve(held);
  expect(await line.wait("key", { isBegun: false, signal }, held, never)).toEqual(held);
});

test("beyond 32 new turns waiting for a budget the next is refused, and a cancelled turn leaves the queue", async () => {
  const line = new BudgetQueues<{ readonly held: boolean }>();
  const abort = new TurnAbort();
  let asked = 0;
  const runRequest = () => Promise.resolve({ held: ++asked < 1_000 });
  const waiting = Array.from({ length: 32 }, () =>
    line.wait("key", { isBegun: false, signal: abort }, held, runRequest),
  );
  expect(await line.wait("key", { isBegun: false, signal }, held, runRequest)).toBe(held);
  abort.abort(undefined);
  expect(await Promise.all(waiting)).toEqual(Array.from({ length: 32 }, () => held));
  expect(await line.wait("key", { isBegun: false, signal }, held, () => Promise.resolve({ held: false }))).toEqual({
    held: false,
  });
});

test("the end of a call wakes calls with other tag values that wait for the same shared account", async () => {
  const line = new BudgetQueues<{ readonly held: boolean }>();
  const asked: string[] = [];
  const wait = (account: string) =>
    line.wait(account, { isBegun: false, signal }, held, async () => {
      asked.push(account);
      return { held: false };
    });
  const shared = wait("workspace project=*");
  const other = wait("workspace team=*");
  const tag = { name: "project", value: "a", owner: "workspace project=a", shared: "workspace project=*" };
  line.wake({ ...owner, tagBudgets: [tag] });
  await shared;
  expect(asked).toEqual(["workspace project=*"]);
  await other;
});
