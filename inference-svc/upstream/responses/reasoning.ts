/** Reasoning while it is read. */
import { rest } from "../item-writer.ts";
import { type JsonObject, objects, text } from "../json.ts";
import { PartNumbers } from "./part-numbers.ts";
import type { Reader, Reading } from "./slot.ts";

export function reasoningReader({ output, request, target }: Reading, id: string | undefined): Reader {
  const reasoning = output.reasoning(id);
  const encrypted = request.include.includes("reasoning.encrypted_content");
  const contents = new PartNumbers();
  const summaries = new PartNumbers();
  const contentOf = (number: unknown) => contents.of(number ?? 0, () => reasoning.texts.push("") - 1);
  const summaryOf = (number: unknown) => summaries.of(number ?? 0, () => reasoning.summaries.push("") - 1);

  function completeText(number: unknown, whole: unknown): void {
    const index = contentOf(number);
    reasoning.text(index, rest(reasoning.texts[index] ?? "", whole));
  }

  function completeSummary(number: unknown, whole: unknown): void {
    const index = summaryOf(number);
    reasoning.summary(index, rest(reasoning.summaries[index] ?? "", whole));
  }

  /** No other part waits for it any more. */
  function closeText(number: unknown): true {
    const index = contents.known(number ?? 0);
    if (index !== undefined) reasoning.close("reasoning.delta", index);
    return true;
  }

  function closeSummary(number: unknown): true {
    const index = summaries.known(number ?? 0);
    if (index !== undefined) reasoning.close("summary.delta", index);
    return true;
  }

  /** What the provider does not say of its seal follows from who it is. */
  function seal({ encrypted_content, format }: JsonObject): JsonObject {
    return {
      ...(encrypted && typeof encrypted_content === "string" && { encrypted_content }),
      format: text(format) || (target.reasoningFormat ?? "unknown"),
    };
  }

  return {
    event(type, event) {
      switch (type) {
        case "response.reasoning_text.delta":
        // So Open Responses calls it.
        case "response.reasoning.delta":
          reasoning.text(contentOf(event.content_index), text(event.delta));
          return true;
        case "response.reasoning_summary_text.delta":
          reasoning.summary(summaryOf(event.summary_index), text(event.delta));
          return true;
        case "response.reasoning_text.done":
        case "response.reasoning.done":
          completeText(event.content_index, event.text);
          return closeText(event.content_index);
        case "response.content_part.done":
        // So servers with open models call it.
        case "response.reasoning_part.done":
          return closeText(event.content_index);
        case "response.reasoning_summary_text.done":
          completeSummary(event.summary_index, event.text);
          return closeSummary(event.summary_index);
        case "response.reasoning_summary_part.done":
          return closeSummary(event.summary_index);
        default:
          return false;
      }
    },
    complete(item) {
      for (const [number, part] of objects(item.summary).entries()) completeSummary(number, part.text);
      for (const [number, part] of objects(item.content).entries()) completeText(number, part.text);
    },
    end(item, status) {
      const { type: _, id: __, status: ___, summary: ____, content: _____, encrypted_content: ______, ...extra } = item;
      reasoning.end(status, { ...extra, ...seal(item) });
    },
  };
}
