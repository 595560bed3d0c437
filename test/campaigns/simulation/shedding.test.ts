/** A small overloaded fleet, in separate processes: a simulation replaces the clock of its process. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { root } from "../../support/processes.ts";

const size = [
  ["gateways", 3],
  ["processes", 4],
  ["keys", 21],
  ["turn-us", 4_000],
  ["phase-seconds", 12],
].flatMap(([name, value]) => [`--${name}`, `${value}`]);

/** @throws with the complaints, when there are any */
async function simulate(seed: number): Promise<string> {
  const args = [join(root, "test/dist/campaigns/simulation/shedding/main.js"), "--seed", `${seed}`, ...size];
  return (await promisify(execFile)(process.execPath, args)).stdout;
}

test("a simulated overloaded fleet serves what it can, refuses the rest fairly and recovers, the same for each seed", async () => {
  const seed = 20_261_127;
  const [first, again] = await Promise.all([simulate(seed), simulate(seed)]);
  process.stdout.write(first.replaceAll(/^/gm, "overload: "));
  expect(first).toContain("recovery: ");
  expect(again).toBe(first);
}, 600_000);
