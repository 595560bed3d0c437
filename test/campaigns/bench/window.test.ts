/** A window of measurement during which watched processes and threads end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "@jest/globals";
import { measureWindow } from "./measure/window.ts";

const busy = "const until = Date.now() + 200; while (Date.now() < until);";

/** Uses a thread for 200 ms before it reports, and ends the thread when its input ends. */
const thread = `
  const { Worker } = require("node:worker_threads");
  const worker = new Worker('${busy} require("node:worker_threads").parentPort.once("message", () => process.exit()).postMessage(1)', { eval: true });
  worker.once("message", () => console.log("used"));
  worker.once("exit", () => console.log("ended"));
  process.stdin.once("data", () => worker.postMessage(1));
  setInterval(() => {}, 1000);`;

async function usedIn(code: string, end: (child: ChildProcess) => Promise<unknown>): Promise<number> {
  const child = spawn(process.execPath, ["-e", code], { stdio: ["pipe", "pipe", "inherit"] });
  try {
    await once(child.stdout, "data");
    const options = { windowMs: 300, watched: [child.pid as number], root: process.pid };
    let ended: Promise<unknown> | undefined;
    const { watchedNs } = await measureWindow(options, () => {
      ended ??= end(child);
    });
    await ended;
    return (watchedNs[0] as number) / 1e6;
  } finally {
    child.kill("SIGKILL");
  }
}

test("an ended thread takes no CPU time from its process's total in the measured window", async () => {
  const ms = await usedIn(thread, (child) => {
    child.stdin?.write("end");
    return once(child.stdout as NodeJS.ReadableStream, "data");
  });
  expect(ms).toBeGreaterThanOrEqual(0);
});

test("an ended process takes no CPU time from the other processes in the measured window", async () => {
  const ms = await usedIn(`${busy} console.log("used"); setInterval(() => {}, 1000)`, (child) => {
    child.kill("SIGKILL");
    return once(child, "exit");
  });
  expect(ms).toBe(0);
});
