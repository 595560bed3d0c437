/** `npm run admin -- NOUN VERB ...`: prepares the checkout, then runs the command line. */
import { prepareOrExit } from "./prepare.mjs";

await prepareOrExit();
const { runCommandLine } = await import("./bundle/command-line.js");
await runCommandLine(process.argv.slice(2));
