/**
 * A house file that is read again when it changes: after an edit in place, a replacement by rename, or the swap of a symbolic link, as which
 * Kubernetes mounts a ConfigMap; and on SIGHUP. What is broken changes nothing: the last good file stays.
 */
import { statSync } from "node:fs";
import { ConfigError } from "../config.ts";
import type { Logger } from "../log.ts";
import { Counter, type Registry, gauge } from "../metrics.ts";

/** Looked at by stat, not by a watch of the kernel: that sees neither through links nor on every file system. */
const lookMs = 500;
const looksBetweenTrials = 10;

export interface LiveParts<Loaded> {
  /** Of the house file. */
  readonly path: string;
  /** @throws ConfigError with every problem */
  readonly load: () => Loaded;
  /** Whose change counts, too: what the file reads. */
  readonly files: (loaded: Loaded) => readonly string[];
  readonly log: Logger;
  readonly registry: Registry;
}

export class LiveFile<Loaded> {
  readonly #parts: LiveParts<Loaded>;
  readonly #reloads: Counter<"result">;
  #current: Loaded;
  /** How each file looked before it was last read. */
  #read: ReadonlyMap<string, string>;
  /** How they looked a moment ago, when they had changed: whoever still writes is waited for. */
  #changing = "";
  #looksSinceFailure = 0;
  #successful = true;
  #successAtMs = Date.now();

  /** Reads the file. @throws ConfigError */
  constructor(parts: LiveParts<Loaded>) {
    this.#parts = parts;
    this.#read = looksOf([parts.path]);
    this.#current = this.#load();
    this.#reloads = reloadCounter(parts.registry);
    gauge(
      parts.registry,
      "sluice_config_last_reload_successful",
      "Whether the house file, as it was last read, is in force: 0 or 1.",
      () => Number(this.#successful),
    );
    gauge(
      parts.registry,
      "sluice_config_last_reload_success_timestamp_seconds",
      "When the house file that is in force was read.",
      () => this.#successAtMs / 1_000,
    );
  }

  /** The last good one. */
  get current(): Loaded {
    return this.#current;
  }

  /** Until the process ends. @param apply called with what was read anew */
  watch(apply: (loaded: Loaded) => void): void {
    setInterval(() => this.#look(apply), lookMs).unref();
    process.on("SIGHUP", () => this.#reload(apply));
  }

  #look(apply: (loaded: Loaded) => void): void {
    const looks = textOf(looksOf([...this.#read.keys()]));
    if (looks === textOf(this.#read)) {
      this.#changing = "";
      // What was missing may have come: a secret that is mounted after the file that names it.
      if (!this.#successful && ++this.#looksSinceFailure % looksBetweenTrials === 0) this.#reload(apply, true);
    } else if (looks === this.#changing) this.#reload(apply);
    else this.#changing = looks;
  }

  /** @param again whether what was refused is tried again; it is not told twice */
  #reload(apply: (loaded: Loaded) => void, again = false): void {
    this.#changing = "";
    try {
      const loaded = this.#load();
      apply(loaded);
      this.#current = loaded;
      this.#note(true);
    } catch (error) {
      this.#note(false);
      if (again) return;
      const reason = error instanceof ConfigError ? { problems: error.problems } : { err: error };
      this.#parts.log.error(reason, "the house file was refused; the last good one stays in force");
    }
  }

  #load(): Loaded {
    const { path, load, files } = this.#parts;
    // Before they are read: what changes meanwhile is seen at the next look.
    this.#read = looksOf([...this.#read.keys()]);
    const loaded = load();
    this.#read = new Map([path, ...files(loaded)].map((file) => [file, this.#read.get(file) ?? lookOf(file)]));
    return loaded;
  }

  #note(success: boolean): void {
    this.#successful = success;
    if (success) this.#successAtMs = Date.now();
    this.#reloads.inc({ result: success ? "success" : "failure" });
  }
}

/** Both results are there from the start, so that the first failure is an increase. */
function reloadCounter(registry: Registry): Counter<"result"> {
  const counter = new Counter({
    name: "sluice_config_reloads_total",
    help: "Readings of the house file after the first, by result: success or failure.",
    labelNames: ["result"],
    registers: [registry],
  });
  for (const result of ["success", "failure"]) counter.inc({ result }, 0);
  return counter;
}

const looksOf = (files: readonly string[]): ReadonlyMap<string, string> =>
  new Map(files.map((file) => [file, lookOf(file)]));

const textOf = (looks: ReadonlyMap<string, string>): string => JSON.stringify([...looks]);

/** Two contents of a file look different. Links are followed. */
export function lookOf(path: string): string {
  try {
    const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${dev}:${ino}:${size}:${mtimeNs}`;
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
}
