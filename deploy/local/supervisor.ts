/** The house on one machine: starts its processes in order, restarts what dies, stops them in the reverse order. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { lastLines } from "./child.ts";
import type { RecordKeeper } from "./house-record.ts";
import { Kept } from "./keep.ts";
import type { Ports } from "./ports.ts";
import { startPostgres } from "./postgres.ts";
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

export interface SupervisorParts {
  readonly settings: Settings;
  readonly ports: Ports;
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
    const house: House = { ...this.#parts, databaseUrl };
    const order = [[adminService(house)], inferenceServices(house), [gatewayService(house)]];
    this.#parts.say("starting admin-svc, inference-svc and gateway");
    for (const services of order) {
      this.#steps.push([]);
      for (const service of services) await this.#keep(service);
    }
    await Promise.race([this.#untilReady(order.flat()), failure]);
    this.#ready = true;
    this.#parts.record.ready();
  }

  async #startDatabase(): Promise<string> {
    const { settings, ports } = this.#parts;
    const log = join(this.logsDir, "postgres.log");
    const options = {
      dataDir: join(settings.dataDir, "postgres"),
      port: ports.postgres as number,
      log,
      onCreate: () => this.#parts.say("creating the database"),
    };
    let url = "";
    const start = async () => {
      const running = await startPostgres(options);
      url = running.url;
      return running;
    };
    this.#steps.push([await Kept.start(start, this.#eventsOf("postgres", log))]);
    return url;
  }

  async #keep(service: Service): Promise<void> {
    if (this.stopping) return;
    const log = join(this.logsDir, `${service.name}.log`);
    const start = () => startService(service, log, this.#parts.settings.SLUICE_DRAIN_LIMIT_MS);
    this.#steps.at(-1)?.push(await Kept.start(start, this.#eventsOf(service.name, log)));
  }

  #eventsOf(name: string, log: string) {
    return {
      up: (pid: number) => {
        this.#parts.record.up(name, pid);
        if (this.#ready) this.#parts.say(`${name} runs again, process ${pid}`);
      },
      down: (reason: string) => {
        this.#parts.record.down(name);
        const account = `${name} ended: ${reason}\n${indent(lastLines(log, 8))}`;
        if (this.#ready) this.#parts.say(`${account}\n${name} is started again`);
        else this.#failed(new Error(account));
      },
    };
  }

  async #untilReady(services: readonly Service[]): Promise<void> {
    const waiting = new Set(services.map(({ name }) => name));
    const limit = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(startLimitMs)]);
    try {
      await Promise.all(
        services.map(async (service) => {
          await untilReady(service, limit);
          waiting.delete(service.name);
        }),
      );
    } catch (error) {
      if (this.stopping) throw error;
      throw new Error(
        `Not ready after ${startLimitMs / 1000} s: ${[...waiting].join(", ")}. Their logs are in ${this.logsDir}.`,
        { cause: error },
      );
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

const indent = (text: string) => text.replaceAll(/^/gm, "    ");
