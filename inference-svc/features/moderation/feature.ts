/**
 * The plugin `moderation`: a moderation model reads the user's latest messages before any other model, and a flagged request is refused. A request for
 * moderation without a configured moderator is refused too: it must not pass unmoderated.
 */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { toDollars } from "@sluice/proto/lib/ledger/money.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { CallContext } from "../../models/internal-calls/internal-call.ts";
import { Spending } from "../../models/internal-calls/internal-spending.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import type { Stage } from "../../turn/trace.ts";
import { requestLayer } from "../../turn/layer-builders.ts";
import type { Layer } from "../../turn/turn.ts";
import {
  type FlaggedText,
  type Moderator,
  type ModeratorProfile,
  type UserInput,
  ModerationFailed,
  buildModerator,
  moderatorProfile,
} from "./moderator.ts";
import { serviceRetryMs } from "../../models/internal-calls/retry-hint.ts";
import type { CallingFeature, Feature } from "../kit.ts";
import { applies } from "../applies.ts";

/** Feature that refuses a request early when moderation is requested and cannot run. */
export const moderationAvailable: Feature = {
  id: "moderation",
  applies: applies.moderationAvailable,
  layer(kit) {
    const moderator = moderatorProfile(kit);
    return requestLayer((request, scope) => {
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
  },
};

/** Feature that refuses flagged requests. A request without a verdict is refused too, unless the operator configured otherwise. */
export const moderation: CallingFeature = {
  id: "moderation",
  applies: applies.moderation,
  layer(kit) {
    const moderator = buildModerator(kit);
    return moderating(
      moderator,
      (userInput, { request, scope }) => moderator && moderated(userInput, moderator, request, scope),
    );
  },
  dryRun(kit) {
    const moderator = moderatorProfile(kit);
    return moderating(moderator, (_, { scope }) => {
      const data = { action: "not_run", detected: false };
      if (moderator) scope.trace.stages.push(stageOf(moderator, "Not moderated: a dry run asks no model", data));
    });
  },
};

type Moderate = (userInput: UserInput, context: CallContext) => void | Promise<void>;

const moderating = (moderator: ModeratorProfile | undefined, moderate: Moderate): Layer =>
  requestLayer(async (request, scope) => {
    if (moderator === undefined || !request.plugins?.moderation) return request;
    const messages = latestUserInput(request.input);
    const texts = messages.map(({ content }) => textOf(content)).filter((text) => text.trim() !== "");
    const images = moderator.readsImages ? messages.flatMap(({ content }) => partsOf(content).flatMap(imageUrlOf)) : [];
    if (texts.length + images.length > 0) await moderate({ texts, images }, { request, scope });
    noteUnread(messages, moderator, scope);
    return request;
  });

/** Moderates the request. @throws Fault GUARDRAIL_BLOCKED; UNAVAILABLE when the texts could not be moderated, unless the operator allows that */
async function moderated(
  userInput: UserInput,
  moderator: Moderator,
  request: TurnRequest,
  scope: Scope,
): Promise<void> {
  const { trace } = scope;
  const spending = new Spending();
  const note = (summary: string, data: object) => trace.stages.push(stageOf(moderator, summary, data, spending));
  try {
    const flagged = await moderator.flagged(userInput, { request, scope, spent: spending.note });
    if (flagged.length === 0) return;
    const reasons = [...new Set(flagged.map(({ category }) => category))];
    note(`Blocked: ${reasons.join(", ")}`, { action: "blocked", detected: true, patterns: reasons });
    throw blocked(reasons, flagged, scope);
  } catch (error) {
    if (!(error instanceof ModerationFailed)) throw error;
    const open = moderator.fail === "open";
    const summary = `Error: not moderated, ${open ? "let through" : "refused"}`;
    note(summary, { action: "error", detected: false, fail_mode: moderator.fail });
    if (!open) throw unavailable(error);
  }
}

const stageOf = ({ model }: ModeratorProfile, summary: string, data: object, spending?: Spending): Stage => ({
  type: "guardrail",
  name: "moderation",
  summary,
  ...(spending && { cost_usd: spending.pico === undefined ? null : toDollars(spending.pico) }),
  data: { engines: [`moderation:${model}`], patterns: [], ...data },
});

/** The user's messages since the last answer. Earlier ones were moderated when they were new. */
function latestUserInput(input: readonly InputItem[]): readonly InputItem[] {
  const isUser = ({ type, role }: InputItem) => type === "message" && role === "user";
  const answered = input.findLastIndex(({ type, role }) => type === "message" && role === "assistant");
  const last = input.findLastIndex(isUser);
  return input.filter((item, index) => isUser(item) && (index > answered || index === last));
}

interface Part {
  readonly type?: unknown;
  readonly text?: unknown;
  readonly image_url?: unknown;
}

const partsOf = (content: unknown): readonly Part[] => (Array.isArray(content) ? (content as readonly Part[]) : []);

const imageUrlOf = ({ type, image_url: url }: Part): readonly string[] =>
  type === "input_image" && typeof url === "string" ? [url] : [];

/** Records in the receipt the kinds of parts not sent to the moderation model. */
function noteUnread(userInput: readonly InputItem[], moderator: ModeratorProfile, { trace }: Scope): void {
  const unread = new Map<string, number>();
  for (const { content } of userInput) {
    for (const part of partsOf(content)) {
      const isRead = typeof part.text === "string" || (moderator.readsImages && imageUrlOf(part).length > 0);
      const type = isRead ? undefined : part.type;
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

function blocked(reasons: readonly string[], [first]: readonly FlaggedText[], { trace }: Scope): Fault {
  const [asked] = trace.candidates;
  return new Fault(FaultReason.GUARDRAIL_BLOCKED, `Request blocked by moderation: ${reasons.join(", ")}`, {
    origin: FaultOrigin.CLIENT,
    metadata: {
      reasons,
      flagged_input: elideMiddle(first?.text ?? ""),
      ...(asked && { provider_name: asked.provider, model_slug: asked.model }),
    },
  });
}

/** Maximum code points of flagged text quoted in an error. */
const maxShown = 100;
const head = 50;
const tail = 49;

/** Shortens a long text by leaving out its middle. */
export function elideMiddle(text: string): string {
  const characters = Array.from(text);
  if (characters.length <= maxShown) return text;
  return `${characters.slice(0, head).join("")}\u2026${characters.slice(-tail).join("")}`;
}

const unavailable = (cause: unknown): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "The request cannot be moderated", {
    origin: FaultOrigin.INFERENCE,
    retryAfterMs: serviceRetryMs,
    cause,
  });
