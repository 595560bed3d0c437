import type { Finder } from "@sluice/proto/lib/pattern/finder.js";

/** A built-in detector guardrails name by its slug. */
export interface BuiltinDetector {
  /** The detector's name in guardrails. */
  readonly slug: string;
  /** Evidence for a match: a checksum, rules of the format, or only what such text usually looks like. */
  readonly engine: "checksum" | "format" | "pattern";
  readonly finder: Finder;
}
