/** The context of a request. Layers and attempts derive a new scope to change a field for the calls they make. */
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

/** Time for one attempt, after which the next endpoint is tried. */
export interface AttemptDeadline {
  /** Milliseconds from the start of the attempt until its first event; Infinity when only the deadline of the turn limits it. */
  readonly withinMs: number;
  /** Whether this is the last endpoint to try, so the attempt is not cut for a late first event. */
  readonly last: boolean;
}

/** The deadline of a call after which no other endpoint can be tried. */
export const noAttemptDeadline: AttemptDeadline = { withinMs: Number.POSITIVE_INFINITY, last: true };

/** Fields for creating a scope. A missing field is undefined in the scope, or has the value for a call that answers a request of the key. */
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
  /** Aborted when the client, a deadline or a failure ends the turn early; sockets to providers listen to it. */
  readonly signal: TurnSignal;
  /** Memory account for everything that the turn keeps of answers until its end. */
  readonly held: Account;
  /** The API key with its policy. */
  readonly caller: Caller;
  /** Permissions that apply to the turn; undefined when everything is allowed. */
  readonly permissions: Permissions | undefined;
  /** Limits of models; undefined when there are none, and for calls the operator pays for. */
  readonly modelLimits: TurnModelLimits | undefined;
  readonly requestId: string;
  /** performance.now() at which the turn times out; Infinity when it has no deadline. */
  readonly deadline: number;
  /** Purpose of the calls, as the ledger records it. */
  readonly operation: OperationWord;
  /** Payer of the calls. A key pays from its budgets; for calls the operator pays for, nothing is held or counted for the key. */
  readonly payer: PayerWord;
  /**
   * Whether the endpoint of `trace.selected` is called again. `first`: it is tried before all others; `alone`: no other
   * one is tried; `once`: only one attempt is made, because something was done that cannot be undone.
   */
  readonly again: "first" | "alone" | "once" | undefined;
  /** Time limit of the running attempt. */
  readonly attempt: AttemptDeadline;
  /** Id of the turn, a UUID of version 7. */
  readonly turnId: string;
  /** Id by which clients look up the record of the turn. */
  readonly generationId: string;
  /** The end user as the client named it, for the usage record only; no provider gets it. */
  readonly user: string | undefined;
  /** Tags of the request and of its key as text, for the usage record; empty when there are none. */
  readonly tags: string;
  /** Budgets of the workspace for these tags; undefined when there are none. */
  readonly tagBudgets: readonly TagBudget[] | undefined;
  /** API format of the client's request, for the usage record; undefined means responses. */
  readonly door: string | undefined;
  /** Receipt of the turn. */
  readonly trace: Trace;
  /** Working state of the layers. It belongs to the same turn, or part of a turn, as the receipt. */
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

  /** Whether the key pays from any budget: its own, a shared one or one for a tag of the turn. */
  get hasBudget(): boolean {
    return this.caller.hasBudget || this.tagBudgets !== undefined;
  }

  /** A copy of the scope with these changes. */
  with(changes: Partial<ScopeFields>): Scope {
    return Object.assign(new Scope(this), changes);
  }
}
