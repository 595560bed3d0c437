/** Calls admin-svc on behalf of a caller, and converts administration failures to answers. */
import { type DescMessage, type MessageInitShape, create } from "@bufbuild/protobuf";
import type { Forward } from "@sluice/proto/contract/operations/forward.js";
import { type Operation, basePath } from "@sluice/proto/contract/operations/operation.js";
import { DeleteWorkspaceRequestSchema } from "@sluice/proto/gen/sluice/admin/v1/workspace_service_pb.js";
import { operations } from "../../contract/operations/operations.ts";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import type { OperationCall } from "./context.ts";

/**
 * Timeout of a call to admin-svc in milliseconds. A change waits up to 1 s until every process has acknowledged it, and a report up to 6 s for its
 * place; the rest is for the database.
 */
const timeoutMs = 10_000;

/**
 * Forwards an operation to admin-svc as its contract describes. A confirmed change is in effect for the next request to this process.  @throws Fault
 */
export async function forwardToAdmin(
  request: OperationCall,
  operation: Operation,
  { method, toRequest, toAnswer, carriesSettings }: Forward,
): Promise<JsonObject | undefined> {
  const { admin, token, access } = request.parts;
  const input = create(method.input, toRequest(request) as MessageInitShape<DescMessage>);
  if (carriesSettings) access.requireKnown(method.input, input);
  requireWorkspaces(request);
  const message = await call(admin, method, input, serviceMetadata(token, request.caller), timeoutMs);
  if ("generation" in message && typeof message.generation === "bigint") access.note(message.generation);
  return checkAnswer(toAnswer(message), operation);
}

/**
 * Refuses a workspace header if admin-svc is of an earlier build, which would ignore the header and act in the key's own workspace. @throws Fault
 * INVALID_REQUEST
 */
function requireWorkspaces({ caller: { workspace }, parts: { access } }: OperationCall): void {
  if (workspace === undefined) return;
  access.requireKnown(DeleteWorkspaceRequestSchema, create(DeleteWorkspaceRequestSchema, { workspaceId: workspace }));
}

/** First segments of the paths of administration: `keys`, `guardrails` and so on. */
const administrationNouns: ReadonlySet<string | undefined> = new Set(
  Object.values<Operation>(operations)
    .filter(({ tag }) => tag === "Administration")
    .map(({ path }) => path.split("/")[1]),
);

const absoluteForm = /^https?:\/\/[^/?#]*/i;

/** Whether a URL is one of the administration, even without a matching operation or a valid key. */
export function isAdministration(url: string): boolean {
  const path = url.replace(absoluteForm, "");
  return (
    path.startsWith(`${basePath}/`) && administrationNouns.has(/^[^/?]*/.exec(path.slice(basePath.length + 1))?.[0])
  );
}

const retryAfterMs = 1_000;

/**
 * The error in statuses of the contract, which has no 408, 413 or 503 for the administration. A body too large or too slow is a bad request. An
 * outage is a 500 with a retry header; repeating is harmless, since every operation sets a state, and a repeated test of an alert rule is refused.
 */
export function administrationFault(fault: Fault): Fault {
  const { message, origin, cause } = fault;
  switch (fault.reason) {
    case FaultReason.PAYLOAD_TOO_LARGE:
      return new Fault(FaultReason.INVALID_REQUEST, message, { origin, cause });
    case FaultReason.UNAVAILABLE:
    case FaultReason.DEADLINE_EXCEEDED:
      return new Fault(FaultReason.INTERNAL, "", {
        origin,
        cause: cause ?? fault,
        retryAfterMs: fault.retryAfterMs || retryAfterMs,
        shouldRetry: true,
      });
    default:
      return fault;
  }
}

/**
 * Checks that admin-svc's answer has the published shape. An answer with another shape comes from a later build, and a client would misread it.
 * @throws Fault INTERNAL
 */
function checkAnswer(answer: JsonObject | undefined, { answer: { content } }: Operation): JsonObject | undefined {
  const shape = content[0]?.shape;
  if (!shape) return answer;
  try {
    throwProblems((problems) => shape.check(answer, "", problems));
  } catch (cause) {
    throw new Fault(FaultReason.INTERNAL, "", { origin: FaultOrigin.ADMIN, cause });
  }
  return answer;
}
