/** Reads frames of a client, and writes frames that belong to no response. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import type { ByteSpan, JsonMember } from "@sluice/proto/lib/json/span.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";

/** A frame that requests a response. */
export interface CreateFrame {
  readonly bytes: Buffer;
  readonly members: readonly JsonMember[];
  /** False for a frame that only prepares later ones, without calling a model. */
  readonly generates: boolean;
  /** Id of the response whose items precede the input. */
  readonly previousId: string | undefined;
}

/** Members of a frame that the body of POST /responses does not have, or that have another meaning there. */
const ownMembers: ReadonlySet<string> = new Set(["type", "generate", "previous_response_id", "stream", "input"]);

/** @returns undefined for a frame that cancels the running response  @throws Fault INVALID_REQUEST for an invalid frame */
export function readFrame(bytes: Buffer): CreateFrame | undefined {
  const members = scanObject(bytes, "frame");
  const value = (key: string): unknown => {
    const span = members.find((member) => member.key === key);
    return span && (JSON.parse(textOf(bytes, span)) as unknown);
  };
  const type = value("type");
  if (type === "response.cancel") return undefined;
  if (type !== "response.create") throw invalid("type", "must be response.create or response.cancel");
  const generate = value("generate");
  if (generate !== undefined && typeof generate !== "boolean") throw invalid("generate", "must be a boolean");
  const stream = value("stream") ?? undefined;
  if (stream !== undefined && typeof stream !== "boolean") throw invalid("stream", "must be a boolean or null");
  const previousId = value("previous_response_id") ?? undefined;
  if (previousId !== undefined && typeof previousId !== "string") {
    throw invalid("previous_response_id", "must be a string or null");
  }
  return { bytes, members, generates: generate !== false, previousId };
}

/** The body of POST /responses with the same effect. @param items JSON of the complete input's items */
export function bodyOf({ bytes, members }: CreateFrame, items: string): Buffer {
  const kept = members.filter(({ key }) => !ownMembers.has(key));
  const written = kept.map((member) => `${JSON.stringify(member.key)}:${textOf(bytes, member)}`);
  return Buffer.from(`{${[...written, '"stream":true', `"input":[${items}]`].join(",")}}`);
}

const textOf = (bytes: Buffer, { start, end }: ByteSpan): string => bytes.toString("utf8", start, end);

/** The error for a frame that continues a response unknown to this connection. */
export const unknownPreviousResponse = (id: string): Fault =>
  new Fault(
    FaultReason.INVALID_REQUEST,
    `previous_response_id: this connection does not remember ${id.slice(0, 64)}, only its last response; send all items instead`,
    { origin: FaultOrigin.CLIENT, metadata: { code: "previous_response_not_found", param: "previous_response_id" } },
  );

/** The frame with the error of a response that was refused before its first event. */
export function errorFrame(fault: Fault, requestId: string): string {
  const { code = fault.errorType, param = null } = fault.metadata ?? {};
  return JSON.stringify({
    type: "error",
    status: fault.status,
    error: { type: `${fault.errorType}_error`, code, message: fault.message, param, metadata: fault.metadata },
    request_id: requestId,
    ...(fault.retryAfterMs > 0 && { retry_after_ms: Math.ceil(fault.retryAfterMs) }),
  });
}
