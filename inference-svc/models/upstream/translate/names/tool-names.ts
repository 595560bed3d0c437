/**
 * Maps tool names to names the format allows, which mostly has no namespaces and no custom tools, and finds tools by
 * the names in calls.
 */
import type { CustomTool, FunctionTool, TurnRequest } from "../../../../turn/request.ts";
import type { OnDropped } from "../../dialect.ts";
import { type NameRule, type ToolForm, describeRename, fitNames, fitHistoryName } from "./name-rules.ts";
import { type OfferedTool, isToolSearch, offeredTools } from "../offered-tools.ts";

export interface SentTool extends OfferedTool {
  readonly tool: FunctionTool | CustomTool;
  readonly sentName: string;
  /** Whether it is a custom tool sent as a function with one parameter, `input`. */
  readonly wrapped: boolean;
  /** Reason in `not_sent` for a changed name; absent for an unchanged one. */
  readonly renaming?: string;
}

export class SentTools {
  static readonly #known = new WeakMap<ToolForm, WeakMap<readonly OfferedTool[], SentTools>>();

  /** The tools the model may call. */
  readonly list: readonly SentTool[];
  /** Paths of tool searches, which are not sent because all tools are. */
  readonly searches: readonly string[];
  /** Whether custom tools are sent as functions. */
  readonly wraps: boolean;
  readonly #names: NameRule;
  readonly #bySentName: ReadonlyMap<string, SentTool>;
  readonly #byOwnName: ReadonlyMap<string, SentTool>;

  private constructor(tools: readonly SentTool[], searches: readonly string[], { wraps, names }: ToolForm) {
    this.list = tools.filter((tool) => tool.allowed);
    this.searches = searches;
    this.wraps = wraps;
    this.#names = names;
    this.#bySentName = new Map(tools.map((tool) => [tool.sentName, tool]));
    this.#byOwnName = new Map(tools.map((tool) => [keyOf(tool.tool.name, tool.namespace?.name), tool]));
  }

  /** The tools for a request. Equal lists share one object, by which a dialect can cache their translation. */
  static of(request: TurnRequest, form: ToolForm): SentTools {
    const offered = offeredTools(request);
    let known = SentTools.#known.get(form);
    if (known === undefined) SentTools.#known.set(form, (known = new WeakMap()));
    let tools = known.get(offered);
    if (tools === undefined) known.set(offered, (tools = SentTools.#of(offered, form)));
    return tools;
  }

  static #of(offered: readonly OfferedTool[], form: ToolForm): SentTools {
    const searches = offered.filter(({ tool, allowed }) => allowed && isToolSearch(tool)).map(({ path }) => path);
    return new SentTools(named(offered, form), searches, form);
  }

  /**
   * The name to send for a call in the history, even if the request no longer offers its tool. In this case the name
   * differs from those of all tools.
   * @param onDropped called for a name the format does not allow; a tool of the request reports its own name itself
   */
  sentName(name: string, namespace: string | undefined, path: string, onDropped: OnDropped): string {
    const tool = this.#byOwnName.get(keyOf(name, namespace));
    if (tool) return tool.sentName;
    const whole = wholeName(name, namespace);
    if (this.#names.form.test(whole)) return whole;
    const sent = fitHistoryName(whole, this.#names, (other) => this.#bySentName.has(other));
    onDropped(path, describeRename(sent, this.#names));
    return sent;
  }

  /** Finds a tool of the request that is outside of all namespaces. */
  findByOwnName(name: string): SentTool | undefined {
    return this.#byOwnName.get(keyOf(name));
  }

  /** Finds the tool a call names. */
  findBySentName(sentName: string): SentTool | undefined {
    return this.#bySentName.get(sentName);
  }
}

/** Key of a tool. A line break separates namespace and name, since a name has none. */
const keyOf = (name: string, namespace = ""): string => `${namespace}\n${name}`;

/** The name with its namespace as a prefix, for formats without namespaces. */
const wholeName = (name: string, namespace?: string): string =>
  namespace === undefined ? name : `${namespace}__${name}`;

function named(offered: readonly OfferedTool[], { wraps, names }: ToolForm): readonly SentTool[] {
  // The last of several definitions of a tool counts.
  const last = new Map<string, OfferedTool & Pick<SentTool, "tool">>();
  for (const entry of offered) {
    const { tool } = entry;
    if (tool.type !== "hosted") last.set(keyOf(tool.name, entry.namespace?.name), { ...entry, tool });
  }
  const tools = [...last.values()];
  // Tools outside of namespaces come first, so they keep their names.
  const order = [...tools.filter(({ namespace }) => !namespace), ...tools.filter(({ namespace }) => namespace)];
  const wanted = order.map(({ tool, namespace }) => wholeName(tool.name, namespace?.name));
  const sentNames = new Map(fitNames(wanted, names).map((sentName, index) => [order[index], sentName]));
  return tools.map((entry) => {
    const { tool, namespace } = entry;
    const sentName = sentNames.get(entry) ?? tool.name;
    const fits = names.form.test(wholeName(tool.name, namespace?.name));
    return {
      ...entry,
      tool,
      sentName,
      wrapped: wraps && tool.type === "custom",
      ...(!fits && { renaming: describeRename(sentName, names) }),
    };
  });
}
