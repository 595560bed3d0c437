/** Searches among deferred tools the provider runs: the call is one block, and the names of the tools found are another. */
import { isAnthropicSearch } from "@sluice/proto/contract/tools/tool-search.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { WholeItemWriter } from "../events/item-writer.ts";
import type { Output } from "../events/output.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import type { SentTools } from "../translate/names/tool-names.ts";
import { type BlockReader, readInput } from "./block-reader.ts";

interface Search {
  readonly writer: WholeItemWriter;
  query: string;
}

export class ToolSearches {
  readonly #output: Output;
  readonly #tools: SentTools;
  readonly #running = new Map<unknown, Search>();

  constructor(output: Output, tools: SentTools) {
    this.#output = output;
    this.#tools = tools;
  }

  /** Begins the item of a call. @returns undefined for other server tools */
  begin(block: JsonObject): BlockReader | undefined {
    const { id, name: tool } = block;
    if (!isAnthropicSearch(tool)) return undefined;
    const start = { type: "service:tool_search", id: newId("st_"), status: "in_progress", query: "", tool };
    const search: Search = { writer: this.#output.other(start), query: "" };
    this.#running.set(id, search);
    let json = "";
    return {
      delta(delta) {
        json += text(delta.partial_json);
      },
      stop() {
        const input = readInput(block, json);
        if (isObject(input)) search.query = text(input.query) || text(input.pattern);
      },
    };
  }

  /** Ends a call by a block of the type `tool_search_tool_result`. */
  found({ tool_use_id: id, content }: JsonObject): void {
    const search = this.#running.get(id);
    if (!search) return;
    this.#running.delete(id);
    const result: JsonObject = isObject(content) ? content : {};
    const references = objects(result.tool_references).map(({ tool_name: name }) => this.#ownName(text(name)));
    const error = text(result.error_code);
    if (error === "") search.writer.end("completed", { query: search.query, tool_references: references });
    else search.writer.end("incomplete", { query: search.query, error });
  }

  #ownName(sentName: string): string {
    return this.#tools.findBySentName(sentName)?.tool.name ?? sentName;
  }

  /** Ends all calls. Searches without a result at the end have failed, unless the provider has paused them. */
  end(paused: boolean): void {
    for (const { writer, query } of this.#running.values())
      writer.end(
        "completed",
        paused ? { status: "in_progress", query } : { status: "incomplete", query, error: "unavailable" },
      );
    this.#running.clear();
  }
}
