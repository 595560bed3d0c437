/**
 * Converts turn events to the chunks of a chat completion. The role comes first; text, reasoning and calls follow as they come, the rest of each item at
 * its end; then the finish reason, usage, and [DONE].
 */
import type {
  ItemEnd,
  ItemStart,
  TextDelta,
  TurnEnd,
  TurnEvent,
  Usage,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { textOf } from "@sluice/proto/lib/json/text.js";
import type { StreamedAnswer } from "../../edge/turns/door.ts";
import { ChunkText, doneSentinel } from "./chunk-text.ts";
import { faultMembers } from "./failure.ts";
import { type CompletionIdentity, closingMembers, finishReason, usageMember } from "./identity.ts";
import { type Annotation, type OutputItem, imageJson, imageUrl, isClientCall } from "./item.ts";
import { StreamedCall } from "./streamed-call.ts";
import { StreamedMessage } from "./streamed-message.ts";
import { StreamedReasoning } from "./streamed-reasoning.ts";
import { withheldCompletionUsageJson } from "./usage.ts";

/** An item shown piece by piece while it streams. */
type OpenItem = StreamedMessage | StreamedReasoning | StreamedCall;

export class Chunks implements StreamedAnswer {
  readonly #identity: CompletionIdentity;
  readonly #chunks = new ChunkText();
  /** Streamed items by output index; undefined for an item shown only at its end. */
  readonly #items: (OpenItem | undefined)[] = [];
  /** Output indices of items that have begun and not ended. */
  readonly #open = new Set<number>();
  #calls = 0;
  #images = 0;
  /** The last message and the last reasoning: a new one continues their positions in the answer. */
  #message: StreamedMessage | undefined = undefined;
  #reasoning: StreamedReasoning | undefined = undefined;
  #usage: Usage | undefined = undefined;
  #begun = false;
  #over = false;

  constructor(identity: CompletionIdentity) {
    this.#identity = identity;
    this.#name(identity.model);
  }

  get over(): boolean {
    return this.#over;
  }

  get withheldUsageJson(): string | undefined {
    return this.#usage && withheldCompletionUsageJson(this.#usage);
  }

  open(): string {
    this.#begin();
    return this.#chunks.take();
  }

  events(events: readonly TurnEvent[]): string {
    for (let index = 0; index < events.length; index++) this.#step(events[index]!.event);
    return this.#chunks.take();
  }

  failed(fault: Fault): string {
    if (this.#over) return "";
    this.#over = true;
    this.#begin();
    const usage = this.withheldUsageJson;
    this.#chunks.fail(faultMembers(fault, this.#identity.metadataAlias, usage));
    this.#chunks.raw(doneSentinel);
    return this.#chunks.take();
  }

  /** Writes the serving model into all further chunks. */
  #name(model: string): void {
    const { id, createdAt } = this.#identity;
    this.#chunks.begin(id, createdAt, model);
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    this.#chunks.delta('"role":"assistant","content":""');
  }

  #step(event: TurnEvent["event"]): void {
    if (this.#over || event.case === undefined) return;
    switch (event.case) {
      case "start":
        return this.#name(event.value.model);
      case "usage":
        this.#usage = event.value;
        return;
      case "debug":
        return this.#chunks.apart(`,"debug":{"echo_upstream_body":${textOf(event.value.upstreamBodyJson)}}`);
    }
    this.#begin();
    switch (event.case) {
      case "textDelta":
        return this.#messageAt(event.value)?.text(event.value.part, event.value.delta, event.value.logprobsJson);
      case "refusalDelta":
        return this.#messageAt(event.value)?.refusal(event.value.part, event.value.delta);
      case "reasoningDelta":
        return this.#reasoningAt(event.value)?.text(event.value.part, event.value.delta);
      case "summaryDelta":
        return this.#reasoningAt(event.value)?.summary(event.value.part, event.value.delta);
      case "argumentsDelta": {
        const item = this.#items[event.value.index];
        return item instanceof StreamedCall ? item.grow(event.value.delta) : undefined;
      }
      case "annotation":
        return this.#messageAt(event.value)?.annotation(
          event.value.part,
          JSON.parse(textOf(event.value.annotationJson)) as Annotation,
        );
      case "itemStart":
        return this.#start(event.value);
      case "itemEnd":
        return this.#finish(event.value);
      case "end":
        return this.#end(event.value);
    }
  }

  #messageAt({ index }: Pick<TextDelta, "index">): StreamedMessage | undefined {
    const item = this.#items[index];
    return item instanceof StreamedMessage ? item : undefined;
  }

  #reasoningAt({ index }: TextDelta): StreamedReasoning | undefined {
    const item = this.#items[index];
    return item instanceof StreamedReasoning ? item : undefined;
  }

  #start({ index, itemJson }: ItemStart): void {
    this.#open.add(index);
    this.#items[index] = this.#opened(JSON.parse(textOf(itemJson)) as OutputItem);
  }

  #opened(item: OutputItem): OpenItem | undefined {
    const { form } = this.#identity;
    if (item.type === "message") return (this.#message = new StreamedMessage(this.#chunks, this.#message));
    if (item.type === "reasoning" && !form.hidesReasoning) {
      const place = { afterText: this.#message !== undefined, calls: this.#calls };
      return (this.#reasoning = new StreamedReasoning(this.#chunks, item, this.#reasoning, place));
    }
    if (!isClientCall(item)) return undefined;
    const number = this.#calls++;
    // With `functions`, an answer has room for one call only; further calls are left out.
    return form.oldCalls && number > 0 ? undefined : new StreamedCall(this.#chunks, item, number, form.oldCalls);
  }

  #finish({ index, itemJson }: ItemEnd): void {
    if (!this.#open.delete(index)) throw disorder(`item ${index} ends without being open`);
    const item = JSON.parse(textOf(itemJson)) as OutputItem;
    const open = this.#items[index];
    if (open) return open.finish(item);
    const url = imageUrl(item);
    if (url !== undefined) this.#chunks.delta(`"images":[${imageJson(url, this.#images++)}]`);
  }

  #end(end: TurnEnd): void {
    if (this.#open.size > 0) throw disorder(`the turn ends while ${this.#open.size} items are open`);
    this.#over = true;
    const { form } = this.#identity;
    const closing = closingMembers(end, this.#identity);
    const usage = usageMember(end, this.#usage);
    this.#chunks.finish(finishReason(end, this.#calls > 0, form), form.wantsUsage ? "" : closing);
    if (form.wantsUsage) this.#chunks.apart(usage + closing);
    else if (!form.omitsUsage) this.#chunks.usage(usage);
    this.#chunks.raw(doneSentinel);
  }
}

const disorder = (what: string): Fault =>
  new Fault(FaultReason.INTERNAL, "", { origin: FaultOrigin.INFERENCE, cause: new Error(what) });
