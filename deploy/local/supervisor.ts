/** Runs Sluice on one machine: starts its processes in order, restarts them when they die, and stops them in the reverse order. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type ChildService, toReadableLines, lastLines, fileSize } from "./child.ts";
import type { RecordKeeper } from "./installation-record.ts";
import { RestartedProcess } from "./restart.ts";
import type { Hosts, Ports } from "./ports.ts";
import { findDatabaseUrl, hasServedBefore, startPostgres } from "./postgres.ts";
import type { Credentials, Secrets } from "./secrets.ts";
import {
  type Installation,
  type Service,
  adminService,
  gatewayService,
  inferenceServices,
  combinedService,
  startService,
  untilReady,
} from "./services.ts";
import type { StartLink } from "./start-link.ts";
import type { Settings } from "./settings.ts";
import { adoptSpools } from "./spools.ts";

/** Milliseconds after which a start counts as hanging; a machine under load needs some seconds. */
const startLimitMs = 60_000;
/** Milliseconds without output after which a start prints a line about its progress. */
const progressMs = 10_000;

export interface SupervisorDeps {
  readonly settings: Settings;
  readonly ports: Ports;
  readonly hosts: Hosts;
  readonly keys: Credentials;
  readonly secrets: Secrets;
  /** Link that signs in to the console once; absent if the gateway accepts other machines. */
  readonly startLink?: StartLink | undefined;
  readonly record: RecordKeeper;
  readonly environment: NodeJS.ProcessEnv;
  say(line: string): void;
}

export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly logsDir: string;
  /** Groups of started and starting processes, in order. Each group is stopped before the groups started earlier. */
  readonly #steps: Promise<RestartedProcess>[][] = [];
  readonly #stopping = new AbortController();
  #ready = false;
  #failed: (error: Error) => void = () => undefined;

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.logsDir = join(deps.settings.dataDir, "logs");
    mkdirSync(this.logsDir, { recursive: true, mode: 0o700 });
  }

  get stopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Resolves once every service is ready. @throws if a service ends before, or is not ready in time */
  async start(): Promise<void> {
    const failure = new Promise<never>((_, reject) => {
      this.#failed = reject;
    });
    failure.catch(() => undefined);
    const { databaseUrl, isServed } = await this.#openDatabase();
    const installation: Installation = { ...this.#deps, databaseUrl };
    const { count, account } = installation.settings.replicas;
    adoptSpools(installation.settings.dataDir, count);
    const turns =
      count === 0
        ? [[combinedService(installation)]]
        : [inferenceServices(installation), [gatewayService(installation)]];
    const order = [[adminService(installation)], ...turns];
    this.#deps.say("starting admin-svc, inference-svc and gateway");
    this.#deps.say(account);
    for (const services of order) {
      this.#stopping.signal.throwIfAborted();
      await Promise.all(this.#step(services.map((service) => this.#keepService(service))));
    }
    await Promise.race([Promise.all([isServed, this.#untilReady(order.flat())]), failure]);
    this.#ready = true;
    this.#deps.record.ready();
  }

  /** Begins a group of processes. The supervisor's end stops them even if they are still starting. */
  #step(starting: Promise<RestartedProcess>[]): Promise<RestartedProcess>[] {
    this.#steps.push(starting);
    for (const each of starting) each.catch(() => undefined);
    return starting;
  }

  /**
   * Starts the database. @returns its URL, and a promise of its server. The URL of an earlier start's database is known, so the services load while
   * its server starts, and admin-svc waits for it. Before the first start there is nothing to connect to, and a new secret is compared with the
   * database before anything else.
   */
  async #openDatabase(): Promise<{ readonly databaseUrl: string; readonly isServed: Promise<void> }> {
    const { settings, secrets, ports, record } = this.#deps;
    const known =
      settings.DATABASE_URL ?? findDatabaseUrl({ dataDir: this.#postgresDir, port: ports.postgres as number });
    const starting =
      settings.DATABASE_URL === undefined ? this.#startDatabase() : Promise.resolve(settings.DATABASE_URL);
    const isServed = starting.then((url) => record.database(url));
    isServed.catch(() => undefined);
    if (known !== undefined && secrets.secret.origin !== "new") return { databaseUrl: known, isServed };
    await isServed;
    const databaseUrl = await starting;
    await this.#warnOfNewSecret(databaseUrl);
    return { databaseUrl, isServed };
  }

  get #postgresDir(): string {
    return join(this.#deps.settings.dataDir, "postgres");
  }

  /** Warns of a new secret on a used database: it silently changes the identities sent to providers. */
  async #warnOfNewSecret(databaseUrl: string): Promise<void> {
    const { secret, file } = this.#deps.secrets;
    if (secret.origin !== "new" || !(await hasServedBefore(databaseUrl))) return;
    this.#deps.say(newSecretWarning(file));
  }

  async #startDatabase(): Promise<string> {
    let url = "";
    const start = async (log: string) => {
      const running = await startPostgres({
        dataDir: this.#postgresDir,
        port: this.#deps.ports.postgres as number,
        log,
        onCreate: () => this.#deps.say("creating the database"),
        // The signal applies to the first start only: while services drain, a database server that dies must start again.
        ...(url === "" && { signal: this.#stopping.signal }),
      });
      url = running.url;
      return running;
    };
    await Promise.all(this.#step([this.#keep("postgres", start)]));
    return url;
  }

  #keepService(service: Service): Promise<RestartedProcess> {
    return this.#keep(service.name, (log) => startService(service, log, this.#deps.settings.SLUICE_DRAIN_LIMIT_MS));
  }

  #keep(name: string, start: (log: string) => Promise<ChildService>): Promise<RestartedProcess> {
    const log = join(this.logsDir, `${name}.log`);
    let from = 0;
    const startNoting = () => {
      from = fileSize(log);
      return start(log);
    };
    const up = (pid: number) => {
      this.#deps.record.up(name, pid);
      if (this.#ready) this.#deps.say(`${name} runs again, process ${pid}`);
    };
    const down = (reason: string) => {
      this.#deps.record.down(name);
      const account = `${name} ended: ${reason}\n${indent(toReadableLines(lastLines(log, 8, from)))}`;
      if (this.#ready) this.#deps.say(`${account}\nrestarting ${name}`);
      else this.#failed(new Error(account));
    };
    return RestartedProcess.start(startNoting, { up, down });
  }

  async #untilReady(services: readonly Service[]): Promise<void> {
    const waiting = new Set(services.map(({ name }) => name));
    const limit = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(startLimitMs)]);
    const names = () => [...waiting].join(", ");
    const progress = setInterval(() => {
      this.#deps.say(`still waiting for ${names()}; logs are in ${this.logsDir}`);
    }, progressMs);
    try {
      await Promise.all(
        services.map(async (service) => {
          await untilReady(service, limit);
          waiting.delete(service.name);
        }),
      );
    } catch (error) {
      if (this.stopping) throw error;
      throw new Error(`Not ready after ${startLimitMs / 1000} s: ${names()}. Their logs are in ${this.logsDir}.`, {
        cause: error,
      });
    } finally {
      clearInterval(progress);
    }
  }

  /** Drains Sluice: the gateway stops first, the database last. */
  stop(): Promise<void> {
    return this.#end((kept) => kept.stop());
  }

  /** Ends everything at once, except that the database closes its files. */
  kill(): Promise<void> {
    return this.#end((kept) => kept.kill());
  }

  async #end(how: (kept: RestartedProcess) => Promise<void>): Promise<void> {
    this.#stopping.abort();
    for (const step of this.#steps.toReversed()) {
      const kept = await Promise.allSettled(step);
      await Promise.all(kept.flatMap((each) => (each.status === "fulfilled" ? [how(each.value)] : [])));
    }
  }
}

const newSecretWarning = (file: string): string =>
  [
    `A new secret was created in ${file}, though this database was used before. Its keys and guardrails stay as they are, but`,
    "providers see every end user under a new identifier, their prompt caches start empty, and sessions change their provider once.",
    "To keep the earlier secret: stop, copy secrets.json of the earlier data folder there, or set SLUICE_SECRET.",
  ].join("\n");

const indent = (text: string) => text.replaceAll(/^(?=.)/gm, "    ");
