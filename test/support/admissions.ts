/** Ends turns that have a limit of tokens. */
import type { Admission } from "@sluice/proto/lib/limits/limiter.js";

/** Ends a turn after a number of tokens. */
export function leaveAfter(tokens: number, admission: Admission): void {
  admission.countTokens({ inputJson: new Uint8Array() });
  admission.meter?.noteUsage({ inputTokens: tokens, outputTokens: 0 });
  admission.leave(false);
}
