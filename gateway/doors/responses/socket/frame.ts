/** Reads the frames of a client, and writes answers outside of responses. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import type { ByteSpan, JsonMember } from "@sluice/proto/lib/json/span.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";

/** A frame with a request for a response. */
export interface CreateFrame {
  readonly bytes: Buffer;
  readonly members: readonly JsonMember[];
  /** False for a frame that only prepares later frames: no model is called. */
  readonly generates: boolean;
  /** The response whose items precede the input. */
  readonly previousId: string | undefined;
}

/** Members of a frame that are missing from the body of POST /responses, or have another meaning there. */
const ownMembers: ReadonlySet<string> = new Set(["type", "generate", "previous_response_id", "stream", "input"]);

/**
 * @returns undefined for a frame that cancels the running response
 * @throws Fault INVALID_REQUEST
 */
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

/** The equivalent body of POST /responses. @param items of the whole input */
export function bodyOf({ bytes, members }: CreateFrame, items: string): Buffer {
  const kept = members.filter(({ key }) => !ownMembers.has(key));
  const written = kept.map((member) => `${JSON.stringify(member.key)}:${textOf(bytes, member)}`);
  return Buffer.from(`{${[...written, '"stream":true', `"input":[${items}]`].join(",")}}`);
}

const textOf = (bytes: Buffer, { start, end }: ByteSpan): string => bytes.toString("utf8", start, end);

/** The fault of a frame that continues from a response unknown to this connection. */
export const unknownPreviousResponse = (id: string): Fault =>
  new Fault(
    FaultReason.INVALID_REQUEST,
    `previous_response_id: this connection does not remember ${id.slice(0, 64)}, only its last response; send all items instead`,
    { origin: FaultOrigin.CLIENT, metadata: { code: "previous_response_not_found", param: "previous_response_id" } },
  );

/** The frame that refuses a response before its beginning. */
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
