/**
 * The plugin `moderation`: what a user says now is looked at by a moderation model of the house before any other reads it, and refused where that
 * flags it. Whoever asks for it and cannot have it is refused too: to be let through unlooked is what the plugin is there against.
 */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { dollars } from "@sluice/proto/runtime/money.js";
import { invalid } from "@sluice/proto/runtime/validation/problems.js";
import { serviceRetryMs } from "../../guardrails/not-applicable.ts";
import { Spending } from "../../internal/spending.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope, Stage } from "../../turn/scope.ts";
import { type Layer, onRequest } from "../../turn/turn.ts";
import { type Flagged, type Moderator, Unmoderated } from "./moderator.ts";

/** Refuses what cannot be done before anybody is asked. @throws Fault INVALID_REQUEST */
export const moderable = (moderator: Moderator | undefined): Layer =>
  onRequest((request, scope) => {
    if (!request.plugins?.moderation) return request;
    if (moderator === undefined) {
      throw invalid(
        "plugins",
        "moderation: this service has no moderation model; its operator sets internal_models.moderation",
      );
    }
    const reasons = moderator.forbidden({ request, scope });
    if (reasons.length === 0) return request;
    const policy = reasons.join(", ");
    throw invalid("plugins", `moderation: its model cannot keep to the data policy of this request: ${policy}`);
  });

/** @throws Fault GUARDRAIL_BLOCKED; UNAVAILABLE when it could not be looked, unless the operator lets that through */
export const moderation = (moderator: Moderator | undefined): Layer =>
  onRequest(async (request, scope) => {
    if (moderator === undefined || !request.plugins?.moderation) return request;
    const said = saidNow(request.input);
    const texts = said.map(({ content }) => textOf(content)).filter((text) => text.trim() !== "");
    if (texts.length > 0) await moderated(texts, moderator, request, scope);
    noteUnread(said, moderator, scope);
    return request;
  });

async function moderated(
  texts: readonly string[],
  moderator: Moderator,
  request: TurnRequest,
  scope: Scope,
): Promise<void> {
  const { trace } = scope;
  if (scope.dryRun === true) {
    trace.stages.push(
      stageOf(moderator, "Not looked at: a dry run asks nobody", { action: "not_run", detected: false }),
    );
    return;
  }
  const spending = new Spending();
  const note = (summary: string, data: object) => trace.stages.push(stageOf(moderator, summary, data, spending));
  try {
    const flagged = await moderator.flagged(texts, { request, scope, spent: spending.note });
    if (flagged.length === 0) return;
    const reasons = [...new Set(flagged.map(({ category }) => category))];
    note(`Blocked: ${reasons.join(", ")}`, { action: "blocked", detected: true, patterns: reasons });
    throw blocked(reasons, flagged, scope);
  } catch (error) {
    if (!(error instanceof Unmoderated)) throw error;
    const open = moderator.fail === "open";
    const summary = `Error: not looked at, ${open ? "let through" : "refused"}`;
    note(summary, { action: "error", detected: false, fail_mode: moderator.fail });
    if (!open) throw unavailable(error);
  }
}

const stageOf = ({ model }: Moderator, summary: string, data: object, spending?: Spending): Stage => ({
  type: "guardrail",
  name: "moderation",
  summary,
  ...(spending && { cost_usd: spending.pico === undefined ? null : dollars(spending.pico) }),
  data: { engines: [`moderation:${model}`], patterns: [], ...data },
});

/** What the user has said since the assistant did: what came before was looked at then. */
function saidNow(input: readonly InputItem[]): readonly InputItem[] {
  const isUser = ({ type, role }: InputItem) => type === "message" && role === "user";
  const answered = input.findLastIndex(({ type, role }) => type === "message" && role === "assistant");
  const last = input.findLastIndex(isUser);
  return input.filter((item, index) => isUser(item) && (index > answered || index === last));
}

/** The moderation model reads texts alone: the receipt names the kinds of parts that it was not shown. */
function noteUnread(said: readonly InputItem[], moderator: Moderator, { trace }: Scope): void {
  const unread = new Map<string, number>();
  for (const { content } of said) {
    for (const part of Array.isArray(content) ? (content as readonly { type?: unknown; text?: unknown }[]) : []) {
      const type = typeof part?.text === "string" ? undefined : part?.type;
      if (typeof type === "string") unread.set(type, (unread.get(type) ?? 0) + 1);
    }
  }
  if (unread.size === 0) return;
  const counts = [...unread].map(([type, count]) => `${count} ${type}`).join(", ");
  const data = { action: "not_run", detected: false, unread: Object.fromEntries(unread) };
  trace.stages.push(stageOf(moderator, `Not moderated: ${counts}`, data));
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .flatMap((part: { text?: unknown } | null) => (typeof part?.text === "string" ? part.text : []))
    .join("\n");
}

function blocked(reasons: readonly string[], [first]: readonly Flagged[], { trace }: Scope): Fault {
  const [asked] = trace.candidates;
  return new Fault(FaultReason.GUARDRAIL_BLOCKED, `Request blocked by moderation: ${reasons.join(", ")}`, {
    origin: FaultOrigin.CLIENT,
    metadata: {
      reasons,
      flagged_input: elided(first?.text ?? ""),
      ...(asked && { provider_name: asked.provider, model_slug: asked.model }),
    },
  });
}

/** Code points. */
const longestShown = 100;
const head = 50;
const tail = 49;

/** Without its middle, where it is longer. */
export function elided(text: string): string {
  const characters = Array.from(text);
  if (characters.length <= longestShown) return text;
  return `${characters.slice(0, head).join("")}\u2026${characters.slice(-tail).join("")}`;
}

const unavailable = (cause: unknown): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "The request cannot be moderated", {
    origin: FaultOrigin.INFERENCE,
    retryAfterMs: serviceRetryMs,
    cause,
  });
