/** The context of a request. Layers and attempts change a field for their inner calls by deriving a new scope. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { OperationWord, PayerWord } from "@sluice/proto/lib/ledger/call-operation.js";
import type { Account } from "@sluice/proto/lib/load/held-bytes.js";
import type { TurnModelLimits } from "./model-limits.ts";
import type { Permissions } from "./permissions.ts";
import type { Span } from "@sluice/proto/lib/tracing/span.js";
import type { TagBudget } from "./tag-budgets.ts";
import type { TurnSignal } from "./signal.ts";
import type { TurnState } from "./turn-state.ts";
import type { Trace } from "./trace.ts";

/** The time for one attempt before the next endpoint is tried. */
export interface AttemptDeadline {
  /** Milliseconds from its beginning until its first event; Infinity when the deadline of the turn is the only limit. */
  readonly withinMs: number;
  /** True for the last endpoint to try: its attempt is not cut for a late first event. */
  readonly last: boolean;
}

/** The deadline of a call without possible successors. */
export const noAttemptDeadline: AttemptDeadline = { withinMs: Number.POSITIVE_INFINITY, last: true };

/** Fields for creating a scope; a missing field is undefined in the scope, or the value for a call that answers a request of the key. */
type ScopeFields = Pick<
  Scope,
  "signal" | "held" | "caller" | "requestId" | "deadline" | "turnId" | "generationId" | "trace" | "state"
> &
  Partial<
    Pick<
      Scope,
      | "permissions"
      | "modelLimits"
      | "operation"
      | "payer"
      | "again"
      | "attempt"
      | "user"
      | "tags"
      | "tagBudgets"
      | "door"
      | "span"
    >
  >;

export class Scope {
  /** Aborted when the turn is cut short by the client, a deadline or a failure; upstream sockets listen to it. */
  readonly signal: TurnSignal;
  /** Counts the memory for everything the turn keeps of answers until its end. */
  readonly held: Account;
  /** The API key with its policy. */
  readonly caller: Caller;
  /** Permissions of the turn; undefined means everything. */
  readonly permissions: Permissions | undefined;
  /** Limits of models; undefined when there are none, and for calls paid by the operator. */
  readonly modelLimits: TurnModelLimits | undefined;
  readonly requestId: string;
  /** performance.now() of the turn's timeout; Infinity when it has no deadline. */
  readonly deadline: number;
  /** The purpose of the calls, as the ledger records it. */
  readonly operation: OperationWord;
  /** The key pays from its budgets; for calls paid by the operator, nothing is held or counted for the key. */
  readonly payer: PayerWord;
  /**
   * Calls the endpoint of `trace.selected` again: `first` tries it before all others, `alone` tries no other, and `once` makes a single
   * attempt, because an action already taken cannot be undone.
   */
  readonly again: "first" | "alone" | "once" | undefined;
  /** The time limit of the running attempt. */
  readonly attempt: AttemptDeadline;
  /** UUID version 7 of the turn. */
  readonly turnId: string;
  /** The id for looking up the record of the turn. */
  readonly generationId: string;
  /** The end user as the client named it: for the usage record, never for a provider. */
  readonly user: string | undefined;
  /** Tags of the request and of its key as text, for the usage record; empty when there are none. */
  readonly tags: string;
  /** Budgets of the workspace for these tags; undefined without any. */
  readonly tagBudgets: readonly TagBudget[] | undefined;
  /** API format of the client, for the usage record; undefined means responses. */
  readonly door: string | undefined;
  /** Receipt of the turn. */
  readonly trace: Trace;
  /** Working state of the layers; belongs to the same turn, or part of a turn, as the receipt. */
  readonly state: TurnState;
  /** Parent span for calls on behalf of the turn; undefined when tracing is off. */
  readonly span: Span | undefined;

  constructor(fields: ScopeFields) {
    this.signal = fields.signal;
    this.held = fields.held;
    this.caller = fields.caller;
    this.permissions = fields.permissions;
    this.modelLimits = fields.modelLimits;
    this.requestId = fields.requestId;
    this.deadline = fields.deadline;
    this.operation = fields.operation ?? "turn";
    this.payer = fields.payer ?? "key";
    this.again = fields.again;
    this.attempt = fields.attempt ?? noAttemptDeadline;
    this.turnId = fields.turnId;
    this.generationId = fields.generationId;
    this.user = fields.user;
    this.tags = fields.tags ?? "";
    this.tagBudgets = fields.tagBudgets;
    this.door = fields.door;
    this.trace = fields.trace;
    this.state = fields.state;
    this.span = fields.span;
  }

  /** Whether the key pays from a budget of its own, a shared one or one for a tag of the turn. */
  get hasBudget(): boolean {
    return this.caller.hasBudget || this.tagBudgets !== undefined;
  }

  /** A copy of the scope with these changes. */
  with(changes: Partial<ScopeFields>): Scope {
    return Object.assign(new Scope(this), changes);
  }
}
