/** Converts a turn to the body of POST /ocr, which contains only the document, because the API takes no text. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { ObjectWriter, objects, text } from "../json.ts";
import { dropExtensions } from "../translate/extensions.ts";
import { FormatParameters, noField } from "../translate/parameters.ts";
import { dropTier } from "../translate/sent-tier.ts";
import { findDocument } from "./document.ts";

export function mistralOcrBody(request: TurnRequest, target: Target, onDropped: OnDropped): string {
  const document = findDocument(request.input);
  const body = new ObjectWriter();
  body.add("model", target.upstreamModel);
  body.add("document", document);
  if (request.pages !== undefined && document.type === "document_url")
    body.add(
      "pages",
      Array.from({ length: request.pages }, (_, index) => index),
    );
  body.add("include_image_base64", false);
  parameters.write(request, target, onDropped, body);
  for (const [path, value] of settings(request)) if (value !== undefined) onDropped(path, noField);
  dropExtensions(request, onDropped, []);
  dropTier(request.serviceTier, target.tier, onDropped);
  if (target.tier !== "default") onDropped("service_tier", `the format has no tier called ${target.tier}`);
  dropWords(request, onDropped);
  return body.end();
}

const noWords = "the model reads documents, and is told no words";
const parameters = new FormatParameters({});

function dropWords({ instructions, input }: TurnRequest, onDropped: OnDropped): void {
  if (instructions !== undefined && instructions !== "") onDropped("instructions", noWords);
  for (const [index, { content }] of input.entries()) {
    if (typeof content === "string" && content !== "") onDropped(`input.${index}.content`, noWords);
    for (const [at, part] of objects(content).entries())
      if (text(part.text) !== "") onDropped(`input.${index}.content.${at}`, noWords);
  }
}

const settings = (request: TurnRequest): readonly (readonly [path: string, value: unknown])[] => [
  ["reasoning", request.reasoning],
  ["text.format", request.textFormat],
  ["text.verbosity", request.verbosity],
  ["prompt_cache_key", request.promptCacheKey],
  ["prompt_cache_options", request.promptCacheOptionsJson],
  ["cache_control", request.cacheControl],
  ["image_config", request.imageConfigJson],
  ["max_tool_calls", request.maxToolCalls],
  [request.identityField ?? "", request.identityField && request.identityHash],
];
