/** The party in whose name the reference tries an operation. */
import type { ComponentChildren } from "preact";
import type { Operation } from "./document.ts";

export interface Caller {
  /** Address below which the operations are called, without a slash at the end. */
  readonly baseFor: (operation: Operation) => string;
  /** Value of the header `authorization`; undefined where a cookie speaks for the caller. @throws ApiError */
  readonly authorize: (operation: Operation) => Promise<string | undefined>;
  /** Says in whose name a trial runs, for people. */
  readonly explain: (operation: Operation) => string;
  /** Field in which the person names the caller, if any. */
  readonly Field?: () => ComponentChildren;
}
