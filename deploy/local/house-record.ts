/**
 * That a house runs here: `<data dir>/house.json` says where and as which processes, `<data dir>/database.json` where its
 * database is. Read by the CLI, tests and tools; kept current, and gone with the house.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makePrivateFolder } from "@sluice/proto/runtime/private-folder.js";
import { readJson, writePrivateJson } from "./files.ts";
import { type Hosts, type Ports, baseUrlOf } from "./ports.ts";
import { commandOf, isAlive, signal, waitUntilGone } from "./processes.ts";

export interface HouseRecord {
  /** False while it starts. */
  readonly ready: boolean;
  readonly base_url: string;
  readonly ports: Ports;
  /** By name: supervisor, gateway, inference-svc, inference-svc-1 ..., admin-svc, postgres. */
  readonly pids: Readonly<Record<string, number>>;
}

/** Claims the data folder for one house and keeps its record. */
export class RecordKeeper {
  readonly #file: string;
  readonly #databaseFile: string;
  #record: HouseRecord;

  private constructor(dataDir: string, record: HouseRecord) {
    this.#file = join(dataDir, "house.json");
    this.#databaseFile = join(dataDir, "database.json");
    this.#record = record;
  }

  /** @throws when another house has the folder */
  static async claim(dataDir: string, ports: Ports, hosts: Hosts): Promise<RecordKeeper> {
    const file = join(dataDir, "house.json");
    const record = { ready: false, base_url: baseUrlOf(ports, hosts), ports, pids: { supervisor: process.pid } };
    try {
      makePrivateFolder(dataDir);
      await clearLeftover(file, dataDir);
      // Exclusive: of two that start at once one fails here.
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

  #write(record: HouseRecord): void {
    this.#record = record;
    writePrivateJson(this.#file, record);
  }
}

/** An error of the file system names a path, and not what people can do about it. */
const unusable = (dataDir: string, cause: Error) =>
  new Error(
    `The data folder ${dataDir} cannot be used (${cause.message}). It has to be a folder of the user who starts; SLUICE_DATA_DIR names another one.`,
    { cause },
  );

const postgresEndMs = 10_000;

/** After a supervisor was killed: its services end with it, and their ports are free when they are gone. */
async function clearLeftover(file: string, dataDir: string): Promise<void> {
  const { supervisor, postgres, ...services } = (readJson(file) as HouseRecord | undefined)?.pids ?? {};
  if (supervisor !== undefined && isHouse(supervisor)) {
    throw new Error(
      `A house already runs here: process ${supervisor}, data folder ${dataDir}. Stop it, or set SLUICE_DATA_DIR and the ports.`,
    );
  }
  for (const pid of Object.values(services)) {
    if (!isHouse(pid)) continue;
    if (!(await waitUntilGone(pid, 1_000))) signal(pid, "SIGKILL");
    await waitUntilGone(pid, 1_000);
  }
  // It was told to end with its supervisor, and on a busy machine takes a while.
  if (postgres !== undefined && commandOf(postgres)?.includes("postgres")) await waitUntilGone(postgres, postgresEndMs);
  rmSync(file, { force: true });
}

/** Whether the recorded id still belongs to a program of ours and not to a newer process. */
function isHouse(pid: number): boolean {
  return pid !== process.pid && isAlive(pid) && /(start\.mjs|dist\/main\.js)/.test(commandOf(pid) ?? "");
}
