/** The tools that a request declares, wherever it does: by which names they can be referred to, and whether they go together. */
import { type JsonObject, isObject } from "@sluice/proto/runtime/validation/fields.js";
import type { Problems } from "@sluice/proto/runtime/validation/problems.js";

/** Kinds by which a search for deferred tools is declared. */
const searches = new Set(["service:tool_search", "tool_search"]);
/** Kinds of which there may be several, told apart by their names. */
const instances = new Set(["service:advisor", "service:subagent"]);

/** Where a choice names one spelling of a kind and the tools another, the same tool is meant. */
const family = (kind: string): string =>
  /^(?:service:)?web_search/.test(kind) ? "web_search" : kind.replace("service:", "");

export class DeclaredTools {
  /** Types by name; functions and custom tools of namespaces among them. */
  readonly #named = new Map<string, string>();
  readonly #servers = new Set<string>();
  /** Kinds of hosted tools by family. */
  readonly #hosted = new Map<string, string>();
  readonly #instances = new Set<string>();
  readonly #inherited: (readonly [path: string, name: string])[] = [];
  #count = 0;
  #deferred: string | undefined;
  #immediate = false;

  get empty(): boolean {
    return this.#count === 0;
  }

  /** Whether tools are held back. */
  get deferring(): boolean {
    return this.#deferred !== undefined;
  }

  /**
   * What has been checked by its shape; of tools with problems, too, the names count: what refers to one of them is not a second problem.
   * @param found whether a search gave them: they may have been declared before
   */
  add(tools: unknown, path: string, problems: Problems, found = false): void {
    if (!Array.isArray(tools)) return;
    for (const [index, tool] of tools.entries()) {
      if (isObject(tool)) this.#add(tool, `${path}.${index}`, problems, found);
    }
  }

  #add(tool: JsonObject, path: string, problems: Problems, found: boolean): void {
    const { type } = tool;
    if (typeof type !== "string") return;
    this.#count++;
    if (!found) this.#load(tool, type, path);
    if (type === "function" || type === "custom") return this.#name(tool, type, path, problems, found);
    if (type === "namespace") return this.#namespace(tool, path, problems, found);
    if (type === "mcp" && typeof tool["server_label"] === "string") this.#servers.add(tool["server_label"]);
    this.#hosted.set(family(type), type);
    if (instances.has(type)) this.#instance(tool, type, path, problems);
    if (type === "service:bash") problems.add(path, "service:bash is not available: this service runs no commands");
  }

  #load(tool: JsonObject, type: string, path: string): void {
    if (tool["defer_loading"] === true) this.#deferred ??= path;
    else if (!searches.has(type) && type !== "namespace") this.#immediate = true;
  }

  #name(tool: JsonObject, type: string, path: string, problems: Problems, found: boolean): void {
    const { name } = tool;
    if (typeof name !== "string") return;
    if (this.#named.has(name) && !found) problems.add(`${path}.name`, `${name} is the name of a tool before it`);
    else this.#named.set(name, type);
  }

  /** Within a namespace names are told apart by it, so that only the inner ones must differ. */
  #namespace(tool: JsonObject, path: string, problems: Problems, found: boolean): void {
    this.#name(tool, "namespace", path, problems, found);
    if (!Array.isArray(tool["tools"])) return;
    const names = new Set<string>();
    for (const [index, inner] of tool["tools"].entries()) {
      if (!isObject(inner) || typeof inner["type"] !== "string") continue;
      const at = `${path}.tools.${index}`;
      if (!found) this.#load(inner, inner["type"], at);
      const { name } = inner;
      if (typeof name !== "string") continue;
      if (names.has(name)) problems.add(`${at}.name`, `${name} is the name of a tool before it`);
      names.add(name);
      if (!this.#named.has(name)) this.#named.set(name, inner["type"]);
    }
  }

  #instance(tool: JsonObject, type: string, path: string, problems: Problems): void {
    const parameters = isObject(tool["parameters"]) ? tool["parameters"] : {};
    const { name, inherited_function_names: inherited } = parameters;
    const key = typeof name === "string" ? `${type} ${name}` : type;
    if (this.#instances.has(key)) {
      const says =
        typeof name === "string"
          ? `${name} is the name of a tool before it`
          : `of several ${type} each but one needs a name`;
      problems.add(`${path}.parameters.name`, says);
    }
    this.#instances.add(key);
    if (!Array.isArray(inherited)) return;
    for (const [index, inheritedName] of inherited.entries()) {
      if (typeof inheritedName !== "string") continue;
      this.#inherited.push([`${path}.parameters.inherited_function_names.${index}`, inheritedName]);
    }
  }

  /** What can be said only once all tools are known. */
  checkTogether(problems: Problems): void {
    for (const [path, name] of this.#inherited) {
      if (this.#named.get(name) !== "function") problems.add(path, "is not among the functions");
    }
    if (this.#deferred === undefined) return;
    const path = `${this.#deferred}.defer_loading`;
    if (!this.#hosted.has("tool_search")) problems.add(path, "needs a tool of type service:tool_search");
    if (!this.#immediate) problems.add(path, "at least one tool besides tool search must not be deferred");
  }

  has(type: string, name: string): boolean {
    return this.#named.get(name) === type;
  }

  hasServer(label: string): boolean {
    return this.#servers.has(label);
  }

  /** The kind under which a hosted tool was declared that a choice names by the same or another spelling. */
  hosted(kind: string): string | undefined {
    return this.#hosted.get(family(kind));
  }
}
