/**
 * Opens turns: the steps from the head of a request to inference-svc, in the order of their refusals, the same for every door.
 *
 *   key ─ shared turn ─ rate limits ─ body ─ scan ─ remembered items ─ door ─ count of tokens ─ capture ─▶ inference-svc
 *
 * A call adds its own: how its key is known, where its bytes come from, and what becomes of the turn. Most steps need not wait, so a promise is created
 * only for those that do, and one for all of them.
 */
import type { IncomingMessage } from "node:http";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Limits } from "@sluice/proto/config/config-file.js";
import type { Admission, Limiter } from "@sluice/proto/lib/limits/limiter.js";
import type { MeteredRequest } from "@sluice/proto/lib/limits/meter.js";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import { guardrailsForbidKeeping } from "@sluice/proto/lib/policy/kept-content.js";
import type { ItemReceiver } from "@sluice/proto/lib/responses/object.js";
import type { TraceHeaders } from "@sluice/proto/lib/tracing/context.js";
import { type LimitHeaders, admit } from "../limits/admission.ts";
import { type ItemMemory, type ScannedBody, restoreItems, scanBody } from "./body.ts";
import type { CapturedRequest, CapturedTurn } from "./captured-turn.ts";
import type { Captures } from "./captures.ts";
import type { Door } from "./door.ts";
import { mayKeepContent } from "./storage.ts";

export interface TurnOpeningDeps {
  readonly limiter: Limiter;
  readonly limits: Limits;
  readonly captures: Captures;
  readonly itemMemory: ItemMemory;
}

/** A turn as read by its door. */
export interface ReadTurn {
  readonly request: MeteredRequest & CapturedRequest;
  /** Generation id; undefined if inference-svc assigns it. */
  readonly generationId?: string;
}

/** The key, the request id and the start of a call, used in records of its turn. */
export interface TurnCaller {
  /** Policy of the key; undefined while the key is unknown. */
  readonly caller: Caller | undefined;
  readonly requestId: string;
  readonly trace: TraceHeaders;
  /** Start of the call, by performance.now() in milliseconds. */
  readonly startedAt: number;
}

/** A call for a turn: an HTTP request, or a frame of a WebSocket. */
export interface OpeningCall<Turn extends ReadTurn> extends TurnCaller {
  readonly caller: Caller;
  readonly keyHash: string;
  /** Whether the call continues a request whose content must not be stored; known once the call is read. */
  readonly isUnstored?: boolean;
  readonly door: Pick<Door, "path" | "unparsed" | "repeats" | "refersToItems" | "bodyName">;
  /** The response that takes the rate limit headers. */
  readonly res: LimitHeaders;
  /** Memory reserved for the body. */
  readonly bodyRoom: Reservation;
  /** The HTTP request of the only client that waits for the turn; undefined if others may share it. */
  readonly client: IncomingMessage | undefined;
  /** Pattern of the route, for metrics. */
  route: string;
  admission: Admission | undefined;
  captured: CapturedTurn | undefined;
  /** Takes the steps up to a known key; absent if they were taken before. @returns undefined if there is nothing to wait for @throws Fault */
  enter?(): Promise<void> | undefined;
  /**
   * Joins the running turn of an equal request; absent for calls that always open their own turn. @returns whether the call has joined @throws Fault
   */
  join?(): Promise<boolean>;
  readBody(): Buffer | Promise<Buffer>;
  /** Converts the body by the door. @param remember receives the items of the answer @throws Fault of the door, for an invalid body */
  read(source: ScannedBody, remember: ItemReceiver | undefined): Turn;
  /** Sends the turn to inference-svc. @param source the body as received */
  open(turn: Turn, source: ScannedBody): Promise<void> | void;
  /** Handles the failure of a step: answers with it, or throws it. */
  refused(error: unknown): Promise<void> | void;
}

/** Opens the turn of a call. The promise resolves once the turn is open; its answer continues by callbacks. */
export async function openTurn<Turn extends ReadTurn>(parts: TurnOpeningDeps, call: OpeningCall<Turn>): Promise<void> {
  try {
    const entering = call.enter?.();
    if (entering) await entering;
    call.route = call.door.path;
    const joining = call.join?.();
    if (joining && (await joining)) return;
    const admitting = admit(parts.limiter, call.caller, call.res);
    const admission = admitting instanceof Promise ? await admitting : admitting;
    call.admission = admission;
    const reading = call.readBody();
    const body = reading instanceof Promise ? await reading : reading;
    const scanning = scanBody(body, call);
    const source = scanning instanceof Promise ? await scanning : scanning;
    const itemMemory = call.door.refersToItems && parts.itemMemory.isOn ? parts.itemMemory : undefined;
    const restoring = itemMemory && restoreItems(itemMemory, parts.limits, call, source);
    const whole = (restoring && (await restoring)) ?? source;
    const remember = itemMemory && !guardrailsForbidKeeping(call.caller) ? itemMemory.taker(call.keyHash) : undefined;
    const turn = call.read(whole, remember);
    admission.countTokens(turn.request);
    const { capturesContent, tracesContent } = call.caller;
    if ((capturesContent || tracesContent) && mayKeepContent(call, turn.request, source)) {
      if (capturesContent) call.captured = parts.captures.begin(call, turn, source.body);
      if (tracesContent && turn.request.mayKeepContent === false) turn.request.mayKeepContent = true;
    }
    const opening = call.open(turn, source);
    if (opening) await opening;
  } catch (error) {
    call.admission?.leave(false);
    await call.refused(error);
  }
}
