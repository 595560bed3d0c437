/** All tools declared anywhere in a request: references can name only these, and two of them may conflict. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Problems } from "@sluice/proto/lib/validation/problems.js";

/** Types a request may declare several times; their names distinguish the declarations. */
const instances = new Set(["service:advisor", "service:subagent"]);

/** A name that all spellings of a tool's type share, because a tool choice may use another spelling than the declaration. */
const family = (kind: string): string =>
  /^(?:service:)?web_search/.test(kind) ? "web_search" : kind.replace("service:", "");

export class DeclaredTools {
  /** Types of tools by name, with functions and custom tools inside namespaces. */
  #named: Map<string, string> | undefined;
  #servers: Set<string> | undefined;
  #hosted: Map<string, string> | undefined;
  #instances: Set<string> | undefined;
  #inherited: (readonly [path: string, name: string])[] | undefined;
  /** Names of deferred tools. */
  #held: Set<string> | undefined;
  #count = 0;
  #deferred: string | undefined;

  get empty(): boolean {
    return this.#count === 0;
  }

  /** Whether the request has deferred tools, which a tool search must find. */
  get deferring(): boolean {
    return this.#deferred !== undefined && this.#searches;
  }

  get #searches(): boolean {
    return this.#hosted?.has("tool_search") === true;
  }

  /**
   * Adds tools whose shape was checked. A tool with problems counts as well, so a reference to it is not reported as
   * another problem.
   * @param found whether a tool search has returned the tools, so they may be declared already
   */
  add(tools: unknown, path: string, problems: Problems, found = false): void {
    if (!Array.isArray(tools)) return;
    for (let index = 0; index < tools.length; index++) {
      const tool: unknown = tools[index];
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
    if (type === "mcp" && typeof tool["server_label"] === "string")
      (this.#servers ??= new Set()).add(tool["server_label"]);
    (this.#hosted ??= new Map()).set(family(type), type);
    if (instances.has(type)) this.#instance(tool, type, path, problems);
  }

  #load(tool: JsonObject, type: string, path: string): void {
    if (tool["defer_loading"] === true) this.#deferred ??= path;
  }

  #name(tool: JsonObject, type: string, path: string, problems: Problems, found: boolean): void {
    const { name } = tool;
    if (typeof name !== "string") return;
    const named = (this.#named ??= new Map());
    // An input item contains a deferred tool again under its name when the client has found it.
    const isBrought = path.startsWith("input.") && this.#held?.has(name) === true;
    if (tool["defer_loading"] === true) (this.#held ??= new Set()).add(name);
    if (named.has(name) && !found && !isBrought) problems.add(`${path}.name`, `${name} is the name of an earlier tool`);
    else named.set(name, type);
  }

  /** Adds a namespace. Its name distinguishes its tools from all others, so names must differ only among its own tools. */
  #namespace(tool: JsonObject, path: string, problems: Problems, found: boolean): void {
    this.#name(tool, "namespace", path, problems, found);
    if (!Array.isArray(tool["tools"])) return;
    const named = (this.#named ??= new Map());
    const names = new Set<string>();
    for (const [index, inner] of tool["tools"].entries()) {
      if (!isObject(inner) || typeof inner["type"] !== "string") continue;
      const at = `${path}.tools.${index}`;
      if (!found) this.#load(inner, inner["type"], at);
      const { name } = inner;
      if (typeof name !== "string") continue;
      if (names.has(name)) problems.add(`${at}.name`, `${name} is the name of an earlier tool`);
      names.add(name);
      if (!named.has(name)) named.set(name, inner["type"]);
    }
  }

  #instance(tool: JsonObject, type: string, path: string, problems: Problems): void {
    const parameters = isObject(tool["parameters"]) ? tool["parameters"] : {};
    const { name, inherited_function_names: inherited } = parameters;
    const key = typeof name === "string" ? `${type} ${name}` : type;
    const known = (this.#instances ??= new Set());
    if (known.has(key)) {
      const says =
        typeof name === "string"
          ? `${name} is the name of an earlier tool`
          : `only one of several ${type} may lack a name`;
      problems.add(`${path}.parameters.name`, says);
    }
    known.add(key);
    if (!Array.isArray(inherited)) return;
    for (const [index, inheritedName] of inherited.entries()) {
      if (typeof inheritedName !== "string") continue;
      (this.#inherited ??= []).push([`${path}.parameters.inherited_function_names.${index}`, inheritedName]);
    }
  }

  /**
   * Makes the checks that need the complete list of tools.
   * @param isFound whether the client runs the tool search: a deferred tool without a search is then one of its results
   */
  checkTogether(problems: Problems, isFound: boolean): void {
    for (const [path, name] of this.#inherited ?? []) {
      if (this.#named?.get(name) !== "function") problems.add(path, "is not among the functions");
    }
    if (this.#deferred === undefined || isFound || this.#searches) return;
    problems.add(`${this.#deferred}.defer_loading`, "needs a tool of type service:tool_search");
  }

  has(type: string, name: string): boolean {
    return this.#named?.get(name) === type;
  }

  hasServer(label: string): boolean {
    return this.#servers?.has(label) === true;
  }

  /** The declared type of the hosted tool a tool choice names in any spelling. @returns undefined when none is declared */
  hosted(kind: string): string | undefined {
    return this.#hosted?.get(family(kind));
  }
}
