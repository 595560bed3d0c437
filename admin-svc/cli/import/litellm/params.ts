/** Parameters of a LiteLLM deployment; each may be set in the deployment itself or in a shared credential. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import type { Draft } from "../draft.ts";
import { hasSecret } from "../draft.ts";
import { type Findings, type Path, type Remark } from "../findings.ts";

interface Place {
  readonly values: Readonly<Record<string, unknown>>;
  readonly path: Path;
}

const environmentPrefix = "os.environ/";

/** Names of the environment variables that a file refers to as os.environ/NAME, at any depth. */
export function variablesIn(value: unknown): string[] {
  if (typeof value === "string") return value.startsWith(environmentPrefix) ? [nameOf(value)] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(variablesIn);
}

const nameOf = (text: string): string => text.slice(environmentPrefix.length);

export const isVariable = (text: string): boolean => text.startsWith(environmentPrefix);

export interface Credential extends Place {
  readonly name: string;
}

export class Params {
  readonly #places: readonly Place[];
  readonly #draft: Draft;
  readonly #findings: Findings;
  /** Notes for the report on where a secret went, by parameter. */
  readonly #notes = new Map<string, string>();

  /** @param places searched in order for a parameter */
  constructor(places: readonly Place[], draft: Draft, findings: Findings) {
    this.#places = places;
    this.#draft = draft;
    this.#findings = findings;
  }

  get names(): string[] {
    return [...new Set(this.#places.flatMap(({ values }) => Object.keys(values)))];
  }

  /** The value as the file has it; undefined for null. */
  raw(name: string): unknown {
    return this.#place(name)?.values[name] ?? undefined;
  }

  has(name: string): boolean {
    return this.raw(name) !== undefined;
  }

  /** The text of a parameter that is not a secret; a reference to an environment variable becomes Sluice's ${NAME}. */
  text(name: string, kind: "text" | "address" = "text"): string | undefined {
    const value = this.raw(name);
    if (typeof value !== "string" || value === "") return undefined;
    return isVariable(value) ? this.#draft.variable(nameOf(value), kind) : value;
  }

  /**
   * An address; one containing a secret becomes an environment variable. @param wanted preferred name of the
   * variable
   */
  address(name: string, wanted: string): string | undefined {
    const value = this.text(name, "address");
    return value !== undefined && hasSecret(value) ? this.#newVariable(name, value, wanted, "address") : value;
  }

  /**
   * A reference to an environment variable for a secret: the variable in the file, or a new variable. @param wanted
   * preferred name of a new variable
   */
  secret(name: string, wanted: string): string | undefined {
    const value = this.raw(name);
    if (typeof value !== "string" || value === "") return undefined;
    if (!isVariable(value)) return this.#newVariable(name, value, wanted, "text");
    const reference = this.#draft.variable(nameOf(value));
    this.#notes.set(name, ` as ${reference}`);
    return reference;
  }

  #newVariable(name: string, value: string, wanted: string, kind: "text" | "address"): string {
    const reference = this.#draft.secret(value, wanted, kind);
    this.#notes.set(name, ` as ${reference}: set this variable to the value in the file`);
    return reference;
  }

  number(name: string): number | undefined {
    const value = this.raw(name);
    const number = typeof value === "string" && value !== "" ? Number(value) : value;
    return typeof number === "number" && Number.isFinite(number) ? number : undefined;
  }

  /** Remarks that a parameter became a setting, and which environment variable holds its value. */
  taken(name: string, setting: string, page?: string): void {
    this.add(name, { outcome: "taken", text: setting + (this.#notes.get(name) ?? ""), page });
  }

  add(name: string, remark: Remark): void {
    const place = this.#place(name);
    if (place) this.#findings.add([...place.path, name], remark);
  }

  #place(name: string): Place | undefined {
    return this.#places.find(({ values }) => values[name] !== undefined && values[name] !== null);
  }
}

/** Reads LiteLLM's `credential_list`. */
export function readCredentials(list: unknown, path: Path): Credential[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown, index): Credential[] => {
    if (!isObject(entry) || !isObject(entry["credential_values"])) return [];
    const values = entry["credential_values"];
    return [{ name: String(entry["credential_name"]), values, path: [...path, index, "credential_values"] }];
  });
}
