/**
 * Reloads the configuration file when it changes: after an edit in place, a rename, the swap of a symbolic link (as Kubernetes mounts a ConfigMap), and on
 * SIGHUP. A broken file changes nothing: the last valid file stays in force.
 */
import { create } from "@bufbuild/protobuf";
import { type ConfigRefusal, ConfigRefusalSchema } from "../gen/sluice/common/v1/configuration_pb.ts";
import { ConfigError } from "../lib/process/environment.ts";
import type { Logger } from "../lib/log/log.ts";
import { Counter, type Registry, gauge } from "../lib/metrics/metrics.ts";
import { fileVersion } from "../lib/process/file-version.ts";

/** Polls with stat, because a file watcher sees neither through links nor on every file system. */
const lookMs = 500;
const looksBetweenTrials = 10;
/** Limits the list of problems: a file can have as many problems as lines. */
const maxProblems = 20;

/** The text of an unexpected error may quote secrets, so clients see this text instead. */
const unexpected = "the file could not be put into force; the log of this process says why";

export interface LiveConfigDeps<Loaded> {
  /** Path of the configuration file. */
  readonly path: string;
  /** @throws ConfigError with every problem */
  readonly load: () => Loaded;
  /** Other files referenced by the configuration; changes of them count as well. */
  readonly files: (loaded: Loaded) => readonly string[];
  readonly log: Logger;
  readonly registry: Registry;
}

/** A changed file whose settings were refused. */
interface Refusal {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Texts for administrators; each names the field of the problem. */
  readonly problems: readonly string[];
}

export class LiveFile<Loaded> {
  readonly #parts: LiveConfigDeps<Loaded>;
  readonly #reloads: Counter<"result">;
  /** The last valid configuration. */
  current: Loaded;
  /** State of each file before it was last read. */
  #read: ReadonlyMap<string, string>;
  /** State of the files at the previous check, after a change: a file still being written is read later. */
  #changing = "";
  #looksSinceFailure = 0;
  #refusal: Refusal | undefined;
  #successAtMs = Date.now();

  /** Reads the file. @throws ConfigError */
  constructor(parts: LiveConfigDeps<Loaded>) {
    this.#parts = parts;
    this.#read = looksOf([parts.path]);
    this.current = this.#load();
    this.#reloads = reloadCounter(parts.registry);
    gauge(
      parts.registry,
      "sluice_config_last_reload_successful",
      "Whether the configuration file, as it was last read, is in force: 0 or 1.",
      () => Number(this.#refusal === undefined),
    );
    gauge(
      parts.registry,
      "sluice_config_last_reload_success_timestamp_seconds",
      "When the configuration file that is in force was read.",
      () => this.#successAtMs / 1_000,
    );
  }

  /** Undefined while the last read file is in force. @param process service and name of this process */
  findRefusal(process: string): ConfigRefusal | undefined {
    if (!this.#refusal) return undefined;
    const { atMs, problems } = this.#refusal;
    return create(ConfigRefusalSchema, {
      process,
      refusedAtMs: BigInt(atMs),
      problems: problems.slice(0, maxProblems),
    });
  }

  /** Watches until the process ends. @param apply called with each new configuration */
  watch(apply: (loaded: Loaded) => void): void {
    setInterval(() => this.#look(apply), lookMs).unref();
    process.on("SIGHUP", () => this.#reload(apply));
  }

  #look(apply: (loaded: Loaded) => void): void {
    const looks = textOf(looksOf([...this.#read.keys()]));
    if (looks === textOf(this.#read)) {
      this.#changing = "";
      // A missing file may appear later, such as a secret mounted after the configuration file.
      if (this.#refusal && ++this.#looksSinceFailure % looksBetweenTrials === 0) this.#reload(apply, true);
    } else if (looks === this.#changing) this.#reload(apply);
    else this.#changing = looks;
  }

  /** @param again repeats a failed load without logging the same failure twice */
  #reload(apply: (loaded: Loaded) => void, again = false): void {
    this.#changing = "";
    try {
      const loaded = this.#load();
      apply(loaded);
      this.current = loaded;
      this.#note(undefined);
    } catch (error) {
      const problems = error instanceof ConfigError ? error.problems : [unexpected];
      this.#note({ atMs: (again ? this.#refusal?.atMs : undefined) ?? Date.now(), problems });
      if (again) return;
      const reason = error instanceof ConfigError ? { problems: error.problems } : { err: error };
      this.#parts.log.error(reason, "the configuration file was refused; the last good one stays in force");
    }
  }

  #load(): Loaded {
    const { path, load, files } = this.#parts;
    // Taken before the files are read, so that the next check sees any change in between.
    this.#read = looksOf([...this.#read.keys()]);
    const loaded = load();
    this.#read = new Map([path, ...files(loaded)].map((file) => [file, this.#read.get(file) ?? fileVersion(file)]));
    return loaded;
  }

  #note(refusal: Refusal | undefined): void {
    this.#refusal = refusal;
    if (!refusal) this.#successAtMs = Date.now();
    this.#reloads.labels({ result: refusal ? "failure" : "success" }).inc();
  }
}

/** Both label values exist from the start, so that the first failure shows as an increase. */
function reloadCounter(registry: Registry): Counter<"result"> {
  const counter = new Counter({
    name: "sluice_config_reloads_total",
    help: "Readings of the configuration file after the first, by result: success or failure.",
    labelNames: ["result"],
    registers: [registry],
  });
  for (const result of ["success", "failure"] as const) counter.labels({ result });
  return counter;
}

const looksOf = (files: readonly string[]): ReadonlyMap<string, string> =>
  new Map(files.map((file) => [file, fileVersion(file)]));

const textOf = (looks: ReadonlyMap<string, string>): string => JSON.stringify([...looks]);
