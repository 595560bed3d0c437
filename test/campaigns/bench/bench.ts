/** The roles, subjects and timings of a run, which all scenarios share. */
import type { BenchInstallation } from "./installation.ts";
import type { ReferenceId } from "./peers/start.ts";
import type { LoadCommands } from "./roles/load.ts";
import type { MockCommands } from "./roles/mock.ts";
import type { Role } from "./roles/role.ts";
import type { LoadSubject } from "./subject.ts";

export interface Pace {
  readonly rounds: number;
  readonly warmUpMs: number;
  /** Requests, or stream events, before the first window: V8 recompiles a process until it has served some ten thousand. */
  readonly warmUpUnits: number;
  /** Number of streams started before the delay of first events is measured. */
  readonly warmUpStarts: number;
  readonly windowMs: number;
  /** Number of requests that count as the first ones of a process. */
  readonly coldRequests: number;
  readonly coldRounds: number;
  /** Time after which no measurement is repeated, by performance.now(). */
  readonly repeatUntilMs: number;
}

/** Subjects of a measurement, started anew. */
export interface FreshStart {
  readonly pipe: LoadSubject;
  readonly installations: readonly BenchInstallation[];
  stop(): Promise<void>;
}

export interface Bench {
  readonly load: Role<LoadCommands>;
  readonly mock: Role<MockCommands>;
  /** The first of `installations`, used by measurements of one installation. */
  readonly installation: BenchInstallation;
  readonly installations: readonly BenchInstallation[];
  readonly pipe: LoadSubject;
  /** Other proxies that are measured like the pipe. */
  readonly references: readonly LoadSubject[];
  /** Reason for each reference proxy that is not installed or did not start. */
  readonly absent: ReadonlyMap<ReferenceId, string>;
  /** The upstream itself, called without a proxy. */
  readonly direct: LoadSubject;
  readonly pace: Pace;
  /** Starts another pipe and another installation of each checkout. */
  startFresh(): Promise<FreshStart>;
  /** Prints progress for a person who waits. */
  say(line: string): void;
}

export type BenchVerdict = "pass" | "MISS" | "FAIL" | "inconclusive" | "reported";

/** A row of the result table. */
export interface ResultRow {
  readonly measure: string;
  readonly installation: string;
  readonly pipe: string;
  readonly ratio: string;
  readonly gate: string;
  /** MISS means a cost above its limit, FAIL wrong behaviour. */
  readonly verdict: BenchVerdict;
}
