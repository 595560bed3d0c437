/** Mends an answer that was asked for as JSON and is none. An answer that is right leaves as it came; so does a stream, of which nothing can be mended. */
import { codePointLength } from "@sluice/proto/runtime/validation/text.js";
import { Breath } from "../../turn/breath.ts";
import type { Scope, Stage } from "../../turn/scope.ts";
import type { Batch, Layer, TurnEvent } from "../../turn/turn.ts";
import { answerIn, textOf, withText } from "./answer.ts";
import { type Verdict, type Wanted, heal } from "./ladder.ts";
import { Uncheckable } from "./schema.ts";
import { wantedOf } from "./wanted.ts";

/** Twice what the longest answers of today have. */
const longestText = 1024 * 1024;

export const responseHealing: Layer = (next) => async (request, scope) => {
  const wanted = request.plugins?.responseHealing && !request.stream ? wantedOf(request) : undefined;
  const batches = await next(request, scope);
  return wanted === undefined ? batches : healed(batches, wanted, scope);
};

/** Without a stream the whole answer is there when it begins to be read. */
async function* healed(batches: AsyncIterable<Batch>, wanted: Wanted, scope: Scope): AsyncGenerator<Batch> {
  const events: TurnEvent[] = [];
  for await (const batch of batches) events.push(...batch);
  yield await mended(events, wanted, scope);
}

async function mended(events: readonly TurnEvent[], wanted: Wanted, scope: Scope): Promise<Batch> {
  const answer = answerIn(events);
  const text = answer && textOf(answer.item);
  if (answer === undefined || text === undefined) return events;
  const last = events.at(-1);
  const isCut = last?.type === "end" && last.outcome.status === "incomplete";
  const verdict = isCut ? truncated : await judged(text, wanted, new Breath(scope.signal));
  if (verdict.is === "right") return events;
  scope.trace.stages.push(stageOf(verdict, text, wanted));
  if (verdict.is === "left") return events;
  const item = withText(answer.item, verdict.text, verdict.regions);
  return events.map((event) => (event === answer ? { ...event, item } : event));
}

type Told = Verdict | { readonly is: "left"; readonly why: "too long" | "schema" };

const truncated: Told = { is: "left", why: "truncated" };

async function judged(text: string, wanted: Wanted, breath: Breath): Promise<Told> {
  if (text.length > longestText) return { is: "left", why: "too long" };
  try {
    return await breath.through(heal(text, wanted));
  } catch (error) {
    if (error instanceof Uncheckable) return { is: "left", why: "schema" };
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

function stageOf(verdict: Exclude<Told, { readonly is: "right" }>, text: string, { mode }: Wanted): Stage {
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
