/** The new configuration that an import writes, and the environment variables for its secrets. */
import { configSchema } from "@sluice/proto/config/schema.js";
import { findInvalidReferences } from "@sluice/proto/config/references.js";
import { expandVariables } from "@sluice/proto/config/variables.js";
import { zodProblems } from "@sluice/proto/lib/process/environment.js";
import { stringify } from "yaml";
import type { z } from "zod";

type ConfigInput = z.input<typeof configSchema>;
export type ProviderInput = NonNullable<ConfigInput["providers"]>[number];
export type ModelInput = NonNullable<ConfigInput["models"]>[number];
export type EndpointInput = ModelInput["endpoints"][number];
export type ProviderSettings = Omit<ProviderInput, "id">;

/** Values that replace environment variables when the draft is checked; an address has to be a valid URL. */
const placeholders = { text: "variable", address: "https://variable.invalid" } as const;

export class Draft {
  readonly providers: ProviderInput[] = [];
  readonly models: ModelInput[] = [];
  readonly aliases: NonNullable<ConfigInput["model_aliases"]> = [];
  /** Sections of the configuration other than providers, models and aliases. */
  readonly sections: Partial<ConfigInput> = {};
  readonly #placeholders = new Map<string, string>();
  readonly #secrets = new Map<string, string>();
  readonly #idsBySettings = new Map<string, string>();
  readonly #reserved: ReadonlySet<string>;

  /** @param reserved names of variables that the imported file uses itself */
  constructor(reserved: Iterable<string> = []) {
    this.#reserved = new Set(reserved);
  }

  /** Names of the variables that the configuration needs, in alphabetical order. */
  get variables(): string[] {
    const text = this.yaml();
    return [...this.#placeholders.keys()].filter((name) => text.includes(`\${${name}}`)).toSorted();
  }

  /** A reference to an environment variable, such as ${NAME}. */
  variable(name: string, kind: keyof typeof placeholders = "text"): string {
    this.#placeholders.set(name, placeholders[kind]);
    return `\${${name}}`;
  }

  /**
   * A reference to the environment variable for a secret of the file; equal secrets share one variable.
   * @param wanted preferred name of the variable; it gets a suffix when another value has the name
   */
  secret(value: string, wanted: string, kind: keyof typeof placeholders = "text"): string {
    const known = this.#secrets.get(value);
    if (known !== undefined) return this.variable(known, kind);
    const name = unusedName(wanted, "_", (each) => this.#placeholders.has(each) || this.#reserved.has(each));
    this.#secrets.set(value, name);
    return this.variable(name, kind);
  }

  /**
   * Id of the provider with exactly these settings; a missing provider is added. @param wanted preferred id; it gets a
   * suffix when another provider has it
   */
  provider(wanted: string, settings: ProviderSettings): string {
    const form = JSON.stringify(settings);
    const known = this.#idsBySettings.get(form);
    if (known !== undefined) return known;
    const id = unusedName(wanted, "-", (each) => this.providers.some((provider) => provider.id === each));
    this.#idsBySettings.set(form, id);
    this.providers.push({ id, ...settings });
    return id;
  }

  /** Adds to a provider all models that the built-in catalogue lists for its vendor. */
  serveCatalogue(id: string): void {
    const index = this.providers.findIndex((provider) => provider.id === id);
    this.providers[index] = { ...(this.providers[index] as ProviderInput), known_models: true };
  }

  /**
   * Problems for which Sluice would refuse the configuration, apart from problems that depend on the model catalogue.
   */
  problems(): string[] {
    const values = Object.fromEntries(this.#placeholders);
    const unresolved = { unset: [], unreadable: [] };
    const result = configSchema.safeParse(expandVariables(this.#file(), values, "", unresolved));
    return result.success ? findInvalidReferences(result.data) : zodProblems(result.error);
  }

  yaml(): string {
    return stringify(this.#file(), { lineWidth: 0 });
  }

  #file(): ConfigInput {
    return {
      providers: this.providers,
      models: this.models,
      ...(this.aliases.length > 0 && { model_aliases: this.aliases }),
      ...this.sections,
    };
  }
}

function unusedName(wanted: string, separator: string, isUsed: (name: string) => boolean): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : `${wanted}${separator}${number}`;
    if (!isUsed(name)) return name;
  }
}

/** Replaces characters that a slug cannot contain by hyphens. */
export const slugOf = (name: string): string =>
  name.replaceAll(/[^\w.:/@-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "") || "model";

/** Joins words to the name of an environment variable for a secret. */
export const variableName = (...words: readonly string[]): string =>
  words
    .join("_")
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replace(/^(?=\d)|^_+/, "")
    .toUpperCase();

/** Whether an address contains a secret: a password, a query, or a long random part in its path. */
export function hasSecret(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { username, password, search, pathname } = new URL(address);
  const isRandom = (part: string): boolean => part.length >= 16 && /\d/.test(part) && /[A-Za-z]/.test(part);
  return [username, password, search].some((part) => part !== "") || pathname.split("/").some(isRandom);
}
