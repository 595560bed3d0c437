/** One output item of a Responses answer while it is read. */
import type { TurnRequest } from "../../turn/request.ts";
import type { OutputItem } from "../../turn/turn.ts";
import { newId } from "@sluice/proto/runtime/id.js";
import { type JsonObject, objects, text } from "../json.ts";
import type { CallWriter, ItemStatus, MessageWriter, Output, OtherWriter, ReasoningWriter } from "../output.ts";
import { wantsLogprobs } from "../served.ts";

export interface Slot {
  /** As the provider counts. */
  readonly outputIndex: unknown;
  readonly upstreamId: unknown;
  readonly type: string;
  readonly ended: boolean;
  event(type: string, event: JsonObject): void;
  /** What the provider's item says beyond the deltas follows as deltas; where it contradicts them, they win: they have been acted on. */
  end(item: JsonObject, status: ItemStatus): void;
}

export function openSlot(output: Output, request: TurnRequest, outputIndex: unknown, item: JsonObject): Slot {
  const reader = openReader(output, request, item);
  let ended = false;
  return {
    outputIndex,
    upstreamId: item.id,
    type: text(item.type),
    get ended() {
      return ended;
    },
    event(type, event) {
      if (!ended) reader.event(type, event);
    },
    end(final, status) {
      ended = true;
      const said = final.status === "completed" || final.status === "incomplete" ? final.status : status;
      reader.end(final, said);
    },
  };
}

type Reader = Pick<Slot, "event" | "end">;

function openReader(output: Output, request: TurnRequest, item: JsonObject): Reader {
  const id = text(item.id) || undefined;
  switch (item.type) {
    case "message": {
      const { content: _, status: __, id: ___, ...extra } = item;
      return messageReader(output.message(id, extra), wantsLogprobs(request));
    }
    case "reasoning":
      return reasoningReader(output.reasoning(id), request.include.includes("reasoning.encrypted_content"));
    case "function_call": {
      const { arguments: _, status: __, id: ___, ...extra } = item;
      return callReader(output.call(text(item.name), text(item.call_id) || undefined, id, extra));
    }
    default:
      return otherReader(output.other({ ...item, id: id ?? newId("item_") } as OutputItem));
  }
}

/** The provider's part numbers, in the order in which they turn up. */
class PartNumbers {
  readonly #known: unknown[] = [];

  of(number: unknown, open: () => number): number {
    const at = this.#known.indexOf(number);
    if (at !== -1) return at;
    this.#known.push(number);
    return open();
  }
}

const rest = (said: string, whole: unknown): string =>
  typeof whole === "string" && whole.startsWith(said) ? whole.slice(said.length) : "";

function messageReader(message: MessageWriter, logprobs: boolean): Reader {
  const numbers = new PartNumbers();
  const partOf = (number: unknown, type: "output_text" | "refusal") =>
    numbers.of(number ?? 0, () => message.newPart(type));
  const wanted = (value: unknown) => (logprobs ? objects(value) : []);

  function finishPart(part: JsonObject, number: number): void {
    const type = part.type === "refusal" ? "refusal" : "output_text";
    const index = partOf(number, type);
    const written = message.parts[index];
    if (written?.type === "refusal") return message.refusal(index, rest(written.refusal, part.refusal));
    if (!written) return;
    message.text(index, rest(written.text, part.text), wanted(part.logprobs).slice(written.logprobs.length));
    for (const annotation of objects(part.annotations).slice(written.annotations.length)) {
      message.annotation(index, annotation);
    }
  }

  return {
    event(type, event) {
      const number = event.content_index;
      if (type === "response.output_text.delta") {
        message.text(partOf(number, "output_text"), text(event.delta), wanted(event.logprobs));
      } else if (type === "response.refusal.delta") {
        message.refusal(partOf(number, "refusal"), text(event.delta));
      } else if (type === "response.output_text.annotation.added") {
        message.annotation(partOf(number, "output_text"), event.annotation);
      }
    },
    end(item, status) {
      for (const [number, part] of objects(item.content).entries()) finishPart(part, number);
      message.end(status, item);
    },
  };
}

function reasoningReader(reasoning: ReasoningWriter, encrypted: boolean): Reader {
  const contents = new PartNumbers();
  const summaries = new PartNumbers();
  const contentOf = (number: unknown) => contents.of(number ?? 0, () => reasoning.texts.push("") - 1);
  const summaryOf = (number: unknown) => summaries.of(number ?? 0, () => reasoning.summaries.push("") - 1);
  return {
    event(type, event) {
      // Open Responses calls the first one response.reasoning.delta.
      if (type === "response.reasoning_text.delta" || type === "response.reasoning.delta") {
        reasoning.text(contentOf(event.content_index), text(event.delta));
      } else if (type === "response.reasoning_summary_text.delta") {
        reasoning.summary(summaryOf(event.summary_index), text(event.delta));
      }
    },
    end(item, status) {
      for (const [number, part] of objects(item.summary).entries()) {
        const index = summaryOf(number);
        reasoning.summary(index, rest(reasoning.summaries[index] ?? "", part.text));
      }
      for (const [number, part] of objects(item.content).entries()) {
        const index = contentOf(number);
        reasoning.text(index, rest(reasoning.texts[index] ?? "", part.text));
      }
      const { type: _, id: __, status: ___, summary: ____, content: _____, encrypted_content, ...extra } = item;
      const kept = encrypted && typeof encrypted_content === "string" ? { encrypted_content } : {};
      reasoning.end(status, { ...kept, ...extra });
    },
  };
}

function callReader(call: CallWriter): Reader {
  return {
    event(type, event) {
      if (type === "response.function_call_arguments.delta") call.arguments(text(event.delta));
    },
    end(item, status) {
      call.arguments(rest(call.carried, item.arguments));
      call.end(status, item);
    },
  };
}

/** Deltas of kinds that are not known are skipped; the item says it all in the end. */
const otherReader = (other: OtherWriter): Reader => ({
  event() {},
  end(item, status) {
    other.end(status, Object.keys(item).length > 0 ? item : undefined);
  },
});
