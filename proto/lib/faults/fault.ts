/** A failure with a reason: the only kind of error shown to clients with its text. */
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  type Fault as FaultMessage,
  FaultOrigin,
  FaultReason,
  FaultSchema,
} from "../../gen/sluice/common/v1/fault_pb.ts";

export { FaultOrigin, FaultReason };

interface Row {
  /** HTTP status: one of the fourteen of the contract, or 409 when a record cannot be created. */
  readonly status: number;
  /** `error_type` of the response object and of `error.metadata`. */
  readonly errorType: string;
  /** `error.code` of a response object with status `failed`. */
  readonly responseCode: string;
  /** gRPC status code. */
  readonly code: Code;
  /** `x-should-retry` unless the fault overrides it. The official clients retry every 5xx without this header. */
  readonly retry: boolean;
  /** Default text of a fault. */
  readonly message: string;
}

const row = (
  status: number,
  errorType: string,
  code: Code,
  retry: boolean,
  message: string,
  responseCode = "server_error",
): Row => ({ status, errorType, responseCode, code, retry, message });

const table: Record<FaultReason, Row> = {
  [FaultReason.UNSPECIFIED]: row(500, "server", Code.Internal, false, "Internal Server Error"),
  [FaultReason.INVALID_REQUEST]: row(
    400,
    "invalid_request",
    Code.InvalidArgument,
    false,
    "Invalid request",
    "invalid_prompt",
  ),
  [FaultReason.INVALID_PROMPT]: row(
    400,
    "invalid_prompt",
    Code.InvalidArgument,
    false,
    "Invalid prompt",
    "invalid_prompt",
  ),
  [FaultReason.CONTEXT_LENGTH_EXCEEDED]: row(
    400,
    "context_length_exceeded",
    Code.InvalidArgument,
    false,
    "Input exceeds the context window",
    "invalid_prompt",
  ),
  [FaultReason.CONTENT_POLICY]: row(
    400,
    "content_policy_violation",
    Code.InvalidArgument,
    false,
    "The provider's content policy refused the request",
    "image_content_policy_violation",
  ),
  [FaultReason.UNAUTHENTICATED]: row(401, "authentication", Code.Unauthenticated, false, "Invalid credentials"),
  [FaultReason.PAYMENT_REQUIRED]: row(402, "payment_required", Code.FailedPrecondition, false, "Insufficient credits"),
  [FaultReason.BUDGET_HELD]: row(
    429,
    "budget_held",
    Code.ResourceExhausted,
    true,
    "Budget held",
    "rate_limit_exceeded",
  ),
  [FaultReason.PERMISSION_DENIED]: row(403, "permission_denied", Code.PermissionDenied, false, "Permission denied"),
  [FaultReason.GUARDRAIL_BLOCKED]: row(403, "permission_denied", Code.PermissionDenied, false, "Request blocked"),
  [FaultReason.ALIGNMENT_BLOCKED]: row(403, "permission_denied", Code.PermissionDenied, false, "Answer withheld"),
  [FaultReason.NOT_FOUND]: row(404, "not_found", Code.NotFound, false, "Resource not found"),
  [FaultReason.NO_ENDPOINTS]: row(404, "not_found", Code.NotFound, false, "No endpoint can serve this request"),
  [FaultReason.DEADLINE_EXCEEDED]: row(408, "timeout", Code.DeadlineExceeded, false, "Operation timed out"),
  [FaultReason.PAYLOAD_TOO_LARGE]: row(
    413,
    "payload_too_large",
    Code.ResourceExhausted,
    false,
    "Request payload too large",
  ),
  [FaultReason.UNPROCESSABLE]: row(422, "unprocessable", Code.InvalidArgument, false, "Invalid argument"),
  [FaultReason.RATE_LIMITED]: row(
    429,
    "rate_limit_exceeded",
    Code.ResourceExhausted,
    true,
    "Rate limit exceeded",
    "rate_limit_exceeded",
  ),
  [FaultReason.INTERNAL]: row(500, "server", Code.Internal, false, "Internal Server Error"),
  [FaultReason.PROVIDER_FAILED]: row(502, "provider_unavailable", Code.Unavailable, true, "Provider returned error"),
  [FaultReason.UNAVAILABLE]: row(
    503,
    "provider_unavailable",
    Code.Unavailable,
    true,
    "Service temporarily unavailable",
  ),
  [FaultReason.PROVIDER_TIMEOUT]: row(
    524,
    "timeout",
    Code.DeadlineExceeded,
    true,
    "Request timed out at the edge: the provider did not answer in time",
  ),
  [FaultReason.CONFLICT]: row(409, "conflict", Code.AlreadyExists, false, "Resource exists already"),
  [FaultReason.PROVIDER_OVERLOADED]: row(529, "provider_overloaded", Code.Unavailable, true, "Provider overloaded"),
};

export interface FaultOptions {
  /** Whole milliseconds; 0 or absent without a hint. */
  readonly retryAfterMs?: number;
  /** `error.metadata`. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly origin?: FaultOrigin;
  /** `service_metadata` as JSON. */
  readonly serviceMetadataJson?: Uint8Array;
  /** Usage of a withheld answer, as JSON. Callers that got the usage from an event do not need it. */
  readonly usageJson?: Uint8Array;
  /** Overrides the table: false once work was billed, true when a retry is known to be safe. */
  readonly shouldRetry?: boolean;
  /** HTTP status of the provider's answer. It stays in the process; clients see the status of the contract. */
  readonly providerStatus?: number;
  /** Whether the provider call may be retried: `now` when the provider received nothing of the request, `later` after a pause. It stays in the process. */
  readonly repeat?: "now" | "later";
  /** Whether another process created this fault, and has already logged and recorded it. */
  readonly isForwarded?: boolean;
  /** Whether the process could not start the work for a local cause, so another process may succeed. No provider was called and nothing was recorded. */
  readonly isUnbegun?: boolean;
  /** Cause for the log only. */
  readonly cause?: unknown;
}

/** Throw a Fault, and nothing else, for failures shown to clients. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly reason: FaultReason;
  readonly retryAfterMs: number;
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
  readonly origin: FaultOrigin;
  readonly serviceMetadataJson: Uint8Array | undefined;
  readonly usageJson: Uint8Array | undefined;
  readonly #shouldRetry: boolean | undefined;
  readonly #providerStatus: number | undefined;
  readonly repeat: "now" | "later" | undefined;
  readonly isForwarded: boolean;
  readonly isUnbegun: boolean;

  /** @param message text for clients; empty means the text of the table. INTERNAL always has the text of the table. */
  constructor(reason: FaultReason, message = "", options: FaultOptions = {}) {
    const masked = reason === FaultReason.INTERNAL || reason === FaultReason.UNSPECIFIED;
    super(masked || message === "" ? table[reason].message : message, { cause: options.cause });
    this.reason = reason;
    this.retryAfterMs = options.retryAfterMs ?? 0;
    this.metadata = options.metadata;
    this.origin = options.origin ?? FaultOrigin.UNSPECIFIED;
    this.serviceMetadataJson = options.serviceMetadataJson;
    this.usageJson = options.usageJson;
    this.#shouldRetry = options.shouldRetry;
    this.#providerStatus = options.providerStatus;
    this.repeat = options.repeat;
    this.isForwarded = options.isForwarded ?? false;
    this.isUnbegun = options.isUnbegun ?? false;
  }

  /** HTTP status of the contract. */
  get status(): number {
    return table[this.reason].status;
  }

  /** Status of the failed attempt: the provider's own if it answered, else the status of the contract. */
  get attemptStatus(): number {
    return this.#providerStatus ?? this.status;
  }

  /** HTTP status of the provider's answer; absent without one. */
  get providerStatus(): number | undefined {
    return this.#providerStatus;
  }

  get errorType(): string {
    return table[this.reason].errorType;
  }

  /** `code` inside `response.error`. */
  get responseCode(): string {
    return table[this.reason].responseCode;
  }

  /** gRPC status code. */
  get code(): Code {
    return table[this.reason].code;
  }

  get shouldRetry(): boolean {
    return this.#shouldRetry ?? table[this.reason].retry;
  }

  /** Copies the fault with overriding options and, when given, another message. */
  with(options: FaultOptions, message = this.message): Fault {
    return new Fault(this.reason, message, {
      retryAfterMs: this.retryAfterMs,
      origin: this.origin,
      cause: this.cause,
      ...(this.metadata && { metadata: this.metadata }),
      ...(this.serviceMetadataJson && { serviceMetadataJson: this.serviceMetadataJson }),
      ...(this.usageJson && { usageJson: this.usageJson }),
      ...(this.#shouldRetry !== undefined && { shouldRetry: this.#shouldRetry }),
      ...(this.#providerStatus !== undefined && { providerStatus: this.#providerStatus }),
      ...(this.repeat !== undefined && { repeat: this.repeat }),
      ...(this.isForwarded && { isForwarded: true }),
      ...(this.isUnbegun && { isUnbegun: true }),
      ...options,
    });
  }

  toMessage(): FaultMessage {
    return create(FaultSchema, {
      reason: this.reason,
      message: this.message.toWellFormed(),
      retryAfterMs: Math.max(0, Math.ceil(this.retryAfterMs)),
      metadataJson: this.metadata ? Buffer.from(JSON.stringify(this.metadata)) : new Uint8Array(),
      origin: this.origin,
      serviceMetadataJson: this.serviceMetadataJson ?? new Uint8Array(),
      usageJson: this.usageJson ?? new Uint8Array(),
      unbegun: this.isUnbegun,
      ...(this.#shouldRetry !== undefined && { shouldRetry: this.#shouldRetry }),
    });
  }

  /** An unknown reason becomes INTERNAL, and so does metadata that is not JSON. */
  static fromMessage(message: FaultMessage): Fault {
    try {
      const known = table[message.reason] !== undefined;
      return new Fault(known ? message.reason : FaultReason.INTERNAL, message.message, {
        retryAfterMs: message.retryAfterMs,
        origin: message.origin,
        isForwarded: !message.unbegun,
        isUnbegun: message.unbegun,
        ...(message.metadataJson.length > 0 && {
          metadata: JSON.parse(Buffer.from(message.metadataJson).toString()) as Record<string, unknown>,
        }),
        ...(message.serviceMetadataJson.length > 0 && { serviceMetadataJson: message.serviceMetadataJson }),
        ...(message.usageJson.length > 0 && { usageJson: message.usageJson }),
        ...(message.shouldRetry !== undefined && { shouldRetry: message.shouldRetry }),
      });
    } catch (cause) {
      return new Fault(FaultReason.INTERNAL, "", { cause, isForwarded: true });
    }
  }

  /** Converts any thrown value to a fault; another error is masked as INTERNAL and kept as the cause. */
  static from(error: unknown): Fault {
    return error instanceof Fault ? error : new Fault(FaultReason.INTERNAL, "", { cause: error });
  }
}
