/** The roles, the subjects and the timeouts of a run, shared by all scenarios. */
import type { BenchInstallation } from "./installation.ts";
import type { ReferenceId } from "./peers/start.ts";
import type { LoadCommands } from "./roles/load.ts";
import type { MockCommands } from "./roles/mock.ts";
import type { Role } from "./roles/role.ts";
import type { LoadSubject } from "./subject.ts";

export interface Pace {
  readonly rounds: number;
  readonly warmUpMs: number;
  /** Requests, or events of streams, before the first window: V8 recompiles a process until it has served some ten thousand. */
  readonly warmUpUnits: number;
  /** Streams started before the first-event delay is measured. */
  readonly warmUpStarts: number;
  readonly windowMs: number;
  /** Number of requests counted as the first of a process. */
  readonly coldRequests: number;
  readonly coldRounds: number;
  /** Value of performance.now() after which no measurement is repeated. */
  readonly repeatUntilMs: number;
}

/** Freshly started subjects. */
export interface FreshStart {
  readonly pipe: LoadSubject;
  readonly installations: readonly BenchInstallation[];
  stop(): Promise<void>;
}

export interface Bench {
  readonly load: Role<LoadCommands>;
  readonly mock: Role<MockCommands>;
  /** The first of `installations`, for measurements of a single installation. */
  readonly installation: BenchInstallation;
  readonly installations: readonly BenchInstallation[];
  readonly pipe: LoadSubject;
  /** Other proxies measured next to the pipe. */
  readonly references: readonly LoadSubject[];
  /** References not installed or not started, with the reason. */
  readonly absent: ReadonlyMap<ReferenceId, string>;
  /** The upstream itself. */
  readonly direct: LoadSubject;
  readonly pace: Pace;
  /** Starts another pipe and another installation of each checkout. */
  startFresh(): Promise<FreshStart>;
  /** Prints progress for waiting people. */
  say(line: string): void;
}

export type BenchVerdict = "pass" | "MISS" | "FAIL" | "inconclusive" | "reported";

/** A line of the table of results. */
export interface ResultRow {
  readonly measure: string;
  readonly installation: string;
  readonly pipe: string;
  readonly ratio: string;
  readonly gate: string;
  /** MISS is a cost above its gate, FAIL is wrong behaviour. */
  readonly verdict: BenchVerdict;
}
