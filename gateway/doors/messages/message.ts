/** The parts of a message other than its blocks: identity, model, end and usage, for a complete or streamed message. */
import { type TurnEnd, type TurnEvent, TurnStatus, type Usage } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { serviceMetadataMembers } from "@sluice/proto/lib/responses/service-metadata.js";
import { type FieldNames, nameReceiptFields } from "../../edge/turns/field-names.ts";
import { failureJson } from "./errors.ts";
import { messageUsageJson, startUsageJson } from "./usage.ts";

export interface MessageIdentity {
  /** Id of the message, `msg_...`. */
  readonly id: string;
  /** Slug of the model as requested. */
  readonly model: string;
  /** Second name under which the answer contains `service_metadata`. */
  readonly metadataAlias: string | undefined;
  readonly names: FieldNames;
}

export class MessageState {
  readonly #identity: MessageIdentity;
  #model: string;
  /** Number of prompt tokens known at the beginning, which may be an estimate. */
  #inputTokens = 0;
  #end: TurnEnd | undefined;
  #usage: Usage | undefined;
  /** Whether the answer calls a tool that the client runs. */
  #calls = false;
  #refusal = "";

  constructor(identity: MessageIdentity) {
    this.#identity = identity;
    this.#model = identity.model;
  }

  /** Applies an event that belongs to no item. */
  apply(event: TurnEvent["event"]): void {
    if (event.case === "start") {
      this.#model = event.value.model;
      this.#inputTokens = event.value.inputTokens;
    } else if (event.case === "usage") this.#usage = event.value;
    else if (event.case === "end") this.#end = event.value;
  }

  /** Records that the answer calls a tool of the client. */
  called(): void {
    this.#calls = true;
  }

  refused(words: string): void {
    this.#refusal += words;
  }

  get hasEnded(): boolean {
    return this.#end !== undefined;
  }

  get withheldUsageJson(): string | undefined {
    return this.#usage && messageUsageJson(this.#usage);
  }

  /** The message as it begins, without blocks. */
  startJson(): string {
    return this.#json("", '"stop_reason":null,"stop_sequence":null', startUsageJson(this.#inputTokens));
  }

  /** The complete message. @param content JSON of its blocks */
  wholeJson(content: string): string {
    return this.#json(content, this.#stopMembers(), this.#usageJson(), this.#receipt());
  }

  /** Members of the message's final event. */
  deltaMembers(): string {
    return `"delta":{${this.#stopMembers()}},"usage":${this.#usageJson()}${this.#receipt()}`;
  }

  failureJson(fault: Fault): string {
    const { metadataAlias } = this.#identity;
    return failureJson(fault, { metadataAlias, usageJson: this.withheldUsageJson });
  }

  #json(content: string, stop: string, usage: string, rest = ""): string {
    return (
      `{"id":"${this.#identity.id}","type":"message","role":"assistant","model":${JSON.stringify(this.#model)}` +
      `,"content":[${content}],${stop},"usage":${usage}${rest}}`
    );
  }

  #usageJson(): string {
    return messageUsageJson(this.#end?.usage ?? this.#usage, this.#end?.serviceTier);
  }

  #receipt(): string {
    const { metadataAlias, names } = this.#identity;
    const json = this.#end?.serviceMetadataJson;
    return serviceMetadataMembers(json && nameReceiptFields(json, names), metadataAlias);
  }

  #stopMembers(): string {
    const sequence = this.#end?.stopSequence;
    const reason = this.#stopReason();
    const explanation = this.#refusal === "" ? null : this.#refusal;
    const category = this.#end?.incompleteDetail ?? null;
    const details =
      reason === "refusal" ? `,"stop_details":${JSON.stringify({ type: "refusal", category, explanation })}` : "";
    return `"stop_reason":"${reason}","stop_sequence":${reason === "stop_sequence" ? JSON.stringify(sequence) : "null"}${details}`;
  }

  #stopReason(): string {
    if (this.#end?.status === TurnStatus.INCOMPLETE) {
      const { incompleteReason, incompleteDetail } = this.#end;
      return incompleteReason === "content_filter" ? "refusal" : (incompleteDetail ?? "max_tokens");
    }
    if (this.#refusal !== "") return "refusal";
    if (this.#calls) return "tool_use";
    return this.#end?.stopSequence === undefined ? "end_turn" : "stop_sequence";
  }
}
