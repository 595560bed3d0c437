/** Checks the body and the headers of POST /messages. */
import type { IncomingHttpHeaders } from "node:http";
import { requestsThread } from "../../contract/messages/request.ts";
import type { PluginJson } from "@sluice/proto/contract/plugins/plugin-messages.js";
import { anthropicBetas } from "@sluice/proto/contract/request/extensions.js";
import type { PreferencesJson } from "@sluice/proto/contract/request/preferences.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { type Shape, checkShape } from "@sluice/proto/lib/validation/shape.js";
import type { DoorContext } from "../../edge/turns/door.ts";
import { readSession } from "../../edge/turns/session.ts";
import type { Message } from "./conversation.ts";
import type { Block } from "./parts.ts";
import type { RequestedReasoning } from "./reasoning.ts";
import type { RepeatedArrays } from "./repeated-arrays.ts";
import { type McpServer, type MessagesTool, type ToolChoice, isClientTool } from "./tools.ts";

/** A body after the check of its shape. */
export interface MessagesBody extends RequestedReasoning {
  readonly model?: string;
  readonly models?: string[] | null;
  readonly messages: readonly Message[];
  readonly system?: string | readonly Block[] | null;
  readonly stream?: boolean | null;
  readonly tools?: readonly MessagesTool[] | null;
  readonly tool_choice?: ToolChoice | null;
  readonly mcp_servers?: readonly McpServer[] | null;
  readonly output_format?: object | null;
  readonly metadata?: { readonly user_id?: string | null } | null;
  readonly service_tier?: "auto" | "standard_only" | null;
  readonly container?: string | { readonly id?: string | null } | null;
  readonly context_management?: { readonly edits?: readonly unknown[] } | null;
  readonly cache_control?: { readonly ttl?: string } | null;
  readonly provider?: PreferencesJson | null;
  readonly plugins?: readonly PluginJson[] | null;
  readonly session_id?: string | null;
  readonly service_metadata?: boolean | null;
}

export interface CheckedMessages {
  readonly fields: MessagesBody;
  readonly betas: string[];
  readonly session: string | undefined;
  /** Paths of unknown fields inside of the body's own fields. */
  readonly unread: readonly string[];
}

/** @throws Fault INVALID_REQUEST with every problem that can be found without converting the body */
export function checkMessages(
  arrays: RepeatedArrays,
  { headers, sessionId }: Pick<DoorContext, "headers" | "sessionId">,
  shape: Shape,
): CheckedMessages {
  const value = arrays.parse();
  if (requestsThread(value)) throw threadRefused();
  const problems = new Problems((path) => arrays.addUnread(path));
  checkShape(shape, value, "", problems);
  const betas = readBetas(headers, problems);
  const fields = value as MessagesBody;
  const session = readSession(fields.session_id ?? undefined, sessionId, problems);
  problems.throwIfAny();
  return { fields, betas, session, unread: arrays.unread.filter((path) => isUnread(path, fields)) };
}

/**
 * Whether a field unknown to the shape is also unknown to Sluice. Top-level fields are looked up by name elsewhere, and context edits reach the
 * provider unchanged.
 */
function isUnread(path: string, { tools }: MessagesBody): boolean {
  const [list, index] = path.split(".");
  if (index === undefined || list === "context_management") return false;
  // Fields of a cache mark are known, even on a tool that is passed on unchanged.
  if (path.includes(".cache_control.")) return true;
  const tool = list === "tools" ? tools?.[Number(index)] : undefined;
  return tool === undefined || !isClientTool(tool);
}

/** The error with the code that makes clients with thread support send whole conversations. */
function threadRefused(): Fault {
  return new Fault(
    FaultReason.INVALID_REQUEST,
    "thread: threads are not supported; send the whole conversation in messages",
    {
      origin: FaultOrigin.CLIENT,
      metadata: {
        error_type: "invalid_request",
        param: "thread",
        details: { error_code: "thread_unsupported_request", unsupported: ["thread"] },
      },
    },
  );
}

/** Reads the names of beta features, which are passed on unchanged. */
function readBetas({ "anthropic-beta": header }: IncomingHttpHeaders, problems: Problems): string[] {
  if (header === undefined) return [];
  const names = [header].flat().flatMap((value) => value.split(",").map((name) => name.trim()));
  const betas = [...new Set(names.filter((name) => name !== ""))];
  checkShape(anthropicBetas, betas, "anthropic-beta", problems);
  return betas;
}
