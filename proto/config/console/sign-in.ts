/**
 * Settings of the console's sign-in through an identity service. They contain a secret that only the gateway may know,
 * so other services skip them.
 */
import { variablesOf } from "../variables.ts";
import { parseYaml } from "../yaml.ts";

/** Path of the section in the file. */
export const signInPath = "console.oidc";

type Raw = Readonly<Record<string, unknown>>;

const isSection = (value: unknown): value is Raw =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The section as written in the file; undefined without one. */
export const rawSignIn = ({ console: section }: Raw): unknown => (isSection(section) ? section["oidc"] : undefined);

/** Replaces the section in a file. @param signIn undefined to remove the section */
export function withSignIn(raw: Raw, signIn: unknown): Record<string, unknown> {
  const { console: section } = raw;
  if (!isSection(section)) return { ...raw };
  const { oidc: _, ...rest } = section;
  return { ...raw, console: signIn === undefined ? rest : { ...rest, oidc: signIn } };
}

/** Names of the environment variables referenced by the section. */
export const signInVariables = (path: string, environment: NodeJS.ProcessEnv): readonly string[] =>
  variablesOf(rawSignIn(parseYaml(path)), environment).set.filter((name) => !name.startsWith("file:"));
