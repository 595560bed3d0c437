/** The house on one machine: starts its processes in order, restarts what dies, stops them in the reverse order. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Running, inWords, lastLines, sizeOf } from "./child.ts";
import type { RecordKeeper } from "./house-record.ts";
import { Kept } from "./keep.ts";
import type { Hosts, Ports } from "./ports.ts";
import { startPostgres } from "./postgres.ts";
import { hasServedBefore } from "./served-before.ts";
import type { Credentials, Secrets } from "./secrets.ts";
import {
  type House,
  type Service,
  adminService,
  gatewayService,
  inferenceServices,
  startService,
  untilReady,
} from "./services.ts";
import type { Settings } from "./settings.ts";

/** A machine under load needs seconds; a house that takes this long hangs. */
const startLimitMs = 60_000;
/** People who see nothing for longer think that it hangs. */
const progressMs = 10_000;

export interface SupervisorParts {
  readonly settings: Settings;
  readonly ports: Ports;
  readonly hosts: Hosts;
  readonly keys: Credentials;
  readonly secrets: Secrets;
  readonly record: RecordKeeper;
  readonly environment: NodeJS.ProcessEnv;
  say(line: string): void;
}

export class Supervisor {
  readonly #parts: SupervisorParts;
  readonly logsDir: string;
  /** Each step is stopped as a whole before the one that was started before it. */
  readonly #steps: Kept[][] = [];
  readonly #stopping = new AbortController();
  #ready = false;
  #failed: (error: Error) => void = () => undefined;

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
    this.logsDir = join(parts.settings.dataDir, "logs");
    mkdirSync(this.logsDir, { recursive: true, mode: 0o700 });
  }

  get stopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Settles when every service is ready. @throws when one ends before that, or none is ready in time */
  async start(): Promise<void> {
    const failure = new Promise<never>((_, reject) => {
      this.#failed = reject;
    });
    failure.catch(() => undefined);
    const databaseUrl = this.#parts.settings.DATABASE_URL ?? (await this.#startDatabase());
    this.#parts.record.database(databaseUrl);
    await this.#warnOfNewSecret(databaseUrl);
    const house: House = { ...this.#parts, databaseUrl };
    const order = [[adminService(house)], inferenceServices(house), [gatewayService(house)]];
    this.#parts.say("starting admin-svc, inference-svc and gateway");
    for (const services of order) {
      this.#stopping.signal.throwIfAborted();
      this.#steps.push(await Promise.all(services.map((service) => this.#keepService(service))));
    }
    await Promise.race([this.#untilReady(order.flat()), failure]);
    this.#ready = true;
    this.#parts.record.ready();
  }

  /** A new data folder on a database of before changes what providers see, and nothing else would tell. */
  async #warnOfNewSecret(databaseUrl: string): Promise<void> {
    const { secret, file } = this.#parts.secrets;
    if (secret.origin !== "new" || !(await hasServedBefore(databaseUrl))) return;
    this.#parts.say(newSecretOnOldDatabase(file));
  }

  async #startDatabase(): Promise<string> {
    const { settings, ports } = this.#parts;
    let url = "";
    const start = async (log: string) => {
      const running = await startPostgres({
        dataDir: join(settings.dataDir, "postgres"),
        port: ports.postgres as number,
        log,
        onCreate: () => this.#parts.say("creating the database"),
      });
      url = running.url;
      return running;
    };
    this.#steps.push([await this.#keep("postgres", start)]);
    return url;
  }

  #keepService(service: Service): Promise<Kept> {
    return this.#keep(service.name, (log) => startService(service, log, this.#parts.settings.SLUICE_DRAIN_LIMIT_MS));
  }

  #keep(name: string, start: (log: string) => Promise<Running>): Promise<Kept> {
    const log = join(this.logsDir, `${name}.log`);
    let from = 0;
    const startNoting = () => {
      from = sizeOf(log);
      return start(log);
    };
    const up = (pid: number) => {
      this.#parts.record.up(name, pid);
      if (this.#ready) this.#parts.say(`${name} runs again, process ${pid}`);
    };
    const down = (reason: string) => {
      this.#parts.record.down(name);
      const account = `${name} ended: ${reason}\n${indent(inWords(lastLines(log, 8, from)))}`;
      if (this.#ready) this.#parts.say(`${account}\n${name} is started again`);
      else this.#failed(new Error(account));
    };
    return Kept.start(startNoting, { up, down });
  }

  async #untilReady(services: readonly Service[]): Promise<void> {
    const waiting = new Set(services.map(({ name }) => name));
    const limit = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(startLimitMs)]);
    const names = () => [...waiting].join(", ");
    const progress = setInterval(() => {
      this.#parts.say(`still waiting for ${names()}; logs are in ${this.logsDir}`);
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

  /** Drains: the gateway first, the database last. */
  stop(): Promise<void> {
    return this.#end((kept) => kept.stop());
  }

  /** Ends everything at once; only the database still closes its files. */
  kill(): Promise<void> {
    return this.#end((kept) => kept.kill());
  }

  async #end(how: (kept: Kept) => Promise<void>): Promise<void> {
    this.#stopping.abort();
    for (const step of this.#steps.toReversed()) await Promise.all(step.map(how));
  }
}

const newSecretOnOldDatabase = (file: string): string =>
  [
    `A new secret was made in ${file}, though this database has served before. Its keys and guardrails go on as they are, but`,
    "providers see every end user under a new identifier, their prompt caches begin anew, and sessions change their provider once.",
    "To go on with the secret of before: stop, copy secrets.json of the earlier data folder there, or set SLUICE_SECRET.",
  ].join("\n");

const indent = (text: string) => text.replaceAll(/^(?=.)/gm, "    ");
