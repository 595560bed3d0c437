/** Tool sources: entries of a request that stand for all tools of a service. Sluice lists these tools before the first call of the model. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { ItemEvent } from "../turn/progress-buffer.ts";
import type { InputItem, ToolReference } from "../turn/request.ts";
import type { TurnSignal } from "../turn/signal.ts";
import type { Stage } from "../turn/trace.ts";
import type { Offer, OpenTool, ServerTool, ToolItemForm, ToolDeps, ToolSettings } from "./tool.ts";

export interface ToolSource extends Pick<ServerTool, "kinds" | "hasEffect"> {
  /** Item types and id prefixes of the source's calls. */
  readonly items: ToolItemForm;
  /** Whether Sluice lists the service's tools. Any other entry stays unchanged, for a provider or to be reported as unsupported. */
  readonly takes: (entry: JsonObject, isNative: () => boolean) => boolean;
  /** Opens the source for one turn. @throws Fault INVALID_REQUEST for settings that cannot be honored */
  open(settings: ToolSettings): OpenSource;
  /** Restores items of an open source from earlier responses to the form the model reads. */
  restore(input: readonly InputItem[], sources: readonly ListedSource[]): RestoredCalls;
}

export interface ToolSourceDeps extends ToolDeps {
  /** Kinds of tool sources. */
  readonly sources: readonly ToolSource[];
}

export interface OpenSource {
  /** Name of the source in items and tool choices. */
  readonly label: string;
  /** Stands for the tools of the source before they are listed: in a dry run, and while an endpoint is selected. */
  readonly placeholder: SourceTool;
  /** The client's item for the list; absent when the history contains it. */
  readonly listing?: ListingItem;
  /** Requests the tool list. A failure is part of the result. @throws Fault when the turn is over */
  list(signal: TurnSignal): Promise<SourceList>;
  /** The result for a source whose list failed, with the reason. */
  failed(reason: string): SourceList;
  /** Closes the connection to the service. */
  close(): void;
}

export interface ListingItem {
  readonly type: string;
  readonly idPrefix: string;
  /** Fields of the item before the list has arrived. */
  readonly begun: JsonObject;
  /** The client's events at the start of the item, and at its end. */
  readonly begin: readonly ItemEvent[];
  readonly end: (hasFailed: boolean) => readonly ItemEvent[];
}

export interface SourceList {
  readonly tools: readonly SourceTool[];
  /** Fields of the item with the list. */
  readonly item: JsonObject;
  readonly hasFailed: boolean;
  readonly stage?: Stage;
}

export interface SourceTool {
  /** The tool's name at the service. */
  readonly ownName: string;
  /** Preferred function name for the model; a suffix is added if it is taken. */
  readonly name: string;
  readonly open: OpenTool;
  /** Whether a tool choice with this reference means the tool. */
  readonly isMeant: (reference: ToolReference) => boolean;
}

/** A source with its tools as offered to the model, by their names at the service. */
export interface ListedSource {
  readonly label: string;
  readonly offers: ReadonlyMap<string, Offer>;
}

export interface RestoredCalls {
  readonly input: readonly InputItem[];
  /** Calls approved by the client: the input contains their function calls, but not their outputs. */
  readonly allowed: readonly AllowedCall[];
}

export interface AllowedCall {
  readonly offer: Offer;
  readonly callId: string;
  readonly argumentsJson: string;
  /** Further fields of the call's item. */
  readonly fields: JsonObject;
}
