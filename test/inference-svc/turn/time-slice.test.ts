/** Long work of many turns is cut into slices, between which all other work is served. */
import { setImmediate as nextRound } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import { TimeSlice } from "@sluice/inference-svc/turn/time-slice.js";
import { newScope } from "../asking.js";

/** Each step takes longer than a slice. */
function* longWork(steps: number, onStep: () => void) {
  for (let step = 0; step < steps; step++) {
    const end = performance.now() + 5;
    while (performance.now() < end);
    onStep();
    yield undefined;
  }
}

test("long work in any number of turns takes one slice per round of the event loop", async () => {
  const { scope } = newScope();
  const done: number[] = [];
  const works = Array.from({ length: 6 }, (_, turn) =>
    Promise.resolve(new TimeSlice(scope.signal).run(longWork(4, () => done.push(turn)))),
  );
  const began = done.length;
  const rounds: number[] = [];
  for (let before = began; done.length < 24; before = done.length) {
    await nextRound();
    rounds.push(done.length - before);
  }
  await Promise.all(works);
  expect(Math.max(...rounds)).toBe(1);
  // The work of turns alternates: none gets a second slice while another waits for its first.
  expect(done.slice(6, 12).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5]);
});
