/** Entries of a request that stand for the tools of a service, which is asked for them before the model is asked first. */
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import type { ItemEvent } from "../turn/progress-buffer.ts";
import type { InputItem, ToolReference } from "../turn/request.ts";
import type { TurnSignal } from "../turn/signal.ts";
import type { Stage } from "../turn/trace.ts";
import type { Offer, OpenTool, ServerTool, ToolItemForm, ToolParts, ToolSettings } from "./tool.ts";

export interface ToolSource extends Pick<ServerTool, "kinds" | "hasEffect"> {
  /** Form of the items of calls. */
  readonly items: ToolItemForm;
  /** Whether Sluice asks the service; any other entry stays as it is, for a provider or to be reported as one that nobody runs. */
  readonly takes: (entry: JsonObject, isNative: () => boolean) => boolean;
  /** @throws Fault INVALID_REQUEST for settings that cannot be kept */
  open(settings: ToolSettings): OpenSource;
  /** Items of earlier responses that belong to an open source, as the model reads them again. */
  restore(input: readonly InputItem[], sources: readonly ListedSource[]): RestoredCalls;
}

export interface SourceParts extends ToolParts {
  /** Kinds of entries that stand for the tools of a service. */
  readonly sources: readonly ToolSource[];
}

export interface OpenSource {
  /** Name by which items and tool choices refer to the source. */
  readonly label: string;
  /** Stands for the tools as long as they are not known: in a dry run, and when endpoints are chosen. */
  readonly placeholder: SourceTool;
  /** The item by which the client is told of the list; absent where the history has it. */
  readonly listing?: ListingItem;
  /** Asks for the tools. What goes wrong is in the list. @throws Fault when the turn is over */
  list(signal: TurnSignal): Promise<SourceList>;
  /** The list where it cannot be used for this reason. */
  failed(reason: string): SourceList;
  /** Ends the conversation with the service. */
  close(): void;
}

export interface ListingItem {
  readonly type: string;
  readonly idPrefix: string;
  /** Fields of the item while the list is not there. */
  readonly begun: JsonObject;
  /** Events that the client gets with the beginning of the item, and at its end. */
  readonly begin: readonly ItemEvent[];
  readonly end: (hasFailed: boolean) => readonly ItemEvent[];
}

export interface SourceList {
  readonly tools: readonly SourceTool[];
  /** Fields of the item. */
  readonly item: JsonObject;
  readonly hasFailed: boolean;
  readonly stage?: Stage;
}

export interface SourceTool {
  /** Name of the tool at its service. */
  readonly ownName: string;
  /** Name for the model, as far as it is free. */
  readonly name: string;
  readonly open: OpenTool;
  /** Whether a tool choice means it. */
  readonly isMeant: (reference: ToolReference) => boolean;
}

/** A source with the tools that the model is told of, by their names at the service. */
export interface ListedSource {
  readonly label: string;
  readonly offers: ReadonlyMap<string, Offer>;
}

export interface RestoredCalls {
  readonly input: readonly InputItem[];
  /** Calls that the client has allowed: their function calls are in the input, and their outputs are not. */
  readonly allowed: readonly AllowedCall[];
}

export interface AllowedCall {
  readonly offer: Offer;
  readonly callId: string;
  readonly argumentsJson: string;
  /** Further fields of the call's item. */
  readonly fields: JsonObject;
}
