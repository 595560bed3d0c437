/** Converts a request through both processes without sockets: from a client's body to what dialects see, or to the refusal. */
import { parseRequest } from "@sluice/gateway/doors/responses/request.js";
import { type ParseOptions, parseTurn } from "@sluice/inference-svc/turn/parse/turn-request.js";
import type { TurnRequest } from "@sluice/inference-svc/turn/request.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";

/** @param body raw text, or an object whose fields are added to those of a request with a model and an input */
export function parseTurnRequest(body: unknown, options: ParseOptions = {}): TurnRequest {
  const text = typeof body === "string" ? body : JSON.stringify({ model: "a/b", input: "x", ...(body as object) });
  const bytes = Buffer.from(text);
  return parseTurn(parseRequest(bytes, scanObject(bytes, "body"), { serviceMetadata: false }).request, options);
}

/** All errors of a request, as "path: message". */
export function listProblems(body: unknown, options: ParseOptions = {}): readonly string[] {
  try {
    parseTurnRequest(body, options);
  } catch (error) {
    if (!(error instanceof Fault) || error.status !== 400) throw error;
    const issues = error.metadata?.["issues"] as readonly { path: string; message: string }[];
    return issues.map(({ path, message }) => `${path}: ${message}`);
  }
  return [];
}
