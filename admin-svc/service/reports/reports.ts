/**
 * Runs reports: possibly expensive lists, searches and sums. They use separate database connections, so no report
 * delays a request to a model. Few run at a time in this process, and fewer per workspace, so a reloading console
 * leaves room for other workspaces.
 */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { Kysely } from "kysely";
import type { Database } from "../../store/database.ts";
import { isStatementTimeout } from "../../store/postgres/failure.ts";
import type { Replica } from "../../store/postgres/replica.ts";
import { maxReports, reportConnectionLimits } from "../../store/postgres/postgres.ts";

/** Maximum number of concurrent reports of a workspace. */
const maxOfWorkspace = 2;
/**
 * Maximum wait in milliseconds for a report's start. A console page requests six reports at once, of which two run at a
 * time. Wait and run time together stay below the gateway's limit of 10 s.
 */
const maxWaitMs = 6_000;
/** Maximum number of waiting reports of a workspace; further reports are refused at once. */
const maxWaitingOfWorkspace = 32;
/** Maximum run time of a report, which may consist of several statements. */
const maxReportMs = reportConnectionLimits.statementTimeoutMs + 500;
/** `Retry-After` of a refused report; by then a running report has ended. */
const retryAfterMs = 2_000;

export interface Report {
  readonly workspaceId: string;
  /** Filters for a smaller report, as named in its error: "from and to". */
  readonly narrowedBy: string;
  /**
   * Whether the report reads usage records, possibly from a standby server without the latest. Other lists must show a
   * change at once, so they always read the primary.
   */
  readonly isOfRecords: boolean;
  /** Aborted when the client no longer waits for the report. */
  readonly signal: AbortSignal;
}

interface Waiting {
  readonly workspaceId: string;
  readonly begin: () => void;
}

export class Reports {
  readonly #database: Kysely<Database>;
  readonly #replica: Replica | undefined;
  #running = 0;
  readonly #ofWorkspace = new Map<string, number>();
  /** Waiting reports in the order of their arrival. */
  readonly #waiting = new Set<Waiting>();
  /** When each workspace was last served, as a count of started reports; kept only while reports run. */
  readonly #servedAt = new Map<string, number>();
  #served = 0;

  /** @param replica standby server for reports of usage records */
  constructor(database: Kysely<Database>, replica?: Replica) {
    this.#database = database;
    this.#replica = replica;
  }

  /**
   * Runs a report on one connection.
   * @throws Fault RATE_LIMITED when it could not start in time, UNPROCESSABLE when it runs too long
   */
  async run<Result>(report: Report, work: (database: Kysely<Database>) => Promise<Result>): Promise<Result> {
    await this.#place(report);
    const { workspaceId, narrowedBy } = report;
    const made = this.#read(report, work).finally(() => this.#leave(workspaceId));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(overTime(narrowedBy)), maxReportMs);
    });
    try {
      return await Promise.race([made, late]);
    } catch (error) {
      throw isStatementTimeout(error) ? overTime(narrowedBy, error) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Runs the check of an alert rule, however many reports run or wait: checks come one at a time, on the connection left free by reports. Each statement has
   * the time limit of a report.
   * @throws Fault UNPROCESSABLE for a check beyond its time limit
   */
  async check<Result>(narrowedBy: string, work: (database: Kysely<Database>) => Promise<Result>): Promise<Result> {
    try {
      return await this.#read({ isOfRecords: true }, work);
    } catch (error) {
      throw isStatementTimeout(error) ? overTime(narrowedBy, error) : error;
    }
  }

  #read<Result>(
    { isOfRecords }: Pick<Report, "isOfRecords">,
    work: (database: Kysely<Database>) => Promise<Result>,
  ): Promise<Result> {
    if (isOfRecords && this.#replica) return this.#replica.read(this.#database, work);
    return this.#database.connection().execute(work);
  }

  #place({ workspaceId, signal }: Report): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (how: () => void) => {
        clearTimeout(timer);
        signal.removeEventListener("abort", refuse);
        this.#waiting.delete(waiting);
        how();
      };
      const refuse = () => settle(() => reject(noPlace()));
      const waiting: Waiting = { workspaceId, begin: () => settle(resolve) };
      const timer = setTimeout(refuse, maxWaitMs);
      const hasRoom = this.#waitingOf(workspaceId) < maxWaitingOfWorkspace;
      this.#waiting.add(waiting);
      if (signal.aborted || !hasRoom) refuse();
      else signal.addEventListener("abort", refuse);
      this.#admit();
    });
  }

  #waitingOf(workspaceId: string): number {
    let count = 0;
    for (const waiting of this.#waiting) if (waiting.workspaceId === workspaceId) count++;
    return count;
  }

  /**
   * Starts waiting reports while the limits allow. Workspaces take turns, so a long queue of one workspace does
   * not delay the others.
   */
  #admit(): void {
    while (this.#running < maxReports) {
      const next = this.#next();
      if (!next) break;
      const { workspaceId, begin } = next;
      this.#running++;
      this.#ofWorkspace.set(workspaceId, (this.#ofWorkspace.get(workspaceId) ?? 0) + 1);
      this.#servedAt.set(workspaceId, ++this.#served);
      begin();
    }
    if (this.#running === 0) this.#servedAt.clear();
  }

  /** The next report: the oldest of the waiting workspace that was served longest ago. */
  #next(): Waiting | undefined {
    let next: Waiting | undefined;
    let earliest = Number.POSITIVE_INFINITY;
    for (const waiting of this.#waiting) {
      const servedAt = this.#servedAt.get(waiting.workspaceId) ?? 0;
      if (servedAt >= earliest || (this.#ofWorkspace.get(waiting.workspaceId) ?? 0) >= maxOfWorkspace) continue;
      next = waiting;
      earliest = servedAt;
    }
    return next;
  }

  #leave(workspaceId: string): void {
    this.#running--;
    const left = (this.#ofWorkspace.get(workspaceId) ?? 1) - 1;
    if (left > 0) this.#ofWorkspace.set(workspaceId, left);
    else this.#ofWorkspace.delete(workspaceId);
    this.#admit();
  }
}

const noPlace = (): Fault =>
  new Fault(
    FaultReason.RATE_LIMITED,
    `Too many reports are being made: at most ${maxOfWorkspace} of a workspace and ${maxReports} in all at a time`,
    { retryAfterMs, origin: FaultOrigin.ADMIN },
  );

const overTime = (narrowedBy: string, cause?: unknown): Fault =>
  new Fault(
    FaultReason.UNPROCESSABLE,
    `The report reads too much for ${reportConnectionLimits.statementTimeoutMs / 1_000} s: narrow it with ${narrowedBy}`,
    { origin: FaultOrigin.ADMIN, cause },
  );
