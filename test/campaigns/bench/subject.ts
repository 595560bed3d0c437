/** A service under load, and its processes, whose processor time is measured. */
import type { LoadTarget } from "./client/target.ts";

export interface LoadSubject {
  readonly name: string;
  readonly target: LoadTarget;
  readonly pids: readonly number[];
  /** Ids of the processes that store the records of requests: admin-svc and Postgres. */
  readonly recordPids?: () => readonly number[];
}
