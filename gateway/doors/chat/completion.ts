/** Folds the events of a turn into the object of a chat completion. */
import type { TurnEnd, TurnEvent, Usage } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import { textOf } from "@sluice/proto/lib/json/text.js";
import type { WholeAnswer } from "../../edge/turns/door.ts";
import { toJsonString } from "../../edge/turns/json.ts";
import { type CompletionIdentity, closingMembers, usageMember, finishReason } from "./identity.ts";
import {
  type OutputItem,
  annotationJson,
  contentOf,
  imageJson,
  imageUrl,
  isClientCall,
  isRefusal,
  visibleText,
} from "./item.ts";
import { CollectedReasoning } from "./whole-reasoning.ts";
import { withheldCompletionUsageJson } from "./usage.ts";

export class Completion implements WholeAnswer {
  readonly #identity: CompletionIdentity;
  /** Slug of the model that serves the turn. */
  #model: string;
  readonly #items: OutputItem[] = [];
  #end: TurnEnd | undefined = undefined;
  /** Usage of a turn that fails. */
  #usage: Usage | undefined = undefined;

  constructor(identity: CompletionIdentity) {
    this.#identity = identity;
    this.#model = identity.model;
  }

  apply(event: TurnEvent["event"]): void {
    if (event.case === "itemEnd")
      this.#items[event.value.index] = JSON.parse(textOf(event.value.itemJson)) as OutputItem;
    else if (event.case === "start") this.#model = event.value.model;
    else if (event.case === "end") this.#end = event.value;
    else if (event.case === "usage") this.#usage = event.value;
  }

  get withheldUsageJson(): string | undefined {
    return this.#usage && withheldCompletionUsageJson(this.#usage);
  }

  json(): string | undefined {
    if (!this.#end) return undefined;
    const { id, createdAt, form } = this.#identity;
    const message = new AnswerMessage(form.hidesReasoning);
    for (const item of this.#items) message.add(item);
    const reason = finishReason(this.#end, message.calls.length > 0, form);
    return (
      `{"id":"${id}","object":"chat.completion","created":${createdAt},"model":${JSON.stringify(this.#model)}` +
      `,"system_fingerprint":null,"choices":[{"index":0,"message":${message.json(form.oldCalls)},"logprobs":${message.logprobsJson()}` +
      `,"finish_reason":"${reason}"}]${usageMember(this.#end, this.#usage)}${closingMembers(this.#end, this.#identity)}}`
    );
  }
}

/** The message of a completion, assembled from the items of an answer. */
class AnswerMessage {
  readonly calls: OutputItem[] = [];
  readonly #hidesReasoning: boolean;
  readonly #reasoning = new CollectedReasoning();
  readonly #annotations: string[] = [];
  readonly #images: string[] = [];
  readonly #logprobs: unknown[] = [];
  #text = "";
  #refusal = "";

  constructor(hidesReasoning: boolean) {
    this.#hidesReasoning = hidesReasoning;
  }

  add(item: OutputItem): void {
    if (item.type === "message") this.#addMessage(item);
    else if (item.type === "reasoning") {
      this.#reasoning.add(item, { afterText: this.#text + this.#refusal !== "", calls: this.calls.length });
    } else if (isClientCall(item)) this.calls.push(item);
    else {
      const url = imageUrl(item);
      if (url !== undefined) this.#images.push(imageJson(url, this.#images.length));
    }
  }

  #addMessage(item: OutputItem): void {
    for (const part of contentOf(item)) {
      if (isRefusal(part)) this.#refusal += visibleText(part);
      else {
        if (part.annotations && part.annotations.length > 0) {
          const offset = codePointLength(this.#text);
          for (const annotation of part.annotations) {
            const json = annotationJson(annotation, offset);
            if (json !== undefined) this.#annotations.push(json);
          }
        }
        if (part.logprobs) for (const entry of part.logprobs) this.#logprobs.push(entry);
        this.#text += visibleText(part);
      }
    }
  }

  /** @param old whether calls have the form of the deprecated `functions`, which has room for the first call only */
  json(old: boolean): string {
    const { calls } = this;
    const speaks = this.#text !== "" || (calls.length === 0 && this.#refusal === "");
    return (
      `{"role":"assistant","content":${speaks ? toJsonString(this.#text) : "null"}` +
      `,"refusal":${this.#refusal === "" ? "null" : toJsonString(this.#refusal)}` +
      (this.#hidesReasoning ? "" : this.#reasoning.members()) +
      (calls.length === 0 ? "" : old ? oldCallMember(calls[0]!) : `,"tool_calls":[${calls.map(callJson).join(",")}]`) +
      (this.#annotations.length === 0 ? "" : `,"annotations":[${this.#annotations.join(",")}]`) +
      (this.#images.length === 0 ? "" : `,"images":[${this.#images.join(",")}]`) +
      "}"
    );
  }

  logprobsJson(): string {
    return this.#logprobs.length === 0 ? "null" : `{"content":${JSON.stringify(this.#logprobs)},"refusal":null}`;
  }
}

const functionMembers = ({ name = "", arguments: written = "" }: OutputItem): string =>
  `{"name":${toJsonString(name)},"arguments":${toJsonString(written)}}`;

const oldCallMember = (item: OutputItem): string => `,"function_call":${functionMembers(item)}`;

function callJson(item: OutputItem): string {
  const { type, call_id: id = "", name = "", input = "" } = item;
  if (type === "function_call")
    return `{"id":${toJsonString(id)},"type":"function","function":${functionMembers(item)}}`;
  return `{"id":${toJsonString(id)},"type":"custom","custom":{"name":${toJsonString(name)},"input":${toJsonString(input)}}}`;
}
