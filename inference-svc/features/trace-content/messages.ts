/**
 * Messages in the form of OpenTelemetry's GenAI conventions (`gen_ai.input.messages` and `gen_ai.output.messages`, as
 * of semantic conventions 1.38). Bytes of pictures and files are left out. Their addresses are cut after the path,
 * because the rest may contain credentials.
 */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { InputItem } from "../../turn/request.ts";
import type { Outcome, OutputItem } from "../../turn/turn.ts";
import type { ContentBudget } from "./content-budget.ts";

export type TracedPart = { readonly type: string } & Readonly<Record<string, unknown>>;

export interface TracedMessage {
  readonly role: string;
  readonly parts: readonly TracedPart[];
  readonly finish_reason?: string;
}

type Item = InputItem | OutputItem;

/** Converts items to parts of traced messages. Every part is cut to what is left of a budget; a part that does not fit is left out. */
export class TracedParts {
  readonly #budget: ContentBudget;

  constructor(budget: ContentBudget) {
    this.#budget = budget;
  }

  message(item: InputItem): TracedMessage | undefined {
    if (!this.#budget.takeMessage()) return undefined;
    if (item.type === "message") return { role: this.#text(item["role"]), parts: this.#contents(item["content"]) };
    if (item.type.endsWith("_call_output")) return { role: "tool", parts: this.#toolResponse(item) };
    return { role: item.type === "mcp_approval_response" ? "user" : "assistant", parts: this.ofAnswer(item) };
  }

  text(content: string): readonly TracedPart[] {
    return this.#part(() => ({ type: "text", content: this.#text(content) }));
  }

  /** Parts of an item of an answer. An item type the conventions do not cover is named by its type only. */
  ofAnswer(item: Item): readonly TracedPart[] {
    switch (item.type) {
      case "message":
        return this.#contents(item["content"]);
      case "reasoning":
        return ["summary", "content"].flatMap((field) => this.#thoughts(item[field]));
      case "function_call":
        return this.#toolCall(item, item["arguments"]);
      case "custom_tool_call":
        return this.#toolCall(item, item["input"]);
      default:
        return this.#part(() => ({ type: this.#text(item.type) }));
    }
  }

  /** The part of a tool call. Its arguments stay the text the model wrote: it may be no JSON, and parsing would round numbers in it. */
  #toolCall(item: Item, given: unknown): readonly TracedPart[] {
    return this.#part(() => ({
      type: "tool_call",
      id: this.#text(item["call_id"]),
      name: this.#text(item["name"]),
      arguments: this.#text(given),
    }));
  }

  #toolResponse(item: InputItem): readonly TracedPart[] {
    const { output } = item as { readonly output?: unknown };
    return this.#part(() => ({
      type: "tool_call_response",
      id: this.#text(item["call_id"] ?? item["id"]),
      response: isObject(output) || Array.isArray(output) ? this.#contents([output].flat()) : this.#text(output),
    }));
  }

  #thoughts(parts: unknown): readonly TracedPart[] {
    return this.#each(parts, (part) => {
      const { text } = part;
      if (typeof text !== "string") return [];
      return this.#part(() => ({ type: "reasoning", content: this.#text(text) }));
    });
  }

  #contents(content: unknown): readonly TracedPart[] {
    if (typeof content === "string") return this.text(content);
    return this.#each(content, (part) => this.#content(part));
  }

  /** Converts the objects of a list until the budget is used up. */
  #each(list: unknown, traced: (part: Readonly<Record<string, unknown>>) => readonly TracedPart[]): TracedPart[] {
    const parts: TracedPart[] = [];
    if (!Array.isArray(list)) return parts;
    for (const part of list as readonly unknown[]) {
      if (this.#budget.isCut) break;
      if (isObject(part)) parts.push(...traced(part));
    }
    return parts;
  }

  #content(part: Readonly<Record<string, unknown>>): readonly TracedPart[] {
    const texts = textFields.map((field) => part[field]).filter((text) => typeof text === "string" && text !== "");
    if (texts.length > 0) return texts.flatMap((text) => this.text(text as string));
    const { type } = part;
    const modality = modalities.get(type);
    if (modality === undefined) return this.#part(() => ({ type: this.#text(type) }));
    const { file_id: fileId } = part;
    if (typeof fileId === "string") return this.#part(() => ({ type: "file", modality, file_id: this.#text(fileId) }));
    const address = addressFields.map((field) => part[field]).find((value) => typeof value === "string");
    if (typeof address !== "string" || !/^https?:/i.test(address)) {
      return this.#part(() => ({ type: "blob", modality, content: "" }));
    }
    return this.#part(() => ({ type: "uri", modality, uri: this.#text(address.split(/[?#]/, 1)[0]) }));
  }

  #part(build: () => TracedPart): readonly TracedPart[] {
    return this.#budget.takePart() ? [build()] : [];
  }

  #text(value: unknown): string {
    return typeof value === "string" ? this.#budget.takeText(value) : "";
  }
}

/** Fields with the text of a part; the outputs of shells have `stdout` and `stderr`. */
const textFields = ["text", "refusal", "stdout", "stderr"] as const;

const modalities: ReadonlyMap<unknown, string> = new Map([
  ["input_image", "image"],
  ["computer_screenshot", "image"],
  ["input_audio", "audio"],
  ["input_video", "video"],
  ["input_file", "document"],
]);

/** Fields with the address of a picture or a file. */
const addressFields = ["image_url", "file_url", "video_url"] as const;

export function finishReason({ status, reason }: Outcome, callsTool: boolean): string {
  if (status === "incomplete") return reason === "content_filter" ? "content_filter" : "length";
  return callsTool ? "tool_call" : "stop";
}
