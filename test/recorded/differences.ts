/** Differences between a provider's answer and Sluice's. */
import type { AnswerFacts } from "./readers/answer.ts";
import { canonicalJson } from "./readers/json.ts";
import type { Door } from "./questions.ts";

export interface Difference {
  /** Subject of the difference, such as `text`, `tokens.prompt` or `field tools.*.strict`. */
  readonly what: string;
  readonly want: string;
  readonly got: string;
}

/** Maximum number of characters shown: enough to see the cause in a report. */
const shownCharacters = 200;

export function abridgeValue(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "nothing");
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)} … (${text.length} characters)`;
}

const difference = (what: string, want: unknown, got: unknown): Difference => ({
  what,
  want: abridgeValue(want),
  got: abridgeValue(got),
});

export function differencesOf(want: AnswerFacts, got: AnswerFacts, door: Door): Difference[] {
  if (want.outcome !== got.outcome) {
    const told = ({ outcome, fault, reason }: AnswerFacts) => ({ outcome, ...fault, ...(reason !== "" && { reason }) });
    return [difference("outcome", told(want), told(got))];
  }
  if (want.outcome === "failed") {
    const status = want.fault?.status;
    const same = status === undefined || status === got.fault?.status;
    return same ? [] : [difference("status", want.fault, got.fault)];
  }
  return [...contentOf(want, got), ...tokensOf(want, got), ...endOf(want, got, door), ...streamOf(got, door)];
}

function contentOf(want: AnswerFacts, got: AnswerFacts): Difference[] {
  // Removes white space: where a format has room for one text, parts of reasoning are joined with blank lines.
  const dense = (text: string) => text.replace(/\s+/g, "");
  // A door without namespaces shows only the name of the function, so namespaces are not compared.
  const calls = ({ calls: made }: AnswerFacts) =>
    made.map(({ name, input }) => ({ name: name.split(".").at(-1), input }));
  const urls = ({ sources }: AnswerFacts) =>
    [...new Set(sources.map(({ url }) => url).filter((url) => url !== ""))].sort();
  const documents = ({ sources }: AnswerFacts) => sources.filter(({ url }) => url === "").length > 0;
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ["text", want.text, got.text],
    ["thoughts", dense(want.thoughts), dense(got.thoughts)],
    ["refusal", want.refusal, got.refusal],
    ["calls", calls(want), calls(got)],
    ["pictures", want.pictures, got.pictures],
    ["sources", urls(want), urls(got)],
    ["documents", documents(want), documents(got)],
  ];
  const different = pairs.filter(([, one, other]) => canonicalJson(one) !== canonicalJson(other));
  return different.map(([what, one, other]) => difference(what, one, other));
}

const figures = ["prompt", "completion", "cacheRead", "cacheWritten", "thoughts"] as const;

/** A provider that counts no tokens gives zeros, and Sluice then estimates. */
function tokensOf({ tokens: want }: AnswerFacts, { tokens: got }: AnswerFacts): Difference[] {
  if (!want || want.prompt + want.completion === 0) return [];
  const wrong = figures.filter((name) => want[name] !== (got?.[name] ?? 0));
  return wrong.map((name) => difference(`tokens.${name}`, want, got));
}

function endOf(want: AnswerFacts, got: AnswerFacts, door: Door): Difference[] {
  if (want.end !== got.end) return [difference("end", `${want.end} (${want.reason})`, `${got.end} (${got.reason})`)];
  const forCalls = { chat: ["tool_calls", "function_call"], messages: ["tool_use"], responses: undefined }[door];
  if (forCalls === undefined || got.end !== "done" || forCalls.includes(got.reason) === got.calls.length > 0) return [];
  return [difference("reason of calls", got.calls, got.reason)];
}

function streamOf(got: AnswerFacts, door: Door): Difference[] {
  if (!got.stream) return [];
  const { terminals, reasons, starts, deltas } = got.stream;
  const found: Difference[] = [];
  if (terminals !== 1) found.push(difference("terminal events", 1, terminals));
  if (door === "chat" && reasons !== 1) found.push(difference("chunks with a reason", 1, reasons));
  if (door === "messages" && starts !== 1) found.push(difference("message_start", 1, starts));
  for (const part of ["text", "thoughts", "refusal"] as const) {
    if (deltas && deltas[part] !== got[part]) found.push(difference(`deltas of ${part}`, got[part], deltas[part]));
  }
  return found;
}
