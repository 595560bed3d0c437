/**
 * The interface between the path of a turn and a door, which stands for one format of requests and answers. A door translates: it converts a body to
 * the request of a turn, and the turn's events to its own answer. Keys, limits, memory, idempotency, cancellation and delivery are the same for all
 * doors, and inference-svc deals with models.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { RunTurnRequest, TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Compat } from "@sluice/proto/config/config-file.js";
import type { ItemReceiver } from "@sluice/proto/lib/responses/object.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import type { FaultForm } from "../http/errors.ts";
import type { FieldNames } from "./field-names.ts";

export interface Door {
  /** Name of the format in records of turns. */
  readonly name: "responses" | "chat" | "messages";
  /** Path of the door's operation, with the base path. */
  readonly path: string;
  /** Top-level member that is passed on unparsed, and for which no memory is reserved; undefined if all members are parsed. */
  readonly unparsed: string | undefined;
  /** Whether requests repeat earlier ones, as in a conversation: messages and tools that are already known are not scanned again. */
  readonly repeats: boolean;
  /** Name of the body in error messages; "body" by default. */
  readonly bodyName?: string;
  /** Headers, in lower case, that affect the answer in addition to those that every door reads. Idempotent requests must have the same values. */
  readonly decidingHeaders: readonly string[];
  /** Whether requests may refer to items of earlier answers. */
  readonly refersToItems: boolean;
  readonly faults: FaultForm;
  /**
   * @param members top-level members of the body, found by the JSON scan  @throws Fault INVALID_REQUEST with every problem that can be found before
   * the turn runs
   */
  read(body: Buffer, members: readonly JsonMember[], context: DoorContext): DoorTurn;
}

/** The parts of a request other than its body. */
export interface DoorContext {
  /** Value of the header `x-session-id`, used when the body names no session. */
  readonly sessionId: string | undefined;
  /** Whether `X-Service-Metadata` asks for the receipt. */
  readonly serviceMetadata: boolean;
  readonly headers: IncomingHttpHeaders;
  readonly compat: Compat;
  /** Receives the items of the answer to remember them; undefined if items are not remembered. */
  readonly remember: ItemReceiver | undefined;
}

/** A parsed request with the folds for its answer. Each client of a shared turn gets a fold of its own. */
export interface DoorTurn {
  readonly request: RunTurnRequest;
  /** Translates a failure into the terms of the format; undefined if the format has the field names of a turn. */
  readonly explain?: (fault: Fault) => Fault;
  /** Names of a turn's fields in the format; undefined if they are the same. */
  readonly names?: FieldNames;
  /** Creates a fold for an answer without streaming. */
  whole(): WholeAnswer;
  /** Creates a fold for a streamed answer. */
  stream(): StreamedAnswer;
}

interface FailingAnswer {
  /** JSON of the tokens consumed by a turn before it failed; undefined if unknown. */
  readonly withheldUsageJson: string | undefined;
}

/** Folds the events of a turn into one JSON object. */
export interface WholeAnswer extends FailingAnswer {
  apply(event: TurnEvent["event"]): void;
  /** The answer's object; undefined before the end event, without which an answer never counts as complete. */
  json(): string | undefined;
}

/** Converts the events of a turn to server-sent events as text. Every text contains complete events only. */
export interface StreamedAnswer extends FailingAnswer {
  /** Whether the last event of the stream was written. */
  readonly over: boolean;
  /** Returns the events before the turn's first event, once. Called when status 200 has been sent. */
  open(): string;
  /** @throws Fault INTERNAL when the events do not form a valid stream */
  events(events: readonly TurnEvent[]): string;
  /** Returns the end of the stream after a failure; empty if the stream was already over. */
  failed(fault: Fault): string;
}
