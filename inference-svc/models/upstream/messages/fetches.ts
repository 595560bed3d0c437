/** Pages the provider reads: the call is one block, and the page another. */
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { WholeItemWriter } from "../events/item-writer.ts";
import type { Output } from "../events/output.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { webFetchName } from "../translate/blocks/tools.ts";
import { type BlockReader, readInput } from "./block-reader.ts";

interface Fetch {
  readonly writer: WholeItemWriter;
  url: string;
}

export class Fetches {
  readonly #output: Output;
  readonly #type: string;
  readonly #running = new Map<unknown, Fetch>();

  /** @param type type of the items, as the client spells it */
  constructor(output: Output, type: string) {
    this.#output = output;
    this.#type = type;
  }

  /** Begins the item of a call. @returns undefined for other server tools */
  begin(block: JsonObject): BlockReader | undefined {
    if (block.name !== webFetchName) return undefined;
    // A call whose id is used again gets no page any more: the page belongs to the new call.
    const abandoned = this.#running.get(block.id);
    if (abandoned) finish(abandoned, { error: unavailable });
    const writer = this.#output.other({ type: this.#type, id: newId("st_"), status: "in_progress", url: "" });
    const fetch: Fetch = { writer, url: "" };
    this.#running.set(block.id, fetch);
    let json = "";
    return {
      delta(delta) {
        json += text(delta.partial_json);
      },
      stop() {
        const input = readInput(block, json);
        fetch.url = isObject(input) ? text(input.url) : "";
      },
    };
  }

  /** Ends a call by a block of the type `web_fetch_tool_result`, which contains the page. */
  read({ tool_use_id: id, content }: JsonObject): void {
    const fetch = this.#running.get(id);
    if (!fetch) return;
    this.#running.delete(id);
    const result: JsonObject = isObject(content) ? content : {};
    const page: JsonObject = isObject(result.content) ? result.content : {};
    const source: JsonObject = isObject(page.source) ? page.source : {};
    if (result.type !== "web_fetch_result") return finish(fetch, { error: text(result.error_code) || unavailable });
    // A PDF comes as base64, which no item has a field for.
    const pageText = source.type === "text" ? text(source.data) : "";
    finish(fetch, { url: text(result.url) || fetch.url, title: text(page.title), content: pageText });
  }

  /** Ends all calls. Pages missing at the end have failed, unless the provider has paused the calls. */
  end(paused: boolean): void {
    for (const fetch of this.#running.values()) {
      if (paused) fetch.writer.end("completed", { status: "in_progress", url: fetch.url });
      else finish(fetch, { error: unavailable });
    }
    this.#running.clear();
  }
}

const unavailable = "unavailable";

/** Ends the item of a page, with the status and fields of pages Sluice reads itself. */
function finish({ writer, url }: Fetch, fields: JsonObject): void {
  writer.end("error" in fields ? "incomplete" : "completed", { url, ...fields });
}
