/** A request that was read: what its turn is opened with, and how its answers begin. */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Reservation } from "@sluice/proto/runtime/byte-budget.js";
import type { Access } from "@sluice/proto/runtime/access.js";
import type { Compat, Limits } from "@sluice/proto/runtime/house-file.js";
import { newId } from "@sluice/proto/runtime/id.js";
import type { Member } from "@sluice/proto/runtime/validation/json-span.js";
import type { TraceHeaders } from "@sluice/proto/runtime/tracing/context.js";
import type { KeepAlive } from "../sse/event-stream.ts";
import { type Exchange, ObjectExchange, type Settled, StreamExchange } from "./exchange.ts";
import { ResponseObject, type ResponseIdentity, seconds } from "./object.ts";
import { parseRequest } from "./request.ts";
import { warnOfUnknownFields } from "./unknown-fields.ts";

export interface AskedParts {
  readonly access: Access;
  readonly keepAlive: KeepAlive;
  readonly limits: Limits;
  readonly compat: Compat;
}

export interface Asker {
  readonly keyHash: string;
  readonly requestId: string;
  readonly trace: TraceHeaders;
  /** Memory of this request; given back at the latest when its answer is out. */
  readonly room: Reservation;
}

export interface Asked {
  readonly turn: RunTurnRequest;
  readonly generationId: string;
  readonly identity: ResponseIdentity;
  /** How long the client waits at most, where it says. */
  readonly patienceMs: number | undefined;
}

/** `X-Service-Metadata`, or its legacy spelling; anything but `enabled`, in letters of either case, is disabled. */
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

/** Who knows `vendor_metadata` asks for it by `X-Vendor-Metadata`, or `X-Vendor-Experimental-Metadata`. */
function underAlias(headers: IncomingHttpHeaders, alias: string): string | string[] | undefined {
  const name = `x-${alias.replaceAll("_", "-")}`;
  return headers[name] ?? headers[name.replace(/metadata$/, "experimental-metadata")];
}

/** `X-Request-Timeout-Ms`: whole milliseconds from 1 on; what cannot be read is ignored. */
function patienceOf({ "x-request-timeout-ms": said }: IncomingHttpHeaders): number | undefined {
  return typeof said === "string" && /^[1-9]\d{0,9}$/.test(said) ? Number(said) : undefined;
}

/** @throws Fault as parseRequest */
export function askedOf(
  { compat }: Pick<AskedParts, "compat">,
  headers: IncomingHttpHeaders,
  body: Buffer,
  members: readonly Member[],
): Asked {
  const sessionId = headers["x-session-id"];
  const { request: turn, echo } = parseRequest(
    body,
    members,
    {
      serviceMetadata: wantsServiceMetadata(headers, compat),
      ...(typeof sessionId === "string" && { sessionId }),
    },
    compat.fill_defaults,
  );
  const metadataAlias = compat.emit_metadata_alias ?? undefined;
  const model = turn.model === "" ? (turn.models[0] ?? "") : turn.model;
  const identity = {
    id: newId("resp_"),
    createdAt: seconds(),
    completedAt: fixed(seconds),
    model,
    echo,
    metadataAlias,
  };
  return { turn, generationId: newId("gen-"), identity, patienceMs: patienceOf(headers) };
}

/** What it gives first, it gives again: several clients may be told of one end. */
function fixed(read: () => number): () => number {
  let value: number | undefined;
  return () => (value ??= read());
}

export const openOf = (
  { access, limits }: Pick<AskedParts, "access" | "limits">,
  { keyHash, requestId, trace }: Omit<Asker, "room">,
  { turn, generationId, patienceMs = Number.POSITIVE_INFINITY }: Asked,
): Open => ({
  $typeName: "sluice.inference.v1.Open",
  request: turn,
  keyHash,
  requestId,
  generationId,
  policyGeneration: access.generation,
  deadlineMs: Math.min(patienceMs, turn.stream ? limits.stream_ms : limits.turn_ms),
  credit: 0,
  traceparent: trace.traceparent,
  tracestate: trace.tracestate,
});

/** @param settled called exactly once, when the exchange is over */
export function exchangeOf(
  { keepAlive, limits }: Pick<AskedParts, "keepAlive" | "limits">,
  { requestId }: Pick<Asker, "requestId">,
  { turn, generationId, identity }: Asked,
  response: ServerResponse,
  settled: Settled,
): Exchange {
  const headers = { requestId, generationId, metadataAlias: identity.metadataAlias };
  const object = new ResponseObject(identity);
  warnOfUnknownFields(response, turn);
  return turn.stream
    ? new StreamExchange(response, object, headers, settled, { keepAlive, gateMs: limits.status_gate_ms })
    : new ObjectExchange(response, object, headers, settled);
}
