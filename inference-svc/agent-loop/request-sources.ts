/** The tool sources of one request, before and after their tools are known. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { HostedTool, InputItem, TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import { type Offer, freeName } from "./tool.ts";
import type { AllowedCall, OpenSource, ToolSourceDeps, SourceTool, ToolSource } from "./tool-source.ts";

export interface OpenedSource {
  readonly entry: HostedTool;
  readonly source: ToolSource;
  readonly open: OpenSource;
}

/** The tool sources of a request, with their tools once listed. */
export interface RequestSources {
  readonly entries: readonly OpenedSource[];
  /** Tools of each source; absent until the lists were requested. */
  readonly tools?: ReadonlyMap<HostedTool, readonly SourceTool[]>;
}

/** Opens the tool sources of a request. @throws Fault INVALID_REQUEST for settings a source cannot honor */
export function openSources(request: TurnRequest, scope: Scope, { sources, isNative }: ToolSourceDeps): RequestSources {
  const entries = request.tools.flatMap((entry, index): OpenedSource[] => {
    const source = entry.type === "hosted" ? sources.find(({ kinds }) => kinds.includes(entry.kind)) : undefined;
    if (entry.type !== "hosted" || source === undefined) return [];
    const fields = JSON.parse(entry.json) as JsonObject;
    if (!source.takes(fields, () => isNative(request, entry))) return [];
    const settings = { parameters: {}, entry: fields, path: entry.path ?? `tools.${index}`, request, scope };
    return [{ entry, source, open: source.open(settings) }];
  });
  return { entries };
}

/** @param taken names already in use by other tools; the names of the offers are added */
export function sourceOffers(
  { entries, tools }: RequestSources,
  taken: Set<string>,
): ReadonlyMap<HostedTool, readonly Offer[]> {
  return new Map(
    entries.map(({ entry, source, open }) => {
      const offered = tools?.get(entry) ?? [open.placeholder];
      return [entry, offered.map((tool) => offerOf(tool, source, entry, freeName(tool.name, taken)))];
    }),
  );
}

const offerOf = ({ open, isMeant }: SourceTool, source: ToolSource, { spelling }: HostedTool, name: string): Offer => ({
  tool: source,
  open,
  name,
  spelling,
  items: source.items,
  isMeant,
});

/** The input, with items of listed sources converted to function calls and outputs. */
export function restoreSourceItems(
  input: readonly InputItem[],
  { entries, tools }: RequestSources,
  offers: ReadonlyMap<HostedTool, readonly Offer[]>,
): { readonly input: readonly InputItem[]; readonly allowed: readonly AllowedCall[] } {
  if (tools === undefined) return { input, allowed: [] };
  const allowed: AllowedCall[] = [];
  let restored = input;
  for (const source of new Set(entries.map((each) => each.source))) {
    const listed = entries
      .filter((each) => each.source === source)
      .map(({ entry, open }) => {
        const names = (tools.get(entry) ?? []).map(({ ownName }) => ownName);
        const byName = (offers.get(entry) ?? []).map((offer, index) => [names[index] as string, offer] as const);
        return { label: open.label, offers: new Map(byName) };
      });
    const { input: next, allowed: more } = source.restore(restored, listed);
    restored = next;
    allowed.push(...more);
  }
  return { input: restored, allowed };
}
