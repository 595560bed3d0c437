/** What every scenario is given: the roles, the house and the patience of this run. */
import type { Target } from "./client/target.ts";
import type { House } from "./house.ts";
import type { LoadCommands } from "./roles/load.ts";
import type { MockCommands } from "./roles/mock.ts";
import type { Role } from "./roles/role.ts";

export interface Pace {
  readonly rounds: number;
  readonly warmUpMs: number;
  /** Requests, or events of streams, that go before the first window: a process is compiled anew until it has served some ten thousand. */
  readonly warmUpUnits: number;
  readonly windowMs: number;
  /** performance.now() after which nothing is measured again. */
  readonly repeatUntilMs: number;
}

export interface Bench {
  readonly load: Role<LoadCommands>;
  readonly mock: Role<MockCommands>;
  readonly house: House;
  readonly pipe: { readonly target: Target; readonly pid: number };
  /** The upstream itself. */
  readonly direct: Target;
  readonly pace: Pace;
  /** Progress, for people who wait. */
  say(line: string): void;
}

export type Verdict = "pass" | "MISS" | "FAIL" | "inconclusive" | "reported";

/** One line of the table. */
export interface Finding {
  readonly measure: string;
  readonly house: string;
  readonly pipe: string;
  readonly ratio: string;
  readonly gate: string;
  /** MISS is a cost above its gate, FAIL is wrong behaviour. */
  readonly verdict: Verdict;
}
