/**
 * `npm start`: prepares the checkout, then runs the supervisor in the same process, so signals reach it directly. For the same reason the script of
 * package.json begins with exec: npm signals only its shell.
 */
import { prepareOrExit } from "./prepare.mjs";

await prepareOrExit();
const { started } = await import("./bundle/main.js");
await started;
const { buildSiteLater } = await import("./site.mjs");
buildSiteLater();
