/**
 * Requests the tool lists of services such as MCP servers before the first call of the model: the client gets an item
 * for each list, and guardrails scan the lists.
 */
import { newId } from "@sluice/proto/lib/ids/id.js";
import { readToEnd, WholeAnswer } from "../../turn/answer-kinds.ts";
import { bareRequest } from "../../turn/bare-request.ts";
import { toNativeEvent } from "../../turn/progress-buffer.ts";
import type { FunctionTool, HostedTool, TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { type Batch, type Layer, compose } from "../../turn/turn.ts";
import type { RequestSources } from "../request-sources.ts";
import { type OpenTool, describeAsFunction } from "../tool.ts";
import type { AllowedCall, ListingItem, OpenSource, SourceList, ToolSourceDeps, SourceTool } from "../tool-source.ts";
import { Toolbox } from "../toolbox.ts";
import type { CalledTool, ItemNumbers } from "./model-answer.ts";
import { scanItem } from "./scanned-results.ts";

/** Maximum tools of all sources of a request; several providers reject more. */
const maxTools = 128;

interface Occasion {
  readonly request: TurnRequest;
  readonly scope: Scope;
}

interface SourceListParts extends ToolSourceDeps {
  /** The input guardrails, for the tool descriptions sent to the model. */
  readonly guards: readonly Layer[];
  /** The output guardrails, for items sent to the client and arguments sent to a service. */
  readonly gates: readonly Layer[];
  readonly numbers: ItemNumbers;
}

/**
 * @param occasion the scope and the client's request, including hosted tools from its items
 * @returns the toolbox with the listed tools, and approved calls to run before the first call of the model
 * @throws Fault when a guardrail blocks, and when the turn is over
 */
export async function* listSources(
  toolbox: Toolbox,
  occasion: Occasion,
  parts: SourceListParts,
): AsyncGenerator<Batch, { readonly toolbox: Toolbox; readonly allowed: readonly CalledTool[] }> {
  const lists = new SourceLists(toolbox.sources, occasion, parts);
  yield* lists.announce();
  const opened = Toolbox.of(occasion.request, occasion.scope, parts, await lists.scanned()) ?? toolbox;
  return { toolbox: opened, allowed: await lists.checked(opened.allowed) };
}

class SourceLists {
  readonly #sources: RequestSources;
  readonly #occasion: Occasion;
  readonly #parts: SourceListParts;
  readonly #tools = new Map<HostedTool, readonly SourceTool[]>();

  constructor(sources: RequestSources, occasion: Occasion, parts: SourceListParts) {
    this.#sources = sources;
    this.#occasion = occasion;
    this.#parts = parts;
  }

  /** Lists all services concurrently, and yields their items in request order. @throws Fault when the turn is over */
  async *announce(): AsyncGenerator<Batch> {
    const { scope, request } = this.#occasion;
    const lists = this.#sources.entries.map(({ open }) => open.list(scope.signal));
    // The lists are awaited in order, and a later one may fail before it is awaited.
    for (const list of lists) list.catch(() => {});
    let room = maxTools;
    for (const [index, entry] of this.#sources.entries.entries()) {
      const pendingList = lists[index] as Promise<SourceList>;
      const { listing } = entry.open;
      const id = newId(listing?.idPrefix ?? "");
      const number = listing ? this.#parts.numbers.take() : 0;
      if (listing && request.stream) yield beginning(listing, number, id);
      const list = within(room, entry.open, await pendingList);
      // Counted twice: for the tools, and for the client's item with their list.
      scope.held.grow(2 * JSON.stringify(list.item).length);
      room -= list.tools.length;
      if (list.stage) scope.trace.stages.push(list.stage);
      this.#tools.set(entry.entry, list.tools);
      if (listing) yield await this.#end(listing, number, id, list);
    }
  }

  async #end({ type, end }: ListingItem, number: number, id: string, list: SourceList): Promise<Batch> {
    const { gates } = this.#parts;
    const item = await scanItem(
      { type, id, status: list.hasFailed ? "incomplete" : "completed", ...list.item },
      gates,
      this.#occasion,
    );
    const events = this.#occasion.request.stream
      ? end(list.hasFailed).map((event) => toNativeEvent(number, event))
      : [];
    return [...events, { type: "item.end", index: number, item }];
  }

  /** The listed tools after the input guardrails, for the model. @throws Fault when a guardrail blocks */
  async scanned(): Promise<RequestSources> {
    const { entries } = this.#sources;
    const all = [...this.#tools.values()].flat();
    const functions = all.map(({ name, open }) => describeAsFunction(name, open));
    const shown = functions.length === 0 ? [] : await this.#scan(functions);
    const redacted = new Map(all.map((tool, index) => [tool, withWords(tool, functions[index], shown[index])]));
    const tools = [...this.#tools].map(
      ([entry, each]) => [entry, each.map((tool) => redacted.get(tool) as SourceTool)] as const,
    );
    return { entries, tools: new Map(tools) };
  }

  async #scan(tools: readonly FunctionTool[]): Promise<readonly FunctionTool[]> {
    const { guards } = this.#parts;
    const { models, stream, provider } = this.#occasion.request;
    let scanned: TurnRequest["tools"] = tools;
    const last = compose(guards, (request) => {
      scanned = request.tools;
      return new WholeAnswer([]);
    });
    const request = bareRequest({ models, stream, tools, input: [], ...(provider && { provider }) });
    await readToEnd(last(request, this.#occasion.scope));
    return scanned as readonly FunctionTool[];
  }

  /** The approved calls after the output guardrails have scanned their arguments. @throws Fault when a guardrail blocks */
  async checked(allowed: readonly AllowedCall[]): Promise<readonly CalledTool[]> {
    const { gates } = this.#parts;
    const calls: CalledTool[] = [];
    for (const { argumentsJson, ...call } of allowed) {
      const { callId, offer } = call;
      const item = { type: "function_call", id: callId, call_id: callId, name: offer.name, arguments: argumentsJson };
      const shown = await scanItem(item, gates, this.#occasion);
      calls.push({ ...call, argumentsJson: String(shown["arguments"]) });
    }
    return calls;
  }
}

function within(room: number, open: OpenSource, list: SourceList): SourceList {
  const count = list.tools.length;
  if (count <= room) return list;
  const left = room < maxTools ? `, of which ${room} are left` : "";
  return open.failed(
    `${count} tools; a request may have ${maxTools}${left}: name those that are needed in allowed_tools`,
  );
}

const beginning = ({ type, begun, begin }: ListingItem, index: number, id: string): Batch => [
  { type: "item.start", index, item: { type, id, status: "in_progress", ...begun } },
  ...begin.map((event) => toNativeEvent(index, event)),
];

/** The tool with its texts as the guardrails redacted them. */
function withWords(tool: SourceTool, before: FunctionTool | undefined, after: FunctionTool | undefined): SourceTool {
  if (before === undefined || after === undefined || before.json === after.json) return tool;
  const schema = JSON.parse(after.parametersJson) as Record<string, unknown>;
  const open: OpenTool = {
    ...tool.open,
    description: after.description ?? "",
    arguments: { ...tool.open.arguments, schema: () => schema },
  };
  return { ...tool, open };
}
