/** References `${VAR}` and `${file:/path}` in the strings of the configuration file. */
import { readFileSync } from "node:fs";

const reference = /\$\{(file:[^}]+|[A-Za-z_]\w*)\}/g;

/** Path of a session token, which may be unset: only temporary AWS credentials have one. */
const temporary = /\.aws\.session_token$/;

/** Names of the environment variables that a value references, at any depth. A reference to a file counts as set. */
export function variablesOf(value: unknown, environment: NodeJS.ProcessEnv): { set: string[]; unset: string[] } {
  const names = [...JSON.stringify(value ?? null).matchAll(reference)].map((match) => match[1] as string);
  const set = names.filter((name) => name.startsWith("file:") || (environment[name] ?? "") !== "");
  return { set, unset: names.filter((name) => !set.includes(name)) };
}

/** Paths of the files that a value references. */
export const filesOf = (value: unknown): string[] =>
  [...JSON.stringify(value ?? null).matchAll(reference)].flatMap(([, name = ""]) =>
    name.startsWith("file:") ? [name.slice(5)] : [],
  );

/** References without a value; each problem begins with the path of its string. */
export interface Unresolved {
  readonly unset: string[];
  readonly unreadable: string[];
}

/**
 * Replaces the references in every string of a value.
 * @param path of the value, for problems
 */
export function expandVariables(
  value: unknown,
  environment: NodeJS.ProcessEnv,
  path: string,
  problems: Unresolved,
): unknown {
  if (typeof value === "string") {
    return value.replaceAll(reference, (_, name: string) => resolve(name, environment, path, problems));
  }
  if (Array.isArray(value)) {
    if (path.endsWith("api_keys")) return keysOf(value, environment, path, problems);
    return value.map((entry, index) => expandVariables(entry, environment, `${path}.${index}`, problems));
  }
  if (typeof value !== "object" || value === null) return value;
  const at = (key: string) => (path === "" ? key : `${path}.${key}`);
  const present = Object.entries(value).filter(
    ([key, entry]) => !temporary.test(at(key)) || variablesOf(entry, environment).unset.length === 0,
  );
  return Object.fromEntries(
    present.map(([key, entry]) => [key, expandVariables(entry, environment, at(key), problems)]),
  );
}

/**
 * API keys with an unset variable: if other keys remain, it only shortens the rotation. If none remains, each is a
 * problem, because requests would be sent without a key.
 */
function keysOf(
  entries: readonly unknown[],
  environment: NodeJS.ProcessEnv,
  path: string,
  problems: Unresolved,
): unknown[] {
  const present = entries.filter((entry) => variablesOf(entry, environment).unset.length === 0);
  const used = present.length > 0 ? present : entries;
  const keys = used.map((entry, index) => expandVariables(entry, environment, `${path}.${index}`, problems));
  return present.length > 0 ? keys : [];
}

function resolve(name: string, environment: NodeJS.ProcessEnv, path: string, problems: Unresolved): string {
  if (name.startsWith("file:")) {
    try {
      return readFileSync(name.slice(5), "utf8").trim();
    } catch {
      problems.unreadable.push(`${path}: cannot read ${name.slice(5)}`);
      return "";
    }
  }
  const value = environment[name];
  if (value === undefined || value === "") problems.unset.push(`${path}: variable ${name} is not set`);
  return value ?? "";
}
