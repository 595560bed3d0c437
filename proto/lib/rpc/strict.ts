/** Refuses administrative requests with unknown fields, which would otherwise be silently dropped. */
import type { Interceptor } from "@connectrpc/connect";
import { invalid } from "../validation/problems.ts";
import { unknownFieldIn } from "./supported-fields.ts";

/**
 * Builds an interceptor for services that other programs call. Processes of Sluice instead announce the fields that
 * they support, so an upgrade can begin with any of them.
 * @param services full names of the services
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
