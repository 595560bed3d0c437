/** Builds the response object of POST /responses from the events of a turn, in the field order of the contract. */
import { type TurnEnd, type TurnEvent, TurnStatus, type Usage } from "../../gen/sluice/inference/v1/turn_pb.ts";
import type { Fault } from "../faults/fault.ts";
import { textOf } from "../json/text.ts";
import { type ResponseIdentity, seconds } from "./identity.ts";
import { serviceMetadataMembers } from "./service-metadata.ts";
import { usageJson, withheldUsageJson } from "./usage.ts";

const noOutput: readonly string[] = [];

/** Receives finished items as JSON. @param items by output index */
export type ItemReceiver = (items: readonly (string | undefined)[]) => void;

/** Builds the response object from events. In a stream, the same object appears in several states. */
export class ResponseObject {
  readonly #identity: ResponseIdentity;
  readonly #taker: ItemReceiver | undefined;
  /** Slug of the model that serves the request. */
  #model: string;
  /** Finished items as JSON, by output index. */
  readonly #output: (string | undefined)[] = [];
  #end: TurnEnd | undefined = undefined;
  /** Usage of a turn that fails. */
  #usage: Usage | undefined = undefined;

  /** @param taker receives the items of a finished answer */
  constructor(identity: ResponseIdentity, taker?: ItemReceiver) {
    this.#identity = identity;
    this.#taker = taker;
    this.#model = identity.model;
  }

  get id(): string {
    return this.#identity.id;
  }

  /** JSON of the finished items, in the order of the output. */
  get output(): readonly (string | undefined)[] {
    return this.#output;
  }

  apply(event: TurnEvent["event"]): void {
    if (event.case === "itemEnd") this.finish(event.value.index, textOf(event.value.itemJson));
    else if (event.case === "start") this.#model = event.value.model;
    else if (event.case === "end") this.#end = event.value;
    else if (event.case === "usage") this.#usage = event.value;
  }

  /** Adds a finished item. */
  finish(index: number, itemJson: string): void {
    this.#output[index] = itemJson;
  }

  /** JSON of the tokens that a turn used before it failed; undefined when they are unknown. */
  get withheldUsageJson(): string | undefined {
    return this.#usage && withheldUsageJson(this.#usage);
  }

  /** JSON of the response object while the turn runs. */
  inProgress(): string {
    return this.#write("in_progress", noOutput, undefined, undefined);
  }

  /**
   * JSON of the response object of a finished turn; undefined before its end. A turn without an end is never shown as
   * complete.
   */
  terminal(): { readonly status: "completed" | "incomplete"; readonly json: string } | undefined {
    if (!this.#end) return undefined;
    if (this.#output.includes(undefined)) throw new Error("the turn ended without one of its items");
    this.#taker?.(this.#output);
    const status = this.#end.status === TurnStatus.COMPLETED ? "completed" : "incomplete";
    return { status, json: this.#write(status, this.#output, this.#end, undefined) };
  }

  json(): string | undefined {
    return this.terminal()?.json;
  }

  /** JSON of the response object of a failed turn. @param partial unfinished items, as JSON by output index */
  failed(fault: Fault, partial: ReadonlyMap<number, string>): string {
    const output = [...this.#output];
    for (const [index, item] of partial) output[index] = item;
    const begun = output.filter((item) => item !== undefined);
    return this.#write("failed", begun, undefined, fault);
  }

  #write(
    status: string,
    output: readonly (string | undefined)[],
    end: TurnEnd | undefined,
    fault: Fault | undefined,
  ): string {
    const { id, createdAt, completedAt = seconds, echo, metadataAlias } = this.#identity;
    const serviceMetadata = end?.serviceMetadataJson ?? fault?.serviceMetadataJson;
    // Joined in one step: a text that grows piece by piece also takes the memory of its pieces.
    return [
      `{"id":"`,
      id,
      `","object":"response","created_at":`,
      createdAt,
      `,"completed_at":`,
      status === "completed" ? Math.max(createdAt, completedAt()) : "null",
      `,"status":"`,
      status,
      fault ? `","error":${errorJson(fault)}` : `","error":null`,
      status === "incomplete" ? `,"incomplete_details":{"reason":"${end?.incompleteReason}"}` : noIncomplete,
      `,"instructions":`,
      echo.instructionsJson,
      `,"model":`,
      JSON.stringify(this.#model),
      `,"output":[`,
      output.join(","),
      `],`,
      echo.beforeTier,
      `,"service_tier":`,
      JSON.stringify(end?.serviceTier ?? "default"),
      ",",
      echo.afterTier,
      `,"usage":`,
      usageJson(end?.usage ?? this.#usage),
      fault ? `,"error_type":"${fault.errorType}"` : "",
      alignmentMember(end, fault),
      serviceMetadataMembers(serviceMetadata, metadataAlias),
      "}",
    ].join("");
  }
}

const noIncomplete = ',"incomplete_details":null';

const errorJson = ({ responseCode, message }: Fault): string =>
  `{"code":"${responseCode}","message":${JSON.stringify(message)}}`;

/** The member `alignment` with a comma before it; an empty text without the plugin. */
function alignmentMember(end: TurnEnd | undefined, fault: Fault | undefined): string {
  if (end && end.alignmentJson.length > 0) return `,"alignment":${textOf(end.alignmentJson)}`;
  const verdicts = fault?.metadata?.["alignment"];
  return verdicts === undefined ? "" : `,"alignment":${JSON.stringify(verdicts)}`;
}
