/** Search settings that only some engines support. Each engine gets the settings it supports; the receipt lists the others. */
import type { DroppedField } from "../../turn/trace.ts";

/** Approximate location of the user. */
export interface SearchLocation {
  readonly city?: string;
  readonly region?: string;
  /** A country by its code of two letters (ISO 3166-1). */
  readonly country?: string;
  readonly timezone?: string;
}

export interface SearchOptions {
  readonly place?: SearchLocation;
  /** How thoroughly to search, in a word of the engine. */
  readonly mode?: string;
  /** Set to get only pages the engine has cached, so it fetches none for this search. */
  readonly cachedOnly?: true;
  /** Names of further settings of the request, which no engine supports. */
  readonly others?: readonly string[];
}

/** The search options an engine supports. */
export interface SupportedSearchOptions {
  readonly modes?: readonly string[];
  readonly cachedOnly?: true;
  /** Supported fields of the location, each with a check of its values. */
  readonly place?: { readonly [Field in keyof SearchLocation]?: (value: string) => boolean };
}

export const isCountryCode = (value: string): boolean => /^[A-Za-z]{2}$/.test(value);

/** Whether a text is valid in a header field. */
export const isPlainText = (value: string): boolean => /^[\x20-\x7e]{1,100}$/.test(value);

const placeFields = ["city", "region", "country", "timezone"] as const;

const knowsField = (
  { place: known }: SupportedSearchOptions,
  place: SearchLocation,
  field: keyof SearchLocation,
): boolean => known?.[field]?.(place[field] ?? "") === true;

/** Selects the search options the engine supports. */
export function selectSupportedOptions(
  { place = {}, mode, cachedOnly }: SearchOptions,
  known: SupportedSearchOptions,
): SearchOptions {
  const fields = placeFields.filter((field) => place[field] !== undefined && knowsField(known, place, field));
  return {
    ...(fields.length > 0 && { place: Object.fromEntries(fields.map((field) => [field, place[field]])) }),
    ...(mode !== undefined && known.modes?.includes(mode) === true && { mode }),
    ...(cachedOnly && known.cachedOnly && { cachedOnly }),
  };
}

/**
 * Lists the settings the engine does not support.
 * @param path path of the settings in the request, such as `tools.1`
 */
export function listUnsupportedOptions(
  wishes: SearchOptions,
  { id, knows }: { readonly id: string; readonly knows: SupportedSearchOptions },
  path: string,
): readonly DroppedField[] {
  const { place = {}, mode, cachedOnly, others = [] } = wishes;
  const supported = selectSupportedOptions(wishes, knows);
  const lost = placeFields.filter((field) => place[field] !== undefined && supported.place?.[field] === undefined);
  const names = [
    ...(supported.place === undefined && lost.length > 0
      ? ["user_location"]
      : lost.map((field) => `user_location.${field}`)),
    ...(mode !== undefined && supported.mode === undefined ? ["mode"] : []),
    ...(cachedOnly && !supported.cachedOnly ? ["external_web_access"] : []),
    ...others,
  ];
  return names.map((name) => ({ path: `${path}.${name}`, reason: `the search engine ${id} does not know it` }));
}
