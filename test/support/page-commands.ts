/** Commands of the pages that can run against an installation: requests to the gateway, and the command line. */
import { type Block, findBlocks, findPages } from "./pages.ts";

export const clientLanguages = ["js", "python", "go", "java"] as const;

/** Matches the beginning of such a command: a request to the gateway of the pages, or the command line for it. */
const runnable =
  /^(?:curl (?:-\S+ |PATCH |PUT )*"?(?:http:\/\/127\.0\.0\.1:8080|\$SLUICE_URL)|npm run --silent admin -- )/;

/** Commands that need more than an installation, each with what it needs. */
const notHere: readonly (readonly [RegExp, string])[] = [
  [/^npm run --silent admin -- test-provider/, "a provider with a key"],
  [/^npm run --silent admin -- alerts/, "a receiver of alerts; e2e/sinks tests run them"],
  [/guardrails create --name people --detector/, "a running detector service"],
  [
    /^npm run --silent admin -- providers (?:create|found|test|update)/,
    "an installation by its address; e2e/providers runs them",
  ],
  [
    /^sluice (?:login|profiles|logout|keys list --profile)/,
    "an installation by its address; e2e/records/remote-command-line runs them",
  ],
  [/^npm run --silent admin -- (?:backup|restore) /, "a database that Sluice runs itself; deploy/restore runs them"],
  [/^npm run --silent admin -- exports/, "a receiver of exports"],
];

/** @returns the commands in a block, without remarks, each as one line */
export const shellCommandsOf = (code: string): string[] =>
  code
    .replaceAll(/\\\n\s*/g, " ")
    .split(/\n(?!\s)/)
    .map((line) => line.replace(/\s+# .*$/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("#"));

export const isRunnable = (command: string): boolean =>
  runnable.test(command) && !notHere.some(([form]) => form.test(command));

/** Whether every command of a block runs in e2e/page-commands.test, or has its reason in this file. */
export const isRun = ({ language, code }: Block): boolean =>
  language === "sh" &&
  shellCommandsOf(code).every((command) => isRunnable(command) || notHere.some(([form]) => form.test(command)));

/**
 * All commands that can run, each with the place of its first occurrence: a second run would, for example, create a second key with the same name.
 */
export function pageCommands(): { readonly place: string; readonly command: string }[] {
  const found = findPages()
    .flatMap(findBlocks)
    .filter(isRun)
    .flatMap(({ page, line, code }) =>
      shellCommandsOf(code)
        .filter(isRunnable)
        .map((command): [string, string] => [command, `${page}:${line}`]),
    );
  return [...new Map(found.toReversed())].toReversed().map(([command, place]) => ({ place, command }));
}
