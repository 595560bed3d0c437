/** Writes the tools of a turn, and remembers its functions. */
import type { OnFieldNotSent } from "./parts.ts";
import { type ToolVisibility, ToolNote } from "./notes.ts";
import type { RepeatedArrays } from "./repeated-arrays.ts";
import { type McpServer, type MessagesTool, isFunction, isHosted, toMcp, toTool } from "./tools.ts";

export interface ToolsInput {
  readonly tools: readonly MessagesTool[];
  readonly servers: readonly McpServer[];
  /** Name of the tool the model must call. */
  readonly chosen: string | undefined;
  /** Id of the code container. */
  readonly container: string | undefined;
  /** Names of tools found by a search. */
  readonly found: ReadonlySet<string>;
}

const none = new Uint8Array();

/** The contract of the door: a deferred tool is shown once a search of the client has named it. */
const withheld = "deferred, and no tool_reference or tool_choice names it yet";

export class TurnTools {
  /** Paths of the client's tools and servers that the turn's tools were made from. */
  readonly paths: string[] = [];
  /** The tools converted for this request; known tools of earlier requests are all functions. */
  readonly texts: string[] = [];
  readonly #input: ToolsInput;
  readonly #body: Buffer;
  readonly #arrays: RepeatedArrays;
  readonly #onUnsent: OnFieldNotSent;
  readonly #searches: boolean;

  constructor(input: ToolsInput, body: Buffer, arrays: RepeatedArrays, onUnsent: OnFieldNotSent) {
    this.#input = input;
    this.#body = body;
    this.#arrays = arrays;
    this.#onUnsent = onUnsent;
    this.#searches = input.tools.some(({ type }) => type?.startsWith("tool_search_tool") === true);
  }

  /** @returns their JSON; empty when there are none */
  write(): Uint8Array {
    const tools = this.#readTools();
    const array = this.#arrays.tools;
    for (let index = 0; index < array.known; index++) this.#skip(array.note(index), index);
    for (let index = array.known; index < tools.length; index++) this.#add(tools[index]!, index);
    let servers = "";
    for (const [index, server] of this.#input.servers.entries()) {
      if (server.tool_configuration?.enabled === false) continue;
      servers += `${toMcp(server)},`;
      this.paths.push(`mcp_servers.${index}`);
    }
    return this.paths.length === 0 ? none : array.write("", servers);
  }

  /** Reads all tools again if the conversation changes the offer of a known one. */
  #readTools(): readonly MessagesTool[] {
    const array = this.#arrays.tools;
    for (let index = 0; index < array.known; index++) {
      const { standIn, offer } = array.note(index);
      if (this.#offerOf(standIn) !== offer) return array.parseAll() as readonly MessagesTool[];
    }
    return this.#input.tools;
  }

  /**
   * A deferred tool is held back if a search tool of the request can find it. If the client searches itself, the model must see a deferred tool only after
   * a search has named it; it stays deferred for Anthropic, which shows it to the model at the place of the search.
   */
  #offerOf({ name, defer_loading: defers }: MessagesTool): ToolVisibility {
    const { found, chosen } = this.#input;
    if (defers !== true) return "shown";
    const isChosen = (name ?? "") === chosen;
    // Search items name the tools found: the list of tools stays the same in all turns, and in the provider's cache.
    if (this.#searches) return isChosen ? "shown" : "deferred";
    if (found.has(name ?? "")) return "deferred";
    return isChosen ? "shown" : "withheld";
  }

  #skip({ offer }: ToolNote, index: number): void {
    if (offer === "withheld") this.#onUnsent(`tools.${index}`, withheld);
    else this.paths.push(`tools.${index}`);
  }

  #add(tool: MessagesTool, index: number): void {
    const offer = this.#offerOf(tool);
    const path = `tools.${index}`;
    const isRead = this.#arrays.unreadIn(path)?.length === 0;
    const note = isRead && isFunction(tool) ? new ToolNote(tool, offer) : undefined;
    this.#arrays.tools.add(offer === "withheld" ? this.#withhold(path) : this.#written(tool, index, offer), note);
  }

  #withhold(path: string): string {
    this.#onUnsent(path, withheld);
    return "";
  }

  #written(tool: MessagesTool, index: number, offer: ToolVisibility): string {
    const path = `tools.${index}`;
    if (tool.cache_control && isHosted(tool))
      this.#onUnsent(`${path}.cache_control`, "tools that the provider or Sluice runs have no cache marks");
    const span = this.#arrays.tools.spanOf(index);
    const text = toTool(tool, this.#body, span, offer === "deferred", this.#input.container);
    if (text === undefined) return "";
    this.paths.push(path);
    this.texts.push(text);
    return `${text},`;
  }
}
