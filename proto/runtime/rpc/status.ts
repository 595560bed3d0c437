/** A Fault on its way through gRPC: a status detail on the server, the trailer grpc-status-details-bin on a grpc-js client. */
import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { type ServiceError, status } from "@grpc/grpc-js";
import { FaultSchema, StatusDetailsSchema } from "../../gen/sluice/common/v1/fault_pb.ts";
import { Fault, FaultReason } from "../fault.ts";

/** As gRPC spells it: with two L, unlike Connect. */
export const statusName = (code: Code): string =>
  code === Code.Canceled ? "CANCELLED" : (Code[code] ?? "Unknown").replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();

/** For servers: throw this from a handler. A ConnectError (a cancel, a deadline) passes as it is. */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  const fault = inTrailers(Fault.from(error));
  return new ConnectError(fault.message, fault.code, undefined, [{ desc: FaultSchema, value: fault.toMessage() }]);
}

/** Clients take 8 KiB of headers by default (grpc-java), of which base64 leaves three quarters, and a receipt may have to fit in, too. */
const mostMetadataBytes = 4_096;

/**
 * Without what was read of files where that is too long for a header; verdicts on an answer without the answer, and without any where there are
 * that many.
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

const fits = (metadata: unknown): boolean => Buffer.byteLength(JSON.stringify(metadata)) <= mostMetadataBytes;

/** For clients: the Fault that the server sent, or what the bare status means. The status text is never shown: it may name internals. */
export function fromServiceError(error: ServiceError): Fault {
  const [detail] = error.metadata?.get("grpc-status-details-bin") ?? [];
  if (Buffer.isBuffer(detail)) {
    try {
      for (const any of fromBinary(StatusDetailsSchema, detail).details) {
        const message = anyUnpack(any, FaultSchema);
        if (message) return Fault.fromMessage(message);
      }
    } catch {
      // An undecodable detail is no detail.
    }
  }
  return new Fault(bareReason(error.code), "", { cause: error });
}

function bareReason(code: status): FaultReason {
  if (code === status.UNAVAILABLE || code === status.CANCELLED) return FaultReason.UNAVAILABLE;
  if (code === status.DEADLINE_EXCEEDED) return FaultReason.DEADLINE_EXCEEDED;
  if (code === status.RESOURCE_EXHAUSTED) return FaultReason.PAYLOAD_TOO_LARGE; // only message limits raise it without a Fault
  // UNAUTHENTICATED without a Fault means that our own service token failed: never the client's fault.
  if (code === status.UNAUTHENTICATED) return FaultReason.UNAVAILABLE;
  return FaultReason.INTERNAL;
}
