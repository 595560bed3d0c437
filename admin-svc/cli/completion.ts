/**
 * The command `completion` prints a shell script that completes commands and options. The script is derived from the
 * commands.
 */
import { type Command, UsageError, namedArguments } from "@sluice/proto/lib/process/cli.js";
import type { AdminTerminal, Commands, Program } from "./terminal.ts";

/** The words that the shell completes: nouns, verbs by noun, options by command. */
interface Words {
  readonly program: string;
  readonly nouns: readonly string[];
  readonly verbs: Readonly<Record<string, readonly string[]>>;
  readonly options: Readonly<Record<string, readonly string[]>>;
}

/** Every option mentioned in the help of a command. */
const optionsOf = ({ usage, details = [] }: Command<AdminTerminal>): readonly string[] => [
  ...new Set([...`${usage} ${details.join(" ")}`.matchAll(/--[a-z][a-z-]*/g)].map(([option]) => option)),
];

function wordsOf(nouns: Readonly<Record<string, Commands>>, actions: Commands, { name, further }: Program): Words {
  const commands = Object.entries(nouns).flatMap(([noun, verbs]) =>
    Object.entries(verbs).map(([verb, command]) => [`${noun} ${verb}`, optionsOf(command)] as const),
  );
  const verbs = Object.entries(nouns).map(([noun, ofNoun]) => [noun, Object.keys(ofNoun)] as const);
  const single = Object.entries(actions).map(([action, command]) => [action, optionsOf(command)] as const);
  return {
    program: name,
    nouns: [...Object.keys(nouns), ...Object.keys(actions), "completion", ...further],
    // A single-word command has no verb: its options follow it directly.
    verbs: Object.fromEntries([...verbs, ...single, ["completion", Object.keys(shells)] as const]),
    options: Object.fromEntries(commands),
  };
}

const cases = (entries: Readonly<Record<string, readonly string[]>>, line: (name: string, words: string) => string) =>
  Object.entries(entries).map(([name, words]) => line(name, words.join(" ")));

/** In a checkout the line may begin with `npm run --silent admin --`, or with an alias of it. */
const bash = ({ program, nouns, verbs, options }: Words): string[] => [
  `_sluice_${program}() {`,
  '  local word="${COMP_WORDS[COMP_CWORD]}" noun="${COMP_WORDS[1]}" verb="${COMP_WORDS[2]}" words=""',
  '  if [ "$COMP_CWORD" -eq 1 ]; then',
  `    words="${nouns.join(" ")}"`,
  '  elif [ "$COMP_CWORD" -eq 2 ]; then',
  '    case "$noun" in',
  ...cases(verbs, (noun, words) => `      ${noun}) words="${words}" ;;`),
  "    esac",
  "  else",
  '    case "$noun $verb" in',
  ...cases(options, (command, words) => `      "${command}"*) words="${words} --help" ;;`),
  "    esac",
  "  fi",
  '  COMPREPLY=($(compgen -W "$words" -- "$word"))',
  "}",
  `complete -F _sluice_${program} ${program}`,
];

const zsh = (words: Words): string[] => ["autoload -U +X bashcompinit && bashcompinit", ...bash(words)];

const fish = ({ program, nouns, verbs, options }: Words): string[] => [
  `complete -c ${program} -f -n "__fish_use_subcommand" -a "${nouns.join(" ")}"`,
  ...cases(verbs, (noun, words) => {
    const isFirst = `__fish_seen_subcommand_from ${noun}; and test (count (commandline -opc)) -eq 2`;
    return `complete -c ${program} -f -n "${isFirst}" -a "${words}"`;
  }),
  ...Object.entries(options).flatMap(([command, list]) => {
    const [noun = "", verb = ""] = command.split(" ");
    const seen = [noun, verb].filter((word) => word !== "").map((word) => `__fish_seen_subcommand_from ${word}`);
    return list.map((option) => `complete -c ${program} -n "${seen.join("; and ")}" -l ${option.slice(2)}`);
  }),
];

const shells: Readonly<Record<string, (words: Words) => string[]>> = { bash, zsh, fish };

/** @param nouns all commands by their nouns @param actions the single-word commands */
export const completionCommand = (
  nouns: Readonly<Record<string, Commands>>,
  actions: Commands,
): Command<AdminTerminal> => ({
  usage: "bash|zsh|fish",
  summary: "Prints the completion of this command line for a shell.",
  details: [
    "In a checkout: alias admin='npm run --silent admin --'; source <(admin completion bash)",
    "With an installed package: source <(sluice completion bash)",
    "In fish: admin completion fish | source, or sluice completion fish | source",
  ],
  async run(args, { print, program }) {
    const { SHELL: name } = namedArguments(args, "SHELL");
    const write = Object.hasOwn(shells, name) ? shells[name] : undefined;
    if (!write) throw new UsageError(`unknown shell: ${name}; one of ${Object.keys(shells).join(", ")}`);
    write(wordsOf(nouns, actions, program)).forEach(print);
  },
});
