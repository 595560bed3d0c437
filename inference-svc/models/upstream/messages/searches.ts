/** Web searches the provider runs: the call is one block, and its results another. */
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { WholeItemWriter } from "../events/item-writer.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import type { Output } from "../events/output.ts";
import { type BlockReader, readInput } from "./block-reader.ts";
import { webSearchName } from "../translate/blocks/tools.ts";

type SearchStatus = "completed" | "failed" | "in_progress";

interface Search {
  readonly writer: WholeItemWriter;
  readonly index: number;
  query: string;
}

export class Searches {
  readonly #output: Output;
  readonly #sources: boolean;
  readonly #own: boolean;
  readonly #running = new Map<unknown, Search>();

  /**
   * @param sources whether the client requested the sources
   * @param own whether the client uses the Messages API, whose results have a title and the age of the page
   */
  constructor(output: Output, sources: boolean, own: boolean) {
    this.#output = output;
    this.#sources = sources;
    this.#own = own;
  }

  /** Begins the item of a call. @returns undefined for other server tools */
  begin(block: JsonObject): BlockReader | undefined {
    if (block.name !== webSearchName) return undefined;
    // A call whose id is used again gets no results any more: they belong to the new call.
    const abandoned = this.#running.get(block.id);
    if (abandoned) this.#finish(abandoned, "failed", []);
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
        search.query = queryOf(readInput(block, json));
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
    this.#finish(search, failed ? "failed" : "completed", objects(content));
  }

  /** Ends all calls. Searches without results at the end have failed, unless the provider has paused them. */
  end(paused: boolean): void {
    for (const search of this.#running.values()) this.#finish(search, paused ? "in_progress" : "failed", []);
    this.#running.clear();
  }

  #finish({ writer, query }: Search, status: SearchStatus, results: readonly JsonObject[]): void {
    const sources = results.map(this.#own ? ownSource : plainSource);
    const action = { type: "search", query, queries: [query], ...(this.#sources && { sources }) };
    writer.end("completed", { status, action });
  }

  #progress(step: string, index: number): void {
    this.#output.native(`response.web_search_call.${step}`, {}, index);
  }
}

const plainSource = ({ url }: JsonObject): JsonObject => ({ type: "url", url: text(url) });

const ownSource = ({ url, title, page_age: age }: JsonObject): JsonObject => ({
  type: "url",
  url: text(url),
  ...(text(title) !== "" && { title }),
  ...(text(age) !== "" && { page_age: age }),
});

const queryOf = (input: unknown): string => (isObject(input) ? text(input.query) : "");
