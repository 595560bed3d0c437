/** Memory in use as reported by a process: without garbage, but with memory outside of V8's heap. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { inUseVariables, readInUse } from "../../support/in-use.ts";

const mib = 1_048_576;
/** A program that drops its objects on input. */
const holding = `
  let held = [Buffer.alloc(${16 * mib}), Array.from({ length: 500_000 }, (_, n) => ({ n }))];
  process.stdin.once("data", () => { held = undefined; console.log("dropped"); });
  console.log("held");`;

let folder: string;
let child: ChildProcess;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-in-use-"));
  const env = { ...process.env, ...inUseVariables(folder) };
  child = spawn(process.execPath, ["-e", holding], { env, stdio: ["pipe", "pipe", "inherit"] });
  await said();
});
afterEach(() => {
  child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

const said = () => once(child.stdout as NodeJS.ReadableStream, "data");
const read = () => readInUse(child.pid as number, folder);

test("the measured memory in use falls by the size of dropped objects, at every reading", async () => {
  const [before, again] = [await read(), await read()];
  child.stdin?.write("drop");
  await said();
  const after = await read();
  expect(Math.abs(again.heapBytes - before.heapBytes)).toBeLessThan(mib);
  expect(before.externalBytes - after.externalBytes).toBeGreaterThan(15 * mib);
  expect(before.heapBytes - after.heapBytes).toBeGreaterThan(8 * mib);
});
