/** Names of tools for formats without namespaces and, mostly, without tools whose input is text. Calls are read back by these names. */
import { createHash } from "node:crypto";
import type { CustomTool, FunctionTool, TurnRequest } from "../turn/request.ts";
import { type Offered, isSearch, offeredTools } from "./offered.ts";

/** Most servers take no longer ones. */
const maxName = 64;

export interface SentTool extends Offered {
  readonly tool: FunctionTool | CustomTool;
  readonly sentName: string;
  /** A custom tool that is told as a function with one parameter, `input`. */
  readonly wrapped: boolean;
}

export class SentTools {
  static readonly #noneNative = new SentTools([], [], false);
  static readonly #noneWrapped = new SentTools([], [], true);

  /** Those that may be called. */
  readonly list: readonly SentTool[];
  /** Where a search for tools is declared that are held back, where all are there from the beginning. */
  readonly searches: readonly string[];
  /** Whether calls of custom tools are told as calls of functions. */
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

  /** @param wraps whether the format knows functions only */
  static of(request: TurnRequest, wraps: boolean): SentTools {
    const offered = offeredTools(request);
    if (offered.length === 0) return wraps ? SentTools.#noneWrapped : SentTools.#noneNative;
    const searches = offered.filter(({ tool, allowed }) => allowed && isSearch(tool)).map(({ path }) => path);
    return new SentTools(named(offered, wraps), searches, wraps);
  }

  /** The name under which a tool was or is sent, also of one that is no longer offered. */
  sentName(name: string, namespace?: string): string {
    return this.#byOwnName.get(keyOf(name, namespace))?.sentName ?? flat(name, namespace);
  }

  /** The tool that a call means. */
  called(sentName: string): SentTool | undefined {
    return this.#bySentName.get(sentName);
  }
}

const keyOf = (name: string, namespace = ""): string => `${namespace}/${name}`;

function named(offered: readonly Offered[], wraps: boolean): readonly SentTool[] {
  // What is defined again is meant by its last definition.
  const last = new Map<string, Offered & Pick<SentTool, "tool">>();
  for (const entry of offered) {
    const { tool } = entry;
    if (tool.type !== "hosted") last.set(keyOf(tool.name, entry.namespace?.name), { ...entry, tool });
  }
  const tools = [...last.values()];
  // A tool that stands alone keeps its name.
  const taken = new Set(tools.filter((entry) => !entry.namespace).map(({ tool }) => flat(tool.name)));
  return tools.map((entry) => {
    const { tool, namespace } = entry;
    const sentName = namespace ? free(flat(tool.name, namespace.name), taken) : flat(tool.name);
    return { ...entry, tool, sentName, wrapped: wraps && tool.type === "custom" };
  });
}

/** Letters, digits, _ and -; what is too long ends in a part of its hash, so that it stays the same from turn to turn. */
function flat(name: string, namespace?: string): string {
  const whole = namespace === undefined ? name : `${namespace}__${name}`.replaceAll(/[^\w-]/g, "_");
  if (whole.length <= maxName) return whole;
  const hash = createHash("sha256").update(whole).digest("hex").slice(0, 8);
  return `${whole.slice(0, maxName - 9)}_${hash}`;
}

function free(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let count = 2; taken.has(name); count++) name = `${wanted.slice(0, maxName - 4)}_${count}`;
  taken.add(name);
  return name;
}
