/** Searches that the provider runs: the call is one block, what it found another. */
import { newId } from "@sluice/proto/runtime/id.js";
import type { OtherWriter } from "../item-writer.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import type { Output } from "../output.ts";
import { webSearchName } from "./web-search.ts";

interface Search {
  readonly writer: OtherWriter;
  readonly index: number;
  query: string;
}

/** Of the block of the call. */
export interface SearchReader {
  delta(delta: JsonObject): void;
  stop(): void;
}

export class Searches {
  readonly #output: Output;
  readonly #sources: boolean;
  readonly #running = new Map<unknown, Search>();

  /** @param sources whether the client wants to know what was found */
  constructor(output: Output, sources: boolean) {
    this.#output = output;
    this.#sources = sources;
  }

  /** @returns undefined for other tools: nobody offers them from here */
  begin(block: JsonObject): SearchReader | undefined {
    if (block.name !== webSearchName) return undefined;
    // Nothing can be found for it any more: what comes under the id belongs to the next.
    const lost = this.#running.get(block.id);
    if (lost) this.#finish(lost, true, []);
    const index = this.#output.count;
    const writer = this.#output.other({ type: "web_search_call", id: newId("ws_"), status: "in_progress" });
    const search: Search = { writer, index, query: "" };
    this.#running.set(block.id, search);
    this.#progress("in_progress", index);
    let json = "";
    return {
      delta(delta) {
        json += text(delta.partial_json);
      },
      stop: () => {
        search.query = queryOf(json === "" ? block.input : parsed(json));
        this.#progress("searching", index);
      },
    };
  }

  found({ tool_use_id, content }: JsonObject): void {
    const search = this.#running.get(tool_use_id);
    if (!search) return;
    this.#running.delete(tool_use_id);
    const failed = !Array.isArray(content);
    if (!failed) this.#progress("completed", search.index);
    this.#finish(search, failed, objects(content));
  }

  /** What was not found until the end never will be. */
  end(): void {
    for (const search of this.#running.values()) this.#finish(search, true, []);
    this.#running.clear();
  }

  #finish({ writer, query }: Search, failed: boolean, results: readonly JsonObject[]): void {
    const sources = results.map(({ url }) => ({ type: "url", url: text(url) }));
    const action = { type: "search", query, queries: [query], ...(this.#sources && { sources }) };
    writer.end("completed", { status: failed ? "failed" : "completed", action });
  }

  #progress(step: string, index: number): void {
    this.#output.native(`response.web_search_call.${step}`, {}, index);
  }
}

const queryOf = (input: unknown): string => (isObject(input) ? text(input.query) : "");

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
