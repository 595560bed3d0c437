/** Compares the outcome of a body with the published document. */
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import type { Problem } from "@sluice/proto/lib/validation/problems.js";
import { validate } from "../answers/published.ts";
import type { AcceptedRequest, FuzzedFormat } from "./format.ts";
import { ruleOf } from "./rules.ts";

export interface Judgement {
  readonly accepted: AcceptedRequest | undefined;
  /** The fault, by a word and in detail; undefined if there is none. */
  readonly complaint: string | undefined;
}

const fine: Judgement = { accepted: undefined, complaint: undefined };
const complain = (complaint: string): Judgement => ({ accepted: undefined, complaint });

/** @param throughWire whether the request is converted to its form between the processes and back */
export function judgeFuzzedBody(format: FuzzedFormat, body: Buffer, throughWire: boolean): Judgement {
  let accepted: AcceptedRequest;
  let begun: readonly string[];
  try {
    const members = scanObject(body, "body");
    accepted = format.accept(body, members, throughWire);
    begun = format.problemsOfBeginning?.(body, members) ?? [];
  } catch (error) {
    return judgeRefusal(format, body, error);
  }
  const promised = validate(format.schemas.request, JSON.parse(body.toString()));
  if (promised.length > 0)
    return complain(`accepted, though the document refuses it: ${promised.slice(0, 3).join("; ")}`);
  if (begun.length > 0) return complain(`the response repeats the request wrongly: ${begun.slice(0, 3).join("; ")}`);
  return { accepted, complaint: undefined };
}

function judgeRefusal({ faults, fields, schemas }: FuzzedFormat, body: Buffer, error: unknown): Judgement {
  if (!(error instanceof Fault)) return complain(`crash: ${error instanceof Error ? error.stack : String(error)}`);
  if (error.reason === FaultReason.INTERNAL)
    return complain(`masked failure: ${String((error.cause as Error)?.stack)}`);
  const answer: unknown = JSON.parse(faults.body(error, { requestId: "req_1" }).toString());
  const published = schemas.error ? validate(schemas.error(error.status), answer) : [];
  if (published.length > 0) return complain(`an error body unlike the document's: ${published.join("; ")}`);
  const { param, issues = [] } = (error.metadata ?? {}) as { param?: string; issues?: readonly Problem[] };
  // A refused stored prompt is no fault, since it is not part of a request's form; a schema cannot judge invalid JSON, either.
  if (error.status === 404 && param === "prompt") return fine;
  // Threads and earlier responses have an error code of their own, which tells clients how to continue.
  if (param !== undefined && issues.length === 0) return fine;
  if (
    issues.length > 0 &&
    issues.every(({ message }) => / at byte \d+$|^must be a JSON object$|^must not be empty$/.test(message))
  )
    return fine;
  if (issues.length === 0) return complain(`a refusal without a place: ${error.message}`);
  const foreign = issues.find(({ path }) => !fields.has(path.split(".")[0] ?? ""));
  if (foreign) return complain(`names no field of the format: ${foreign.path}: ${foreign.message}`);
  const unstated = issues.find((issue) => ruleOf(issue) === undefined);
  if (unstated === undefined || validate(schemas.request, JSON.parse(body.toString())).length > 0) return fine;
  return complain(`refused, though the document accepts it: ${unstated.path}: ${unstated.message}`);
}
