/** Beta features of Anthropic's API, requested by name in a header. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { Target } from "../dialect.ts";
import { supports } from "../translate/context.ts";
import { requestsCodeExecution } from "./native-tools.ts";

/** The vendor takes any name; most other servers of the format know none. */
export const takesBetas = (target: Target, parameter: "anthropic_betas" | "context_management"): boolean =>
  target.original || supports(target, parameter);

/** The vendor takes `context_management` only with this name or a later one of its kind. */
const contextManagement = { kind: "context-management-", name: "context-management-2025-06-27" };

/** The vendor runs code only with this name or a later one of its kind. */
const codeExecution = { kind: "code-execution-", name: "code-execution-2025-08-25" };

/** The header of a request; undefined when it needs none. */
export function betaHeader(request: TurnRequest, target: Target): Readonly<Record<string, string>> | undefined {
  const { anthropicBetas, contextManagementJson: edits } = request;
  const names = anthropicBetas && takesBetas(target, "anthropic_betas") ? [...anthropicBetas] : [];
  const isEdited = edits?.startsWith("{") === true && takesBetas(target, "context_management");
  if (isEdited && !names.some((name) => name.startsWith(contextManagement.kind))) names.push(contextManagement.name);
  if (requestsCodeExecution(request) && !names.some((name) => name.startsWith(codeExecution.kind)))
    names.push(codeExecution.name);
  return names.length === 0 ? undefined : { "anthropic-beta": names.join(",") };
}
