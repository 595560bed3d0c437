/** Reports parameters that neither of the formats made of blocks has. */
import type { TurnRequest } from "../../../../turn/request.ts";
import type { OnDropped } from "../../dialect.ts";
import { dropAddition } from "../additions.ts";
import { dropExtensions } from "../extensions.ts";

/** @param taken settings this format has, but the other one lacks */
export function dropUnsupported(
  request: TurnRequest,
  onDropped: OnDropped,
  taken: Parameters<typeof dropExtensions>[2],
): void {
  const drop = (path: string, value: unknown): void => {
    if (value !== undefined) onDropped(path, "the format has no field for it");
  };
  drop("text.verbosity", request.verbosity);
  drop("image_config", request.imageConfigJson);
  drop("prompt_cache_key", request.promptCacheKey);
  drop("max_tool_calls", request.maxToolCalls);
  if (request.promptCacheOptionsJson?.includes('"ttl"')) {
    onDropped("prompt_cache_options.ttl", "each mark has a ttl of its own");
  }
  dropExtensions(request, onDropped, taken);
  dropAddition(request, "message.output_text.logprobs", onDropped);
}
