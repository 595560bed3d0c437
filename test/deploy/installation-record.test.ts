/** A start's treatment of processes recorded in its data folder by an earlier supervisor. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { RecordKeeper } from "@sluice/local/installation-record.js";
import { portsOf } from "@sluice/local/ports.js";
import { isAlive } from "@sluice/local/processes.js";
import { readSettings } from "@sluice/local/settings.js";

let folder: string;
let left: ChildProcess | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-record-"));
});
afterEach(async () => {
  const ended = left && left.exitCode === null && left.signalCode === null && once(left, "exit");
  left?.kill("SIGKILL");
  await ended;
  rmSync(folder, { recursive: true, force: true });
});

/** Starts an endless program of this name. @returns its process id, once it runs */
async function leave(program: string): Promise<number> {
  const file = join(folder, program);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, 'console.log("running"); setInterval(() => undefined, 60_000);');
  left = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"] });
  if (left.stdout) await once(left.stdout, "data");
  return left.pid as number;
}

test.each([
  ["gateway/bundle/main.js", false],
  ["deploy/local/bundle/one-process.js", false],
  ["gateway/dist/main.js", false],
  ["another/program.js", true],
])("the installation record of a killed supervisor counts the process %s as alive: %p", async (program, livesOn) => {
  const pid = await leave(program);
  writeFileSync(join(folder, "house.json"), JSON.stringify({ pids: { gateway: pid } }));
  const record = await RecordKeeper.claim(folder, portsOf(readSettings({})), { gateway: "::1", internal: "127.0.0.1" });
  expect(isAlive(pid)).toBe(livesOn);
  record.release();
});
