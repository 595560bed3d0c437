/**
 * The contract between the path of a turn and a door: a format in which clients ask for turns and read their answers.
 *
 * A door translates. It converts a body into the request of a turn and the events of that turn into its own answer; keys, limits, memory,
 * idempotency, cancellation and delivery are the same for all doors, and models are inference-svc's.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { RunTurnRequest, TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/runtime/fault.js";
import type { Compat } from "@sluice/proto/runtime/house-file.js";
import type { ItemTaker } from "@sluice/proto/runtime/responses/object.js";
import type { JsonMember } from "@sluice/proto/runtime/validation/json-span.js";
import type { FaultForm } from "../http/errors.ts";
import type { FieldNames } from "./field-names.ts";

export interface Door {
  /** The format in records of turns. */
  readonly name: "responses" | "chat" | "messages";
  /** Path of its operation, with the base path. */
  readonly path: string;
  /** Member of the body that is passed on without being parsed, so that it needs no memory for that; undefined where all are parsed. */
  readonly unparsed: string | undefined;
  /** Headers, in lower case, that decide about the answer beside those that every door reads. Idempotent requests must agree in them. */
  readonly decidingHeaders: readonly string[];
  /** Whether its requests may refer to items of earlier answers. */
  readonly refersToItems: boolean;
  readonly faults: FaultForm;
  /**
   * @param members of the body, whose JSON has been scanned
   * @throws Fault INVALID_REQUEST with every problem that can be seen here
   */
  read(body: Buffer, members: readonly JsonMember[], context: DoorContext): DoorTurn;
}

/** The parts of a request that its body does not tell. */
export interface DoorContext {
  /** Value of the header `x-session-id`, which counts when the body names no session. */
  readonly sessionId: string | undefined;
  /** Whether `X-Service-Metadata` asks for the receipt. */
  readonly serviceMetadata: boolean;
  readonly headers: IncomingHttpHeaders;
  readonly compat: Compat;
  /** Remembers the items of the answer; undefined where they are not remembered. */
  readonly remember: ItemTaker | undefined;
}

/** A request that was read, and the forms of its answer. Clients that share a turn each get a fold of their own. */
export interface DoorTurn {
  readonly request: RunTurnRequest;
  /** Puts a failure of the turn into the terms of the format; undefined where clients write the fields of a turn themselves. */
  readonly explain?: (fault: Fault) => Fault;
  /** Names of the format for the fields of the turn; undefined where they are the same. */
  readonly names?: FieldNames;
  /** A fold for an answer without a stream. */
  whole(): WholeAnswer;
  /** A fold for an answer as a stream. */
  stream(): StreamedAnswer;
}

interface FailingAnswer {
  /** JSON of the tokens that a turn has consumed before it fails; undefined when they are unknown. */
  readonly withheldUsageJson: string | undefined;
}

/** Folds the events of a turn into one JSON object. */
export interface WholeAnswer extends FailingAnswer {
  apply(event: TurnEvent["event"]): void;
  /** The object; undefined before the end of the turn, which is never shown as complete without one. */
  json(): string | undefined;
}

/** Converts the events of a turn into the text of server-sent events. Every text consists of whole events. */
export interface StreamedAnswer extends FailingAnswer {
  /** Whether the last event was written. */
  readonly over: boolean;
  /** Returns once what stands before the first event of the turn; status 200 has gone out then. */
  open(): string;
  /** @throws Fault INTERNAL when the events cannot be a stream that clients can follow */
  events(events: readonly TurnEvent[]): string;
  /** Returns the end of a stream whose turn has failed; an empty text when it was over. */
  failed(fault: Fault): string;
}
