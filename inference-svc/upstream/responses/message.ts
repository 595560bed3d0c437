/** A message while it is read. */
import type { TurnRequest } from "../../turn/request.ts";
import { rest } from "../item-writer.ts";
import { type JsonObject, objects, text } from "../json.ts";
import type { Output } from "../output.ts";
import { wantsLogprobs } from "../served.ts";
import { PartNumbers } from "./part-numbers.ts";
import type { Reader } from "./slot.ts";

export function messageReader(output: Output, id: string | undefined, start: JsonObject, request: TurnRequest): Reader {
  const { content: _, status: __, id: ___, ...extra } = start;
  const message = output.message(id, extra);
  const logprobs = wantsLogprobs(request);
  const numbers = new PartNumbers();
  const partOf = (number: unknown, type: "output_text" | "refusal") =>
    numbers.of(number ?? 0, () => message.newPart(type));
  const wanted = (value: unknown) => (logprobs ? objects(value) : []);

  function completeText(index: number, whole: JsonObject): void {
    const written = message.parts[index];
    if (written?.type === "refusal") message.refusal(index, rest(written.refusal, whole.refusal));
    if (written?.type !== "output_text") return;
    message.text(index, rest(written.text, whole.text), wanted(whole.logprobs).slice(written.logprobs.length));
  }

  function completePart(part: JsonObject, number: number): void {
    const { type = "output_text" } = part;
    if (type !== "output_text" && type !== "refusal") return void numbers.of(number, () => message.otherPart(part));
    const index = partOf(number, type);
    completeText(index, part);
    const written = message.parts[index];
    if (written?.type !== "output_text") return;
    for (const annotation of objects(part.annotations).slice(written.annotations.length)) {
      message.annotation(index, annotation);
    }
  }

  /** No other part waits for it any more. */
  function close(number: unknown): true {
    const index = numbers.known(number ?? 0);
    if (index !== undefined) message.close(index);
    return true;
  }

  return {
    event(type, event) {
      const number = event.content_index;
      switch (type) {
        case "response.output_text.delta":
          message.text(partOf(number, "output_text"), text(event.delta), wanted(event.logprobs));
          return true;
        case "response.refusal.delta":
          message.refusal(partOf(number, "refusal"), text(event.delta));
          return true;
        case "response.output_text.annotation.added":
          message.annotation(partOf(number, "output_text"), event.annotation);
          return true;
        case "response.output_text.done":
          completeText(partOf(number, "output_text"), event);
          return close(number);
        case "response.refusal.done":
          completeText(partOf(number, "refusal"), event);
          return close(number);
        case "response.content_part.done":
          return close(number);
        default:
          return false;
      }
    },
    complete(item) {
      for (const [number, part] of objects(item.content).entries()) completePart(part, number);
    },
    end(item, status) {
      message.end(status, item);
    },
  };
}
