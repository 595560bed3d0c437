/** Reads the subjects of commits, and finds those that a list with one line for each commit could not show or explain. */
import { execFileSync } from "node:child_process";
import { realpathSync } from "node:fs";

/** The last commit whose subject need not follow the rules. */
export const lastUnchecked = "3f7c1c70869b15d7d9b0cbf1b355205f9680e6e2";

const maxSubjectLength = 72;

/** First words of titles and sentences, which are not orders. */
const otherOpeners = new Set(
  `a an the this that these it its in on at by for from of to with without as when where while after before if
  no not never more some all any every each new now also only`.split(/\s+/),
);

/** Matches other forms of a verb, such as "Adding", "Added" and "Adds", but not "Bring", "Need" and "Pass". */
const otherForm =
  /^(?!(?:Bring|Ping|String)$)\w+ing$|^(?!(?:Embed|Feed|Need|Proceed|Seed|Shed|Speed|Succeed)$)\w+ed$|[^su]s$/;

/** @returns what is wrong with a subject; undefined for a good one */
export function findSubjectProblem(subject: string): string | undefined {
  if (subject.length > maxSubjectLength) return `${subject.length} characters, more than ${maxSubjectLength}`;
  if (/^(?:fixup|squash|amend)!|\bwip\b/i.test(subject)) return "a mark of unfinished work";
  if (subject.endsWith(".")) return "a full stop at its end";
  const verb = /^([A-Z][a-z]+),? /.exec(subject)?.[1];
  if (verb === undefined || otherOpeners.has(verb.toLowerCase()) || otherForm.test(verb))
    return "does not begin with an upper-case verb in the imperative";
  return undefined;
}

export interface Commit {
  readonly hash: string;
  readonly subject: string;
}

/** @returns the commits to check, latest first; or the reason why the checkout lacks their history */
export function readCommits(checkout: string): readonly Commit[] | string {
  const git = (...args: readonly string[]): string | undefined => {
    try {
      return execFileSync("git", ["-C", checkout, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    } catch {
      return undefined;
    }
  };
  // An exported tree may be inside of another repository.
  const top = git("rev-parse", "--show-toplevel");
  if (top === undefined || realpathSync(top.trim()) !== realpathSync(checkout)) return "no history: an exported tree";
  if (git("merge-base", "--is-ancestor", lastUnchecked, "HEAD") === undefined)
    return `no commit ${lastUnchecked.slice(0, 8)}: a shallow clone`;
  const lines = git("log", "--no-merges", "--format=%h %s", `${lastUnchecked}..HEAD`);
  if (lines === undefined) return "git log failed";
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => ({ hash: line.slice(0, line.indexOf(" ")), subject: line.slice(line.indexOf(" ") + 1) }));
}
