/** Counts the files touched by each frequent kind of change, by following the name of an existing example. */
import type { SourceFile } from "./sources.ts";

export interface Walk {
  /** Kind of the change. */
  readonly change: string;
  /** The words in the names of the example, such as `jev` and `router`. */
  readonly example: readonly string[];
  /** Folder that only the example uses; its files count as one. */
  readonly ownFolder?: string;
}

export const walks: readonly Walk[] = [
  { change: "plugin", example: ["jev", "router"], ownFolder: "inference-svc/features/routers/jev/" },
  { change: "text setting of a plugin", example: ["search", "prompt"] },
  { change: "field of a guardrail", example: ["blocked", "message"] },
  { change: "parameter of a request", example: ["top", "k"] },
  { change: "admin operation", example: ["unassign"] },
  { change: "dialect of providers", example: ["converse"], ownFolder: "inference-svc/models/upstream/converse/" },
];

/** @returns the files with the example's name in any spelling; comments count as well, so the number is rather too high */
export function filesOfWalk(files: readonly SourceFile[], { example, ownFolder }: Walk): string[] {
  const name = spellingsPattern(example);
  const naming = files.filter(({ room, text }) => room !== "test" && name.test(text)).map(({ path }) => path);
  const isOwn = (path: string) => ownFolder !== undefined && path.startsWith(ownFolder);
  const others = naming.filter((path) => !isOwn(path));
  return ownFolder !== undefined && naming.some(isOwn) ? [ownFolder, ...others] : others;
}

/** Matches `account_default`, `account-default`, "account default", `accountDefault` and `AccountDefault`, also inside longer names. */
export function spellingsPattern(words: readonly string[]): RegExp {
  const pascal = words.map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`).join("");
  const camel = `${pascal[0]?.toLowerCase()}${pascal.slice(1)}`;
  return new RegExp(`(?<![A-Za-z])(?:${words.join("[-_ ]")}|${camel})(?![a-z])|${pascal}(?![a-z])`);
}
