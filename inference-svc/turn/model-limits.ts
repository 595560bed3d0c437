/**
 * Limits of models. A turn counts towards an entry once, from its first call of one of the entry's models until its
 * end, whatever has caused the call. The tokens of all its calls of these models are charged at the end. If the call
 * was not made after all, for example because a budget refused it, the turn no longer counts.
 */
import { createHash } from "node:crypto";
import type { Caller, ModelLimit, ModelLimits } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { modelsName } from "@sluice/proto/contract/records/model-limits.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { JointAdmission, ModelLimitRow, ReachedLimit, TurnEnd } from "@sluice/proto/lib/limits/joint-admission.js";
import type { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { Globs } from "./globs.ts";
import type { Bill } from "./trace.ts";

/** A limit for models in the settings of a key or a workspace. */
interface ModelRow extends ModelLimitRow {
  readonly owner: "key" | "workspace";
  /** Index among the limits of its owner. */
  readonly entry: number;
  readonly models: readonly string[];
  readonly globs: Globs;
}

type ModelLimiter = Pick<Limiter, "enterModels">;

/** Names of the limits in the API, and their words in errors. */
const words = {
  requests: { field: "requests_per_minute", of: "requests a minute" },
  tokens: { field: "tokens_per_minute", of: "tokens a minute" },
  requests_per_day: { field: "requests_per_day", of: "requests a day" },
  tokens_per_day: { field: "tokens_per_day", of: "tokens a day" },
  concurrency: { field: "concurrent_requests", of: "requests at a time" },
} as const;

/** Maximum number of patterns an error shows. */
const maxShown = 5;

function limitRefusal(
  { owner, entry, models }: ModelRow,
  { limit, maximum, retryAfterMs, resetMs }: ReachedLimit,
): Fault {
  const { field, of } = words[limit];
  const shown = [...models.slice(0, maxShown), ...(models.length > maxShown ? ["…"] : [])].join(", ");
  const path = `model_limits.${entry}.${field}`;
  return new Fault(
    FaultReason.RATE_LIMITED,
    `Rate limit exceeded: ${maximum} ${of} of ${shown} (${path} of this ${owner})`,
    {
      retryAfterMs,
      origin: FaultOrigin.INFERENCE,
      metadata: {
        error_type: "rate_limit_exceeded",
        model_limit: {
          owner,
          limit: path,
          models: models.slice(0, maxShown),
          maximum,
          reset_ms: resetMs && Math.ceil(resetMs),
        },
      },
    },
  );
}

/** Whether the fault is a limit of models of the key or its workspace, so no provider was called. */
export const isModelLimit = ({ reason, origin }: Fault): boolean =>
  reason === FaultReason.RATE_LIMITED && origin !== FaultOrigin.UPSTREAM;

/** A turn's use of one limit. */
interface Place {
  readonly row: ModelRow;
  /** Index of the limit's row in its admission. */
  readonly index: number;
  /** Number of calls made, or may still be made. */
  using: number;
  isCalled: boolean;
}

/** Limits towards which the turn began to count in one step. */
interface Step {
  readonly admission: JointAdmission;
  /** Limits of this step towards which the turn still counts. */
  places: readonly Place[];
}

/** One turn, with the model limits that apply to its caller. */
export class TurnModelLimits {
  readonly #rows: readonly ModelRow[];
  readonly #limiter: ModelLimiter;
  #entered: Step[] = [];
  readonly #calls: { readonly model: string; readonly bill: Bill }[] = [];
  #entering: Promise<Fault | undefined> | undefined;
  #isOver = false;

  constructor(rows: readonly ModelRow[], limiter: ModelLimiter) {
    this.#rows = rows;
    this.#limiter = limiter;
  }

  /**
   * Counts the turn towards the limits for this model towards which it does not count yet. Every call must be followed
   * by `note` or `giveBack`, unless the turn ends.
   * @returns RATE_LIMITED when one of the limits is reached
   */
  enter(model: string): Promise<Fault | undefined> | Fault | undefined {
    // Parts of a turn that run in parallel count once.
    if (this.#entering) return this.#entering.then(() => this.enter(model));
    const rows = this.#rows.filter((row) => row.globs.matches(model) && !this.#hasEntered(row));
    if (rows.length === 0) return this.#use(model);
    const admission = this.#limiter.enterModels(rows);
    if (!(admission instanceof Promise)) return this.#take(model, rows, admission);
    return (this.#entering = admission.then((known) => {
      this.#entering = undefined;
      return this.#take(model, rows, known);
    }));
  }

  /** Notes a call made; its tokens are charged at the end of the turn. */
  note(model: string, bill: Bill): void {
    this.#calls.push({ model, bill });
    for (const { places } of this.#entered)
      for (const place of places) if (place.row.globs.matches(model)) place.isCalled = true;
  }

  /** Takes back a call that was not made: the turn no longer counts towards its limits, unless another call needs them. */
  giveBack(model: string): void {
    for (const step of this.#entered) {
      for (const place of step.places) if (place.row.globs.matches(model)) place.using--;
      const unneeded = step.places.filter((place) => !isNeeded(place));
      if (unneeded.length === 0) continue;
      step.places = step.places.filter(isNeeded);
      this.#end(step.admission, unneeded);
    }
    this.#entered = this.#entered.filter(({ places }) => places.length > 0);
  }

  /** Ends the turn. */
  leave(): void {
    this.#isOver = true;
    for (const { admission, places } of this.#entered.splice(0)) this.#end(admission, places);
  }

  #hasEntered(row: ModelRow): boolean {
    return this.#entered.some(({ places }) => places.some((place) => place.row === row));
  }

  #use(model: string): undefined {
    for (const { places } of this.#entered)
      for (const place of places) if (place.row.globs.matches(model)) place.using++;
  }

  #take(model: string, rows: readonly ModelRow[], admission: JointAdmission): Fault | undefined {
    const { reached } = admission;
    if (reached) return limitRefusal(rows[reached.index] as ModelRow, reached);
    const places = rows.map((row, index) => ({ row, index, using: 0, isCalled: false }));
    // The turn has ended meanwhile, for example because the client left.
    if (this.#isOver) this.#end(admission, places);
    else this.#entered.push({ admission, places });
    return this.#use(model);
  }

  #end(admission: JointAdmission, places: readonly Place[]): void {
    admission.leave(
      places.map(({ row }) => this.#endOf(row)),
      places.map(({ index }) => index),
    );
  }

  #endOf({ globs }: ModelRow): TurnEnd {
    let tokens = 0;
    let isUnused = true;
    for (const { model, bill } of this.#calls) {
      if (!globs.matches(model)) continue;
      isUnused = false;
      const { usage } = bill;
      if (usage) tokens += usage.inputTokens + usage.outputTokens;
    }
    return { tokens, isUnused };
  }
}

const isNeeded = ({ using, isCalled }: Place): boolean => using > 0 || isCalled;

const known = new WeakMap<Caller, readonly ModelRow[]>();

/** The model limits for one turn of a caller. @returns undefined when there are none */
export function openModelLimits(caller: Caller, limiter: ModelLimiter): TurnModelLimits | undefined {
  if (caller.modelLimits === undefined && caller.workspaceModelLimits === undefined) return undefined;
  let rows = known.get(caller);
  if (rows === undefined) known.set(caller, (rows = rowsOf(caller)));
  return new TurnModelLimits(rows, limiter);
}

const rowsOf = ({ keyHash, workspaceId, modelLimits, workspaceModelLimits }: Caller): readonly ModelRow[] => [
  ...rowsIn(modelLimits, "key", `{${workspaceId}}:${keyHash}`),
  ...rowsIn(workspaceModelLimits, "workspace", `{${workspaceId}}`),
];

/** @param prefix prefix of the names of counts; its braces keep all counts of a workspace in one slot of a Redis Cluster */
const rowsIn = (limits: ModelLimits | undefined, owner: ModelRow["owner"], prefix: string): readonly ModelRow[] =>
  limits?.entries.map((entry, index) => ({
    id: `${prefix}:${digestOf(entry)}`,
    limits: {
      requestsPerMinute: entry.requestsPerMinute,
      tokensPerMinute: entry.tokensPerMinute,
      requestsPerDay: entry.requestsPerDay,
      tokensPerDay: entry.tokensPerDay === undefined ? undefined : Number(entry.tokensPerDay),
      concurrentRequests: entry.concurrentRequests,
    },
    owner,
    entry: index,
    models: entry.models,
    globs: new Globs(entry.models),
  })) ?? [];

const digestOf = ({ models }: ModelLimit): string =>
  createHash("sha256").update(modelsName(models)).digest("base64url").slice(0, 22);
