import type { Finder } from "@sluice/proto/runtime/pattern/finder.js";

/** Something that a guardrail can look for by its name. */
export interface Detector {
  /** As guardrails name it. */
  readonly slug: string;
  /** What a match rests on: digits that check, rules of the format, or no more than how such texts usually look. */
  readonly engine: "checksum" | "format" | "pattern";
  readonly finder: Finder;
}
