/**
 * Record of a running Sluice: `<data dir>/house.json` contains its address and processes, `<data dir>/database.json` its database. The command line, tests
 * and tools read them; both files are kept current, and removed at the end.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePrivateFolder } from "@sluice/proto/lib/process/private-folder.js";
import { readJson, writePrivateJson } from "./files.ts";
import { type Hosts, type Ports, baseUrlOf } from "./ports.ts";
import { readCommandLine, isAlive, sendSignal, waitUntilGone } from "./processes.ts";

/** The record's file name, unchanged from earlier versions: a file that they left behind is found, and tests of upgrades start their programs. */
const recordName = "house.json";

export interface InstallationRecord {
  /** False while Sluice starts. */
  readonly ready: boolean;
  readonly base_url: string;
  readonly ports: Ports;
  /**
   * Process ids by name: supervisor, gateway, inference-svc, inference-svc-1 ..., admin-svc, postgres. There is no inference-svc if it runs in the
   * process of the gateway.
   */
  readonly pids: Readonly<Record<string, number>>;
}

/** Claims the data folder for one supervisor, and keeps the supervisor's record current. */
export class RecordKeeper {
  readonly #file: string;
  readonly #databaseFile: string;
  #record: InstallationRecord;

  private constructor(dataDir: string, record: InstallationRecord) {
    this.#file = join(dataDir, recordName);
    this.#databaseFile = join(dataDir, "database.json");
    this.#record = record;
  }

  /** @throws if another supervisor has claimed the folder */
  static async claim(dataDir: string, ports: Ports, hosts: Hosts): Promise<RecordKeeper> {
    const file = join(dataDir, recordName);
    const record = { ready: false, base_url: baseUrlOf(ports, hosts), ports, pids: { supervisor: process.pid } };
    try {
      makePrivateFolder(dataDir);
      await clearLeftover(file, dataDir);
      // The flag makes the second of two starts at the same time fail, since the file then exists.
      writeFileSync(file, JSON.stringify(record), { mode: 0o600, flag: "wx" });
    } catch (error) {
      throw (error as NodeJS.ErrnoException).syscall === undefined ? error : unusable(dataDir, error as Error);
    }
    return new RecordKeeper(dataDir, record);
  }

  ready(): void {
    this.#write({ ...this.#record, ready: true });
  }

  up(name: string, pid: number): void {
    this.#write({ ...this.#record, pids: { ...this.#record.pids, [name]: pid } });
  }

  down(name: string): void {
    const { [name]: _, ...pids } = this.#record.pids;
    this.#write({ ...this.#record, pids });
  }

  database(url: string): void {
    writePrivateJson(this.#databaseFile, { url });
  }

  release(): void {
    rmSync(this.#databaseFile, { force: true });
    rmSync(this.#file, { force: true });
  }

  #write(record: InstallationRecord): void {
    this.#record = record;
    writePrivateJson(this.#file, record);
  }
}

/** The record of the Sluice that runs or starts with this data folder; undefined if there is none. */
export function findRunning(dataDir: string): InstallationRecord | undefined {
  const record = readJson(join(dataDir, recordName)) as InstallationRecord | undefined;
  const supervisor = record?.pids["supervisor"];
  return supervisor !== undefined && isSluice(supervisor) ? record : undefined;
}

/** An error that says how to solve the problem: an error of the file system names only a path. */
const unusable = (dataDir: string, cause: Error) =>
  new Error(
    `The data folder ${dataDir} cannot be used (${cause.message}). It must be a folder of the user who starts Sluice; SLUICE_DATA_DIR names another one.`,
    { cause },
  );

const postgresEndMs = 10_000;

/** Cleans up after a killed supervisor: its services end with it or are ended here, so their ports are free. */
async function clearLeftover(file: string, dataDir: string): Promise<void> {
  const { supervisor, postgres, ...services } = (readJson(file) as InstallationRecord | undefined)?.pids ?? {};
  if (supervisor !== undefined && isSluice(supervisor)) {
    throw new Error(
      `Sluice already runs here: process ${supervisor}, data folder ${dataDir}. Stop it, or set SLUICE_DATA_DIR and the ports.`,
    );
  }
  for (const pid of Object.values(services)) {
    if (!isSluice(pid)) continue;
    if (!(await waitUntilGone(pid, 1_000))) sendSignal(pid, "SIGKILL");
    await waitUntilGone(pid, 1_000);
  }
  // Postgres notices the end of its supervisor only after a while on a busy machine.
  if (postgres !== undefined && readCommandLine(postgres)?.includes("postgres"))
    await waitUntilGone(postgres, postgresEndMs);
  rmSync(file, { force: true });
}

/** Whether a recorded process id still belongs to a process of Sluice, not to a newer process. Before 2026-11-27, programs ran from dist. */
function isSluice(pid: number): boolean {
  return (
    pid !== process.pid &&
    isAlive(pid) &&
    /(start\.mjs|sluice\.mjs|bin\/sluice|(bundle|dist)\/(main|one-process)\.js)/.test(readCommandLine(pid) ?? "")
  );
}
