/**
 * Resolves model names that are no slugs of the catalogue: an alias of the operator, a name without its author, a
 * vendor's spelling, or a version with its date.
 */
import { editDistance } from "@sluice/proto/lib/validation/edit-distance.js";
import { Globs } from "../../turn/globs.ts";

/** An entry of `model_aliases` in the configuration file. */
export interface NamedAlias {
  /** Pattern for names; an asterisk stands for any characters. */
  readonly match: string;
  /** Slug of the model the names stand for. */
  readonly model: string;
  /** Id of the workspace that has the alias; absent for every workspace. */
  readonly workspace?: string | undefined;
}

/** Maximum number of remembered names, because clients can invent any number. */
const maxRemembered = 4_096;
/** Maximum characters of a name compared with slugs, because the comparison takes time. */
const maxComparedLength = 64;

/** Matches a version at the end of a name as vendors write it: 2025-09-29, 20250929 or latest. */
const version = /[-@](?:20\d{2}-\d{2}-\d{2}|20\d{6}|latest)$/;
const variant = /:[a-z]+$/;

/** The plain form of a name. Vendors write claude-opus-4-5 where slugs have claude-opus-4.5. */
const plain = (name: string): string => name.toLowerCase().replaceAll(".", "-");
const withoutAuthor = (slug: string): string => slug.slice(slug.indexOf("/") + 1);

export class ModelNames {
  readonly #slugs: ReadonlySet<string>;
  readonly #aliases: readonly (readonly [Globs, model: string])[];
  /** Slugs by the plain form of their name, with and without the author; a name that several authors use has several slugs. */
  readonly #byName = new Map<string, Set<string>>();
  /** Slugs by the plain form of the providers' names for models; they are looked up after the names in slugs. */
  readonly #byVendorName = new Map<string, Set<string>>();
  readonly #found = new Map<string, string | undefined>();

  /** @param vendorNames slugs by the providers' names for the models */
  constructor(
    slugs: readonly string[],
    aliases: readonly NamedAlias[],
    vendorNames: readonly (readonly [name: string, slug: string])[],
  ) {
    this.#slugs = new Set(slugs);
    this.#aliases = aliases.map(({ match, model }) => [new Globs([match]), model]);
    for (const slug of slugs) {
      addTo(this.#byName, slug, slug);
      addTo(this.#byName, withoutAuthor(slug), slug);
    }
    for (const [name, slug] of vendorNames) addTo(this.#byVendorName, name, slug);
  }

  /** The slug for a name, with the variant of the name. @returns undefined for a name of no model, or of several */
  resolve(name: string): string | undefined {
    if (this.#slugs.has(name)) return name;
    if (this.#found.has(name)) return this.#found.get(name);
    const slug = this.#resolve(name);
    if (this.#found.size >= maxRemembered) this.#found.clear();
    this.#found.set(name, slug);
    return slug;
  }

  #resolve(name: string): string | undefined {
    const found = this.#byAlias(name) ?? this.#known(name);
    if (found !== undefined) return found;
    const [suffix = ""] = variant.exec(name) ?? [];
    if (suffix === "") return undefined;
    const base = name.slice(0, -suffix.length);
    const slug = this.#slugs.has(base) ? base : (this.#byAlias(base) ?? this.#known(base));
    return slug === undefined || variant.test(slug) ? slug : slug + suffix;
  }

  #byAlias(name: string): string | undefined {
    // A slug of the catalogue never stands for another model, and neither does a slug of Sluice's own.
    if (name.startsWith("service/")) return undefined;
    return this.#aliases.find(([globs]) => globs.matches(name))?.[1];
  }

  #known(name: string): string | undefined {
    return this.#only(name) ?? (version.test(name) ? this.#only(name.replace(version, "")) : undefined);
  }

  #only(name: string): string | undefined {
    const slugs = this.#byName.get(plain(name)) ?? this.#byVendorName.get(plain(name));
    return slugs?.size === 1 ? [...slugs][0] : undefined;
  }

  /** Why a name stands for no model, as the end of a sentence. */
  explain(name: string): string {
    const several = this.#byName.get(plain(name)) ?? this.#byName.get(plain(name.replace(version, "")));
    if (several !== undefined && several.size > 1)
      return `stands for several models: ${[...several].sort().join(", ")}`;
    const nearest = name.length > maxComparedLength ? undefined : this.#nearest(plain(name));
    const hint = nearest === undefined ? "" : `; did you mean ${nearest}`;
    return `is not in the catalogue${hint}; GET /api/v1/models lists the models`;
  }

  #nearest(name: string): string | undefined {
    const maxDistance = Math.max(1, Math.floor(name.length / 4));
    let best: string | undefined;
    let bestDistance = maxDistance + 1;
    for (const [known, slugs] of this.#byName) {
      if (Math.abs(known.length - name.length) >= bestDistance) continue;
      const distance = editDistance(name, known);
      if (distance < bestDistance) [best, bestDistance] = [[...slugs][0], distance];
    }
    return best;
  }
}

function addTo(map: Map<string, Set<string>>, name: string, slug: string): void {
  const key = plain(name);
  const slugs = map.get(key);
  if (slugs) slugs.add(slug);
  else map.set(key, new Set([slug]));
}
