/** A complete installation for a test: the real supervisor with its real processes, on free ports, with its own data folder and database. */
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
  /** YAML of the configuration file; the shipped file if absent. */
  readonly config?: string;
  /** Environment variables besides the minimal ones. */
  readonly environment?: Readonly<NodeJS.ProcessEnv>;
  /**
   * Number of inference processes; with 0, gateway and inference-svc are one process, named gateway. Default: INFERENCE_REPLICAS of the test run,
   * else 1. A test that ends or stops one of the two, and expects the other to continue, sets 1.
   */
  readonly inferenceReplicas?: number;
  /** Whether the installation runs its own Postgres, for tests that kill it; otherwise it gets a database on the server of the run. */
  readonly embeddedPostgres?: boolean;
  /** Data folder that the caller creates and removes, so another installation can start in it. */
  readonly dataDir?: string;
  /** Checkout whose programs run; this one by default. */
  readonly checkout?: string;
  /** Command and arguments before the program, such as those to run it as another user. */
  readonly prefix?: readonly string[];
}

export interface Installation {
  /** Base URL of the API, which ends in /api/v1. */
  readonly baseUrl: string;
  readonly managementKey: string;
  readonly apiKey: string;
  readonly ports: Ports;
  readonly dataDir: string;
  readonly databaseUrl: string;
  /** All output of the supervisor so far. */
  output(): string;
  /** Current process ids by process name. If gateway and inference-svc are one process, both names have its id. */
  pids(): Readonly<Record<string, number>>;
  /** Lines that a process has written so far. Some are written a little after they are logged. */
  logs(name: string): string;
  /** Waits for a line of a process. @returns the first line with all of the texts */
  logged(name: string, ...texts: (string | RegExp)[]): Promise<string>;
  /**
   * Waits until gateway and the only inference-svc have written all lines logged so far, as the lines of one more request prove. admin-svc logs only
   * warnings and errors here, which are written at once. @returns the logs of all services
   */
  allLogged(): Promise<string>;
  /** Runs the command line. @throws with its output if it fails */
  admin(...args: string[]): Promise<{ stdout: string; stderr: string }>;
  /** Drains the installation, ends every process, and removes the data. */
  stop(): Promise<void>;
}

/** A management key of a workspace; the installation's first key belongs to the account. */
export async function makeManager(installation: Installation): Promise<string> {
  const { stdout } = await installation.admin("keys", "create", "--management", "--name", "ordinary", "--json");
  return (JSON.parse(stdout) as { readonly key: string }).key;
}

/** Milliseconds: longer than any drain of a test, so a process that is still alive afterwards hangs. */
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

/** An earlier checkout may refuse the schema of this build, so it gets an empty database. */
const createDatabaseFor = ({ checkout }: InstallationOptions): Promise<TestDatabase> =>
  checkout === undefined ? createMigratedDatabase() : createDatabase();

/** Waits until a gateway sends turns to this number of inference processes; it is ready with the first one already. */
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
    // A line without its line break may still be incomplete.
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

/** @throws with the end of the log if the line does not appear */
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
    // The built-in model is off, since tests name every served model.
    SLUICE_ECHO: "false",
    SLUICE_DRAIN_LIMIT_MS: "10000",
    // There is no warm-up, which takes longer than most tests; test/deploy/warm-up.test.ts tests it.
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
    // A killed test run ends its installations, too.
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
  // The command line is imported only here: loading its modules takes longer than a test without administration.
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
