/** Restores the client's names of arguments while their JSON streams, because the provider knows the properties under other names. */

import type { SentTool } from "../names/tool-names.ts";
import type { VendorSchemas } from "./rules.ts";
import { renamedProperties } from "./sent-schema.ts";

export class RenamedArguments {
  readonly #names: ReadonlyMap<string, string>;
  #depth = 0;
  #place: "outside" | "text" | "escape" = "outside";
  /** Whether the next text at the first level is a name. */
  #expectsName = false;
  /** JSON of a name that is not complete; undefined otherwise. */
  #name: string | undefined;

  /** @returns undefined for a tool without renamed properties */
  static of(called: SentTool | undefined, vendor: VendorSchemas): RenamedArguments | undefined {
    if (called?.tool.type !== "function") return undefined;
    const names = renamedProperties(called.tool, vendor);
    return names.size > 0 ? new RenamedArguments(names) : undefined;
  }

  /** @param names the client's names, by the names sent to the provider */
  constructor(names: ReadonlyMap<string, string>) {
    this.#names = names;
  }

  /** @returns the JSON with the client's names, without a name that is not complete yet */
  read(json: string): string {
    let written = "";
    for (const sign of json) written += this.#place === "outside" ? this.#outside(sign) : this.#inside(sign);
    return written;
  }

  /** @returns the text held back */
  finish(): string {
    const rest = this.#name ?? "";
    this.#name = undefined;
    return rest;
  }

  #outside(sign: string): string {
    if (sign === "{" || sign === "[") {
      this.#depth++;
      if (this.#depth === 1) this.#expectsName = sign === "{";
    } else if (sign === "}" || sign === "]") this.#depth--;
    else if (sign === "," && this.#depth === 1) this.#expectsName = true;
    else if (sign === ":" && this.#depth === 1) this.#expectsName = false;
    else if (sign === '"') {
      this.#place = "text";
      if (this.#depth === 1 && this.#expectsName) {
        this.#name = sign;
        return "";
      }
    }
    return sign;
  }

  #inside(sign: string): string {
    const ends = sign === '"' && this.#place === "text";
    if (this.#place === "escape") this.#place = "text";
    else if (sign === "\\") this.#place = "escape";
    else if (ends) this.#place = "outside";
    if (this.#name === undefined) return sign;
    this.#name += sign;
    return ends ? this.#given() : "";
  }

  #given(): string {
    const json = this.finish();
    const own = this.#names.get(nameIn(json));
    return own === undefined ? json : JSON.stringify(own);
  }
}

/** The name in a JSON text; empty in broken JSON. */
function nameIn(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    return "";
  }
}
