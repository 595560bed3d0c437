/**
 * Maps tool names to names that the format accepts, without namespaces and mostly without custom tools, and finds tools by the names in
 * calls.
 */
import { createHash } from "node:crypto";
import type { CustomTool, FunctionTool, TurnRequest } from "../../turn/request.ts";
import { type OfferedTool, isToolSearch, offeredTools } from "./offered-tools.ts";

/** Most servers accept names of at most 64 characters. */
const maxNameLength = 64;

export interface SentTool extends OfferedTool {
  readonly tool: FunctionTool | CustomTool;
  readonly sentName: string;
  /** True for a custom tool that is sent as a function with one parameter, `input`. */
  readonly wrapped: boolean;
}

export class SentTools {
  static readonly #noneNative = new SentTools([], [], false);
  static readonly #noneWrapped = new SentTools([], [], true);
  static readonly #native = new WeakMap<readonly OfferedTool[], SentTools>();
  static readonly #wrapped = new WeakMap<readonly OfferedTool[], SentTools>();

  /** Tools that the model may call. */
  readonly list: readonly SentTool[];
  /** Paths of tool searches, which are pointless because all tools are sent. */
  readonly searches: readonly string[];
  /** Whether custom tools are sent as functions. */
  readonly wraps: boolean;
  readonly #bySentName: ReadonlyMap<string, SentTool>;
  readonly #byOwnName: ReadonlyMap<string, SentTool>;

  private constructor(tools: readonly SentTool[], searches: readonly string[], wraps: boolean) {
    this.list = tools.filter((tool) => tool.allowed);
    this.searches = searches;
    this.wraps = wraps;
    this.#bySentName = new Map(tools.map((tool) => [tool.sentName, tool]));
    this.#byOwnName = new Map(tools.map((tool) => [keyOf(tool.tool.name, tool.namespace?.name), tool]));
  }

  /**
   * The same object for the same tools, by which a dialect can remember how it writes them.
   * @param wraps whether the format only knows functions
   */
  static of(request: TurnRequest, wraps: boolean): SentTools {
    const offered = offeredTools(request);
    if (offered.length === 0) return wraps ? SentTools.#noneWrapped : SentTools.#noneNative;
    const known = wraps ? SentTools.#wrapped : SentTools.#native;
    let tools = known.get(offered);
    if (tools === undefined) known.set(offered, (tools = SentTools.#of(offered, wraps)));
    return tools;
  }

  static #of(offered: readonly OfferedTool[], wraps: boolean): SentTools {
    const searches = offered.filter(({ tool, allowed }) => allowed && isToolSearch(tool)).map(({ path }) => path);
    return new SentTools(named(offered, wraps), searches, wraps);
  }

  /** The name under which a tool was or is sent, even if the request no longer offers it. */
  sentName(name: string, namespace?: string): string {
    return this.#byOwnName.get(keyOf(name, namespace))?.sentName ?? flat(name, namespace);
  }

  /** The tool that a call names. */
  findBySentName(sentName: string): SentTool | undefined {
    return this.#bySentName.get(sentName);
  }
}

const keyOf = (name: string, namespace = ""): string => `${namespace}/${name}`;

function named(offered: readonly OfferedTool[], wraps: boolean): readonly SentTool[] {
  // The last definition of a tool counts.
  const last = new Map<string, OfferedTool & Pick<SentTool, "tool">>();
  for (const entry of offered) {
    const { tool } = entry;
    if (tool.type !== "hosted") last.set(keyOf(tool.name, entry.namespace?.name), { ...entry, tool });
  }
  const tools = [...last.values()];
  // Tools outside of namespaces keep their names.
  const taken = new Set(tools.filter((entry) => !entry.namespace).map(({ tool }) => flat(tool.name)));
  return tools.map((entry) => {
    const { tool, namespace } = entry;
    const sentName = namespace ? free(flat(tool.name, namespace.name), taken) : flat(tool.name);
    return { ...entry, tool, sentName, wrapped: wraps && tool.type === "custom" };
  });
}

/**
 * Names may have letters, digits, _ and -; a name with other characters is one that a model made up. A long name ends in a part of its hash,
 * so that it stays the same in every turn.
 */
export function flat(name: string, namespace?: string): string {
  const whole = (namespace === undefined ? name || "unnamed" : `${namespace}__${name}`).replaceAll(/[^\w-]/g, "_");
  if (whole.length <= maxNameLength) return whole;
  const hash = createHash("sha256").update(whole).digest("hex").slice(0, 8);
  return `${whole.slice(0, maxNameLength - 9)}_${hash}`;
}

function free(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let count = 2; taken.has(name); count++) name = `${wanted.slice(0, maxNameLength - 4)}_${count}`;
  taken.add(name);
  return name;
}
