/** Waits for the end of a run, and removes what it has left. Argument: the run's folder. Standard input ends with the run. */
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { isAlive } from "@sluice/local/processes.js";
import { mountsBelow } from "../mounts.ts";
import { type UndoCommand, runVariable, undoFolder } from "./run-folder.ts";

/** Milliseconds in which installations and databases end by themselves once their run is gone, on a busy machine. */
const endsByItselfMs = 30_000;

const folder = process.argv[2] as string;

/** Processes started by the run, recognised by their temporary folder, on Linux only. */
function processesOfRun(): number[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && variablesOf(pid).some((variable) => isBelow(variable)) && isAlive(pid));
}

const isBelow = (variable: string): boolean =>
  variable === `TMPDIR=${folder}` || variable.startsWith(`TMPDIR=${folder}/`);

function variablesOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return []; // the process is gone, or belongs to another user
  }
}

async function endProcesses(): Promise<void> {
  const until = performance.now() + endsByItselfMs;
  while (processesOfRun().length > 0 && performance.now() < until) await delay(100);
  for (const pid of processesOfRun()) process.kill(pid, "SIGKILL");
}

function undo(): void {
  for (const file of readdirSync(join(folder, undoFolder)).toSorted()) {
    const { command, args, environment } = JSON.parse(
      readFileSync(join(folder, undoFolder, file), "utf8"),
    ) as UndoCommand;
    spawnSync(command, args, { env: environment, stdio: "ignore" });
  }
}

/** Drops the databases of the run on a server that stays. */
async function dropDatabases(url: string, run: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      "SELECT datname AS name FROM pg_database WHERE starts_with(datname, $1)",
      [`sluice_test_${run.toLowerCase()}_`],
    );
    for (const { name } of rows) await client.query(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
  } finally {
    await client.end();
  }
}

async function sweep(): Promise<void> {
  undo();
  await endProcesses();
  const { DATABASE_URL: server, [runVariable]: run } = process.env;
  if (server !== undefined && run !== undefined) await dropDatabases(server, run);
  for (const place of mountsBelow(folder)) spawnSync("umount", [place], { stdio: "ignore" });
  rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 });
}

// Signals of the terminal are ignored, so the cleanup ends only when its work is done.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined);
process.stdin.resume().once("end", () => {
  sweep().catch((error: unknown) => {
    process.stderr.write(`What the tests made is left in ${folder}: ${(error as Error).message}\n`);
    process.exitCode = 1;
  });
});
