/** Refuses unknown fields in administrative requests, because they would be silently dropped. */
import type { Interceptor } from "@connectrpc/connect";
import { invalid } from "../validation/problems.ts";
import { unknownFieldIn } from "./supported-fields.ts";

/**
 * Processes of Sluice exchange their supported fields in greetings, so an upgrade can begin with any of them.
 * @param services full names of the services called by other programs
 */
export const refuseUnknownFields =
  (services: readonly string[]): Interceptor =>
  (next) =>
  (request) => {
    if (request.stream || !services.includes(request.service.typeName)) return next(request);
    const strange = unknownFieldIn(request.method.input, request.message);
    if (strange !== undefined) throw invalid(strange, "a field that this build does not know");
    return next(request);
  };
