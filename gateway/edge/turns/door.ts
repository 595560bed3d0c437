/**
 * The interface between the path of a turn and a door: a format of requests and answers.
 *
 * A door translates. It converts a body into the request of a turn and the turn's events into its own answer; keys, limits, memory, idempotency,
 * cancellation and delivery are the same for all doors, and models are the business of inference-svc.
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
  /** The format in records of turns. */
  readonly name: "responses" | "chat" | "messages";
  /** Path of its operation, with the base path. */
  readonly path: string;
  /** Member of the body passed on unparsed, which needs no memory for parsing; undefined when all are parsed. */
  readonly unparsed: string | undefined;
  /** Whether its requests repeat earlier ones, as conversations do: then known messages and tools are not scanned again. */
  readonly repeats: boolean;
  /** Name of its bodies in error messages; "body" when absent. */
  readonly bodyName?: string;
  /** Headers, in lower case, that affect the answer in addition to those read by every door. Idempotent requests must agree in them. */
  readonly decidingHeaders: readonly string[];
  /** Whether its requests may refer to items of earlier answers. */
  readonly refersToItems: boolean;
  readonly faults: FaultForm;
  /**
   * @param members of the body, after the JSON scan
   * @throws Fault INVALID_REQUEST with every problem detectable here
   */
  read(body: Buffer, members: readonly JsonMember[], context: DoorContext): DoorTurn;
}

/** The parts of a request outside of its body. */
export interface DoorContext {
  /** Value of the header `x-session-id`, used when the body names no session. */
  readonly sessionId: string | undefined;
  /** Whether `X-Service-Metadata` asks for the receipt. */
  readonly serviceMetadata: boolean;
  readonly headers: IncomingHttpHeaders;
  readonly compat: Compat;
  /** Remembers the items of the answer; undefined where they are not remembered. */
  readonly remember: ItemReceiver | undefined;
}

/** A parsed request, and the folds for its answer. Each client of a shared turn gets a separate fold. */
export interface DoorTurn {
  readonly request: RunTurnRequest;
  /** Translates a failure of the turn into the terms of the format; undefined where clients write the fields of a turn themselves. */
  readonly explain?: (fault: Fault) => Fault;
  /** The format's names for the fields of the turn; undefined where they are the same. */
  readonly names?: FieldNames;
  /** A fold for an answer without streaming. */
  whole(): WholeAnswer;
  /** A fold for a streamed answer. */
  stream(): StreamedAnswer;
}

interface FailingAnswer {
  /** JSON of the tokens consumed before the turn failed; undefined when unknown. */
  readonly withheldUsageJson: string | undefined;
}

/** Folds the events of a turn into one JSON object. */
export interface WholeAnswer extends FailingAnswer {
  apply(event: TurnEvent["event"]): void;
  /** The object; undefined before the end of the turn, without which an answer never counts as complete. */
  json(): string | undefined;
}

/** Converts the events of a turn into the text of server-sent events. Every text consists of whole events. */
export interface StreamedAnswer extends FailingAnswer {
  /** Whether the last event was written. */
  readonly over: boolean;
  /** Returns, once, the events before the turn's first event; status 200 has gone out then. */
  open(): string;
  /** @throws Fault INTERNAL when the events do not form a valid stream */
  events(events: readonly TurnEvent[]): string;
  /** Returns the end of a stream after a failure; an empty text when it was over. */
  failed(fault: Fault): string;
}
