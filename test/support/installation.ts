/** A whole installation for a test: the real supervisor with its real processes, on free ports, with a separate data folder and database. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InstallationRecord } from "@sluice/local/installation-record.js";
import type { Ports } from "@sluice/local/ports.js";
import { isAlive, endWithThisProcess } from "@sluice/local/processes.js";
import { type TestDatabase, createDatabase, createMigratedDatabase } from "./database.ts";
import { freePorts } from "./runner/free-ports.ts";
import { bareEnvironment, eventually, programIn, root } from "./processes.ts";

export const services = ["gateway", "inference-svc", "admin-svc"] as const;
export type Service = (typeof services)[number];

export interface InstallationOptions {
  /** YAML of the configuration file; the shipped file when absent. */
  readonly config?: string;
  /** Environment variables in addition to the minimum. */
  readonly environment?: Readonly<NodeJS.ProcessEnv>;
  /**
   * 0: gateway and inference-svc are one process, named gateway. The INFERENCE_REPLICAS of the run when absent, else 1. A test that ends or
   * stops one of the two, and expects the other to go on, sets 1.
   */
  readonly inferenceReplicas?: number;
  /** Runs the installation with its own Postgres, for tests that kill it; otherwise it gets a database on the server of the run. */
  readonly embeddedPostgres?: boolean;
  /** A folder made and removed by the caller, so that an installation can start in it again. */
  readonly dataDir?: string;
  /** Checkout of the programs; this one by default. */
  readonly checkout?: string;
  /** Command and arguments before the program, for example to run it as another user. */
  readonly prefix?: readonly string[];
}

export interface Installation {
  /** Ends in /api/v1. */
  readonly baseUrl: string;
  readonly managementKey: string;
  readonly apiKey: string;
  readonly ports: Ports;
  readonly dataDir: string;
  readonly databaseUrl: string;
  /** All output of the supervisor so far. */
  output(): string;
  /** Current process ids by process name; of one process for gateway and inference-svc, both names. */
  pids(): Readonly<Record<string, number>>;
  /** Lines written so far by a process: some are written a little after they are logged. */
  logs(name: string): string;
  /** Waits for a line of a process. @returns the first line with all of the texts */
  logged(name: string, ...texts: (string | RegExp)[]): Promise<string>;
  /**
   * Waits until gateway and the only inference-svc have written all lines logged so far, proved by the lines of one more request.
   * Lines of admin-svc are warnings and errors, written at once. @returns the logs of all services
   */
  allLogged(): Promise<string>;
  /** Runs the CLI. @throws with its output when it fails */
  admin(...args: string[]): Promise<{ stdout: string; stderr: string }>;
  /** Drains, ends every process, removes the data. */
  stop(): Promise<void>;
}

/** A management key of a workspace; the first key belongs to the account. */
export async function makeManager(installation: Installation): Promise<string> {
  const { stdout } = await installation.admin("keys", "create", "--management", "--name", "ordinary", "--json");
  return (JSON.parse(stdout) as { readonly key: string }).key;
}

/** Longer than any drain of a test: a process still alive after it hangs. */
const stopLimitMs = 60_000;

const replicasOf = ({
  inferenceReplicas = Number(process.env["INFERENCE_REPLICAS"] ?? 1),
}: InstallationOptions): number => inferenceReplicas;

export async function startInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "sluice-test-data-"));
  const database = options.embeddedPostgres ? undefined : await createDatabaseFor(options);
  const supervisor = new SupervisorProcess(options, await environmentOf(options, dataDir, database));
  const cleanUp = async () => {
    await database?.drop();
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    await supervisor.ready;
    const installation = installationOf(dataDir, supervisor, cleanUp, options);
    if (replicasOf(options) > 1) await untilAllServe(installation.ports.gateway_health, replicasOf(options));
    return installation;
  } catch (error) {
    await supervisor.end();
    await cleanUp();
    throw error;
  }
}

/** A checkout of an earlier revision may refuse the schema of this one. */
const createDatabaseFor = ({ checkout }: InstallationOptions): Promise<TestDatabase> =>
  checkout === undefined ? createMigratedDatabase() : createDatabase();

/** Waits until a gateway sends turns to this number of inference processes: it is ready with the first of them. */
export async function untilAllServe(gatewayHealth: number, replicas: number): Promise<void> {
  await eventually(async () => {
    const metrics = await (await fetch(`http://127.0.0.1:${gatewayHealth}/metrics`)).text();
    return new RegExp(`^sluice_inference_processes\\S* ${replicas}$`, "m").test(metrics);
  });
}

function installationOf(
  dataDir: string,
  supervisor: SupervisorProcess,
  cleanUp: () => Promise<void>,
  options: InstallationOptions,
): Installation {
  const { environment = {} } = options;
  const isOneProcess = replicasOf(options) === 0;
  const json = (name: string): unknown => JSON.parse(readFileSync(join(dataDir, name), "utf8"));
  const record = () => json("house.json") as InstallationRecord;
  const { base_url: baseUrl, ports } = record();
  const { url: databaseUrl } = json("database.json") as { url: string };
  const key = (variable: string, name: string) =>
    environment[variable] ?? (json("keys.json") as Record<string, string>)[name] ?? "";
  const apiKey = key("SLUICE_BOOTSTRAP_API_KEY", "api_key");
  const logs = (name: string) => {
    const isShared = isOneProcess && (name === "gateway" || name === "inference-svc");
    const text = readFileSync(join(dataDir, "logs", `${isShared ? "gateway" : name}.log`), "utf8");
    // A line without its line break is still being written.
    const lines = text.slice(0, text.lastIndexOf("\n") + 1);
    return isShared ? lines.replaceAll(new RegExp(`^(?!.*"room":"${name}").*\n`, "gm"), "") : lines;
  };
  return {
    baseUrl,
    ports,
    dataDir,
    databaseUrl,
    managementKey: key("SLUICE_BOOTSTRAP_MANAGEMENT_KEY", "management_key"),
    apiKey,
    output: () => supervisor.output,
    pids: () => {
      const { pids } = record();
      return isOneProcess ? { ...pids, "inference-svc": pids["gateway"] as number } : pids;
    },
    logs,
    logged: (name, ...texts) => findLogged(name, () => logs(name), texts),
    async allLogged() {
      const response = await fetch(`${baseUrl}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "nobody/has-this", input: "Hi" }),
      });
      await response.text();
      const id = response.headers.get("x-request-id") as string;
      await Promise.all(["gateway", "inference-svc"].map((name) => findLogged(name, () => logs(name), [id])));
      return services.map(logs).join("");
    },
    admin: (...args) => admin(databaseUrl, args),
    stop: async () => {
      const pids = supervisor.isRunning ? Object.values(record().pids) : [];
      await supervisor.end();
      await cleanUp();
      const left = pids.filter(isAlive);
      if (left.length > 0) throw new Error(`the installation left processes behind: ${left.join(", ")}`);
    },
  };
}

/** @throws with the end of the log when the line does not come */
async function findLogged(name: string, read: () => string, texts: readonly (string | RegExp)[]): Promise<string> {
  const has = (line: string) =>
    texts.every((text) => (typeof text === "string" ? line.includes(text) : text.test(line)));
  const find = () => read().split("\n").find(has);
  await eventually(() => find() !== undefined).catch(() => {
    throw new Error(
      `${name} has logged no line with ${texts.join(" and ")}; its log ends with\n${read().slice(-2_000)}`,
    );
  });
  return find() as string;
}

async function environmentOf(
  options: InstallationOptions,
  dataDir: string,
  database: TestDatabase | undefined,
): Promise<NodeJS.ProcessEnv> {
  const replicas = replicasOf(options);
  const offsets = Array.from({ length: Math.max(1, replicas) }, (_, n) => n * 100);
  const [gateway, inference, admin, postgres, gatewayHealth, inferenceHealth, adminHealth] = (
    await freePorts(7, offsets)
  ).map(String);
  const config = join(dataDir, "sluice.yaml");
  if (options.config !== undefined) writeFileSync(config, options.config);
  return {
    ...bareEnvironment(),
    SLUICE_DATA_DIR: dataDir,
    SLUICE_CONFIG: options.config === undefined ? join(root, "deploy/local/sluice.yaml") : config,
    SLUICE_PORT: gateway,
    SLUICE_INFERENCE_PORT: inference,
    SLUICE_ADMIN_PORT: admin,
    SLUICE_POSTGRES_PORT: postgres,
    SLUICE_GATEWAY_HEALTH_PORT: gatewayHealth,
    SLUICE_INFERENCE_HEALTH_PORT: inferenceHealth,
    SLUICE_ADMIN_HEALTH_PORT: adminHealth,
    SLUICE_INFERENCE_REPLICAS: String(replicas),
    // Tests name every served model.
    SLUICE_ECHO: "false",
    SLUICE_DRAIN_LIMIT_MS: "10000",
    // Longer than most tests take; test/deploy/warm-up.test.ts warms up.
    SLUICE_WARM_UP_MS: "0",
    ...(database && { DATABASE_URL: database.url }),
    ...options.environment,
  };
}

class SupervisorProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<string>;
  readonly ready: Promise<void>;
  output = "";

  constructor({ checkout = root, prefix = [] }: InstallationOptions, environment: NodeJS.ProcessEnv) {
    const [command, ...args] = [...prefix, process.execPath, programIn(checkout, "deploy/local")];
    this.#child = spawn(command, args, { env: environment, stdio: ["ignore", "pipe", "pipe"] });
    this.#exited = new Promise((resolve) => {
      this.#child.once("error", (error) => resolve(error.message));
      this.#child.once("close", (code, signal) => resolve(signal ?? `exit code ${code}`));
    });
    // A killed test run takes its installations with it.
    if (this.#child.pid !== undefined) {
      const untie = endWithThisProcess(this.#child.pid, "KILL");
      void this.#exited.then(untie);
    }
    this.ready = new Promise((resolve, reject) => {
      const read = (text: string) => {
        this.output += text;
        if (/^ready /m.test(this.output)) resolve();
      };
      this.#child.stdout?.setEncoding("utf8").on("data", read);
      this.#child.stderr?.setEncoding("utf8").on("data", read);
      void this.#exited.then((how) => reject(new Error(`the installation did not start (${how}):\n${this.output}`)));
    });
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async end(): Promise<void> {
    this.#child.kill("SIGTERM");
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      this.#child.kill("SIGKILL");
    }, stopLimitMs);
    const how = await this.#exited;
    clearTimeout(timer);
    if (late) throw new Error(`the installation did not stop in ${stopLimitMs} ms (${how}):\n${this.output}`);
  }
}

async function admin(databaseUrl: string, args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  // The command line is imported late: its modules take longer to load than a test that needs no administration takes to run.
  const { runCli } = await import("@sluice/admin-svc/cli.js");
  let stdout = "";
  let stderr = "";
  const code = await runCli(args, {
    databaseUrl,
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
  });
  if (code !== 0) throw new Error(`admin ${args.join(" ")}: exit code ${code}: ${stderr}`);
  return { stdout, stderr };
}
