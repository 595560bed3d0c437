/** The identity with which the reference tries an operation. */
import type { ComponentChildren } from "preact";
import type { Operation } from "./document.ts";

export interface Caller {
  /** Base URL of the operations, without a trailing slash. */
  readonly baseFor: (operation: Operation) => string;
  /** Value of the header `authorization`; undefined when a cookie authenticates the caller. @throws ApiError */
  readonly authorize: (operation: Operation) => Promise<string | undefined>;
  /** Describes, for people, the identity of a trial. */
  readonly explain: (operation: Operation) => string;
  /** Field for the caller's key, if any. */
  readonly Field?: () => ComponentChildren;
}
