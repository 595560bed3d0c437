/** The plugin `response-healing`: repairs invalid JSON in answers that are not streamed. Valid answers pass unchanged. */
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import { TimeSlice } from "../../turn/time-slice.ts";
import type { Scope } from "../../turn/scope.ts";
import type { Stage } from "../../turn/trace.ts";
import { toGeneratedAnswer, readToEnd } from "../../turn/answer-kinds.ts";
import type { Answer, Batch, Layer, TurnEvent } from "../../turn/turn.ts";
import { answerIn, textOf, replaceAnswerText } from "./answer.ts";
import { type Verdict, type WantedJson, healJson } from "./ladder.ts";
import { UncheckableSchema } from "../../content/json-schema/schema.ts";
import { findWantedJson } from "./wanted.ts";
import type { Feature } from "../kit.ts";
import { applies } from "../applies.ts";

/** Maximum UTF-16 units of an answer repaired: twice the length of today's longest answers. */
const maxTextLength = 1024 * 1024;

export const healAnswers: Layer = (next) => (request, scope) => {
  const wanted = request.plugins?.responseHealing && !request.stream ? findWantedJson(request) : undefined;
  const answer = next(request, scope);
  return wanted === undefined ? answer : toGeneratedAnswer(healed(answer, wanted, scope));
};

export const responseHealing: Feature = {
  id: "response-healing",
  applies: applies.responseHealing,
  layer: () => healAnswers,
};

/** Repairs an answer. It is collected first, which costs no time: without streaming, an answer is complete before its first batch. */
async function* healed(answer: Answer, wanted: WantedJson, scope: Scope): AsyncGenerator<Batch> {
  yield await mended(await readToEnd(answer), wanted, scope);
}

async function mended(events: readonly TurnEvent[], wanted: WantedJson, scope: Scope): Promise<Batch> {
  const answer = answerIn(events);
  const text = answer && textOf(answer.item);
  if (answer === undefined || text === undefined) return events;
  const last = events.at(-1);
  const isCut = last?.type === "end" && last.outcome.status === "incomplete";
  const verdict = isCut ? truncated : await judged(text, wanted, new TimeSlice(scope.signal));
  if (verdict.is === "right") return events;
  scope.trace.stages.push(stageOf(verdict, text, wanted));
  if (verdict.is === "left") return events;
  const item = replaceAnswerText(answer.item, verdict.text, verdict.regions);
  return events.map((event) => (event === answer ? { ...event, item } : event));
}

type HealingOutcome = Verdict | { readonly is: "left"; readonly why: "too long" | "schema" };

const truncated: HealingOutcome = { is: "left", why: "truncated" };

async function judged(text: string, wanted: WantedJson, timeSlice: TimeSlice): Promise<HealingOutcome> {
  if (text.length > maxTextLength) return { is: "left", why: "too long" };
  try {
    return await timeSlice.run(healJson(text, wanted));
  } catch (error) {
    if (error instanceof UncheckableSchema) return { is: "left", why: "schema" };
    throw error;
  }
}

const reasons: Readonly<Record<string, string>> = {
  truncated: "it is cut off",
  unfit: "it is not what was asked for",
  unrepairable: "no JSON was found in it",
  "too long": "it is too long",
  schema: "the schema cannot be checked",
};

function stageOf(
  verdict: Exclude<HealingOutcome, { readonly is: "right" }>,
  text: string,
  { mode }: WantedJson,
): Stage {
  const improved = verdict.is === "healed";
  return {
    type: "response_healing",
    name: "response-healing",
    summary: improved ? `Healed: ${verdict.how}` : `Left as it is: ${reasons[verdict.why]}`,
    data: {
      mode,
      improved,
      original_length: codePointLength(text),
      healed_length: codePointLength(improved ? verdict.text : text),
      how: improved ? verdict.how : verdict.why.replaceAll(" ", "_"),
    },
  };
}
