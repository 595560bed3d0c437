/** Leaves out providers whose variables are all unset, with the endpoints, models and aliases that depend only on them. */
import { variablesOf } from "./variables.ts";

export type Section = Record<string, unknown>;

export interface LeftOut {
  /** Id of the provider that is left out. */
  readonly provider: string;
  /** Unset environment variables named by the provider. */
  readonly unset: readonly string[];
  /** Any other reason, as a clause, such as a package that cannot be loaded. */
  readonly problem?: string;
}

/** Why a provider is left out, as a clause. */
export const leftOutReason = ({
  unset,
  problem,
}: Pick<LeftOut, "unset"> & { readonly problem?: string | undefined }): string =>
  problem ?? (unset.length === 1 ? `${unset[0]} is not set` : `none of ${unset.join(", ")} is set`);

/** A part of the configuration file. Its lists have fewer entries than those of the file, so indices differ. */
export interface ConfigPart {
  readonly file: Section;
  /** Translates the indices in the path of a problem to those in the file. */
  readonly asWritten: (problem: string) => string;
}

export interface PartitionedConfig {
  /** Entries that can be used in this environment. */
  readonly present: ConfigPart;
  /** Providers left out, with their endpoints and the models that only they serve. */
  readonly absent: ConfigPart;
  readonly leftOut: readonly LeftOut[];
}

/** Splits the file before variables are replaced, because models of a provider may name the same unset variables. */
export function splitByAvailability(raw: Section, environment: NodeJS.ProcessEnv): PartitionedConfig {
  const unset = listOf(raw.providers).map((entry) => unsetOf(entry, environment));
  const isLeftOut = (index: number) => unset[index] !== undefined;
  const leftOut = listOf(raw.providers).flatMap((entry, index) =>
    isLeftOut(index) ? [{ provider: idOf(entry), unset: unset[index] ?? [] }] : [],
  );
  const gone = new Set(leftOut.map(({ provider }) => provider));
  const kept = numbered(raw.providers).filter(({ index }) => !isLeftOut(index));
  const dropped = numbered(raw.providers).filter(({ index }) => isLeftOut(index));
  const present = numbered(raw.models).flatMap((model) => modelWith(model, (id) => !gone.has(id), true));
  const absent = numbered(raw.models).flatMap((model) => modelWith(model, (id) => gone.has(id), false));
  const aliases = numbered(raw.model_aliases).filter(({ value }) => unsetOf(value, environment) === undefined);
  const rest = {
    ...raw,
    ...(Array.isArray(raw.model_aliases) && { model_aliases: aliases.map(({ value }) => value) }),
    ...(Array.isArray(raw.providers) && { providers: kept.map(({ value }) => value) }),
    ...(Array.isArray(raw.models) && { models: present.map(({ value }) => value) }),
  };
  const others = { providers: dropped.map(({ value }) => value), models: absent.map(({ value }) => value) };
  return {
    present: partOf(rest, { providers: kept, models: present, model_aliases: aliases }),
    absent: partOf(others, { providers: dropped, models: absent }),
    leftOut,
  };
}

/** The environment variables of an entry if none of them is set; undefined when the entry can be used. */
function unsetOf(entry: unknown, environment: NodeJS.ProcessEnv): readonly string[] | undefined {
  const { unset, set } = variablesOf(entry, environment);
  return unset.length > 0 && set.length === 0 ? [...new Set(unset)] : undefined;
}

interface Numbered {
  readonly index: number;
  readonly value: unknown;
  /** Indices of the remaining endpoints; undefined when all of them remain. */
  readonly endpoints?: readonly number[];
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const numbered = (value: unknown): Numbered[] => listOf(value).map((entry, index) => ({ index, value: entry }));
const idOf = (entry: unknown): string => String((entry as { id?: unknown } | null)?.id);

/** @param whole keeps a model even without endpoints, so its problems are reported */
function modelWith({ index, value }: Numbered, keeps: (provider: string) => boolean, whole: boolean): Numbered[] {
  const endpoints = (value as { endpoints?: unknown } | null)?.endpoints;
  if (!Array.isArray(endpoints) || endpoints.length === 0) return whole ? [{ index, value }] : [];
  const kept = numbered(endpoints).filter((endpoint) =>
    keeps(String((endpoint.value as { provider?: unknown } | null)?.provider)),
  );
  if (kept.length === 0) return [];
  const model = { ...(value as object), endpoints: kept.map((endpoint) => endpoint.value) };
  return [{ index, value: model, endpoints: kept.map((endpoint) => endpoint.index) }];
}

function partOf(file: Section, lists: Readonly<Record<string, readonly Numbered[]>>): ConfigPart {
  const asWritten = (problem: string): string =>
    problem.replace(/^(\w+)\.(\d+)(?:\.endpoints\.(\d+))?/, (path, list, at, endpoint) => {
      const entry = lists[list]?.[Number(at)];
      if (entry === undefined) return path;
      const tail = endpoint === undefined ? "" : `.endpoints.${entry.endpoints?.[Number(endpoint)] ?? endpoint}`;
      return `${list}.${entry.index}${tail}`;
    });
  return { file, asWritten };
}
