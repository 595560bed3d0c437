/** Converts `thinking` and `output_config.effort` to the reasoning settings of a turn. */
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

/**
 * The setting for visible reasoning; undefined leaves the choice to the model. Models with a thinking budget show their reasoning by default, later
 * models do not.
 */
const summaryOf = (display: string | null | undefined): JsonObject | undefined =>
  display ? { summary: display === "summarized" ? "auto" : display } : undefined;

/**
 * The reasoning settings of a request. An effort also applies to text and calls, so without `enabled` it does not request reasoning. @returns
 * undefined if the request has no such setting
 */
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
