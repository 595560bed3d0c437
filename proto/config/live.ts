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

/**
 * Interval in milliseconds of checks with stat. A file watcher would miss changes behind links and on some file
 * systems.
 */
const lookMs = 500;
const looksBetweenTrials = 10;
/** Maximum number of reported problems: a file can have as many as it has lines. */
const maxProblems = 20;

/** Text that clients see for an unexpected error, whose own text may quote secrets. */
const unexpected = "the file could not be put into force; the log of this process says why";

export interface LiveConfigDeps<Loaded> {
  /** Path of the configuration file. */
  readonly path: string;
  /** Loads the configuration. @throws ConfigError with every problem */
  readonly load: () => Loaded;
  /** Other files referenced by the configuration; a change of them counts too. */
  readonly files: (loaded: Loaded) => readonly string[];
  readonly log: Logger;
  readonly registry: Registry;
}

/** Refusal of a changed file because of its settings. */
interface Refusal {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Problems as texts for administrators, each with the field's path. */
  readonly problems: readonly string[];
}

export class LiveFile<Loaded> {
  readonly #parts: LiveConfigDeps<Loaded>;
  readonly #reloads: Counter<"result">;
  /** The last valid configuration. */
  current: Loaded;
  /** Version of each file from before it was last read. */
  #read: ReadonlyMap<string, string>;
  /**
   * Versions of the files at the previous check, if they had changed: a reload waits until they stay the same, so
   * no file is read while it is written.
   */
  #changing = "";
  #looksSinceFailure = 0;
  #refusal: Refusal | undefined;
  #successAtMs = Date.now();

  /** Reads the file for the first time. @throws ConfigError with every problem */
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

  /**
   * The last refusal; undefined when the file in its present form is in force. @param process service and name of this
   * process
   */
  findRefusal(process: string): ConfigRefusal | undefined {
    if (!this.#refusal) return undefined;
    const { atMs, problems } = this.#refusal;
    return create(ConfigRefusalSchema, {
      process,
      refusedAtMs: BigInt(atMs),
      problems: problems.slice(0, maxProblems),
    });
  }

  /** Watches the files until the process ends. @param apply called with each new configuration */
  watch(apply: (loaded: Loaded) => void): void {
    setInterval(() => this.#look(apply), lookMs).unref();
    process.on("SIGHUP", () => this.#reload(apply));
  }

  #look(apply: (loaded: Loaded) => void): void {
    const looks = textOf(looksOf([...this.#read.keys()]));
    if (looks === textOf(this.#read)) {
      this.#changing = "";
      // After a refusal, try again now and then: a missing file may appear later, such as a secret mounted after the
      // configuration file.
      if (this.#refusal && ++this.#looksSinceFailure % looksBetweenTrials === 0) this.#reload(apply, true);
    } else if (looks === this.#changing) this.#reload(apply);
    else this.#changing = looks;
  }

  /** @param again whether a refused file is tried again, so the same refusal is not logged twice */
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
    // Versions are taken before the files are read, so the next check sees any change in between.
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

/** Creates the counter with both label values at 0, so the first failure shows as an increase. */
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
