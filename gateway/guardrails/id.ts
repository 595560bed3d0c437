/** Which guardrail a path is about. */
import type { IncomingMessage } from "node:http";
import { notFound } from "../http/administration.ts";
import { decodeSegment, rawPath } from "../http/path.ts";

const path = /^\/api\/v1\/guardrails\/([^/]+)(?:\/assignments\/keys(?:\/remove)?)?$/;
/** As they are issued: another spelling of an id names nothing. */
const form = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** @throws Fault NOT_FOUND */
export function guardrailOf(request: IncomingMessage): string {
  const segment = path.exec(rawPath(request))?.[1];
  const id = segment === undefined ? "" : decodeSegment(segment, "id");
  if (!form.test(id)) throw notFound("Guardrail not found");
  return id;
}
