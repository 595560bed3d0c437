/** Starts the slowest tests first, so no worker runs a slow one at the end while the others idle. */
import sequencer from "@jest/test-sequencer";

/** The package's types describe the CommonJS build, in which the class is a property of the import. */
const Sequencer = sequencer as unknown as typeof sequencer.default;
type Tests = Parameters<InstanceType<typeof Sequencer>["sort"]>[0];

/** Folders with slow tests, in the order of their longest file; all others take seconds. */
const longest = ["chaos", "rolling", "replicas", "upgrade", "fuzz", "deploy", "e2e", "soak", "policy", "admin-svc"];

const rank = ({ path, context }: Tests[number]): number => {
  const [folder = ""] = path
    .slice(context.config.rootDir.length + 1)
    .replace(/^campaigns\//, "")
    .split("/");
  const at = longest.indexOf(folder);
  return at === -1 ? longest.length : at;
};

export default class LongestFirst extends Sequencer {
  /** Sorts by folder. Within a folder the order is Jest's: by duration in the last run if known, otherwise by size. */
  override async sort(tests: Tests): Promise<Tests> {
    return (await super.sort(tests)).toSorted((a, b) => rank(a) - rank(b));
  }
}
