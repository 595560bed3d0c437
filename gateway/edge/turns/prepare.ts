/** Prepares the turn of a scanned body, sends it to inference-svc, and creates the writer of its answer. */
import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders } from "node:http";
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import type { Compat } from "@sluice/proto/config/config-file.js";
import type { ItemReceiver } from "@sluice/proto/lib/responses/object.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { TurnControl, TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";
import type { Admission } from "@sluice/proto/lib/limits/limiter.js";
import { withTokenMeter } from "@sluice/proto/lib/limits/meter.js";
import { parseTags, tagsHeader } from "@sluice/proto/lib/turns/tags.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { LanePool } from "../../lane/pool.ts";
import type { RequestCaller } from "../http/context.ts";
import type { KeepAlive } from "../sse/event-stream.ts";
import { type AnswerWriter, type AnsweredCall, ObjectWriter, StreamWriter } from "./answer-writer.ts";
import type { ScannedBody } from "./body.ts";
import type { Door, DoorTurn } from "./door.ts";
import type { TurnOpeningDeps } from "./open.ts";
import { warnAboutUnknownFields } from "./unknown-fields.ts";

export interface TurnDeps extends TurnOpeningDeps {
  readonly access: Access;
  readonly pool: LanePool;
  readonly keepAlive: KeepAlive;
  readonly compat: Compat;
}

/** A turn that is ready to be opened. */
export interface PreparedTurn {
  readonly door: Door;
  readonly turn: DoorTurn;
  readonly request: RunTurnRequest;
  readonly generationId: string;
  /** Second name under which the answer contains `service_metadata`. */
  readonly metadataAlias: string | undefined;
  /** Timeout requested by the client, in milliseconds. */
  readonly timeoutMs: number | undefined;
}

/** Whether `X-Service-Metadata`, or its older spelling, asks for the receipt: only the value `enabled`, in upper or lower case, does. */
export function wantsServiceMetadata(
  headers: IncomingHttpHeaders,
  { emit_metadata_alias: alias }: Pick<Compat, "emit_metadata_alias">,
): boolean {
  const value =
    headers["x-service-metadata"] ??
    headers["x-service-experimental-metadata"] ??
    (alias === null ? undefined : underAlias(headers, alias));
  return typeof value === "string" && value.toLowerCase() === "enabled";
}

/** The header under its other name. Clients that know the alias `vendor_metadata` send `X-Vendor-Metadata` or `X-Vendor-Experimental-Metadata`. */
function underAlias(headers: IncomingHttpHeaders, alias: string): string | string[] | undefined {
  const name = `x-${alias.replaceAll("_", "-")}`;
  return headers[name] ?? headers[name.replace(/metadata$/, "experimental-metadata")];
}

/** Session id from `X-Session-Id`. */
export function readSessionId({ "x-session-id": id }: IncomingHttpHeaders): string | undefined {
  return typeof id === "string" ? id : undefined;
}

/** Tags from `X-Sluice-Tags`; empty without the header. @throws Fault INVALID_REQUEST */
export function readTags({ [tagsHeader]: header }: IncomingHttpHeaders): string {
  if (typeof header !== "string") return "";
  // Node gives the text of a header with one character per byte.
  const bytes = Buffer.from(header, "latin1");
  if (!isUtf8(bytes)) throw invalid(tagsHeader, "must be valid UTF-8");
  const text = bytes.toString("utf8").trim();
  parseTags(text, tagsHeader);
  return text;
}

/** Timeout from `X-Request-Timeout-Ms`: a whole number of milliseconds from 1 on; any other value is ignored. */
export function readTimeout({ "x-request-timeout-ms": text }: IncomingHttpHeaders): number | undefined {
  return typeof text === "string" && /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined;
}

/** Converts a body to a turn by its door. @param remember receives the items of the answer @throws Fault of the door, for an invalid body */
export function prepareTurn(
  { compat }: Pick<TurnDeps, "compat">,
  door: Door,
  headers: IncomingHttpHeaders,
  { body, members }: ScannedBody,
  remember?: ItemReceiver,
): PreparedTurn {
  const turn = door.read(body, members, {
    sessionId: readSessionId(headers),
    serviceMetadata: wantsServiceMetadata(headers, compat),
    headers,
    compat,
    remember,
  });
  turn.request.tags = readTags(headers);
  return {
    door,
    turn,
    request: turn.request,
    generationId: newId("gen-"),
    metadataAlias: compat.emit_metadata_alias ?? undefined,
    timeoutMs: readTimeout(headers),
  };
}

interface SentCall extends Omit<RequestCaller, "room"> {
  readonly admission: Admission | undefined;
}

type SentTurn = Pick<PreparedTurn, "request" | "generationId" | "timeoutMs">;

export const toOpenMessage = (
  { access, limits }: Pick<TurnDeps, "access" | "limits">,
  { keyHash, requestId, trace }: Omit<SentCall, "admission">,
  { request, generationId, timeoutMs = Number.POSITIVE_INFINITY }: SentTurn,
): Open => ({
  $typeName: "sluice.inference.v1.Open",
  request,
  keyHash,
  requestId,
  generationId,
  policyGeneration: access.generation,
  deadlineMs: Math.min(timeoutMs, request.stream ? limits.stream_ms : limits.turn_ms),
  credit: 0,
  atMostOnce: true,
  traceparent: trace.traceparent,
  tracestate: trace.tracestate,
});

/** Sends a turn to inference-svc. */
export function sendTurn(
  parts: Pick<TurnDeps, "access" | "limits" | "pool">,
  call: SentCall,
  turn: SentTurn,
  listener: TurnListener,
): TurnControl {
  const { meter } = call.admission ?? {};
  return parts.pool.open(toOpenMessage(parts, call, turn), meter ? withTokenMeter(meter, listener) : listener);
}

/** Creates the writer of the answer; the call notifies it when the response closes. */
export function createAnswer(
  { keepAlive, limits }: Pick<TurnDeps, "keepAlive" | "limits">,
  call: AnsweredCall,
  prepared: PreparedTurn,
): AnswerWriter {
  const { request, turn } = prepared;
  warnAboutUnknownFields(call.res, request);
  call.prepared = prepared;
  call.answer = request.stream
    ? new StreamWriter(call, prepared, turn.stream(), keepAlive, limits.status_gate_ms)
    : new ObjectWriter(call, prepared, turn.whole());
  return call.answer;
}
