/** A small fleet in virtual time, in separate processes: a simulation takes the clock of its process. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { root } from "../../support/processes.ts";

const size = [
  ["replicas", 12],
  ["keys", 1_200],
  ["requests-per-second", 60],
  ["after-seconds", 90],
  ["read-requests-per-second", 1_200],
  ["fill-seconds", 120],
].flatMap(([name, value]) => [`--${name}`, `${value}`]);

/** @throws with the complaints, when there are any */
async function simulate(seed: number): Promise<string> {
  const args = [join(root, "test/dist/campaigns/simulation/main.js"), "--seed", `${seed}`, ...size];
  return (await promisify(execFile)(process.execPath, args)).stdout;
}

test("a simulated fleet keeps its invariants through outages, changes and restarts, the same for each seed", async () => {
  const seed = 20_261_126;
  const [first, again] = await Promise.all([simulate(seed), simulate(seed)]);
  process.stdout.write(first.replaceAll(/^/gm, "simulate: "));
  expect(first).toContain("all endpoints refuse");
  expect(again).toBe(first);
}, 600_000);
