/**
 * Replaces a conversation by a summary when the request ends with a `compaction_trigger` item, and reads such summaries
 * in later requests.
 *
 * The summary is encrypted: clients can neither read nor change it. Every model can continue from it, because it
 * becomes text before anything else sees the request.
 */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import type { StateSeal } from "../../content/sealed-state.ts";
import { toGeneratedAnswer, readToEnd } from "../../turn/answer-kinds.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Answer, Batch, TurnEvent } from "../../turn/turn.ts";
import { toSummaryRequest, parseCompactedState, userMessageTexts, summaryItem } from "./summary.ts";
import type { Feature } from "../kit.ts";
import { applies } from "../applies.ts";

const trigger = "compaction_trigger";
/** Maximum output tokens of a summary when the configuration sets none. */
const defaultMaxOutputTokens = 8_000;

export const compaction: Feature = {
  id: "compaction",
  applies: applies.compaction,
  layer:
    ({ roles: { compactor }, compactionSeal: seal }) =>
    (next) =>
    (request, scope) => {
      const owner = scope.caller.workspaceId;
      const withoutSeals = withSummaries(request, seal, owner);
      const input = beforeTrigger(withoutSeals.input);
      if (input === undefined) return next(withoutSeals, scope);
      const maxOutputTokens = compactor?.max_output_tokens ?? defaultMaxOutputTokens;
      const summaryRequest = toSummaryRequest({ ...withoutSeals, input }, compactor?.model, maxOutputTokens);
      const sealed = (summary: string) => seal.seal({ summary, said: userMessageTexts(input) }, owner);
      return toGeneratedAnswer(compacted(next(summaryRequest, scope), sealed));
    },
};

/**
 * The items before the trigger. @returns undefined without a trigger @throws Fault INVALID_REQUEST when the trigger is
 * not the last item, or the only item
 */
function beforeTrigger(input: readonly InputItem[]): readonly InputItem[] | undefined {
  const index = input.findIndex(({ type }) => type === trigger);
  if (index === -1) return undefined;
  if (index < input.length - 1) throw invalid(`input.${index}`, `${trigger} must be the last item`);
  if (index === 0) throw invalid("input", "holds nothing to compact");
  return input.slice(0, index);
}

/** Replaces every summary sealed by Sluice with its text. Compaction items of providers stay: their own models read them. */
function withSummaries(request: TurnRequest, seal: StateSeal, owner: string): TurnRequest {
  const input = request.input.map((item, index) => {
    const { type, encrypted_content: sealed } = item;
    if (type !== "compaction" || !seal.isOwn(sealed)) return item;
    const kept = parseCompactedState(seal.open(sealed, owner));
    if (kept) return summaryItem(kept);
    throw invalid(`input.${index}.encrypted_content`, "was changed, or made for another workspace");
  });
  return { ...request, input };
}

async function* compacted(answer: Answer, seal: (summary: string) => string): AsyncGenerator<Batch> {
  const events = await readToEnd(answer);
  const summary = events.map(textOf).join("");
  const end = events.at(-1);
  if (summary === "" || end?.type !== "end") {
    throw new Fault(FaultReason.PROVIDER_FAILED, "The model gave no summary", { origin: FaultOrigin.UPSTREAM });
  }
  const item = { type: "compaction", id: newId("cmp_"), status: "completed", encrypted_content: seal(summary) };
  const before = events.filter(({ type }) => type === "debug" || type === "start");
  yield [...before, { type: "item.start", index: 0, item }, { type: "item.end", index: 0, item }, end];
}

function textOf(event: TurnEvent): string {
  if (event.type !== "item.end" || event.item.type !== "message") return "";
  const { content } = event.item;
  if (!Array.isArray(content)) return "";
  return (content as readonly { readonly text?: unknown }[])
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("");
}
