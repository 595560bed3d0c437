/** Backups and restores of the bundled Postgres without a running Sluice, and what they refuse. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "@jest/globals";
import { backUpDatabase, restoreDatabase } from "@sluice/local/database-archive.js";
import { type RunningPostgres, connected, startPostgres } from "@sluice/local/postgres.js";
import { freePort } from "../support/runner/free-ports.ts";
import { runProgram } from "../support/processes.ts";

let folder: string;
let dataDir: string;
let server: RunningPostgres | undefined;
let program: ChildProcess | undefined;

const start = async (owner: string): Promise<RunningPostgres> => {
  const port = await freePort();
  server = await startPostgres({
    dataDir: join(owner, "postgres"),
    port,
    log: join(folder, "postgres.log"),
    fsync: false,
  });
  return server;
};
const stop = async () => {
  await server?.stop();
  server = undefined;
};
const cluster = () => join(dataDir, "postgres/cluster");
const newFile = () => join(mkdtempSync(join(folder, "archive-")), "sluice.backup");

async function countRows(owner: string): Promise<number | undefined> {
  const { url } = await start(owner);
  try {
    return await connected(url, async (client) => {
      const { rows } = await client.query<{ count: number }>("SELECT count(*)::int AS count FROM kept");
      return rows[0]?.count;
    });
  } finally {
    await stop();
  }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-test-archive-"));
  dataDir = join(folder, "data");
  mkdirSync(dataDir);
  const { url } = await start(dataDir);
  await connected(url, (client) => client.query("CREATE TABLE kept AS SELECT generate_series(1, 1000) AS number"));
  await stop();
});
afterEach(async () => {
  await stop();
  const ended = program && program.exitCode === null && program.signalCode === null && once(program, "exit");
  program?.kill("SIGKILL");
  await ended;
  program = undefined;
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("backups made at the same time are complete, and leave no other files", async () => {
  const files = [newFile(), newFile(), newFile()];
  await Promise.all(files.map((file) => backUpDatabase(dataDir, file)));
  expect(readdirSync(join(dataDir, "postgres")).filter((name) => name.includes(".new"))).toEqual([]);
  for (const file of files) {
    expect(readdirSync(join(file, ".."))).toEqual(["sluice.backup"]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const other = mkdtempSync(join(folder, "restored-"));
    expect(await restoreDatabase(other, file)).toBeUndefined();
    expect(await countRows(other)).toBe(1000);
  }
});

test("of two concurrent backups to the same file, one writes the file and the other fails", async () => {
  const file = newFile();
  const results = await Promise.allSettled([backUpDatabase(dataDir, file), backUpDatabase(dataDir, file)]);
  expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  expect(results.find(({ status }) => status === "rejected")).toMatchObject({
    reason: { message: `${file} exists already` },
  });
  expect(readdirSync(join(file, ".."))).toEqual(["sluice.backup"]);
});

test("a backup does not write through symbolic links at its file names", async () => {
  const file = newFile();
  const victim = join(folder, "victim");
  writeFileSync(victim, "mine", { mode: 0o644 });
  symlinkSync(victim, `${file}.new`);
  await backUpDatabase(dataDir, file);
  expect(readFileSync(victim, "utf8")).toBe("mine");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(lstatSync(`${file}.new`).isSymbolicLink()).toBe(true);

  const dangling = newFile();
  symlinkSync(join(folder, "nowhere"), dangling);
  await expect(backUpDatabase(dataDir, dangling)).rejects.toThrow("exists already");
  expect(existsSync(join(folder, "nowhere"))).toBe(false);
});

test("a backup or restore is refused while Postgres runs without Sluice", async () => {
  const file = newFile();
  await backUpDatabase(dataDir, file);
  const { pid } = await start(dataDir);
  const refusal = `Postgres, process ${pid}, runs in ${cluster()} without Sluice: stop it first (kill -INT ${pid})`;
  const second = newFile();
  await expect(backUpDatabase(dataDir, second)).rejects.toThrow(refusal);
  expect(readdirSync(join(second, ".."))).toEqual([]);
  await expect(restoreDatabase(dataDir, file)).rejects.toThrow(refusal);
});

test("a crashed Postgres whose process id another program has does not prevent a backup or restore", async () => {
  program = spawn(process.execPath, ["-e", "setInterval(() => undefined, 60_000)"], { stdio: "ignore" });
  await once(program, "spawn");
  writeFileSync(join(cluster(), "postmaster.pid"), `${program.pid}\n${cluster()}\n`);
  const file = newFile();
  await backUpDatabase(dataDir, file);
  expect(await restoreDatabase(dataDir, file)).toContain("cluster.before-");
  expect(await countRows(dataDir)).toBe(1000);
});

test.each(["password", "cluster/global/pg_control", "cluster/pg_wal", "cluster/postgresql.conf"])(
  "a restore of a backup without %s is refused before anything is replaced",
  async (part) => {
    const whole = newFile();
    await backUpDatabase(dataDir, whole);
    const content = mkdtempSync(join(folder, "content-"));
    expect(await runProgram("tar", ["-xzf", whole, "-C", content])).toMatchObject({ code: 0 });
    rmSync(join(content, part), { recursive: true });
    const broken = newFile();
    expect(await runProgram("tar", ["-czf", broken, "-C", content, ...readdirSync(content)])).toMatchObject({
      code: 0,
    });
    const before = readdirSync(join(dataDir, "postgres"));
    const { ino } = statSync(cluster());
    await expect(restoreDatabase(dataDir, broken)).rejects.toThrow(`the backup is not complete: it has no ${part}`);
    expect(readdirSync(join(dataDir, "postgres"))).toEqual(before);
    expect(statSync(cluster()).ino).toBe(ino);
  },
);

test("the files of a killed backup are removed by the next backup", async () => {
  const ended = spawn(process.execPath, ["-e", ""], { stdio: "ignore" });
  await once(ended, "exit");
  const left = join(dataDir, `postgres/backup.new-${ended.pid}-abcdef`);
  mkdirSync(left);
  await backUpDatabase(dataDir, newFile());
  expect(existsSync(left)).toBe(false);
});
