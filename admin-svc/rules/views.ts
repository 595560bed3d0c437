/** Checks saved views, over gRPC and on the command line. */
import { addressedName, newView } from "@sluice/proto/contract/records/views.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";

/**
 * Normalizes a view's query, so equal queries have equal texts and an end user can be found in them. The result is
 * up to three times as long.
 */
export const canonicalQuery = (query: string): string => new URLSearchParams(query).toString();

/** Checks a view both as given and in its stored form. @throws Fault INVALID_REQUEST with every problem */
export function checkView(given: { readonly name: string; readonly query: string }): void {
  throwProblems((problems) => newView.check(given, "", problems));
  throwProblems((problems) => newView.check({ ...given, query: canonicalQuery(given.query) }, "", problems));
}

/** @throws Fault INVALID_REQUEST for an invalid name */
export const checkViewName = (name: string): void =>
  throwProblems((problems) => addressedName.check(name, "name", problems));
