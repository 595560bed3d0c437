/** The response object of POST /responses: folded from the events of a turn, written in the field order of the contract. */
import { type TurnEnd, type TurnEvent, TurnStatus, type Usage } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Fault } from "@sluice/proto/runtime/fault.js";
import { serviceMetadataMembers } from "../http/service-metadata.ts";
import type { Echo } from "./echo.ts";
import { usageJson, withheldUsageJson } from "./usage.ts";

export interface ResponseIdentity {
  /** resp_... */
  readonly id: string;
  /** Epoch seconds. */
  readonly createdAt: number;
  /** Epoch seconds, the same whenever it is asked; now when absent. */
  readonly completedAt?: () => number;
  /** The slug that was asked for. */
  readonly model: string;
  readonly echo: Echo;
  /** A second name for service_metadata. */
  readonly metadataAlias?: string | undefined;
}

export const seconds = (): number => Math.floor(Date.now() / 1000);

/** Folds events into the object; a stream shows the same fold step by step. */
export class ResponseObject {
  readonly #identity: ResponseIdentity;
  /** Slug that serves. */
  #model: string;
  /** Finished items as JSON, by output index. */
  readonly #output: (string | undefined)[] = [];
  #end: TurnEnd | undefined;
  /** Of a turn that is about to fail. */
  #usage: Usage | undefined;

  constructor(identity: ResponseIdentity) {
    this.#identity = identity;
    this.#model = identity.model;
  }

  get id(): string {
    return this.#identity.id;
  }

  apply(event: TurnEvent["event"]): void {
    if (event.case === "itemEnd") this.#output[event.value.index] = Buffer.from(event.value.itemJson).toString();
    else if (event.case === "start") this.#model = event.value.model;
    else if (event.case === "end") this.#end = event.value;
    else if (event.case === "usage") this.#usage = event.value;
  }

  /** JSON: what a turn has consumed that is about to fail; undefined when nothing was said of it. */
  get withheldUsageJson(): string | undefined {
    return this.#usage && withheldUsageJson(this.#usage);
  }

  /** While the turn runs. */
  inProgress(): string {
    return this.#write({ status: "in_progress", output: [] });
  }

  /**
   * How the turn ended; undefined when it has not. Only a turn with an end may be shown as complete.
   */
  terminal(): { readonly status: "completed" | "incomplete"; readonly json: string } | undefined {
    if (!this.#end) return undefined;
    if (this.#output.includes(undefined)) throw new Error("the turn ended without one of its items");
    const status = this.#end.status === TurnStatus.COMPLETED ? "completed" : "incomplete";
    return { status, json: this.#write({ status, output: this.#output, end: this.#end }) };
  }

  /** @param partial items that were begun and not finished, as JSON by output index */
  failed(fault: Fault, partial: ReadonlyMap<number, string>): string {
    const output = [...this.#output];
    for (const [index, item] of partial) output[index] = item;
    return this.#write({ status: "failed", output: output.filter((item) => item !== undefined), fault });
  }

  #write(state: { status: string; output: readonly (string | undefined)[]; end?: TurnEnd; fault?: Fault }): string {
    const { id, createdAt, completedAt = seconds, echo, metadataAlias } = this.#identity;
    const { end, fault } = state;
    const error = fault ? `{"code":"${fault.responseCode}","message":${JSON.stringify(fault.message)}}` : "null";
    const incomplete = state.status === "incomplete" ? `{"reason":"${end?.incompleteReason}"}` : "null";
    const serviceMetadata = end?.serviceMetadataJson ?? fault?.serviceMetadataJson;
    return (
      `{"id":"${id}","object":"response","created_at":${createdAt}` +
      `,"completed_at":${state.status === "completed" ? Math.max(createdAt, completedAt()) : "null"}` +
      `,"status":"${state.status}","error":${error},"incomplete_details":${incomplete}` +
      `,"instructions":${echo.instructionsJson},"model":${JSON.stringify(this.#model)}` +
      `,"output":[${state.output.join(",")}],${echo.beforeTier}` +
      `,"service_tier":${JSON.stringify(end?.serviceTier ?? "default")},${echo.afterTier}` +
      `,"usage":${usageJson(end?.usage ?? this.#usage)}` +
      (fault ? `,"error_type":"${fault.errorType}"` : "") +
      alignmentMember(end, fault) +
      serviceMetadataMembers(serviceMetadata, metadataAlias) +
      "}"
    );
  }
}

/** With a comma before it; nothing without the plugin. */
function alignmentMember(end: TurnEnd | undefined, fault: Fault | undefined): string {
  if (end && end.alignmentJson.length > 0) return `,"alignment":${Buffer.from(end.alignmentJson).toString()}`;
  const told = fault?.metadata?.["alignment"];
  return told === undefined ? "" : `,"alignment":${JSON.stringify(told)}`;
}
