/** Checks saved views, over gRPC and on the command line. */
import { addressedName, newView } from "@sluice/proto/contract/records/views.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";

/** @throws Fault INVALID_REQUEST with every problem */
export const checkView = (given: { readonly name: string; readonly query: string }): void =>
  throwProblems((problems) => newView.check(given, "", problems));

/** @throws Fault INVALID_REQUEST */
export const checkViewName = (name: string): void =>
  throwProblems((problems) => addressedName.check(name, "name", problems));
