/**
 * Transports a Fault through gRPC: as a status detail on the server, and as the trailer grpc-status-details-bin on a
 * grpc-js client.
 */
import type { OutgoingHttpHeaders } from "node:http2";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack, anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { type ServiceError, status } from "@grpc/grpc-js";
import { FaultSchema, StatusDetailsSchema } from "../../gen/sluice/common/v1/fault_pb.ts";
import { Fault, FaultReason } from "../faults/fault.ts";
import { escapeMessage } from "./status-text.ts";

/** Name of a status code in the spelling of gRPC: CANCELLED has two L, unlike in Connect. */
export function statusName(code: number): string {
  const name = Code[code] ?? "Unknown";
  return name === "Canceled" ? "CANCELLED" : name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

/**
 * Converts an error for a handler to throw. A ConnectError, such as for a cancelled call or a deadline, stays
 * unchanged.
 */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  const fault = inTrailers(Fault.from(error));
  return new ConnectError(fault.message, fault.code, undefined, [{ desc: FaultSchema, value: fault.toMessage() }]);
}

/** The status of a call served without the gRPC library, as headers or trailers of HTTP/2. */
export function statusHeaders(error: unknown): OutgoingHttpHeaders {
  const { code, rawMessage } = toConnectError(error);
  const status = { "grpc-status": String(code), "grpc-message": escapeMessage(rawMessage) };
  if (error instanceof ConnectError) return status;
  const fault = anyPack(FaultSchema, inTrailers(Fault.from(error)).toMessage());
  const details = create(StatusDetailsSchema, { code, message: rawMessage, details: [fault] });
  return {
    ...status,
    "grpc-status-details-bin": Buffer.from(toBinary(StatusDetailsSchema, details)).toString("base64"),
  };
}

/**
 * Maximum size of metadata in bytes. Clients accept 8 KiB of headers by default (grpc-java), of which base64 leaves
 * three quarters, and a receipt may have to fit too.
 */
const maxMetadataBytes = 4_096;

/**
 * Shortens metadata that is too long for a header: first without texts of files, then with verdicts but no answer, then
 * without verdicts.
 */
function inTrailers(fault: Fault): Fault {
  const { file_annotations: files, ...bare } = fault.metadata ?? {};
  if (files !== undefined && !fits(fault.metadata)) return inTrailers(fault.with({ metadata: bare }));
  const { alignment, ...rest } = fault.metadata ?? {};
  if (alignment === undefined || fits(fault.metadata)) return fault;
  const { rejected: _, ...verdicts } = alignment as Readonly<Record<string, unknown>>;
  const shorter = { ...rest, alignment: verdicts };
  return fault.with({ metadata: fits(shorter) ? shorter : { error_type: fault.errorType, ...rest } });
}

const fits = (metadata: unknown): boolean => Buffer.byteLength(JSON.stringify(metadata)) <= maxMetadataBytes;

/**
 * Converts an error of a grpc-js client: to the Fault that the server sent, or else by its status code. The status text
 * is never shown, because it may contain internal names.
 */
export function fromServiceError(error: ServiceError): Fault {
  const [detail] = error.metadata?.get("grpc-status-details-bin") ?? [];
  if (Buffer.isBuffer(detail)) {
    try {
      for (const any of fromBinary(StatusDetailsSchema, detail).details) {
        const message = anyUnpack(any, FaultSchema);
        if (message) return Fault.fromMessage(message);
      }
    } catch {
      // A detail that cannot be decoded is ignored.
    }
  }
  return new Fault(bareReason(error.code), "", { cause: error });
}

function bareReason(code: status): FaultReason {
  if (code === status.UNAVAILABLE || code === status.CANCELLED) return FaultReason.UNAVAILABLE;
  if (code === status.DEADLINE_EXCEEDED) return FaultReason.DEADLINE_EXCEEDED;
  if (code === status.RESOURCE_EXHAUSTED) return FaultReason.PAYLOAD_TOO_LARGE; // only message limits cause this code without a Fault
  // UNAUTHENTICATED without a Fault means a wrong service token, which is never the client's fault.
  if (code === status.UNAUTHENTICATED) return FaultReason.UNAVAILABLE;
  return FaultReason.INTERNAL;
}
