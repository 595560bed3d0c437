/** Writes the tools of a turn, and remembers its functions for later requests. */
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
  /** Names of tools that a search has found. */
  readonly found: ReadonlySet<string>;
}

const none = new Uint8Array();

/** Reason for an unsent tool. The Messages format shows a deferred tool to the model only after the client's search has named it. */
const withheld = "deferred, and no tool_reference or tool_choice names it yet";

export class TurnTools {
  /** For each tool of the turn, the path of the client's tool or server from which it was made. */
  readonly paths: string[] = [];
  /** JSON of the tools converted for this request. Tools known from earlier requests are not among them; all of these are functions. */
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

  /** @returns JSON of the tools; empty without tools */
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

  /** The tools to convert. If the conversation changes the offer of a known tool, all tools are read again. */
  #readTools(): readonly MessagesTool[] {
    const array = this.#arrays.tools;
    for (let index = 0; index < array.known; index++) {
      const { standIn, offer } = array.note(index);
      if (this.#offerOf(standIn) !== offer) return array.parseAll() as readonly MessagesTool[];
    }
    return this.#input.tools;
  }

  /**
   * How a tool is offered. A deferred tool stays deferred while a search tool of the request can find it. If the client searches itself, the model
   * sees a deferred tool only after a search has named it; for Anthropic it stays deferred, since Anthropic shows it at the place of the search.
   */
  #offerOf({ name, defer_loading: defers }: MessagesTool): ToolVisibility {
    const { found, chosen } = this.#input;
    if (defers !== true) return "shown";
    const isChosen = (name ?? "") === chosen;
    // Search results in the conversation name the found tools. The list of tools therefore stays the same in all turns, and so does the provider's
    // cache.
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
