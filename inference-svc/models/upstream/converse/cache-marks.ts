/** Sets cache points of Converse (https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html). */
import type { TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type JsonObject, isObject } from "../json.ts";
import { CacheMarks } from "../translate/blocks/cache-marks.ts";
import type { Block, BlockMessage } from "../translate/blocks/message-list.ts";
import type { WrittenCall } from "../translate/conversation.ts";
import type { SentTool } from "../translate/names/tool-names.ts";
import { supportsParameter } from "../translate/context.ts";
import type { Family } from "./family.ts";

export type ConverseCacheMarks = Pick<CacheMarks, "copy" | "copyCall" | "copyTools" | "finish">;

/** Whether the model takes cache points; models of other families answer 400 to one. */
export const takesCacheMarks = (target: Target, family: Family): boolean =>
  family === "anthropic" || family === "nova" || supportsParameter(target, "cache_control");

export function openCacheMarks(target: Target, family: Family, onDropped: OnDropped): ConverseCacheMarks {
  if (!takesCacheMarks(target, family)) return new NoMarks(onDropped);
  return family === "nova" ? new ShortMarks(onDropped) : new CacheMarks(onDropped);
}

function dropToolMarks(tools: readonly SentTool[], onDropped: OnDropped, reason: string): void {
  for (const { tool, path } of tools) if (tool.cacheControl) onDropped(`${path}.cache_control`, reason);
}

class NoMarks implements ConverseCacheMarks {
  readonly #onDropped: OnDropped;

  constructor(onDropped: OnDropped) {
    this.#onDropped = onDropped;
  }

  copy(from: JsonObject, _to: Block, path: string): void {
    const field = isObject(from.cache_control) ? "cache_control" : "prompt_cache_breakpoint";
    this.#onDropped(`${path}.${field}`, "the endpoint is not known to take it");
  }

  copyCall({ mark }: WrittenCall): void {
    if (mark) this.#onDropped(`${mark.path}.cache_control`, "the endpoint is not known to take it");
  }

  copyTools(tools: readonly SentTool[]): void {
    dropToolMarks(tools, this.#onDropped, "the endpoint is not known to take it");
  }

  finish(control: TurnRequest["cacheControl"]): void {
    if (control) this.#onDropped("cache_control", "the endpoint is not known to take it");
  }
}

/** Cache marks for Nova, which takes none on tools, and none with a lifetime of an hour. */
class ShortMarks extends CacheMarks {
  readonly #declare: OnDropped;

  constructor(onDropped: OnDropped) {
    super(onDropped);
    this.#declare = onDropped;
  }

  override copy(from: JsonObject, to: Block, path: string, holder?: Block): void {
    this.#shorten(from.cache_control, `${path}.cache_control`);
    super.copy({ ...from, ...(isObject(from.cache_control) && { cache_control: {} }) }, to, path, holder);
  }

  override copyTools(tools: readonly SentTool[]): void {
    dropToolMarks(tools, this.#declare, "the model takes none on tools");
  }

  override finish(
    control: TurnRequest["cacheControl"],
    _tools: readonly Block[],
    system: readonly Block[],
    messages: readonly BlockMessage[],
  ): void {
    this.#shorten(control, "cache_control");
    super.finish(control && { ttl: "5m" }, [], system, messages);
  }

  #shorten(control: unknown, path: string): void {
    if (isObject(control) && control.ttl === "1h") this.#declare(`${path}.ttl`, "sent as 5m, the maximum of the model");
  }
}

/** The cache point that follows a block with this `cache_control`. */
export const cachePoint = ({ ttl }: JsonObject): JsonObject => ({
  cachePoint: { type: "default", ...(ttl === "1h" && { ttl }) },
});
