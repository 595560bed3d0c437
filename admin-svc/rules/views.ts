/** Checks saved views, over gRPC and on the command line. */
import { addressedName, newView } from "@sluice/proto/contract/records/views.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";

/** One form for equal queries, in which an end user can be found. It is up to three times as long. */
export const canonicalQuery = (query: string): string => new URLSearchParams(query).toString();

/** Checks a view as it is given, and in the form in which it is stored. @throws Fault INVALID_REQUEST with every problem */
export function checkView(given: { readonly name: string; readonly query: string }): void {
  throwProblems((problems) => newView.check(given, "", problems));
  throwProblems((problems) => newView.check({ ...given, query: canonicalQuery(given.query) }, "", problems));
}

/** @throws Fault INVALID_REQUEST */
export const checkViewName = (name: string): void =>
  throwProblems((problems) => addressedName.check(name, "name", problems));
