/** Requests of people and their programs: a field that this build does not know is refused, because it would be left out in silence. */
import type { Interceptor } from "@connectrpc/connect";
import { invalid } from "../validation/problems.ts";
import { strangeIn } from "./knowledge.ts";

/**
 * Our own processes settle by greetings what they know of each other, so that an upgrade can begin with any of them.
 * @param services full names of those that are called by others
 */
export const refusingUnknown =
  (services: readonly string[]): Interceptor =>
  (next) =>
  (request) => {
    if (request.stream || !services.includes(request.service.typeName)) return next(request);
    const strange = strangeIn(request.method.input, request.message);
    if (strange !== undefined) throw invalid(strange, "a field that this build does not know");
    return next(request);
  };
