/** Names of tools in the Responses format. It has namespaces, so a name must be unique only within its namespace. */
import type { Tool, ToolReference, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";
import { type JsonObject, objects, text } from "../json.ts";
import { describeRename, fitNames, fitHistoryName, openAiForm } from "../translate/names/name-rules.ts";
import { hasItemTools, itemTools } from "../translate/offered-tools.ts";

const { names: rule } = openAiForm;

/** A tool of the request, or of an input item. */
interface Entry {
  readonly type?: unknown;
  readonly name?: unknown;
  readonly tools?: unknown;
}

const callTypes: ReadonlySet<unknown> = new Set(["function_call", "custom_tool_call"]);
const isNamed = ({ type }: Entry): boolean => type === "function" || type === "custom" || type === "namespace";
const takes = (name: unknown): boolean => typeof name !== "string" || rule.form.test(name);

/** The names within one namespace, or outside of all namespaces. */
class Scope {
  readonly #sent: ReadonlyMap<string, string>;
  readonly #own: ReadonlyMap<string, string>;

  constructor(names: readonly string[]) {
    const own = [...new Set(names)];
    const sent = fitNames(own, rule);
    this.#sent = new Map(own.map((name, index) => [name, sent[index] ?? name]));
    this.#own = new Map([...this.#sent].map(([name, sentName]) => [sentName, name]));
  }

  knows(name: string): boolean {
    return this.#sent.has(name);
  }

  /** The name to send. A tool that only the history contains gets a name different from those of all tools of the request. */
  sent(name: string): string {
    return this.#sent.get(name) ?? fitHistoryName(name, rule, (other) => this.#own.has(other));
  }

  own(sentName: string): string {
    return this.#own.get(sentName) ?? sentName;
  }
}

const noTools = new Scope([]);

export class ToolNames {
  static readonly #known = new WeakMap<object, ToolNames>();

  readonly tools: readonly Tool[];
  /** Whether every tool can keep its name. */
  readonly #fits: boolean;
  readonly #top: Scope;
  readonly #inside: ReadonlyMap<string, Scope>;

  private constructor(tools: readonly Tool[], brought: readonly Entry[]) {
    this.tools = tools;
    const entries = [...tools, ...brought].filter(isNamed);
    this.#fits = fitting(entries);
    this.#top = new Scope(namesOf(entries));
    const inside = new Map<string, string[]>();
    for (const entry of entries) {
      if (entry.type !== "namespace") continue;
      const { name } = entry as { readonly name: string };
      inside.set(name, [...(inside.get(name) ?? []), ...namesOf(membersOf(entry))]);
    }
    this.#inside = new Map([...inside].map(([name, names]) => [name, new Scope(names)]));
  }

  /**
   * Names for a request. Equal lists of tools share one object, by which dialects cache their translation, unless a
   * tool of an input item is renamed.
   */
  static of(request: TurnRequest): ToolNames {
    const own = ToolNames.#of(request.tools, request.tools, []);
    if (!hasItemTools(request.input)) return own;
    const brought = itemTools(request.input);
    return own.#fits && fitting(brought) ? own : ToolNames.#of(request, request.tools, brought);
  }

  static #of(source: object, tools: readonly Tool[], brought: readonly Entry[]): ToolNames {
    let names = ToolNames.#known.get(source);
    if (names === undefined) ToolNames.#known.set(source, (names = new ToolNames(tools, brought)));
    return names;
  }

  /** The name to send. @param namespace namespace of the tool */
  sent(name: string, namespace?: string): string {
    return this.#scope(namespace).sent(name);
  }

  sentReference(reference: ToolReference): ToolReference {
    const { type, name, namespace } = reference;
    if (name === undefined || !isNamed({ type })) return reference;
    if (typeof namespace === "string")
      return { ...reference, name: this.sent(name, namespace), namespace: this.sent(namespace) };
    // A reference without a namespace means a tool outside of namespaces, or in any of them.
    const scope = [this.#top, ...this.#inside.values()].find((each) => each.knows(name));
    return { ...reference, name: (scope ?? this.#top).sent(name) };
  }

  /** An input item with the names the provider knows. */
  sentItem(item: JsonObject, path: string, onDropped: OnDropped): JsonObject {
    if (callTypes.has(item.type)) return this.#sentCall(item, path, onDropped);
    if (this.#fits || !Array.isArray(item.tools)) return item;
    const tools = this.#sentTools(objects(item.tools), undefined, `${path}.tools`, onDropped);
    return { ...item, tools };
  }

  /** An output item with the names the client knows. */
  ownItem(item: JsonObject): JsonObject {
    if (this.#fits) return item;
    if (item.type === "tool_search_output") return { ...item, tools: this.#ownTools(objects(item.tools), undefined) };
    if (!callTypes.has(item.type) || typeof item.name !== "string") return item;
    const { namespace } = item;
    if (typeof namespace !== "string") return { ...item, name: this.#top.own(item.name) };
    const ownNamespace = this.#top.own(namespace);
    return { ...item, name: this.#scope(ownNamespace).own(item.name), namespace: ownNamespace };
  }

  #scope(namespace: string | undefined): Scope {
    return namespace === undefined ? this.#top : (this.#inside.get(namespace) ?? noTools);
  }

  #sentCall(item: JsonObject, path: string, onDropped: OnDropped): JsonObject {
    const { name, namespace } = item;
    if (takes(name) && takes(namespace)) return item;
    const inside = typeof namespace === "string" ? namespace : undefined;
    const scope = this.#scope(inside);
    const sent = scope.sent(text(name));
    // The new name of a request's tool is reported with the tool itself.
    if (sent !== name && !scope.knows(text(name))) onDropped(`${path}.name`, describeRename(sent, rule));
    return { ...item, name: sent, ...(inside !== undefined && { namespace: this.sent(inside) }) };
  }

  #sentTools(
    tools: readonly JsonObject[],
    namespace: string | undefined,
    path: string,
    onDropped: OnDropped,
  ): readonly JsonObject[] {
    return tools.map((tool, index) => {
      if (!isNamed(tool) || typeof tool.name !== "string") return tool;
      const name = this.sent(tool.name, namespace);
      if (name !== tool.name) onDropped(`${path}.${index}.name`, describeRename(name, rule));
      if (tool.type !== "namespace") return { ...tool, name };
      const inner = this.#sentTools(objects(tool.tools), tool.name, `${path}.${index}.tools`, onDropped);
      return { ...tool, name, tools: inner };
    });
  }

  #ownTools(tools: readonly JsonObject[], namespace: string | undefined): readonly JsonObject[] {
    return tools.map((tool) => {
      if (!isNamed(tool) || typeof tool.name !== "string") return tool;
      const name = this.#scope(namespace).own(tool.name);
      return tool.type === "namespace"
        ? { ...tool, name, tools: this.#ownTools(objects(tool.tools), name) }
        : { ...tool, name };
    });
  }
}

const membersOf = ({ tools }: Entry): readonly Entry[] => objects(tools);
const namesOf = (entries: readonly Entry[]): readonly string[] => entries.map(({ name }) => text(name));
const fitting = (entries: readonly Entry[]): boolean =>
  entries.every((entry) => !isNamed(entry) || (takes(entry.name) && fitting(membersOf(entry))));
