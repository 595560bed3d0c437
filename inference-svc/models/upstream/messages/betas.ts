/** Beta features of Anthropic's API, which a header requests by name. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Target } from "../dialect.ts";
import { thinkingUpdates } from "../translate/blocks/reasoning.ts";
import { supportsParameter } from "../translate/context.ts";
import { requestsCodeExecution } from "./native-tools.ts";

/** Whether the server takes names of beta features. Anthropic takes any name; most other servers of the format know none. */
export const takesBetas = (target: Target, parameter: "anthropic_betas" | "context_management"): boolean =>
  target.original || supportsParameter(target, parameter);

/** Anthropic takes `context_management` only with this beta name, or a later one of its kind. */
const contextManagement = { kind: "context-management-", name: "context-management-2025-06-27" };

/** Anthropic runs code only with this beta name, or a later one of its kind. */
const codeExecution = { kind: "code-execution-", name: "code-execution-2025-08-25" };

/** Anthropic takes `display: "updates"` only with this beta name, or a later one of its kind. */
const displayUpdates = { kind: "thinking-display-updates-", name: "thinking-display-updates-2026-08-18" };

/** The header with the beta features of a request. @returns undefined when the request needs none */
export function betaHeader(request: TurnRequest, target: Target): Readonly<Record<string, string>> | undefined {
  const { anthropicBetas, contextManagementJson: edits } = request;
  const names = anthropicBetas && takesBetas(target, "anthropic_betas") ? [...anthropicBetas] : [];
  const isEdited = edits?.startsWith("{") === true && takesBetas(target, "context_management");
  const needed = [
    ...(isEdited ? [contextManagement] : []),
    ...(requestsCodeExecution(request) ? [codeExecution] : []),
    ...(request.reasoning?.summary === "updates" && supportsParameter(target, thinkingUpdates) ? [displayUpdates] : []),
  ];
  for (const { kind, name } of needed) if (!names.some((each) => each.startsWith(kind))) names.push(name);
  return names.length === 0 ? undefined : { "anthropic-beta": names.join(",") };
}
