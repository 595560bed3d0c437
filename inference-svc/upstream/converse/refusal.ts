/** What cannot be said in the format at all: leaving it out would change what was asked. */
import type { TurnRequest } from "../../turn/request.ts";
import type { Refusal, Target } from "../dialect.ts";
import { text } from "../json.ts";
import { markRefusal } from "../messages/cache-marks.ts";
import type { Block } from "../messages/thread.ts";
import { notableIn } from "../notable.ts";
import { cannot, inputRefusal, runsNone, toolRefusal } from "../refused.ts";
import { caches } from "./cache-points.ts";
import { familyOf } from "./family.ts";
import { told } from "./messages.ts";
import { partRefusal } from "./parts.ts";

export function converseRefusal(request: TurnRequest, target: Target): Refusal | undefined {
  const refusal = toolRefusal(request, runsNone) ?? inputRefusal(request.input, partRefusal);
  if (refusal) return refusal;
  if (request.outputModalities.includes("image")) {
    return { path: "modalities", message: "no provider of this model gives images" };
  }
  const cached = caches(target, familyOf(target.upstreamModel));
  return (cached ? markRefusal(request.input) : undefined) ?? aloneRefusal(request, target);
}

/** A document needs words beside it in the message that it comes to stand in. */
function aloneRefusal(request: TurnRequest, target: Target): Refusal | undefined {
  const files = notableIn(request.input).some(({ part }) => part?.type === "input_file");
  const messages = files ? told(request, target).messages : [];
  const alone = messages.find(
    ({ content }) => !content.some(({ type }) => type === "text") && content.some(isDocument),
  );
  const document = alone?.content.find(isDocument);
  return document && { path: text(document.path), message: cannot("a file without text beside it") };
}

const isDocument = ({ document }: Block): boolean => document !== undefined;
