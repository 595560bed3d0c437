/** `thinking` and `output_config.effort` as settings of reasoning. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";

export interface RequestedReasoning {
  readonly thinking?: {
    readonly type: "enabled" | "adaptive" | "disabled";
    readonly budget_tokens?: number;
    readonly display?: "summarized" | "omitted" | "updates" | null;
  } | null;
  readonly output_config?: { readonly effort?: string | null; readonly format?: object | null } | null;
}

/** The effort of a request that leaves the amount of reasoning to the model (https://platform.claude.com/docs/en/build-with-claude/effort). */
const adaptiveEffort = "high";

/** Undefined leaves it to the model: those with a budget show their thoughts, later ones do not. */
const summaryOf = (display: string | null | undefined): JsonObject | undefined =>
  display ? { summary: display === "summarized" ? "auto" : display } : undefined;

/** An effort without `enabled` also applies to text and calls: it does not request reasoning. @returns undefined when nothing was requested */
export function toReasoning({ thinking, output_config: config }: RequestedReasoning): JsonObject | undefined {
  const effort = config?.effort ?? undefined;
  switch (thinking?.type) {
    case "disabled":
      return { effort: "none" };
    case "enabled":
      return {
        max_tokens: thinking.budget_tokens,
        ...(effort !== undefined && { effort }),
        ...summaryOf(thinking.display),
      };
    case "adaptive":
      return {
        enabled: true,
        effort: effort ?? adaptiveEffort,
        ...summaryOf(thinking.display),
      };
    default:
      return effort === undefined ? undefined : { effort };
  }
}
