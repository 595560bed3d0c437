/** The identity used when a person tries an operation in the API reference. */
import type { ComponentChildren } from "preact";
import type { Operation } from "./document.ts";

export interface Caller {
  /** Base URL of the operations, without a trailing slash. */
  readonly baseFor: (operation: Operation) => string;
  /** Value of the header `authorization`; undefined when a cookie authenticates the caller. @throws ApiError */
  readonly authorize: (operation: Operation) => Promise<string | undefined>;
  /** Describes the identity of a trial to the reader. */
  readonly explain: (operation: Operation) => string;
  /** Field for the caller's key, if any. */
  readonly Field?: () => ComponentChildren;
}
