/** Points up to which the provider caches (https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html). */
import type { TurnRequest } from "../../turn/request.ts";
import type { Lose, Target } from "../dialect.ts";
import { type JsonObject, isObject } from "../json.ts";
import { CacheMarks } from "../messages/cache-marks.ts";
import type { Block, Message } from "../messages/thread.ts";
import { supports } from "../words.ts";
import type { Family } from "./family.ts";

export type Marks = Pick<CacheMarks, "copy" | "finish">;

/** Who takes such points; what others are told of them is a 400. */
export const caches = (target: Target, family: Family): boolean =>
  family === "anthropic" || family === "nova" || supports(target, "cache_control");

export function marksFor(target: Target, family: Family, lose: Lose): Marks {
  if (!caches(target, family)) return new NoMarks(lose);
  return family === "nova" ? new ShortMarks(lose) : new CacheMarks(lose);
}

class NoMarks implements Marks {
  readonly #lose: Lose;

  constructor(lose: Lose) {
    this.#lose = lose;
  }

  copy(from: JsonObject, _to: Block, path: string): void {
    const field = isObject(from.cache_control) ? "cache_control" : "prompt_cache_breakpoint";
    this.#lose(`${path}.${field}`, "the endpoint is not known to take it");
  }

  finish(control: TurnRequest["cacheControl"]): void {
    if (control) this.#lose("cache_control", "the endpoint is not known to take it");
  }
}

/** Those of Nova: none among the tools, and none that holds for an hour. */
class ShortMarks extends CacheMarks {
  readonly #declare: Lose;

  constructor(lose: Lose) {
    super(lose);
    this.#declare = lose;
  }

  override copy(from: JsonObject, to: Block, path: string): void {
    this.#shorten(from.cache_control, `${path}.cache_control`);
    super.copy({ ...from, ...(isObject(from.cache_control) && { cache_control: {} }) }, to, path);
  }

  override finish(
    control: TurnRequest["cacheControl"],
    _tools: readonly Block[],
    system: readonly Block[],
    messages: readonly Message[],
  ): void {
    this.#shorten(control, "cache_control");
    super.finish(control && { ttl: "5m" }, [], system, messages);
  }

  #shorten(control: unknown, path: string): void {
    if (isObject(control) && control.ttl === "1h")
      this.#declare(`${path}.ttl`, "sent as 5m: the model keeps nothing longer");
  }
}

/** @param mark of a block; the point stands behind it */
export const cachePoint = ({ ttl }: JsonObject): JsonObject => ({
  cachePoint: { type: "default", ...(ttl === "1h" && { ttl }) },
});
